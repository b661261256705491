-- delivery.sql - webhooks: where they go, deliveries, their attempts, destinations that fail. The writing connection's.
--
-- A delivery that is pending is leased, or waits: for a place at its destination (no due_ms), or until then.

-- name: WEBHOOK_LANE
SELECT webhook_lane FROM run WHERE run_id = :run_id AND webhook_url IS NOT NULL;

-- name: WEBHOOK_EXPECTED_LANES
-- At start: of the runs that have not ended.
SELECT webhook_lane, count(*) FROM ticket JOIN run ON run.run_id = ticket.run_id
WHERE webhook_url IS NOT NULL GROUP BY webhook_lane;

-- deliveries ----------------------------------------------------------------------------------------------------------

-- part: waits
state = {delivery_state.pending} AND is_leased = 0 AND due_ms IS NOT NULL;

-- part: url
-- Where a delivery goes: it may be elsewhere than its run's. Both are sealed as the run's are.
coalesce(delivery.url, run.webhook_url);

-- part: secret
CASE WHEN delivery.url IS NULL THEN run.webhook_secret ELSE delivery.secret END;

-- part: leased(from)
-- What a delivery is sent from, and whether all of it but a URL is there and its next attempt is not.
SELECT delivery.delivery_id, delivery.run_id,
    app.name IS NOT NULL AND result.number IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.delivery_id = delivery.delivery_id
            AND attempt.round = delivery.round AND attempt.n = delivery.n + 1),
    delivery.lane, delivery.round, delivery.n, delivery.max_attempts, run.is_async, app.project, app.name,
    {url}, {secret}, run.traceparent, run.tags, result.state, {result}
FROM {from}
LEFT JOIN run ON run.run_id = delivery.run_id
LEFT JOIN app ON app.app_id = run.app_id
LEFT JOIN result ON result.number = run.number;

-- name: DELIVERY_ADD
-- rows: {HL_SQL_MANY}
-- Leased, with its first attempt, or not.
INSERT OR FAIL INTO delivery (delivery_id, run_id, app_id, lane, state, round, n, max_attempts, is_leased, created_ms,
    attempt_ms)
VALUES (:delivery_id, :run_id, :app_id, :lane, {delivery_state.pending}, 1, :n, :max_attempts, :is_leased, :created_ms,
    :attempt_ms);

-- name: DELIVERY_ADD_ELSEWHERE
-- What another delivery is sent from goes to a URL of its own.
INSERT INTO delivery (delivery_id, run_id, app_id, lane, state, round, n, max_attempts, is_leased, created_ms, url, secret)
SELECT :delivery_id, run_id, app_id, :lane, {delivery_state.pending}, 1, 0, :max_attempts, 0, :now_ms, :url, :secret
FROM delivery WHERE delivery_id = :from AND run_id = :run_id;

-- name: DELIVERY_FIND
SELECT app.project, lane, state, round, n, max_attempts, is_leased, due_ms FROM delivery
LEFT JOIN app ON app.app_id = delivery.app_id
WHERE delivery_id = :delivery_id;

-- name: DELIVERY_READ
{leased(delivery)}
WHERE delivery.delivery_id = :delivery_id;

-- name: DELIVERY_NEXT
-- The first that waits for a place there.
{leased(delivery INDEXED BY delivery_due)}
WHERE delivery.state = {delivery_state.pending} AND delivery.is_leased = 0 AND delivery.due_ms IS NULL
    AND delivery.lane = :lane
ORDER BY delivery.delivery_id LIMIT 1;

-- name: DELIVERY_LEASE
-- Its first attempt begins.
UPDATE delivery SET is_leased = 1, n = n + 1, max_attempts = :max_attempts, attempt_ms = :now_ms
WHERE delivery_id = :delivery_id;

-- name: DELIVERY_ATTEMPT
-- A further one begins.
UPDATE delivery SET n = :n, due_ms = NULL, attempt_ms = :now_ms WHERE delivery_id = :delivery_id;

-- name: DELIVERY_UNCOUNT
-- The one that had begun, if it has not ended.
UPDATE delivery SET n = n - 1, due_ms = NULL
WHERE delivery_id = :delivery_id AND NOT EXISTS (SELECT 1 FROM attempt
    WHERE attempt.delivery_id = delivery.delivery_id AND attempt.round = delivery.round AND attempt.n = delivery.n);

-- name: DELIVERY_UNLEASE
UPDATE delivery SET is_leased = 0 WHERE delivery_id = :delivery_id;

-- name: DELIVERY_WAIT
UPDATE delivery SET is_leased = :is_leased, due_ms = :due_ms WHERE delivery_id = :delivery_id;

-- name: DELIVERY_RECALL
-- What is due waits for a place.
UPDATE delivery SET due_ms = NULL WHERE delivery_id IN (
    SELECT delivery_id FROM delivery INDEXED BY delivery_waiting
    WHERE {waits} AND due_ms <= :now_ms ORDER BY due_ms LIMIT :max)
RETURNING lane;

-- name: DELIVERY_NEXT_DUE
SELECT due_ms FROM delivery INDEXED BY delivery_waiting WHERE {waits} ORDER BY due_ms LIMIT 1;

