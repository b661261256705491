-- job.sql - bulk work (job.h).

-- name: JOB_ADD
-- Unless so many of the project go on. A second time it is there.
WITH added AS (
    INSERT INTO :schema.job (job_id, project, version, ended_ms, is_stopping, lease_until, plan, progress)
    SELECT :job_id::uuid, :project::text, 1, 0, false, '-infinity', :plan::bytea, :progress::bytea
    WHERE (SELECT count(*) FROM :schema.job WHERE project = :project::text AND ended_ms = 0) < {HL_JOBS_OPEN_MAX}
    ON CONFLICT (job_id) DO NOTHING
    RETURNING job_id),
{audited((SELECT -1::bigint AS n FROM added))}
SELECT 1,
    CASE WHEN EXISTS (SELECT FROM added) OR EXISTS (SELECT FROM :schema.job WHERE job_id = :job_id::uuid)
        THEN {pg_code.done} ELSE {pg_code.busy} END;

-- name: JOB_KEEP
-- Who sends it a second time, for want of an answer, finds another version: that one takes the job anew.
WITH kept AS (
    UPDATE :schema.job SET version = version + 1, ended_ms = :ended_ms::bigint, progress = :progress::bytea,
        lease_until = CASE WHEN :gives_back::bigint = 1 THEN now() ELSE now() + :lease_ms::bigint * interval '1 ms' END
    WHERE job_id = :job_id::uuid AND version = :version::bigint AND ended_ms = 0
        AND (:takes::bigint = 0 OR lease_until <= now())
    RETURNING job_id, is_stopping),
written AS (
    INSERT INTO :schema.job_piece (job_id, n, fates, items)
    SELECT k.job_id, p.n, p.fates, p.items
    FROM kept k, unnest(:n::bigint[], :fates::bigint[], :items::bytea[]) AS p(n, fates, items)
    ON CONFLICT (job_id, n) DO UPDATE SET fates = excluded.fates, items = excluded.items),
{audited((SELECT :count::bigint AS n FROM kept))}
SELECT 1, CASE WHEN EXISTS (SELECT FROM kept) THEN {pg_code.done} ELSE {pg_code.stale} END,
    (SELECT is_stopping FROM kept);

-- name: JOB_STOP
-- Of any project: ''.
WITH was AS (
    SELECT job_id, ended_ms, is_stopping FROM :schema.job
    WHERE job_id = :job_id::uuid AND (:project::text = '' OR project = :project::text)),
stopped AS (
    UPDATE :schema.job j SET is_stopping = true FROM was w
    WHERE j.job_id = w.job_id AND j.ended_ms = 0 AND NOT j.is_stopping
    RETURNING j.job_id),
{audited((SELECT -1::bigint AS n FROM stopped))}
SELECT 1,
    CASE WHEN NOT EXISTS (SELECT FROM was) THEN {pg_code.not_found}
        WHEN (SELECT ended_ms FROM was) > 0 THEN {pg_code.conflict} ELSE {pg_code.done} END,
    NOT EXISTS (SELECT FROM stopped);
