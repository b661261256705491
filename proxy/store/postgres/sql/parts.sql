-- parts.sql - what statements have in common.
--
-- An array parameter has an item for each operation of a flush; `ord` is which (from 1). A statement answers a row for
-- each, with a code of enum hl_pg_code, and never raises for one bad row. All of them may be sent again when nobody knows
-- whether they were committed: the second time they say the same.

-- times and numbers ---------------------------------------------------------------------------------------------------

-- part: now_ms
(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- part: ms(at)
(extract(epoch FROM {at}) * 1000)::bigint;

-- part: at(ms)
-- Milliseconds since the epoch as the server's time.
to_timestamp({ms} / 1000.0);

-- part: put_off(row)
-- How long what cannot be read from here waits before somebody tries again: the longer, the longer it has been there.
least(greatest(({now_ms} - {row}.created_ms) / 4, 5000), 600000) * interval '1 ms';

-- part: new_id
-- A UUID of version 7, where the server has to make one.
overlay(overlay(gen_random_uuid()::text
        PLACING substr(lpad(to_hex({now_ms}), 12, '0'), 1, 8) || '-' || substr(lpad(to_hex({now_ms}), 12, '0'), 9, 4)
        FROM 1 FOR 13)
    PLACING '7' FROM 15 FOR 1)::uuid;

-- part: last_event
-- The last number that was given to an event.
coalesce(pg_sequence_last_value(pg_get_serial_sequence(':schema.event', 'event_id')::regclass), 0);

-- part: was_told
-- The session has the mark (session_setup.h).
coalesce(current_setting('hookline.told', true), '') <> '';

-- part: database
-- Which database this is: the server, which hl_pg_qualify puts in, and the table of events.
(` || '/' || ':schema.event'::regclass::oid);

-- columns -------------------------------------------------------------------------------------------------------------

-- part: request
r.request_where, r.request_size, r.request_sha256, r.request_file, r.request_bytes;

-- part: outcome_head
r.state, {outcome_columns_of(r)}, r.body_where, r.body_size, r.body_sha256, r.body_file;

-- part: outcome
{outcome_head}, r.body_bytes;

-- part: limits
max_running, max_queued, rate_count, rate_window_s, max_priority, limits_revision;

-- part: account
account_id, project, name, role, created_ms, expires_ms, revoked_ms, last_used_ms, {limits};

-- who changed what (audit.h) ------------------------------------------------------------------------------------------

-- part: audited(what)
-- The row of a change, where `what` has a row `n`: how many it was done to, or -1. Behind what makes the change; one that
-- goes on in a later transaction counts more.
audited AS (
    INSERT INTO :schema.audit AS a (audit_id, project, action, count, told)
    SELECT :audit_id::uuid, :audit_project::text, :audit_action::bigint, w.n, :audit_told::bytea
    FROM {what} AS w WHERE :audit_id::uuid IS NOT NULL
    ON CONFLICT (audit_id) DO UPDATE SET count = a.count + excluded.count WHERE excluded.count > 0);

-- who asks ------------------------------------------------------------------------------------------------------------

-- part: me
-- Dead replicas claim nothing: who buries one waits for the lock, or makes this one see nothing.
me AS MATERIALIZED (
    SELECT FROM :schema.node WHERE node_id = :me AND NOT is_dead FOR KEY SHARE);

-- part: me_in_session
-- Nor does what a replica sent over a connection before its last one, and the server comes to only then: nobody would
-- hear of it.
me AS MATERIALIZED (
    SELECT FROM :schema.node WHERE node_id = :me AND NOT is_dead AND session = :session::uuid FOR KEY SHARE);

-- part: is_mine
-- Of a ticket that is known by its id: in a form for which no index is used. That on node_id has an entry for each one
-- that the replica had since the last vacuum: 5,000 were read for an end.
t.node_id IS NOT DISTINCT FROM :me::uuid;

-- tags ----------------------------------------------------------------------------------------------------------------

-- part: tag_rows(from)
-- By which the `runs` that were added are found: a row with each tag, and one with its name alone.
INSERT INTO :schema.tag (project, tag, run_id)
    SELECT f.project, t.tag, f.run_id FROM {from} f
    CROSS JOIN LATERAL (
        SELECT whole FROM unnest(string_to_array(f.tags, ',')) AS whole
        UNION ALL
        SELECT split_part(whole, '=', 1) FROM unnest(string_to_array(f.tags, ',')) AS whole) AS t(tag)
    WHERE f.tags IS NOT NULL AND f.run_id IN (SELECT run_id FROM runs)
    ON CONFLICT DO NOTHING;

-- part: has_tags(tags)
-- Each of :tags, "tier=gold,order" or '', is one of them, or the name of one.
(:tags::text = '' OR NOT EXISTS (
            SELECT FROM unnest(string_to_array(:tags::text, ',')) AS w
            WHERE position(',' || w || CASE WHEN w LIKE '%=%' THEN ',' ELSE '=' END
                IN ',' || coalesce({tags}, '') || ',') = 0));

-- deliveries ----------------------------------------------------------------------------------------------------------

-- part: waits_since
-- Since when a pending delivery waits: until it ends done_ms says when it was redelivered.
coalesce(done_ms, created_ms);

-- part: done_ms(delivery)
-- When it ended, by which it is kept: never before its run, though the clock was set back meanwhile.
greatest({now_ms}, {delivery}.created_ms);

-- part: is_shown_delivery
-- What is past its retention is hidden at once, but not while its webhook is to be sent: that begins after the last of
-- its end, its delivery's end and a redelivery (contract 6).
(state = {delivery_state.pending} OR done_ms > :kept_since_ms::bigint);

-- part: is_shown
-- Likewise of a run with {delivery_counts}.
(r.state < {run_state.success} OR r.finished_ms > :kept_since_ms::bigint OR c.pending > 0
        OR c.done_ms > :kept_since_ms::bigint);

-- replicas and the server ---------------------------------------------------------------------------------------------

-- part: replicas
-- Dead ones are of interest for as long as somebody may ask what became of them.
SELECT n.node_id, n.name, n.role, n.version,
        CASE WHEN n.is_dead THEN 'dead' WHEN n.expires_at <= now() THEN 'silent' ELSE 'alive' END AS state,
        n.started_at, n.beat_at,
        (SELECT count(*) FROM :schema.ticket t WHERE t.node_id = n.node_id) AS runs,
        (SELECT count(*) FROM :schema.delivery_ticket t WHERE t.node_id = n.node_id) AS deliveries
    FROM :schema.node n WHERE NOT n.is_dead OR n.beat_at > now() - interval '1 day';

-- part: replica_order
state = 'dead', started_at, node_id;

-- part: dead_tuples(table)
pg_stat_get_dead_tuples(':schema.{table}'::regclass);

-- part: holders
-- Who keeps rows of this database from being vacuumed: others' snapshots and transactions, standbys with
-- hot_standby_feedback; not vacuum's own workers, which belong to nobody. Everybody sees how many transactions ago that
-- was; `since` is null for one who may not see the time.
SELECT o.xid, age(o.xid) AS transactions, a.xact_start AS since FROM pg_stat_activity a
    CROSS JOIN LATERAL (
        SELECT CASE WHEN a.backend_xmin IS NULL OR age(a.backend_xid) > age(a.backend_xmin)
            THEN a.backend_xid ELSE a.backend_xmin END) AS o(xid)
    WHERE o.xid IS NOT NULL AND a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
        AND coalesce(a.datname = current_database(), true);

-- how runs end --------------------------------------------------------------------------------------------------------

-- part: tally(counts)
-- Counts, a row each (tally.h), are added to those of their minute. Each replica has rows of its own.
INSERT INTO :schema.tally AS t (minute, project, app, node_id, counts)
    SELECT minute, project, app, :me::uuid, array_agg(count ORDER BY count) FROM {counts} AS c
    GROUP BY minute, project, app ORDER BY minute, project, app
    ON CONFLICT (minute, project, app, node_id) DO UPDATE
    SET counts = :schema.add_up(t.counts, excluded.counts);

-- part: keeps_request
coalesce(r.keeps = {pg_keep.always}
        OR (r.keeps = {pg_keep.unless_success} AND e.state <> {run_state.success}), false);

-- part: end
-- From `gone` (run_id, epoch, attempt, started_ms, node_id, progress), the tickets that went, and `ends` (run_id, state,
-- reason, http_status, finished_ms, content_type, … body_bytes, log, answer_head, run_key, wait_key, delivery_id, max_attempts): the
-- runs' rows, their counts, their deliveries; requests that are not kept and what came of their streams go.
request AS (
    DELETE FROM :schema.body b USING gone g, ends e, :schema.run r
    WHERE r.run_id = g.run_id AND e.run_id = g.run_id AND r.request_file IS NOT NULL AND b.body_id = r.request_file
        AND NOT {keeps_request}),
ended AS (
    UPDATE :schema.run r SET state = e.state, reason = e.reason,
        http_status = e.http_status, finished_ms = e.finished_ms, content_type = e.content_type,
        content_encoding = e.content_encoding, encoding = e.encoding,
        escaped_size = e.escaped_size, error = e.error, gate_us = e.gate_us, connect_us = e.connect_us,
        first_byte_us = e.first_byte_us, body_where = e.body_where, body_size = e.body_size,
        body_sha256 = e.body_sha256, body_file = e.body_file, body_bytes = e.body_bytes,
        log = e.log, answer_head = e.answer_head,
        head = CASE WHEN {keeps_request} THEN r.head END,
        request_bytes = CASE WHEN {keeps_request} THEN r.request_bytes END,
        request_file = CASE WHEN {keeps_request} THEN r.request_file END,
        epoch = g.epoch, attempt = g.attempt, started_ms = g.started_ms, node_id = :me, progress = g.progress,
        replica = (SELECT n.name FROM :schema.node n WHERE n.node_id = g.node_id)
    FROM gone g JOIN ends e ON e.run_id = g.run_id
    WHERE r.run_id = g.run_id
    RETURNING r.run_id, r.project, r.app, r.state, r.lane, r.has_webhook, r.finished_ms,
        r.is_async, r.reason, e.run_key, e.wait_key, e.delivery_id, e.max_attempts),
end_counts AS (
    SELECT finished_ms / {HL_TALLY_MINUTE_MS} AS minute, project, app, (k.what << {HL_TALLY_COUNT_BITS}) | count(*) AS count
    FROM ended
    CROSS JOIN LATERAL (VALUES
        ((is_async::integer::bigint << {HL_TALLY_ASYNC_SHIFT}) | (state::bigint << {HL_TALLY_STATE_SHIFT})
            | reason::bigint),
        (run_key | (is_async::integer::bigint << {HL_TALLY_ASYNC_SHIFT})),
        (wait_key | (is_async::integer::bigint << {HL_TALLY_ASYNC_SHIFT}))) AS k(what)
    WHERE k.what IS NOT NULL
    GROUP BY finished_ms / {HL_TALLY_MINUTE_MS}, project, app, k.what),
tallied AS (
    {tally(end_counts)}),
forwarded AS (
    INSERT INTO :schema.delivery (delivery_id, run_id, project, app, run_state, lane, max_attempts, created_ms)
    SELECT delivery_id, run_id, project, app, state, lane, max_attempts, finished_ms FROM ended WHERE has_webhook
    RETURNING delivery_id, lane),
forwarding AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at)
    SELECT delivery_id, lane, now() FROM forwarded),
streamed AS (
    DELETE FROM :schema.stream s USING gone g WHERE s.run_id = g.run_id);

-- part: no_parts
NULL::bigint AS gate_us, NULL::bigint AS connect_us, NULL::bigint AS first_byte_us;

-- part: no_answer
-- What ends without an answer of the app's.
0 AS http_status, NULL::bytea AS content_type, NULL::bytea AS content_encoding,
        {encoding.none} AS encoding, 0 AS escaped_size, NULL::bytea AS error, {no_parts}, {body_where.none} AS body_where, 0 AS body_size,
        NULL::bytea AS body_sha256, NULL::uuid AS body_file, NULL::bytea AS body_bytes,
        NULL::bytea AS log, NULL::bytea AS answer_head, NULL::bigint AS run_key, NULL::bigint AS wait_key;

-- part: came
-- What came of an event stream whose replica was lost: `c` has its size, its digest, how long it is as the inside of a
-- JSON string, and the bytes of a short one. Only answers with status 200 are kept while they come (run/stream.c).
CASE WHEN c.size > 0 THEN 200 ELSE 0 END AS http_status,
        CASE WHEN c.size > 0 THEN 'text/event-stream'::bytea END AS content_type,
        NULL::bytea AS content_encoding,
        CASE WHEN c.size = 0 THEN {encoding.none} WHEN c.escaped >= 0 THEN {encoding.text}
            ELSE {encoding.base64} END AS encoding,
        greatest(coalesce(c.escaped, 0), 0) AS escaped_size, NULL::bytea AS error, {no_parts},
        CASE WHEN c.size = 0 THEN {body_where.none} WHEN c.size <= {HL_BODY_INLINE_MAX} THEN {body_where.inline}
            ELSE {body_where.file} END AS body_where,
        c.size AS body_size, c.sum AS body_sha256,
        CASE WHEN c.size > {HL_BODY_INLINE_MAX} THEN {new_id} END AS body_file,
        c.bytes AS body_bytes, NULL::bytea AS log, NULL::bytea AS answer_head, NULL::bigint AS run_key, NULL::bigint AS wait_key;

-- part: end_lost
-- How runs end that were inside a replica that was lost: after `gone`, with is_cancel_wished, too. A stream of more than
-- 256 MiB would be too much for one statement.
came AS MATERIALIZED (
    SELECT run_id, size,
        CASE WHEN size > 0 THEN sha256(bytes) END AS sum,
        CASE WHEN size > 0 THEN :schema.escaped_size(bytes) END AS escaped,
        CASE WHEN size BETWEEN 1 AND {HL_BODY_INLINE_MAX} THEN bytes END AS bytes
    FROM (
        SELECT g.run_id, string_agg(s.bytes, ''::bytea ORDER BY s.at) AS bytes,
            coalesce(sum(octet_length(s.bytes)), 0)::bigint AS size
        FROM gone g
        LEFT JOIN :schema.stream s ON s.run_id = g.run_id AND s.attempt = g.attempt
            AND NOT EXISTS (SELECT FROM :schema.stream o
                WHERE o.run_id = g.run_id AND o.attempt = g.attempt AND o.at >= 268435456)
        GROUP BY g.run_id) AS c),
ends AS MATERIALIZED (
    SELECT g.run_id,
        CASE WHEN is_cancel_wished THEN {run_state.cancelled} ELSE {run_state.failure} END AS state,
        CASE WHEN is_cancel_wished THEN {run_reason.none} ELSE {run_reason.interrupted} END AS reason,
        {now_ms} AS finished_ms, {new_id} AS delivery_id, :delivery_attempts::bigint AS max_attempts,
        {came}
    FROM gone g JOIN came c ON c.run_id = g.run_id),
parts AS (
    INSERT INTO :schema.body (body_id, seq, bytes)
    SELECT e.body_file, p.n,
        string_agg(substring(s.bytes FROM p.from_byte + 1 FOR p.to_byte - p.from_byte), ''::bytea ORDER BY s.at)
    FROM ends e
    JOIN gone g ON g.run_id = e.run_id
    JOIN :schema.stream s ON s.run_id = g.run_id AND s.attempt = g.attempt
    CROSS JOIN LATERAL (
        SELECT n, greatest(n * {HL_PG_CHUNK} - s.at, 0)::integer AS from_byte,
            least((n + 1) * {HL_PG_CHUNK} - s.at, octet_length(s.bytes))::integer AS to_byte
        FROM generate_series(s.at / {HL_PG_CHUNK}, (s.at + octet_length(s.bytes) - 1) / {HL_PG_CHUNK}) AS n) AS p
    WHERE e.body_where = {body_where.file}
    GROUP BY e.body_file, p.n),
{end};
