-- run.sql - runs: accepted, claimed, ended, given back, cancelled.

-- accept and record ---------------------------------------------------------------------------------------------------

-- name: RUN_ADD
-- What begins here and now has a replica that lives. Who is told of an earlier run by its key makes a note of it first:
-- from then on nobody withdraws that run. Keys are taken in one order everywhere, or two replicas wait for each other.
-- :turns each class's turn now, where nothing of it is queued; 0: this replica has claimed nothing of it yet.
-- :is_beyond whether too much waits for a new one. :max_queued how many its account may have queued; 0: any number. A run
-- that is sent again does not stand in its own way: it has its place. :keeps which requests are kept. What an earlier
-- :session brings late was refused since, and is taken back.
WITH {me},
mine AS (
    SELECT FROM :schema.node WHERE node_id = :me AND session = :session::uuid),
raw AS MATERIALIZED (
    SELECT * FROM unnest(:run_id::uuid[], :project::text[], :app::text[], {run_arrays},
        :head::bytea[], :request_where::bigint[], :request_size::bigint[], :request_sha256::bytea[],
        :request_file::uuid[], :request_bytes::bytea[], :lane::bigint[], :url::bytea[], :secret::bytea[],
        :traceparent::bytea[], :subject::bytea[], :key::bytea[], :fingerprint::bytea[], :is_async::bigint[],
        :is_beyond::bigint[], :timeout_ms::bigint[], :wait_ms::bigint[], :who::bigint[],
        :max_queued::bigint[], :max_attempts::bigint[], :has_caller::bigint[])
    WITH ORDINALITY AS t(run_id, project, app, {run_columns},
        head, request_where, request_size, request_sha256,
        request_file, request_bytes, lane, url, secret,
        traceparent, subject, key, fingerprint, is_async,
        is_beyond, timeout_ms, wait_ms, who,
        max_queued, most, has_caller, ord)),
input AS MATERIALIZED (
    SELECT *, CASE WHEN is_beyond = 1 THEN 1 WHEN max_queued = 0 THEN 0
        WHEN max_queued < row_number() OVER (PARTITION BY who, max_queued = 0 ORDER BY ord) + (
            SELECT count(*) FROM (
                SELECT FROM :schema.ticket t
                WHERE t.node_id IS NULL AND t.class = ANY ('{0,1,2,10,11,12}') AND t.subject = raw.who
                LIMIT raw.max_queued) AS queued)
        THEN 1 ELSE 0 END AS is_busy
    FROM raw),
kept AS (
    INSERT INTO :schema.idem AS old (project, app, subject, key, run_id, fingerprint, expires_ms)
    SELECT project, app, subject, key, run_id, fingerprint, created_ms + :key_ms::bigint FROM input
    WHERE key IS NOT NULL AND is_busy = 0 AND EXISTS (SELECT FROM mine)
    ORDER BY project, app, subject, key
    ON CONFLICT (project, app, subject, key) DO UPDATE
    SET run_id = excluded.run_id, fingerprint = excluded.fingerprint, expires_ms = excluded.expires_ms, is_told = false
    WHERE old.expires_ms <= excluded.expires_ms - :key_ms::bigint
    RETURNING old.run_id),
fresh AS (
    SELECT * FROM input
    WHERE is_busy = 0 AND EXISTS (SELECT FROM mine)
        AND (key IS NULL OR run_id IN (SELECT run_id FROM kept))
        AND (is_async = 1 OR EXISTS (SELECT FROM me))),
runs AS (
    INSERT INTO :schema.run (run_id, project, app, is_async, has_webhook, {run_columns},
        head, request_where, request_size, request_sha256, request_file,
        request_bytes, lane, url, secret, traceparent, keeps)
    SELECT run_id, project, app, is_async = 1, url IS NOT NULL, {run_columns},
        head, request_where, request_size, request_sha256, request_file,
        request_bytes, lane, url, secret, traceparent, :keeps::bigint
    FROM fresh ON CONFLICT (run_id) DO NOTHING
    RETURNING run_id),
tagged AS (
    {tag_rows(fresh)}),
