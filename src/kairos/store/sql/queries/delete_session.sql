-- delete_session: a browser signs out.
delete from kairos.sessions s where s.id = $1::text returning s.id
