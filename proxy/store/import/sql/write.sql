-- write.sql - what `hookline store import` writes to a schema: rows in batches, an array for each column. By PostgreSQL.
-- What is there already stays: what was taken over is never looked at again.

-- notes and keys ------------------------------------------------------------------------------------------------------

-- name: META_GET
SELECT v FROM :schema.meta WHERE k = :name::text;

-- name: META_PUT
INSERT INTO :schema.meta (k, v) VALUES (:name::text, :value::bytea) ON CONFLICT (k) DO UPDATE SET v = excluded.v;

-- name: META_ADD
INSERT INTO :schema.meta (k, v) VALUES (:name::text, :value::bytea) ON CONFLICT (k) DO NOTHING;

-- rows that need nothing else: how many are new -----------------------------------------------------------------------

-- name: ACCOUNTS
WITH added AS (
    INSERT INTO :schema.account (account_id, project, name, role, created_ms, expires_ms, revoked_ms, last_used_ms,
        {limits})
    SELECT * FROM unnest(:account_id::uuid[], :project::text[], :name::bytea[], :role::bigint[], :created_ms::bigint[],
        :expires_ms::bigint[], :revoked_ms::bigint[], :last_used_ms::bigint[], :max_running::bigint[],
        :max_queued::bigint[], :rate_count::bigint[], :rate_window_s::bigint[], :max_priority::bigint[],
        :limits_revision::bigint[])
    ON CONFLICT DO NOTHING
    RETURNING account_id, revoked_ms),
told AS (
    INSERT INTO :schema.event (kind, subject)
    SELECT CASE revoked_ms WHEN 0 THEN {pg_event.added} ELSE {pg_event.revoked} END, account_id FROM added)
SELECT count(*) FROM added;

-- name: AUDIT
WITH added AS (
    INSERT INTO :schema.audit (audit_id, project, action, count, told)
    SELECT * FROM unnest(:audit_id::uuid[], :project::text[], :action::bigint[], :count::bigint[], :told::bytea[])
    ON CONFLICT DO NOTHING RETURNING audit_id)
SELECT count(*) FROM added;

-- name: JOB_PIECES
WITH added AS (
    INSERT INTO :schema.job_piece (job_id, n, fates, items)
    SELECT * FROM unnest(:job_id::uuid[], :n::bigint[], :fates::bigint[], :items::bytea[])
    ON CONFLICT DO NOTHING RETURNING job_id)
SELECT count(*) FROM added;

-- name: JOBS
WITH added AS (
    INSERT INTO :schema.job (job_id, project, version, ended_ms, is_stopping, plan, progress, lease_until)
    SELECT job_id, project, version, ended_ms, is_stopping <> 0, plan, progress, '-infinity'
    FROM unnest(:job_id::uuid[], :project::text[], :version::bigint[], :ended_ms::bigint[], :is_stopping::bigint[],
        :plan::bytea[], :progress::bytea[]) AS j(job_id, project, version, ended_ms, is_stopping, plan, progress)
    ON CONFLICT DO NOTHING RETURNING job_id)
SELECT count(*) FROM added;

-- name: KEYS
WITH added AS (
    INSERT INTO :schema.idem (project, app, subject, key, run_id, fingerprint, expires_ms)
    SELECT * FROM unnest(:project::text[], :app::text[], :subject::bytea[], :key::bytea[],
        :run_id::uuid[], :fingerprint::bytea[], :expires_ms::bigint[])
    ON CONFLICT DO NOTHING RETURNING run_id)
SELECT count(*) FROM added;

-- name: MINUTES
WITH added AS (
    INSERT INTO :schema.tally (project, app, minute, counts, node_id)
    SELECT project, app, minute, counts::bigint[], node_id FROM unnest(:project::text[],
        :app::text[], :minute::bigint[], :counts::text[], :counter::uuid[])
        AS u(project, app, minute, counts, node_id)
    ON CONFLICT DO NOTHING RETURNING minute)
SELECT count(*) FROM added;

-- runs, with their requests, as long as they wait, and with their ends ------------------------------------------------

-- name: RUNS
WITH input AS MATERIALIZED (
    SELECT * FROM unnest({moved_run_arrays}, :state::bigint[], :head::bytea[], :url::bytea[], :secret::bytea[],
        :lane::bigint[], :request_where::bigint[], :request_size::bigint[], :request_sha256::bytea[],
        :request_file::uuid[], :request_bytes::bytea[], {outcome_arrays}, :body_where::bigint[], :body_size::bigint[],
        :body_sha256::bytea[], :body_file::uuid[], :body_bytes::bytea[], :delivery_id::uuid[],
        :is_interrupted::bigint[], :log::bytea[], :keeps::bigint[])
    AS t({moved_run_columns}, state, head, url, secret,
        lane, request_where, request_size, request_sha256,
        request_file, request_bytes, {outcome_columns}, body_where, body_size,
        body_sha256, body_file, body_bytes, delivery_id,
        is_interrupted, log, keeps)),
runs AS (
    INSERT INTO :schema.run (run_id, project, app, state, is_async, has_webhook, {run_columns},
        started_ms, attempt, epoch, head, url, secret, traceparent, lane,
        request_where, request_size, request_sha256, request_file, request_bytes, {outcome_columns}, body_where,
        body_size, body_sha256, body_file, body_bytes, attempt_log, log, keeps)
    SELECT run_id, project, app, state, is_async = 1, url IS NOT NULL, {run_columns},
        nullif(started_ms, 0), attempt, epoch, head, url, secret, traceparent, lane,
        request_where, request_size, request_sha256, request_file, request_bytes, nullif(finished_ms, 0),
        reason, http_status, content_type, content_encoding, encoding, escaped_size, error,
        gate_us, connect_us, first_byte_us, body_where,
        body_size, body_sha256, body_file, body_bytes, nullif(attempt_log, ''), log, keeps
    FROM input ON CONFLICT (run_id) DO NOTHING
    RETURNING run_id),