places AS MATERIALIZED (
    SELECT p.priority, p.who, greatest(1,
        coalesce(
            (SELECT t.turn FROM :schema.ticket t WHERE t.node_id IS NULL AND t.class = p.priority
                ORDER BY t.turn LIMIT 1),
            nullif((:turns::bigint[])[p.priority + 1], 0),
            (SELECT max(t.turn) FROM :schema.ticket t WHERE t.node_id IS NOT NULL AND t.class = p.priority)),
        (SELECT t.turn + 1 FROM :schema.ticket t
            WHERE t.is_async AND t.class = p.priority AND t.subject = p.who
            ORDER BY t.turn DESC LIMIT 1)) AS turn
    FROM (SELECT DISTINCT priority, who FROM fresh WHERE is_async = 1) p),
tickets AS (
    INSERT INTO :schema.ticket (run_id, due_at, epoch, attempt,
        node_id, started_ms,
        is_async, timeout_ms, start_by, max_attempts, has_caller, class, subject, lane, turn)
    SELECT f.run_id, now(), 1 - is_async, 1 - is_async,
        CASE is_async WHEN 0 THEN :me::uuid END, CASE is_async WHEN 0 THEN created_ms END,
        is_async = 1, nullif(timeout_ms, 0), now() + nullif(wait_ms, 0) * interval '1 ms', nullif(f.most, 0),
        f.has_caller = 1, f.priority, f.who, f.lane,
        coalesce(p.turn - 1 + row_number() OVER (PARTITION BY f.priority, f.who, f.is_async ORDER BY f.ord), 0)
    FROM fresh f
    LEFT JOIN places p ON f.is_async = 1 AND p.priority = f.priority AND p.who = f.who
    WHERE f.run_id IN (SELECT run_id FROM runs)),
told AS (
    UPDATE :schema.idem o SET is_told = true FROM input i
    WHERE o.project = i.project AND o.app = i.app AND o.subject = i.subject AND o.key = i.key AND NOT o.is_told
        AND o.run_id <> i.run_id AND o.fingerprint = i.fingerprint AND o.expires_ms > i.created_ms
    RETURNING o.run_id)
SELECT i.ord,
    CASE WHEN n.run_id IS NOT NULL THEN {pg_code.done}
        WHEN NOT EXISTS (SELECT FROM mine) OR i.is_async = 0 AND NOT EXISTS (SELECT FROM me) THEN {pg_code.again}
        WHEN i.key IS NULL AND i.is_busy = 1
            AND NOT EXISTS (SELECT FROM :schema.run r WHERE r.run_id = i.run_id) THEN {pg_code.busy}
        WHEN i.key IS NULL OR old.run_id = i.run_id THEN {pg_code.before}
        WHEN i.is_busy = 1 AND (old.run_id IS NULL OR old.expires_ms <= i.created_ms) THEN {pg_code.busy}
        WHEN old.run_id IS NULL THEN {pg_code.again}
        WHEN old.fingerprint <> i.fingerprint THEN {pg_code.conflict}
        WHEN old.is_told OR old.run_id IN (SELECT run_id FROM told) THEN {pg_code.exists}
        ELSE {pg_code.again} END,
    old.run_id
FROM input i
LEFT JOIN runs n ON n.run_id = i.run_id
LEFT JOIN :schema.idem old
    ON old.project = i.project AND old.app = i.app AND old.subject = i.subject AND old.key = i.key;

-- name: RUN_WITHDRAW
-- :run_id what has not begun, and nobody was told of by its key, is as if it had never been. :key_ms how long a key is
-- kept. Keys are locked first, in the order of RUN_ADD. Each row is found by itself, by an index: joins were planned to
-- read all keys and all that is queued.
WITH found AS MATERIALIZED (
    SELECT i.run_id, k.project, k.app, k.subject, k.key
    FROM unnest(:run_id::uuid[]) AS i(run_id)
    CROSS JOIN LATERAL (SELECT created_ms FROM :schema.run WHERE run_id = i.run_id LIMIT 1) r
    CROSS JOIN LATERAL (
        SELECT * FROM :schema.idem o
        WHERE o.expires_ms = r.created_ms + :key_ms::bigint AND o.run_id = i.run_id LIMIT 1) k
    ORDER BY k.project, k.app, k.subject, k.key),
