-- node.sql - replicas: who is there, beats, the dead.

-- name: NODE_LOOK
-- Which database this is, and when it says that this replica beat last. Events above the last number that was given are
-- in the way of new ones; what they said is read from its tables, as by everybody who comes to another database. No new
-- one is among them: its number was given before it was seen.
WITH dropped AS (
    DELETE FROM :schema.event WHERE event_id > (SELECT {last_event}) RETURNING 1)
SELECT {database}, coalesce((SELECT {ms(beat_at)} FROM :schema.node WHERE node_id = :me::uuid), 0),
    (SELECT count(*) FROM dropped), {now_ms};

-- name: NODE_PAST
-- :me is what this replica was before: it has left, and what it had not ended is whoever's that comes next. It is not
-- waited for.
INSERT INTO :schema.node (node_id, name, version, address, key_check, started_at, beat_at, app_at, expires_at)
VALUES (:me::uuid, :name::text, :version::text, '', :key_check::bytea, now(), 'epoch', 'epoch', '-infinity')
ON CONFLICT (node_id) DO UPDATE SET is_dead = false, beat_at = 'epoch', expires_at = '-infinity';

-- name: NODE_UNHEARD
-- :since_ms since when this is another database: how many of the others were alive before, and have not beaten since.
WITH before AS (
    SELECT max(beat_at) AS last FROM :schema.node WHERE {ms(beat_at)} < :since_ms::bigint)
SELECT count(*) FROM :schema.node n, before b
WHERE n.node_id <> :me::uuid AND {ms(n.beat_at)} < :since_ms::bigint
    AND n.beat_at > greatest(b.last - :ttl_ms::bigint * interval '1 ms', 'epoch');

-- name: NODE_JOIN
-- :key_check the check value of its key.
INSERT INTO :schema.node (node_id, name, version, address, key_check,
    started_at, beat_at, app_at, expires_at, session, role)
VALUES (:me::uuid, :name::text, :version::text, :address::text, :key_check::bytea,
    now(), now(), 'epoch', now() + :ttl_ms::bigint * interval '1 ms', :session::uuid, :role::text)
ON CONFLICT (node_id) DO UPDATE SET session = excluded.session;

-- name: NODE_BEAT
-- :takes_calls 1: my app takes calls, its app_at is its beat_at; 2: it slept and is about to, it is 1 ms less. No row: this replica is dead. Whether it is this session that may claim, whether
-- any claim is this replica's, of a run and of a delivery, and whether NODE_BURY has anything to do.
UPDATE :schema.node n SET beat_at = now(), expires_at = now() + :ttl_ms::bigint * interval '1 ms',
    app_at = CASE :takes_calls::bigint
        WHEN 1 THEN now() WHEN 2 THEN now() - interval '1 ms' ELSE n.app_at END
FROM :schema.node o
WHERE n.node_id = :me::uuid AND o.node_id = n.node_id AND NOT n.is_dead
RETURNING {now_ms}, o.expires_at < now(), {database}, {ms(o.beat_at)}, {ms(n.beat_at)},
    coalesce(n.session = :session::uuid, false), pg_backend_pid(), {was_told},
    EXISTS (SELECT FROM :schema.ticket WHERE node_id = :me::uuid AND is_async),
    EXISTS (SELECT FROM :schema.delivery_ticket WHERE node_id = :me::uuid),
    EXISTS (
        SELECT FROM :schema.node d
        WHERE d.node_id <> :me::uuid AND CASE WHEN d.is_dead
            THEN EXISTS (SELECT FROM :schema.ticket WHERE node_id = d.node_id) ELSE d.expires_at < now() END);

-- name: NODE_LEAVE
-- What it has goes on elsewhere, nobody has to wait for its time to pass. What it could not end is whoever's that comes
-- next: -infinity, it has left.
WITH gone AS (
    DELETE FROM :schema.node
    WHERE node_id = :me::uuid
        AND NOT EXISTS (SELECT FROM :schema.ticket WHERE node_id = :me::uuid)
        AND NOT EXISTS (SELECT FROM :schema.delivery_ticket WHERE node_id = :me::uuid)
    RETURNING 1)
UPDATE :schema.node SET expires_at = '-infinity'
WHERE node_id = :me::uuid AND NOT EXISTS (SELECT FROM gone);

