-- ask.sql - what the REST interface asks: lists, single runs and deliveries, figures. The reading connection's.
--
-- Lists are read part by part, by ids of an index (merge.h), newest first: at most :max below :before, from :from on.

-- part: asked_body
body_where, body_size, body_sha256, body_file, CASE :with_body WHEN 1 THEN body_bytes END;

-- part: in_scope
-- Of the project and the app, where they are named.
(:project = '' OR app.project = :project) AND (:app = '' OR app.name = :app);

-- part: run_deliveries
-- How many of a run's deliveries are in each state, 20 bits for each.
CASE run.has_webhook WHEN 1 THEN (SELECT sum(1 << (20 * state)) FROM delivery WHERE delivery.run_id = run.run_id) END;

-- name: BEGIN
BEGIN;

-- name: END
COMMIT;

-- runs ----------------------------------------------------------------------------------------------------------------

-- name: RUN
SELECT run.run_id, coalesce(result.state, run.has_begun), run.is_async, run.has_webhook, run.attempt,
    run.started_ms, coalesce(run.request_size, -1), run.attempt_log,
    (SELECT due_ms FROM retry WHERE retry.number = run.number), app.project, app.name, {run_columns_of(run)},
    {run_deliveries}, result.number IS NOT NULL, {result_head},
    CASE :with_body WHEN 1 THEN result.body_bytes END
FROM run
JOIN app ON app.app_id = run.app_id
LEFT JOIN result ON result.number = run.number
WHERE run.run_id = :run_id;

-- name: RERUNS
-- The newest runs that repeat one.
SELECT run.run_id, coalesce(result.state, run.has_begun), run.created_ms
FROM run
LEFT JOIN result ON result.number = run.number
WHERE run.rerun_of = :run_id ORDER BY run.run_id DESC LIMIT :max;

-- name: REQUEST
SELECT head, {asked_body} FROM ticket
WHERE head IS NOT NULL AND number = (SELECT number FROM run WHERE run_id = :run_id)
UNION ALL
SELECT head, {asked_body} FROM request
WHERE number = (SELECT number FROM run WHERE run_id = :run_id);

-- name: RUN_NUMBER
SELECT number FROM run WHERE run_id = :run_id;

-- name: WEBHOOK
SELECT webhook_url, webhook_secret FROM run WHERE run_id = :run_id AND webhook_url IS NOT NULL;

-- name: RUN_LOG
SELECT lines FROM run_log WHERE run_id = :run_id;

-- name: WAITING
-- How many of a class wait, up to :max.
SELECT count(*) FROM (SELECT 1 FROM turn WHERE class = :class LIMIT :max);

-- name: BEFORE
-- How many of its class have their turn before a run, up to :max.
SELECT (SELECT count(*) FROM (
        SELECT 1 FROM turn WHERE class = run.priority AND (turn, number) < (run.turn, run.number) LIMIT :max))
FROM run WHERE run_id = :run_id;

-- name: RUN_IDS
SELECT run_id FROM run INDEXED BY run_by_app
WHERE app_id = :app_id AND is_async = :is_async AND run_id < :before AND run_id >= :from
ORDER BY run_id DESC LIMIT :max;

-- name: RUN_IDS_IN_STATE
-- Of those that have ended.
SELECT run_id FROM result INDEXED BY result_by_state
WHERE app_id = :app_id AND state = :state AND is_async = :is_async AND run_id < :before AND run_id >= :from
ORDER BY run_id DESC LIMIT :max;

-- name: RUN_IDS_TAGGED
-- Of those with a tag, or a name of one, whatever their modes and states.
SELECT run_id FROM tag
WHERE app_id = :app_id AND tag = :tag AND run_id < :before AND run_id >= :from
ORDER BY run_id DESC LIMIT :max;