keys AS MATERIALIZED (
    SELECT f.*, k.is_told FROM found f
    CROSS JOIN LATERAL (
        SELECT o.is_told FROM :schema.idem o
        WHERE o.project = f.project AND o.app = f.app AND o.subject = f.subject AND o.key = f.key
            AND o.run_id = f.run_id
        FOR UPDATE) k),
gone AS (
    DELETE FROM :schema.ticket
    WHERE run_id = ANY (:run_id::uuid[]) AND run_id <> ALL (ARRAY(SELECT run_id FROM keys WHERE is_told))
        AND num_nulls(node_id) = 1 AND attempt = 0
    RETURNING run_id),
runs AS (
    DELETE FROM :schema.run r USING gone g WHERE r.run_id = g.run_id RETURNING r.request_file),
request AS (
    DELETE FROM :schema.body b USING runs r WHERE b.body_id = r.request_file),
freed AS (
    DELETE FROM :schema.idem o USING keys k JOIN gone g ON g.run_id = k.run_id
    WHERE o.project = k.project AND o.app = k.app AND o.subject = k.subject AND o.key = k.key)
SELECT count(*) FROM gone;

-- claims --------------------------------------------------------------------------------------------------------------

-- part: is_claimable
-- Queued, and due.
t.node_id IS NULL AND t.due_at <= now() AND EXISTS (SELECT FROM me)
        AND (t.start_by IS NULL OR t.start_by > now() OR t.attempt > 0);

-- part: in_turn(class, n, which)
SELECT t.run_id FROM :schema.ticket t
    WHERE {is_claimable} {which} AND t.class = {class}
    ORDER BY t.turn, t.run_id LIMIT {n}::bigint FOR UPDATE OF t SKIP LOCKED;

-- part: claim(which)
-- :high, :normal and :low how many of each class; where there are fewer of one, others, :max in all.
high AS (
    {in_turn({priority.high}, :high, {which})}),
normal AS (
    {in_turn({priority.normal}, :normal, {which})}),
low AS (
    {in_turn({priority.low}, :low, {which})}),
wanted AS MATERIALIZED (
    SELECT run_id FROM high UNION ALL SELECT run_id FROM normal UNION ALL SELECT run_id FROM low),
others AS (
    SELECT t.run_id FROM :schema.ticket t
    WHERE {is_claimable} {which} AND t.run_id NOT IN (SELECT run_id FROM wanted) AND t.class < {HL_PG_CLASS_LATER}
    ORDER BY t.class, t.turn, t.run_id
    LIMIT :max::bigint - (SELECT count(*) FROM wanted) FOR UPDATE OF t SKIP LOCKED),
next AS (
    SELECT run_id FROM wanted UNION ALL SELECT run_id FROM others),
taken AS (
    UPDATE :schema.ticket t SET node_id = :me::uuid, epoch = t.epoch + 1,
        attempt = t.attempt + 1, started_ms = :now_ms::bigint
    FROM next WHERE t.run_id = next.run_id
    RETURNING t.run_id, t.epoch, t.attempt, t.class, t.turn, t.subject, t.timeout_ms, t.max_attempts,
        t.has_caller)
SELECT x.run_id, r.run_id IS NOT NULL, r.attempt_log, x.epoch, x.attempt, r.has_webhook, r.created_ms,
    x.timeout_ms, x.max_attempts, x.has_caller, {terms_columns_of(r)}, r.project, r.app, r.head, {request}, x.class, x.turn, x.subject
FROM taken x LEFT JOIN :schema.run r ON r.run_id = x.run_id
ORDER BY x.class, x.turn, x.run_id;