-- name: NODE_BURY
-- :silent_too 0: only who has left. What is noted of a lost attempt is as hl_attempt_entry_write
-- has it. The last column: what NODE_BURY_STREAM has to do.
WITH dead AS MATERIALIZED (
    SELECT node_id FROM :schema.node
    WHERE NOT is_dead AND expires_at < CASE :silent_too::bigint WHEN 0 THEN '0001-01-01' ELSE now() END
        AND node_id <> :me::uuid
    LIMIT 4 FOR UPDATE SKIP LOCKED),
buried AS (
    UPDATE :schema.node n SET is_dead = true, expires_at = greatest(n.expires_at, n.beat_at)
    FROM dead d WHERE n.node_id = d.node_id),
again AS (
    SELECT t.run_id, t.node_id, t.attempt, t.started_ms FROM :schema.ticket t
    JOIN dead d ON d.node_id = t.node_id
    WHERE t.is_async AND NOT t.is_cancel_wished AND t.attempt < least(:run_attempts::bigint, t.max_attempts)),
back AS (
    UPDATE :schema.ticket t SET node_id = NULL, epoch = t.epoch + 1, started_ms = NULL
    FROM again a WHERE t.run_id = a.run_id AND t.node_id = a.node_id
    RETURNING t.run_id),
noted AS (
    UPDATE :schema.run r SET attempt_log = coalesce(r.attempt_log,'') || a.attempt
        ||' '|| coalesce(a.started_ms, 0) ||' '|| {now_ms} ||' 0 {run_reason.interrupted} '||
        a.attempt::bigint * {HL_ATTEMPT_LOST_EVENTS} ||';'
    FROM again a WHERE r.run_id = a.run_id),
begun AS (
    DELETE FROM :schema.stream s USING back b WHERE s.run_id = b.run_id),
long AS MATERIALIZED (
    SELECT s.run_id FROM :schema.stream s
    JOIN :schema.ticket t ON t.run_id = s.run_id AND t.attempt = s.attempt
    JOIN dead d ON d.node_id = t.node_id
    GROUP BY s.run_id HAVING sum(octet_length(s.bytes)) > {HL_BODY_INLINE_MAX}),
gone AS (
    DELETE FROM :schema.ticket t USING dead d
    WHERE t.node_id = d.node_id
        AND t.run_id NOT IN (SELECT run_id FROM again UNION ALL SELECT run_id FROM long)
    RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress, t.is_cancel_wished),
{end_lost},
held AS (
    SELECT y.delivery_id, y.round, y.n, y.n >= y.max_attempts AS is_last FROM :schema.delivery_ticket t
    JOIN dead d ON d.node_id = t.node_id
    JOIN :schema.delivery y ON y.delivery_id = t.delivery_id
    FOR UPDATE OF t),
lost AS (
    UPDATE :schema.attempt a SET ended_ms = {now_ms}, verdict = {attempt_verdict.unknown}
    FROM held h
    WHERE a.delivery_id = h.delivery_id AND a.round = h.round AND a.n = h.n AND a.verdict IS NULL),
letters AS (
    UPDATE :schema.delivery y SET state = {delivery_state.dead}, done_ms = {done_ms(y)}
    FROM held h WHERE y.delivery_id = h.delivery_id AND h.is_last),
over AS (
    DELETE FROM :schema.delivery_ticket t USING held h WHERE t.delivery_id = h.delivery_id AND h.is_last),
freed AS (
    UPDATE :schema.delivery_ticket t SET node_id = NULL
    FROM held h WHERE t.delivery_id = h.delivery_id AND NOT h.is_last)
SELECT (SELECT count(*) FROM dead), (SELECT count(*) FROM gone), (SELECT count(*) FROM back),
    (SELECT count(*) FROM held),
    (SELECT count(*) FROM :schema.ticket t JOIN :schema.node n ON n.node_id = t.node_id WHERE n.is_dead);

-- name: NODE_BURY_STREAM
-- One run whose long stream NODE_BURY has left, for it would take much memory of the server's to end many of them at once.
WITH one AS MATERIALIZED (
    SELECT t.run_id FROM :schema.ticket t
    JOIN :schema.node n ON n.node_id = t.node_id
    WHERE n.is_dead LIMIT 1 FOR UPDATE OF t SKIP LOCKED),
gone AS (
    DELETE FROM :schema.ticket t USING one o WHERE t.run_id = o.run_id
    RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress, t.is_cancel_wished),
{end_lost}
SELECT count(*) FROM gone;
