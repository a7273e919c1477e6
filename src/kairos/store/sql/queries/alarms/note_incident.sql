-- note_incident: records an event of the alarm kind $1 about subject $2, with the detail $3; the next check for alarms
-- takes it (take_incidents).
-- Guard: none. Index: none.
insert into kairos.incidents (kind, subject, at, detail) values ($1, $2, kairos.now(), $3)