-- part: has_room
-- Whether a ticket is among the first of its account's that room is left for.
coalesce((
            SELECT CASE WHEN m.room <= 0 THEN false ELSE m.room > (
                SELECT count(*) FROM (
                    SELECT FROM :schema.ticket q
                    WHERE q.node_id IS NULL AND q.class = ANY ('{0,1,2}') AND q.subject = t.subject
                        AND q.due_at <= now() AND (q.class, q.turn, q.run_id) < (t.class, t.turn, t.run_id)
                    LIMIT m.room) AS before) END
            FROM room m WHERE m.subject = t.subject LIMIT 1), true);

-- name: RUN_CLAIM
WITH {me_in_session},
{claim()};

-- name: RUN_CLAIM_WITHIN
-- Where accounts have a max_running: :subject theirs, :room how many more of each this replica may have inside.
WITH {me_in_session},
room AS MATERIALIZED (
    SELECT s.subject, s.room FROM unnest(:subject::bigint[], :room::bigint[]) AS s(subject, room)),
{claim(AND {has_room})};

-- name: RUN_HELD_BACK
-- Of which :subject a run is queued.
SELECT s.subject FROM unnest(:subject::bigint[]) AS s(subject)
WHERE EXISTS (
    SELECT FROM :schema.ticket t
    WHERE t.is_async AND t.class = ANY ('{0,1,2}') AND t.subject = s.subject AND t.node_id IS NULL
        AND t.due_at <= now());

-- name: RUN_STRAYS
-- :known the runs that workers have: all other claims were never heard of.
WITH back AS (
    UPDATE :schema.ticket SET node_id = NULL, epoch = epoch + 1, attempt = attempt - 1, started_ms = NULL
    WHERE node_id = :me::uuid AND is_async AND run_id <> ALL (:known::uuid[])
    RETURNING run_id)
SELECT count(*) FROM back;

-- name: RUN_PUT_OFF
-- Runs that cannot be begun here.
UPDATE :schema.ticket t SET node_id = NULL, epoch = t.epoch + 1, attempt = t.attempt - 1,
    started_ms = NULL, due_at = now() + coalesce(
        (SELECT {put_off(r)} FROM :schema.run r WHERE r.run_id = t.run_id), interval '10 min')
WHERE t.node_id = :me::uuid AND t.run_id = ANY (:run_id::uuid[]);

-- name: RUN_RETAKE
-- Runs that are here, or ended here, and their epochs: what knows of an earlier one only is this replica's again.
WITH back AS (
    UPDATE :schema.ticket t SET node_id = :me::uuid, epoch = i.epoch, class = t.class % {HL_PG_CLASS_LATER},
        attempt = t.attempt + (t.node_id IS NULL)::integer, started_ms = coalesce(t.started_ms, :now_ms::bigint)
    FROM unnest(:run_id::uuid[], :epoch::bigint[]) AS i(run_id, epoch)
    WHERE t.run_id = i.run_id AND t.epoch < i.epoch
    RETURNING 1)
SELECT (SELECT count(*) FROM back);

-- part: queued_of(class)
(SELECT count(*) FROM (
        SELECT FROM :schema.ticket
        WHERE node_id IS NULL AND due_at <= now() AND class = {class} LIMIT :max::bigint) AS queued)
    + (SELECT count(*) FROM woken WHERE class = {class});

-- name: QUEUE_PEEK
-- Runs whose next attempt is due go into the queue, :max at the most; how many of each class are queued, up to :max.
WITH due AS MATERIALIZED (
    SELECT run_id FROM :schema.ticket
    WHERE node_id IS NULL AND class >= {HL_PG_CLASS_LATER} AND due_at <= now()
    ORDER BY due_at LIMIT :max::bigint FOR UPDATE SKIP LOCKED),
woken AS (
    UPDATE :schema.ticket t SET class = t.class % {HL_PG_CLASS_LATER} FROM due WHERE t.run_id = due.run_id
    RETURNING t.class)
SELECT {queued_of({priority.high})}, {queued_of({priority.normal})}, {queued_of({priority.low})};

-- ends ----------------------------------------------------------------------------------------------------------------

