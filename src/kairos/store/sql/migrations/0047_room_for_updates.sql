-- Pages of jobs are filled by half, so that the next two versions of a row, claimed and ended, fit beside it
-- (decision 0111).

-- step: leave room on new pages
-- It holds up no reads and no writes, and pages that exist stay as they are.
alter table kairos.gen_durable set (fillfactor = 50);
