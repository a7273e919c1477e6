-- delete_session: signs a browser out.
delete from kairos.sessions s where s.id = $1::text returning s.id