-- name: RUN_FINISH
-- :run_key and :wait_key how long it took (tally.h). :set_ms by how much this replica's clock was set since the end,
-- :now_ms what it says now: where both are off by a minute the end is as long ago as it was, by this server's clock.
WITH input AS MATERIALIZED (
    SELECT *, finished_ms + CASE WHEN abs(set_ms + {now_ms} - :now_ms::bigint) < 60000 THEN 0
        ELSE set_ms + {now_ms} - :now_ms::bigint END AS ended_ms
    FROM unnest(:run_id::uuid[], :epoch::bigint[], :state::bigint[], {outcome_arrays},
        :body_where::bigint[], :body_size::bigint[], :body_sha256::bytea[],
        :body_file::uuid[], :body_bytes::bytea[], :delivery_id::uuid[], :log::bytea[], :run_key::bigint[],
        :wait_key::bigint[], :set_ms::bigint[], :answer_head::bytea[])
    WITH ORDINALITY AS t(run_id, epoch, state, {outcome_columns},
        body_where, body_size, body_sha256,
        body_file, body_bytes, delivery_id, log, run_key,
        wait_key, set_ms, answer_head, ord)),
gone AS (
    DELETE FROM :schema.ticket t USING input i
    WHERE t.run_id = i.run_id AND t.epoch = i.epoch AND {is_mine}
    RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress, t.is_cancel_wished),
ends AS ( -- one whose cancel was accepted is cancelled: hl_outcome_cancel
    SELECT i.run_id, CASE WHEN g.is_cancel_wished THEN {run_state.cancelled} ELSE i.state END AS state,
        CASE WHEN g.is_cancel_wished THEN {run_reason.none} ELSE i.reason END AS reason,
        CASE WHEN NOT g.is_cancel_wished THEN i.error END AS error,
        http_status, ended_ms AS finished_ms, content_type, content_encoding, encoding, escaped_size, gate_us, connect_us,
        first_byte_us, body_where, body_size, body_sha256, body_file, body_bytes, delivery_id, log, answer_head, run_key, wait_key,
        :delivery_attempts::bigint AS max_attempts
    FROM input i JOIN gone g ON g.run_id = i.run_id),
{end}
SELECT i.ord,
    CASE WHEN g.run_id IS NOT NULL THEN {pg_code.done} WHEN r.run_id IS NULL THEN {pg_code.not_found}
        WHEN r.state >= {run_state.success} AND r.epoch = i.epoch AND r.node_id = :me::uuid THEN {pg_code.before}
        ELSE {pg_code.stale} END,
    r.has_webhook, coalesce(g.is_cancel_wished, r.state = {run_state.cancelled}, false)
FROM input i
LEFT JOIN gone g ON g.run_id = i.run_id
LEFT JOIN :schema.run r ON r.run_id = i.run_id;

-- name: RUN_RELEASE
-- A retry has waited :wait_ms when it is due; :entry is what is noted of its attempt.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:run_id::uuid[], :epoch::bigint[], :ended_ms::bigint[], :delivery_id::uuid[],
        :is_retry::bigint[], :wait_ms::bigint[], :entry::text[])
    WITH ORDINALITY AS t(run_id, epoch, finished_ms, delivery_id,
        is_retry, wait_ms, entry, ord)),
back AS (
    UPDATE :schema.ticket t SET node_id = NULL, epoch = t.epoch + 1, attempt = t.attempt - 1 + i.is_retry,
        started_ms = NULL,
        due_at = CASE i.is_retry WHEN 1 THEN now() + i.wait_ms * interval '1 ms' ELSE t.due_at END,
        class = t.class % {HL_PG_CLASS_LATER} + {HL_PG_CLASS_LATER} * i.is_retry
    FROM input i
    WHERE t.run_id = i.run_id AND t.epoch = i.epoch AND {is_mine} AND NOT t.is_cancel_wished
    RETURNING t.run_id, i.is_retry, i.entry),
noted AS (
    UPDATE :schema.run r SET attempt_log = coalesce(r.attempt_log, '') || b.entry
    FROM back b WHERE r.run_id = b.run_id AND b.is_retry = 1),
begun AS (
    DELETE FROM :schema.stream s USING back b WHERE s.run_id = b.run_id),
