-- Which claim of a job ran alone in its worker: only a loss of that one convicts the job (decision 0031).
alter table kairos.gen_durable add column alone_lease bigint;
