-- run.sql - runs: apps, keys, the queue, beginnings and ends. The writing connection's.
--
-- Run, ticket and result of a run share a number (schema.c). A run has begun or not; how it ended is its result's to say.
-- Rows that many operations of a transaction add go in several at a time: for a row alone, half of the work is what a
-- statement costs. OR FAIL keeps no journal for undoing a part of them: who fails rolls the whole transaction back.

-- part: body
body_where, body_size, body_sha256, body_file, body_bytes;

-- part: body_values
:body_where, :body_size, :body_sha256, :body_file, :body_bytes;

-- part: result_head
{outcome_columns_of(result)}, result.body_where, result.body_size, result.body_sha256, result.body_file;

-- part: result
{result_head}, result.body_bytes;

-- apps --------------------------------------------------------------------------------------------------------------

-- name: APP_FIND
SELECT app_id FROM app WHERE project = :project AND name = :app;

-- name: APP_NAMES
SELECT project, name FROM app WHERE app_id = :app_id;

-- name: APP_ADD
INSERT INTO app (project, name) VALUES (:project, :app) RETURNING app_id;

-- name: APP_AFTER
-- The next one, and whether anything names it.
SELECT app_id,
    EXISTS (SELECT 1 FROM run WHERE run.app_id = app.app_id)
        OR EXISTS (SELECT 1 FROM idem WHERE idem.app_id = app.app_id)
        OR EXISTS (SELECT 1 FROM tally WHERE tally.app_id = app.app_id)
FROM app WHERE app_id > :after ORDER BY app_id LIMIT 1;

-- name: APP_DROP
DELETE FROM app WHERE app_id = :app_id;

-- idempotency keys ----------------------------------------------------------------------------------------------------

-- name: IDEM_FIND
SELECT run_id, fingerprint, expires_ms FROM idem
WHERE app_id = :app_id AND subject = :subject AND key = :key;

-- name: IDEM_PUT
INSERT OR REPLACE INTO idem (app_id, subject, key, run_id, fingerprint, expires_ms)
VALUES (:app_id, :subject, :key, :run_id, :fingerprint, :expires_ms);

-- name: IDEM_PURGE
DELETE FROM idem WHERE expires_ms <= (
    SELECT max(expires_ms) FROM (
        SELECT expires_ms FROM idem WHERE expires_ms <= :until_ms ORDER BY expires_ms LIMIT :max));

-- name: IDEM_OLDEST
SELECT expires_ms FROM idem ORDER BY expires_ms LIMIT 1;

-- name: IDEM_SHED
-- Of the oldest those whose runs are gone.
DELETE FROM idem WHERE (app_id, subject, key) IN (
    SELECT app_id, subject, key FROM (SELECT * FROM idem ORDER BY expires_ms LIMIT :max) AS old
    WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.run_id = old.run_id));

-- runs ----------------------------------------------------------------------------------------------------------------

-- name: RUN_ADD
-- rows: {HL_SQL_MANY}
INSERT OR FAIL INTO run (run_id, app_id, has_begun, is_async, has_webhook, started_ms, attempt, epoch, number,
    request_size, turn, turn_subject, max_attempts, {run_columns},
    webhook_lane, webhook_url, webhook_secret, traceparent)
VALUES (:run_id, :app_id, :has_begun, :is_async, :has_webhook, :started_ms, :has_begun, :has_begun, :number,
    :request_size, :turn, :subject, :max_attempts, {run_values}, :lane, :url, :secret, :traceparent);

-- name: RUN_FIND
SELECT run.app_id, coalesce(result.state, run.has_begun), run.epoch, run.is_async, run.has_webhook, run.number,
    run.is_cancel_wished, run.priority, run.turn_subject, run.turn,
    ticket.number IS NOT NULL, ticket.body_file, ticket.body_size, ticket.head IS NOT NULL
FROM run
LEFT JOIN ticket ON ticket.number = run.number
LEFT JOIN result ON result.number = run.number
WHERE run.run_id = :run_id;

-- name: RUN_NEWEST
SELECT created_ms FROM run ORDER BY run_id DESC LIMIT 1;

-- name: RUN_CLAIM
UPDATE run SET has_begun = 1, epoch = epoch + 1, attempt = attempt + 1, started_ms = :now_ms
WHERE run_id = :run_id;

