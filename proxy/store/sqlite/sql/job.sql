-- job.sql - bulk work (job.h). The writing connection's.

-- part: job
job_id, project, version, ended_ms, is_stopping, plan, progress;

-- name: JOB_ADD
-- Unless so many of the project go on.
INSERT INTO job ({job})
SELECT :job_id, :project, 1, 0, 0, :plan, :progress
WHERE (SELECT count(*) FROM job INDEXED BY job_open WHERE project = :project AND ended_ms = 0) < {HL_JOBS_OPEN_MAX}
RETURNING 1;

-- name: JOB_KEEP
UPDATE job SET version = version + 1, ended_ms = :ended_ms, progress = :progress
WHERE job_id = :job_id AND version = :version AND ended_ms = 0
RETURNING is_stopping;

-- name: JOB_PIECE_PUT
INSERT INTO job_piece (job_id, n, fates, items) VALUES (:job_id, :n, :fates, :items)
ON CONFLICT (job_id, n) DO UPDATE SET fates = excluded.fates, items = excluded.items;

-- name: JOB_FIND
SELECT project, ended_ms, is_stopping FROM job WHERE job_id = :job_id;

-- name: JOB_STOP
UPDATE job SET is_stopping = 1 WHERE job_id = :job_id;

-- name: JOB_OLDEST
-- That has ended.
SELECT job_id, ended_ms FROM job INDEXED BY job_by_end WHERE ended_ms > 0 ORDER BY ended_ms LIMIT 1;

-- name: JOB_PIECE_PURGE
DELETE FROM job_piece WHERE job_id = :job_id
    AND n IN (SELECT n FROM job_piece WHERE job_id = :job_id ORDER BY n LIMIT :max);

-- name: JOB_PURGE
-- Once none of its pieces is left.
DELETE FROM job WHERE job_id = :job_id AND NOT EXISTS (SELECT 1 FROM job_piece WHERE job_id = :job_id);
