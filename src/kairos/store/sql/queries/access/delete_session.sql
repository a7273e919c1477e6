-- delete_session: deletes a browser session: its user is signed out.
delete from kairos.sessions s where s.id = $1::text returning s.id