-- name: RUN_WISH_CANCEL
UPDATE run SET is_cancel_wished = 1 WHERE run_id = :run_id;

-- name: RUN_REQUEUE
UPDATE run SET has_begun = 0, epoch = epoch + 1, started_ms = NULL WHERE run_id = :run_id;

-- name: RUN_RELEASE
-- As if it had not been claimed.
UPDATE run SET has_begun = 0, epoch = epoch + 1, attempt = attempt - 1, started_ms = NULL WHERE run_id = :run_id;

-- name: RUN_NOTE
UPDATE run SET attempt_log = coalesce(attempt_log, '') || :entry WHERE run_id = :run_id;

-- name: RUN_DROP
DELETE FROM run WHERE run_id = :run_id RETURNING app_id, tags;

-- name: TAG_ADD
-- Of a run: its tag, and the name of that.
INSERT OR IGNORE INTO tag (app_id, tag, run_id) VALUES (:app_id, :tag, :run_id), (:app_id, :name, :run_id);

-- name: TAG_DROP
DELETE FROM tag WHERE app_id = :app_id AND tag IN (:tag, :name) AND run_id = :run_id;

-- name: RUN_ORPHANED
-- At start: the next one that had begun when the process ended, and tickets without a run.
SELECT ticket.number, ticket.run_id, run.number IS NOT NULL, run.app_id, run.is_async, run.has_webhook, run.attempt,
    run.is_cancel_wished, run.priority, run.turn_subject, run.turn, run.started_ms, run.max_attempts,
    body_file, body_size, head IS NOT NULL, run.attempt_log
FROM ticket
LEFT JOIN run ON run.run_id = ticket.run_id
WHERE ticket.number > :after AND coalesce(run.has_begun, 1) = 1
ORDER BY ticket.number LIMIT 1;

-- name: RUN_LOST_ANY
-- At start: each run has a ticket or a result.
SELECT (SELECT count(*) FROM run) <> (SELECT count(*) FROM ticket) + (SELECT count(*) FROM result);

-- name: RUN_LOST
-- The next one that has neither, nor a delivery. Asked only after RUN_LOST_ANY has said that there is one.
SELECT run_id, app_id, is_async, has_webhook, is_cancel_wished FROM run
WHERE run_id > :after
    AND NOT EXISTS (SELECT 1 FROM ticket WHERE number = run.number)
    AND NOT EXISTS (SELECT 1 FROM result WHERE number = run.number)
    AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.run_id = run.run_id)
ORDER BY run_id LIMIT 1;

-- name: RUN_RENUMBER
UPDATE run SET number = :number WHERE run_id = :run_id;

-- name: RUN_LOG_ADD
INSERT INTO run_log (run_id, lines) VALUES (:run_id, :lines);

-- tickets: what waits or runs -----------------------------------------------------------------------------------------

-- name: TICKET_ADD
-- rows: {HL_SQL_MANY}
INSERT OR FAIL INTO ticket (number, run_id, is_async, head, timeout_ms, start_by_ms, {body})
VALUES (:number, :run_id, :is_async, :head, :timeout_ms, :start_by_ms, {body_values});

-- name: TICKET_FILL
UPDATE ticket SET head = :head, ({body}) = ({body_values}) WHERE number = :number;

-- name: TICKET_OLDEST
-- The first that is queued, from a number on below which none is.
SELECT run.created_ms, ticket.number FROM ticket
JOIN run ON run.run_id = ticket.run_id
WHERE ticket.number >= :from AND ticket.is_async = 1 AND run.has_begun = 0
ORDER BY ticket.number LIMIT 1;

-- name: TICKET_LATE
SELECT number, run_id, start_by_ms FROM ticket WHERE start_by_ms IS NOT NULL ORDER BY start_by_ms LIMIT 1;

-- name: TICKET_START_BY
UPDATE ticket SET start_by_ms = :start_by_ms WHERE number = :number;

-- name: TICKETS_END
-- Of numbers that follow each other.
DELETE FROM ticket WHERE number BETWEEN :first AND :last;

-- turns: the queue ----------------------------------------------------------------------------------------------------

