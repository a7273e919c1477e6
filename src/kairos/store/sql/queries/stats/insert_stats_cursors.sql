-- insert_stats_cursors: inserts the cursors of the statistics if the database has none.
insert into kairos.tally_cursors (source) values ('jobs'), ('history') on conflict do nothing