gone AS (
    DELETE FROM :schema.ticket t USING input i
    WHERE t.run_id = i.run_id AND t.epoch = i.epoch AND {is_mine} AND t.is_cancel_wished
    RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress),
ends AS (
    SELECT run_id, {run_state.cancelled} AS state, {run_reason.none} AS reason, {now_ms} AS finished_ms, delivery_id,
        :delivery_attempts::bigint AS max_attempts, {no_answer}
    FROM input),
{end}
SELECT i.ord, CASE WHEN b.run_id IS NOT NULL OR g.run_id IS NOT NULL THEN {pg_code.done} ELSE {pg_code.stale} END
FROM input i
LEFT JOIN back b ON b.run_id = i.run_id
LEFT JOIN gone g ON g.run_id = i.run_id;

-- name: RUN_CANCEL
-- The third column: who has the run, if it is running; the fourth: whether it was to be cancelled already.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:run_id::uuid[], :project::text[], :app::text[], :ended_ms::bigint[], :delivery_id::uuid[],
        :audit_id::uuid[], :audit_project::text[], :audit_action::bigint[], :audit_told::bytea[])
    WITH ORDINALITY AS t(run_id, project, app, finished_ms, delivery_id, audit_id, audit_project, action, told, ord)),
found AS (
    SELECT i.*, r.state AS was, coalesce(t.is_cancel_wished, false) AS was_wished FROM input i
    JOIN :schema.run r ON r.run_id = i.run_id
    LEFT JOIN :schema.ticket t ON t.run_id = i.run_id
    WHERE (i.project = '' OR i.project = r.project) AND (i.app = '' OR i.app = r.app)),
gone AS (
    DELETE FROM :schema.ticket t USING found f WHERE t.run_id = f.run_id AND t.node_id IS NULL
    RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress),
wished AS (
    UPDATE :schema.ticket t SET is_cancel_wished = true FROM found f
    WHERE t.run_id = f.run_id AND t.node_id IS NOT NULL
    RETURNING t.run_id, t.node_id),
told AS (
    INSERT INTO :schema.event (node_id, kind, subject)
    SELECT node_id, {pg_event.cancel}, run_id FROM wished WHERE node_id <> :me::uuid),
ends AS (
    SELECT run_id, {run_state.cancelled} AS state, {run_reason.none} AS reason, {now_ms} AS finished_ms, delivery_id,
        :delivery_attempts::bigint AS max_attempts, {no_answer}
    FROM found),
{end},
audited AS (
    INSERT INTO :schema.audit (audit_id, project, action, count, told)
    SELECT i.audit_id, i.audit_project, i.action, -1, i.told FROM input i
    WHERE i.audit_id IS NOT NULL
        AND (EXISTS (SELECT FROM gone g WHERE g.run_id = i.run_id)
            OR EXISTS (SELECT FROM wished w JOIN found f ON f.run_id = w.run_id
                WHERE w.run_id = i.run_id AND NOT f.was_wished))
    ON CONFLICT (audit_id) DO NOTHING)
SELECT i.ord,
    CASE WHEN g.run_id IS NOT NULL OR w.run_id IS NOT NULL THEN {pg_code.done}
        WHEN f.run_id IS NULL THEN {pg_code.not_found}
        WHEN f.was = {run_state.cancelled} THEN {pg_code.before}
        WHEN f.was >= {run_state.success} THEN {pg_code.conflict}
        ELSE {pg_code.again} END,
    w.node_id, CASE WHEN w.run_id IS NOT NULL AND f.was_wished THEN 1 ELSE 0 END
FROM input i
LEFT JOIN found f ON f.run_id = i.run_id
LEFT JOIN gone g ON g.run_id = i.run_id
LEFT JOIN wished w ON w.run_id = i.run_id;

-- part: start_ms(and)
-- In how many ms the first queued run is to start; -1: none is.
coalesce((
        SELECT CASE WHEN min(start_by) IS NOT NULL
            THEN greatest(0, (extract(epoch FROM min(start_by) - now()) * 1000)::bigint) END
        FROM :schema.ticket WHERE start_by IS NOT NULL AND node_id IS NULL AND attempt = 0 {and}), -1);

