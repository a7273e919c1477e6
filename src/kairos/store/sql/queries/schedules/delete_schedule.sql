-- delete_schedule: deletes a schedule; its ticks and jobs stay.
delete from kairos.schedules s where s.name = $1::text returning s.name