tagged AS (
    {tag_rows(input)}),
fresh AS (
    SELECT i.* FROM input i JOIN runs r ON r.run_id = i.run_id),
tickets AS (
    INSERT INTO :schema.ticket (run_id, due_at, epoch, attempt, is_async,
        timeout_ms, start_by, class, subject, turn, max_attempts, lane)
    SELECT run_id, least(now(), to_timestamp(created_ms / 1000.0)), epoch, attempt, true,
        nullif(timeout_ms, 0), to_timestamp(nullif(start_by_ms, 0) / 1000.0),
        priority, turn_subject, turn, nullif(max_attempts, 0), lane
    FROM fresh WHERE state = {run_state.queued}),
forwarded AS (
    INSERT INTO :schema.delivery (delivery_id, run_id, project, app, run_state, lane, max_attempts, created_ms)
    SELECT delivery_id, run_id, project, app, state, lane, 0, finished_ms FROM fresh WHERE delivery_id IS NOT NULL),
forwarding AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at)
    SELECT delivery_id, lane, now() FROM fresh WHERE delivery_id IS NOT NULL)
SELECT count(*), count(*) FILTER (WHERE state = {run_state.queued}), coalesce(sum(is_interrupted), 0)::bigint,
    count(delivery_id)
FROM fresh;

-- name: RUNS_KNOWN
SELECT run_id FROM :schema.run WHERE run_id = ANY (:run_id::uuid[]);

-- name: BODY_PUT
INSERT INTO :schema.body (body_id, seq, bytes) VALUES (:body_id::uuid, :seq::bigint, :bytes::bytea)
ON CONFLICT DO NOTHING;

-- deliveries, with their attempts -------------------------------------------------------------------------------------

-- name: DELIVERIES
-- A URL that nobody can open leaves nothing to wait for. Lanes are named anew.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest({moved_delivery_arrays}, :url::bytea[], :secret::bytea[], :lane::bigint[])
    AS t({moved_delivery_columns}, url, secret, lane)),
tries AS MATERIALIZED (
    SELECT * FROM unnest(:try_delivery_id::uuid[], :try_round::bigint[], :try_n::bigint[],
        :started_ms::bigint[], :ended_ms::bigint[], :verdict::bigint[], :http_status::bigint[], :error::bytea[],
        :name_us::bigint[], :connect_us::bigint[], :tls_us::bigint[], :first_byte_us::bigint[], :address::bytea[],
        :content_type::bytea[], :body::bytea[], :sent_size::bigint[], :retry_after_s::bigint[])
    AS t(delivery_id, round, n,
        started_ms, ended_ms, verdict, http_status, error,
        name_us, connect_us, tls_us, first_byte_us, address,
        content_type, body, sent_size, retry_after_s)),
added AS (
    INSERT INTO :schema.delivery (delivery_id, run_id, project, app, run_state, lane, url, secret,
        state,
        round, n, max_attempts, created_ms,
        done_ms)
    SELECT i.delivery_id, i.run_id, i.project, i.app, i.run_state, coalesce(i.lane, r.lane, 0), i.url, i.secret,
        CASE WHEN coalesce(i.url, r.url) IS NULL AND i.state = {delivery_state.pending} THEN {delivery_state.dead} ELSE i.state END,
        i.round, i.n, i.max_attempts, i.created_ms,
        CASE WHEN coalesce(i.url, r.url) IS NULL AND i.state = {delivery_state.pending} THEN i.created_ms ELSE nullif(i.done_ms, 0) END
    FROM input i
    JOIN :schema.run r ON r.run_id = i.run_id
    ON CONFLICT (delivery_id) DO NOTHING
    RETURNING delivery_id, lane, state),
waits AS (
    SELECT a.delivery_id, a.lane, i.failing_ms, greatest(now(),{at(i.due_ms)}) AS due_at
    FROM added a JOIN input i ON i.delivery_id = a.delivery_id
    WHERE a.state = {delivery_state.pending}),
due AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at, is_waiting)
    SELECT delivery_id, lane, due_at, due_at > now() FROM waits),
fails AS (
    INSERT INTO :schema.failing (lane, since_ms) SELECT lane, min(failing_ms) FROM waits
    WHERE failing_ms > 0 GROUP BY lane ORDER BY lane ON CONFLICT DO NOTHING),
tried AS (
    INSERT INTO :schema.attempt (delivery_id, round, n, started_ms, ended_ms, verdict,
        http_status, error, name_us, connect_us, tls_us, first_byte_us, address, content_type, body, sent_size,
        retry_after_s)
    SELECT t.delivery_id, t.round, t.n, t.started_ms, nullif(t.ended_ms, 0), t.verdict,
        t.http_status, t.error, t.name_us, t.connect_us, t.tls_us, t.first_byte_us, t.address, t.content_type, t.body,
        nullif(t.sent_size, 0), nullif(t.retry_after_s, 0)
    FROM tries t JOIN added a ON a.delivery_id = t.delivery_id
    ON CONFLICT DO NOTHING)
SELECT count(*), count(*) FILTER (WHERE state = {delivery_state.pending}),
    count(*) FILTER (WHERE state = {delivery_state.dead})
FROM added;
