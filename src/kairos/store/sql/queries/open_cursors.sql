-- open_cursors: puts the cursors of the tally there, on a database that has none.
insert into kairos.tally_cursors (source) values ('jobs'), ('history') on conflict do nothing