-- name: RUN_EXPIRE
-- :max of those whose time to start is over; the second column: in how many ms the next one is due, -1: none is.
WITH {me},
late AS (
    SELECT t.run_id FROM :schema.ticket t
    WHERE t.start_by <= now() AND t.node_id IS NULL AND t.attempt = 0 AND EXISTS (SELECT FROM me)
    ORDER BY t.start_by LIMIT :max::bigint FOR UPDATE OF t SKIP LOCKED),
gone AS (
    DELETE FROM :schema.ticket t USING late WHERE t.run_id = late.run_id
    RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress),
ends AS (
    SELECT run_id, {run_state.failure} AS state, {run_reason.expired} AS reason, {now_ms} AS finished_ms,
        {new_id} AS delivery_id, :delivery_attempts::bigint AS max_attempts, {no_answer}
    FROM gone),
{end}
SELECT (SELECT count(*) FROM gone), {start_ms(AND run_id NOT IN (SELECT run_id FROM late))};

-- name: RUN_ENDED
-- Which of them have ended; and which have an answer that goes on: an event stream whose head is there.
SELECT r.run_id, r.state >= {run_state.success} FROM :schema.run r
WHERE r.run_id = ANY (:run_id::uuid[]) AND (r.state >= {run_state.success}
    OR EXISTS (SELECT FROM :schema.stream s WHERE s.run_id = r.run_id AND s.at = 0 AND s.answer_head IS NOT NULL));

-- while they go on ----------------------------------------------------------------------------------------------------

-- name: STREAM_PUT
-- Parts of streams whose runs this replica has; one that comes again may be longer. The first may have the head of the
-- answer, before there is anything else.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:run_id::uuid[], :epoch::bigint[], :attempt::bigint[], :at::bigint[], :bytes::bytea[],
        :answer_head::bytea[])
    WITH ORDINALITY AS t(run_id, epoch, attempt, at, bytes, answer_head, ord)),
mine AS MATERIALIZED (
    SELECT i.* FROM input i
    JOIN :schema.ticket t ON t.run_id = i.run_id AND t.epoch = i.epoch AND {is_mine}
    FOR KEY SHARE OF t),
added AS (
    INSERT INTO :schema.stream AS s (run_id, attempt, at, bytes, answer_head)
    SELECT run_id, attempt, at, bytes, answer_head FROM mine
    ON CONFLICT (run_id, attempt, at) DO UPDATE SET bytes = excluded.bytes
    WHERE octet_length(excluded.bytes) > octet_length(s.bytes))
SELECT i.ord, CASE WHEN m.ord IS NULL THEN {pg_code.stale} ELSE {pg_code.done} END
FROM input i LEFT JOIN mine m ON m.ord = i.ord;

-- name: PROGRESS_PUT
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:run_id::uuid[], :epoch::bigint[], :json::text[])
    WITH ORDINALITY AS t(run_id, epoch, json, ord)),
said AS (
    UPDATE :schema.ticket t SET progress = i.json FROM input i
    WHERE t.run_id = i.run_id AND t.epoch = i.epoch AND {is_mine}
    RETURNING i.ord)
SELECT i.ord, CASE WHEN s.ord IS NULL THEN {pg_code.stale} ELSE {pg_code.done} END
FROM input i LEFT JOIN said s ON s.ord = i.ord;

-- name: TALLY
-- :source whose counts they are, :seen which; the same twice counts once. Where each count belongs.
WITH fresh AS (
    INSERT INTO :schema.tally_source AS s (source, seen) VALUES (:source::uuid, :seen::uuid)
    ON CONFLICT (source) DO UPDATE SET seen = excluded.seen, at = now() WHERE s.seen <> excluded.seen
    RETURNING 1),
fresh_counts AS (
    SELECT * FROM unnest(:minute::bigint[], :project::text[], :app::text[], :count::bigint[])
        AS u(minute, project, app, count)
    WHERE EXISTS (SELECT FROM fresh)),
tallied AS (
    {tally(fresh_counts)})
SELECT 1, {pg_code.done};