-- name: TURNS_FIRST
SELECT class, subject, turn, number FROM turn WHERE class = :class ORDER BY turn, number LIMIT :max;

-- name: TURNS_END
-- Of the first of a class, up to one.
DELETE FROM turn WHERE class = :class AND (turn, number) <= (:turn, :number);

-- name: TURN_OTHER
-- The first of those whose subjects are not in a list, a JSON array.
SELECT class, subject, turn, number FROM turn
WHERE class = :class AND subject NOT IN (SELECT value FROM json_each(:blocked))
ORDER BY turn, number LIMIT 1;

-- name: TICKET_CLAIM
-- A queued run, with all that its worker is told.
SELECT run.has_begun, ticket.run_id, run.number IS NOT NULL,
    app.name IS NOT NULL, run.app_id, run.attempt_log, ticket.start_by_ms, run.epoch, run.attempt, run.has_webhook,
    run.created_ms, ticket.timeout_ms, run.max_attempts, 0, {terms_columns_of(run)}, app.project, app.name, ticket.head, {body}
FROM ticket
LEFT JOIN run ON run.run_id = ticket.run_id
LEFT JOIN app ON app.app_id = run.app_id
WHERE ticket.number = :number;

-- name: TURN_ADD
-- rows: {HL_SQL_MANY}
INSERT OR FAIL INTO turn (class, subject, turn, number) VALUES (:class, :subject, :turn, :number);

-- name: TURN_END
DELETE FROM turn WHERE class = :class AND turn = :turn AND number = :number;

-- name: TURN_EACH
SELECT class, subject, turn FROM turn ORDER BY class, turn, number;

-- name: TURN_LOST
-- At start: what is queued and has no turn.
INSERT OR IGNORE INTO turn (class, subject, turn, number)
SELECT run.priority, run.turn_subject, run.turn, ticket.number FROM ticket
JOIN run ON run.run_id = ticket.run_id
WHERE ticket.is_async = 1 AND run.has_begun = 0
    AND NOT EXISTS (SELECT 1 FROM retry WHERE retry.number = ticket.number);

-- name: TURN_STALE
-- At start: turns of what is not queued.
DELETE FROM turn WHERE NOT EXISTS (
    SELECT 1 FROM ticket JOIN run ON run.run_id = ticket.run_id
    WHERE ticket.number = turn.number AND ticket.is_async = 1 AND run.has_begun = 0
        AND run.priority = turn.class AND run.turn = turn.turn);

-- name: QUEUE_TOTALS
-- At start: the highest number that was given out, and how much waits. A run that was lost may have had a higher one.
SELECT max((SELECT coalesce(max(number), 0) FROM ticket),
        (SELECT coalesce(max(number), 0) FROM result),
        (SELECT coalesce(max(number), 0) FROM (SELECT number FROM run ORDER BY run_id DESC LIMIT 1000))),
    (SELECT coalesce(sum(is_async), 0) FROM ticket),
    (SELECT count(*) FROM turn) + (SELECT count(*) FROM retry);

-- retries: what waits for its next attempt ----------------------------------------------------------------------------

-- name: RETRY_ADD
INSERT INTO retry (number, due_ms, run_id) VALUES (:number, :due_ms, :run_id);

-- name: RETRY_END
DELETE FROM retry WHERE number = :number RETURNING 1;

-- name: RETRY_DUE
SELECT number, run_id, due_ms FROM retry ORDER BY due_ms LIMIT 1;

-- name: RETRY_EACH
SELECT retry.due_ms, run.priority, run.turn_subject, run.turn FROM retry
LEFT JOIN run ON run.run_id = retry.run_id;

-- results: how runs ended ---------------------------------------------------------------------------------------------

-- name: RESULT_ADD
-- rows: {HL_SQL_MANY}
INSERT OR FAIL INTO result (number, run_id, app_id, is_async, state, {outcome_columns}, is_stream, {body})
VALUES (:number, :run_id, :app_id, :is_async, :state, {outcome_values}, :is_stream, {body_values});

-- name: REQUEST_KEEP
-- Its ticket goes next.
INSERT OR FAIL INTO request (number, run_id, head, {body})
SELECT number, run_id, head, {body} FROM ticket WHERE number = :number;

-- name: REQUEST_DROP
DELETE FROM request WHERE number = :number;