-- name: TAG_COUNT
-- How many runs there are with a tag, or a name of one, up to :max.
SELECT count(*) FROM (
    SELECT 1 FROM app
    CROSS JOIN tag ON tag.app_id = app.app_id AND tag.tag = :tag AND tag.run_id < :before AND tag.run_id >= :from
    WHERE {in_scope} LIMIT :max);

-- name: RUN_SEARCHED
SELECT run.is_async, coalesce(result.state, run.has_begun), coalesce(result.reason, 0),
    coalesce(result.http_status, 0), run.has_webhook, {run_deliveries}, run.path, result.error, run.tags
FROM run LEFT JOIN result ON result.number = run.number
WHERE run.run_id = :run_id;

-- name: QUEUE
-- What waits or runs, newest first, and whether it is queued and in scope.
SELECT ticket.number, ticket.run_id, run.has_begun = 0 AND {in_scope}
FROM ticket
CROSS JOIN run ON run.run_id = ticket.run_id
CROSS JOIN app ON app.app_id = run.app_id
WHERE ticket.number < :before AND ticket.is_async = 1
ORDER BY ticket.number DESC;

-- apps ----------------------------------------------------------------------------------------------------------------

-- name: APP
SELECT app_id FROM app WHERE project = :project AND name = :app;

-- name: APPS_OF_PROJECT
SELECT app_id FROM app WHERE project = :project;

-- name: APPS
-- Of all projects; :app '': whatever its name.
SELECT app_id FROM app WHERE :app = '' OR name = :app;

-- name: APP_NAMES
SELECT name FROM app
WHERE project = :project AND EXISTS (SELECT 1 FROM run WHERE run.app_id = app.app_id)
ORDER BY name LIMIT :max;

-- name: PROJECT_NAMES
SELECT DISTINCT project FROM app
WHERE EXISTS (SELECT 1 FROM run WHERE run.app_id = app.app_id)
ORDER BY project LIMIT :max;

-- deliveries ----------------------------------------------------------------------------------------------------------

-- part: url
-- Where a delivery goes, as in delivery.sql.
coalesce(delivery.url, run.webhook_url);

-- name: DELIVERY
SELECT delivery.delivery_id, delivery.run_id, delivery.state, result.state, delivery.round, delivery.n,
    delivery.max_attempts, delivery.created_ms,
    CASE WHEN delivery.state <> {delivery_state.pending} THEN delivery.done_ms END,
    CASE delivery.state WHEN {delivery_state.pending} THEN delivery.due_ms END,
    app.project, app.name, {url}, CASE WHEN delivery.url IS NULL THEN run.webhook_secret ELSE delivery.secret END,
    (SELECT since_ms FROM failing WHERE failing.lane = delivery.lane),
    delivery.url IS NOT NULL, run.traceparent
FROM delivery
LEFT JOIN run ON run.run_id = delivery.run_id
LEFT JOIN result ON result.number = run.number
LEFT JOIN app ON app.app_id = delivery.app_id
WHERE delivery.delivery_id = :delivery_id;

-- name: DELIVERY_IDS
SELECT delivery_id FROM delivery INDEXED BY delivery_by_state
WHERE app_id = :app_id AND state = :state AND delivery_id < :before AND delivery_id >= :from
ORDER BY delivery_id DESC LIMIT :max;

-- name: DELIVERY_IDS_OF_LANE
SELECT delivery_id FROM delivery INDEXED BY delivery_by_lane
WHERE app_id = :app_id AND lane = :lane AND state = :state AND delivery_id < :before AND delivery_id >= :from
ORDER BY delivery_id DESC LIMIT :max;

-- name: DELIVERY_IDS_OF_RUN
SELECT delivery_id FROM delivery INDEXED BY delivery_by_run
WHERE run_id = :run_id AND delivery_id < :before AND delivery_id >= :from
ORDER BY delivery_id DESC LIMIT :max;

-- name: LAST_STATUS
SELECT coalesce(http_status, 0) FROM attempt
WHERE delivery_id = :delivery_id AND ended_ms IS NOT NULL
ORDER BY round DESC, n DESC LIMIT 1;

