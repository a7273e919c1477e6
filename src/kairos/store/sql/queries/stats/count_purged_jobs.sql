-- count_purged_jobs: how many of the ended jobs in the statistics were deleted since, by state.
select f.state, f.jobs from kairos.forgotten f
