-- read.sql - what `hookline store import` reads of a data directory: each table once, in order. By SQLite.

-- name: ACCOUNTS
SELECT {account} FROM account WHERE length(account_id) = 16;

-- name: AUDIT
SELECT {audit} FROM audit WHERE length(audit_id) = 16;

-- name: JOB_PIECES
SELECT job_id, n, fates, items FROM job_piece WHERE length(job_id) = 16;

-- name: JOBS
SELECT {job} FROM job WHERE length(job_id) = 16;

-- name: KEYS
-- Those that have not expired.
SELECT app.project, app.name, idem.subject, idem.key, idem.run_id, idem.fingerprint, idem.expires_ms
FROM idem
JOIN app ON app.app_id = idem.app_id
WHERE idem.expires_ms > :now_ms AND length(idem.run_id) = 16;

-- name: MINUTES
SELECT app.project, app.name, tally.minute, tally.counts FROM tally
JOIN app ON app.app_id = tally.app_id;

-- name: COUNTED_SINCE
SELECT v FROM meta WHERE k = 'counted_ms';

-- name: SPAN
-- The first and the last id that there is.
SELECT min(low), max(high) FROM (
    SELECT min(run_id) AS low, max(run_id) AS high FROM run
    UNION ALL
    SELECT min(delivery_id), max(delivery_id) FROM delivery);

-- name: RUNS
-- With their requests, as long as they wait or are kept, and with their ends.
SELECT run.run_id, app.project, app.name, run.is_async, run.started_ms, run.attempt, run.epoch, ticket.timeout_ms,
    ticket.start_by_ms, run.turn_subject, run.turn, run.max_attempts, run.attempt_log, run.traceparent,
    {run_columns_of(run)}, run.has_begun, run.is_cancel_wished, coalesce(run.request_size, -1),
    ticket.number IS NOT NULL, coalesce(ticket.head, request.head), run.webhook_url, run.webhook_secret,
    coalesce(ticket.body_where, request.body_where), coalesce(ticket.body_size, request.body_size),
    coalesce(ticket.body_sha256, request.body_sha256), coalesce(ticket.body_file, request.body_file),
    coalesce(ticket.body_bytes, request.body_bytes), run_log.lines, result.state, {result}
FROM run
LEFT JOIN app ON app.app_id = run.app_id
LEFT JOIN ticket ON ticket.number = run.number
LEFT JOIN request ON request.number = run.number
LEFT JOIN run_log ON run_log.run_id = run.run_id
LEFT JOIN result ON result.number = run.number
WHERE run.run_id > :after AND length(run.run_id) = 16 ORDER BY run.run_id;

-- name: DELIVERIES
SELECT delivery.delivery_id, delivery.run_id, app.project, app.name, result.state,
    delivery.state, delivery.round, delivery.n, delivery.max_attempts, delivery.created_ms, delivery.done_ms,
    delivery.due_ms, failing.since_ms, delivery.is_leased, delivery.url, delivery.secret
FROM delivery
LEFT JOIN failing ON failing.lane = delivery.lane
JOIN run ON run.run_id = delivery.run_id
JOIN app ON app.app_id = run.app_id
JOIN result ON result.number = run.number
WHERE delivery.delivery_id > :after AND length(delivery.delivery_id) = 16 ORDER BY delivery.delivery_id;

-- name: ATTEMPTS
SELECT round, n, started_ms, ended_ms, verdict, http_status, error, report FROM every_attempt
WHERE delivery_id = :delivery_id ORDER BY round, n;