-- name: ATTEMPTS
SELECT round, n, started_ms, ended_ms, coalesce(verdict, {attempt_verdict.running}), http_status, error,
    CASE :with_reports WHEN 1 THEN report END
FROM every_attempt WHERE delivery_id = :delivery_id
ORDER BY round DESC, n DESC LIMIT :max;

-- name: ATTEMPT_COUNT
SELECT count(*) FROM every_attempt WHERE delivery_id = :delivery_id;

-- destinations --------------------------------------------------------------------------------------------------------

-- name: LANE_NEXT
-- The project's next destination; null: the first. -9e999 comes before all lanes.
SELECT lane FROM (
    SELECT (SELECT min(delivery.lane) FROM delivery INDEXED BY delivery_by_lane
        WHERE delivery.app_id = app.app_id AND delivery.lane > coalesce(:after, -9e999)) AS lane
    FROM app WHERE app.project = :project)
WHERE lane IS NOT NULL ORDER BY lane LIMIT 1;

-- name: LANE_URL
SELECT delivery.run_id, {url}
FROM app
CROSS JOIN delivery INDEXED BY delivery_by_lane ON delivery.app_id = app.app_id AND delivery.lane = :lane
JOIN run ON run.run_id = delivery.run_id AND {url} IS NOT NULL
WHERE app.project = :project LIMIT 1;

-- name: LANE_COUNTS
-- How many are pending and dead, since when the oldest waits, since when the destination fails.
SELECT coalesce(sum(state = {delivery_state.pending}), 0), coalesce(sum(state = {delivery_state.dead}), 0),
    min(CASE delivery.state WHEN {delivery_state.pending} THEN coalesce(done_ms, created_ms) END),
    (SELECT since_ms FROM failing WHERE lane = :lane)
FROM app
CROSS JOIN delivery INDEXED BY delivery_by_lane ON delivery.app_id = app.app_id AND delivery.lane = :lane
WHERE app.project = :project AND delivery.state IN ({delivery_state.pending}, {delivery_state.dead});

-- name: LANE_ATTEMPTS
-- That have ended, of its newest :max deliveries.
WITH states(state) AS (VALUES ({delivery_state.pending}), ({delivery_state.ok}), ({delivery_state.dead})),
newest(id) AS (
    SELECT delivery_id FROM app CROSS JOIN states
    CROSS JOIN delivery ON delivery_id IN (
        SELECT delivery_id FROM delivery INDEXED BY delivery_by_lane
        WHERE app_id = app.app_id AND lane = :lane AND state = states.state
        ORDER BY delivery_id DESC LIMIT :max)
    WHERE app.project = :project ORDER BY delivery_id DESC LIMIT :max)
SELECT started_ms, ended_ms, verdict, http_status, error
FROM newest CROSS JOIN attempt ON attempt.delivery_id = newest.id;

-- figures -------------------------------------------------------------------------------------------------------------

-- name: MINUTES
SELECT app.project, app.name, tally.minute, tally.counts
FROM tally INDEXED BY tally_by_minute
CROSS JOIN app ON app.app_id = tally.app_id
WHERE tally.minute >= :from AND tally.minute < :before AND {in_scope}
ORDER BY tally.minute DESC LIMIT :max;

-- name: APP_MINUTES
-- The same of one app: however many others there are, their rows are not read.
SELECT app.project, app.name, tally.minute, tally.counts
FROM app CROSS JOIN tally ON tally.app_id = app.app_id
WHERE tally.minute >= :from AND tally.minute < :before AND {in_scope}
ORDER BY tally.minute DESC LIMIT :max;

-- name: COUNTED_SINCE
SELECT v FROM meta WHERE k = 'counted_ms';

-- name: RUNS_NOW
-- How many of the first :max wait and run, and whether there are more.
SELECT coalesce(sum(run.has_begun = 0), 0), coalesce(sum(run.has_begun), 0),
    (SELECT count(*) FROM (SELECT 1 FROM ticket WHERE is_async = 1 LIMIT :max)) = :max
