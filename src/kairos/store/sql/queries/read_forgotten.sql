-- read_forgotten: how many of the ended jobs in the tally were deleted since.
select f.state, f.jobs from kairos.forgotten f