-- name: DELIVERY_WAITING_LANES
SELECT lane, count(*) FROM delivery INDEXED BY delivery_waiting WHERE {waits} GROUP BY lane;

-- name: DELIVERY_LANES
SELECT lane, count(*) FROM delivery INDEXED BY delivery_due
WHERE state = {delivery_state.pending} AND is_leased = 0 AND due_ms IS NULL GROUP BY lane;

-- name: DELIVERY_END
UPDATE delivery SET is_leased = 0, due_ms = NULL, state = :state, done_ms = :now_ms
WHERE delivery_id = :delivery_id;

-- name: DELIVERY_RENEW
-- Until it ends, done_ms says when it was redelivered.
UPDATE delivery SET state = {delivery_state.pending}, round = round + 1, n = 0, max_attempts = :max_attempts,
    is_leased = 0, due_ms = NULL, done_ms = :now_ms
WHERE delivery_id = :delivery_id;

-- name: DELIVERY_OF
SELECT 1 FROM delivery WHERE run_id = :run_id AND state = :state;

-- name: DELIVERY_LAST
-- Whether one of the run's is in that state, and when the last one ended.
SELECT coalesce(max(state = :state), 0), coalesce(max(done_ms), 0) FROM delivery WHERE run_id = :run_id;

-- name: DELIVERY_ENDED
-- The next one in that state of the project's apps, in the order of app and id.
SELECT app.app_id, delivery.delivery_id, delivery.lane
FROM app NOT INDEXED CROSS JOIN delivery ON delivery.app_id = app.app_id
WHERE app.project = :project AND app.app_id >= :app_id AND delivery.state = :state
    AND delivery.delivery_id > (CASE app.app_id WHEN :app_id THEN :after ELSE x'' END)
    AND delivery.delivery_id >= :from
LIMIT 1;

-- name: DELIVERY_ORPHANED
-- At start: the next one that was leased when the process ended, in the order of app and id. An app by its deliveries:
-- its own row may be missing. -9e999 comes before all ids, whatever their type.
WITH RECURSIVE part(id) AS (
    SELECT (SELECT min(app_id) FROM delivery WHERE app_id >= :app_id)
    UNION ALL
    SELECT (SELECT min(app_id) FROM delivery WHERE app_id > part.id) FROM part WHERE part.id IS NOT NULL)
SELECT part.id, delivery.delivery_id, delivery.round, delivery.n, delivery.max_attempts
FROM part CROSS JOIN delivery ON delivery.app_id = part.id
WHERE delivery.state = {delivery_state.pending} AND delivery.is_leased = 1
    AND delivery.delivery_id > (CASE part.id WHEN :app_id THEN :after ELSE -9e999 END)
LIMIT 1;

-- name: DELIVERY_RENAME
-- Those without an id that can be read are dead under their runs'.
UPDATE delivery SET delivery_id = run_id, is_leased = 0, state = {delivery_state.dead}, done_ms = :now_ms
WHERE state = {delivery_state.pending} AND is_leased = :is_leased AND (:is_leased = 1 OR due_ms IS NULL)
    AND (typeof(delivery_id) <> 'blob' OR length(delivery_id) <> 16)
RETURNING lane, run_id;

-- name: DELIVERY_OLDEST
SELECT min(coalesce(done_ms, created_ms)) FROM delivery WHERE state = {delivery_state.pending};

-- attempts ------------------------------------------------------------------------------------------------------------

-- name: ATTEMPT_END
-- It has a row from then on: before, its delivery says that it is under way (the view every_attempt).
INSERT INTO attempt (delivery_id, round, n, started_ms, ended_ms, verdict, http_status, error, report)
VALUES (:delivery_id, :round, :n, :started_ms, :ended_ms, :verdict, :http_status, :error, :report)
ON CONFLICT DO NOTHING;

-- name: ATTEMPT_LOSE
INSERT INTO attempt (delivery_id, round, n, started_ms, ended_ms, verdict)
SELECT delivery_id, round, n, coalesce(attempt_ms, :now_ms), :now_ms, {attempt_verdict.unknown}
FROM delivery WHERE delivery_id = :delivery_id
ON CONFLICT DO NOTHING;

-- name: ATTEMPT_DROP_NAMELESS
DELETE FROM attempt WHERE typeof(delivery_id) <> 'blob' OR length(delivery_id) <> 16;

-- destinations that fail ----------------------------------------------------------------------------------------------

-- name: FAILING_ADD
INSERT INTO failing (lane, since_ms) VALUES (:lane, :since_ms)
ON CONFLICT (lane) DO UPDATE SET since_ms = excluded.since_ms;

-- name: FAILING_DROP
DELETE FROM failing WHERE lane = :lane;

-- name: FAILING_EACH
SELECT lane, since_ms FROM failing;

-- name: FAILING_TRIM
-- At start: where nothing is to be sent nobody knows what a destination would do.
DELETE FROM failing WHERE since_ms < :before_ms AND NOT EXISTS (
    SELECT 1 FROM app NOT INDEXED
    CROSS JOIN delivery INDEXED BY delivery_by_lane ON delivery.app_id = app.app_id
    WHERE delivery.lane = failing.lane AND delivery.state = {delivery_state.pending});