FROM (SELECT run_id FROM ticket WHERE is_async = 1 LIMIT :max) AS first
CROSS JOIN run ON run.run_id = first.run_id
CROSS JOIN app ON app.app_id = run.app_id
WHERE {in_scope};

-- name: DELIVERIES_NOW
SELECT count(*) FROM (
    SELECT 1 FROM app
    CROSS JOIN delivery INDEXED BY delivery_by_state ON delivery.app_id = app.app_id AND delivery.state = :state
    WHERE {in_scope} LIMIT :max);

-- name: FAILING_LANES
-- Those that have failed longest, with a project that has deliveries there.
SELECT failing.lane, app.project
FROM (SELECT lane, since_ms FROM failing ORDER BY since_ms LIMIT :max) AS failing
CROSS JOIN app ON app.app_id = (
    SELECT app.app_id FROM app
    WHERE (:project = '' OR app.project = :project) AND EXISTS (
        SELECT 1 FROM delivery INDEXED BY delivery_by_lane
        WHERE delivery.app_id = app.app_id AND delivery.lane = failing.lane)
    LIMIT 1)
ORDER BY failing.since_ms;

-- name: FAILURES
-- Newest first, :max at most; whether each is in scope.
SELECT run_id, app_id, reason, error,
    app_id IN (SELECT app_id FROM app WHERE {in_scope})
FROM result INDEXED BY result_failed
WHERE state = {run_state.failure} AND run_id < :before AND run_id >= :from
ORDER BY run_id DESC LIMIT :max;

-- name: APP_OF
SELECT project, name FROM app WHERE app_id = :app_id;

-- accounts ------------------------------------------------------------------------------------------------------------

-- name: ACCOUNTS
SELECT {account} FROM account WHERE account_id < :before ORDER BY account_id DESC LIMIT :max;

-- name: ACCOUNTS_OF_PROJECT
SELECT {account} FROM account INDEXED BY account_by_project
WHERE project = :project AND account_id < :before ORDER BY account_id DESC LIMIT :max;

-- who changed what ----------------------------------------------------------------------------------------------------

-- part: audit_shown
audit_id >= :from AND audit_id < :before AND (:action < 0 OR action = :action) ORDER BY audit_id DESC LIMIT :max;

-- name: AUDIT
SELECT {audit} FROM audit WHERE {audit_shown};

-- name: AUDIT_OF_PROJECT
-- And of what all projects share: each in its order, so that no more than two pages are read.
SELECT {audit} FROM (
    SELECT * FROM (SELECT {audit} FROM audit INDEXED BY audit_by_project WHERE project = :project AND {audit_shown})
    UNION ALL
    SELECT * FROM (SELECT {audit} FROM audit INDEXED BY audit_by_project WHERE project = '' AND {audit_shown}))
ORDER BY audit_id DESC LIMIT :max;

-- name: META
SELECT v FROM meta WHERE k = :name;

-- bulk work ------------------------------------------------------------------------------------------------------------

-- name: JOB
-- Of any project: ''.
SELECT {job} FROM job WHERE job_id = :job_id AND (:project = '' OR project = :project);

-- name: JOBS
SELECT {job} FROM job WHERE job_id < :before ORDER BY job_id DESC LIMIT :max;

-- name: JOBS_OF_PROJECT
SELECT {job} FROM job INDEXED BY job_by_project
WHERE project = :project AND job_id < :before ORDER BY job_id DESC LIMIT :max;

-- name: JOBS_OPEN
-- They are few.
SELECT {job} FROM job INDEXED BY job_open WHERE ended_ms = 0 AND job_id < :before ORDER BY job_id DESC LIMIT :max;

-- name: JOB_PIECES
SELECT n, fates, items FROM job_piece WHERE job_id = :job_id AND n >= :from AND fates & :fates ORDER BY n LIMIT :max;
