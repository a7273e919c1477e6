-- jobs_in_lines: {column} of the jobs in `few_lines`, the first of `lines`, and in `held` (see waiting_lines) with an
-- eligible_at {side} now, at most {most} of each, if {if}. Jobs on the other side of now are not read.
  (select each.* from (select * from few_lines where {if}) l
   cross join lateral (
     select {column} from kairos.gen_durable g
     where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
       and g.eligible_at {side} kairos.now()
     order by g.eligible_at limit {most}
   ) each limit {most})
  union all
  (select each.* from (select * from held where {if}) h
   cross join lateral (
     select {column} from kairos.gen_durable g
     where g.queue = h.queue and g.status = 'runnable' and g.held and g.eligible_at {side} kairos.now()
     order by g.eligible_at limit {most}
   ) each limit {most})
