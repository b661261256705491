-- ask.sql - what is sent over the reader's connection, and nothing else: what the REST interface asks (lists, single runs
-- and deliveries, figures), what other replicas say, and long bodies in parts.
--
-- Of a project or an app '' is any, of a state or a mode -1. Lists are newest first, below :before, from :from on. What
-- ended until :kept_since_ms is hidden.

-- runs ----------------------------------------------------------------------------------------------------------------

-- part: run_row
-- A run in lists: `r` with its ticket `t` and {delivery_counts}.
r.run_id,
    CASE WHEN r.state >= {run_state.success} THEN r.state WHEN t.node_id IS NULL THEN {run_state.queued}
        ELSE {run_state.running} END,
    r.is_async, r.has_webhook, coalesce(t.attempt, r.attempt),
    coalesce(t.started_ms, r.started_ms), r.request_size, r.attempt_log,
    CASE WHEN t.class >= {HL_PG_CLASS_LATER} AND t.node_id IS NULL
        THEN (extract(epoch FROM t.due_at) * 1000)::bigint END,
    r.project, r.app, {run_columns_of(r)},
    coalesce(r.replica, (SELECT n.name FROM :schema.node n WHERE n.node_id = t.node_id)),
    c.pending, c.ok, c.dead, {outcome_head};

-- part: delivery_counts
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE d.state = {delivery_state.pending}) AS pending,
        count(*) FILTER (WHERE d.state = {delivery_state.ok}) AS ok,
        count(*) FILTER (WHERE d.state = {delivery_state.dead}) AS dead,
        max(d.done_ms) AS done_ms
    FROM :schema.delivery d WHERE d.run_id = r.run_id) c ON r.has_webhook;

-- part: waiting_of(class)
-- How many of a class wait, up to :place_looks.
CASE WHEN :place_looks::bigint > 0 AND t.node_id IS NULL AND t.run_id IS NOT NULL THEN (
        SELECT count(*) FROM (
            SELECT FROM :schema.ticket q WHERE q.node_id IS NULL AND q.class = {class}
            LIMIT :place_looks::bigint) x) END;

-- name: ASK_RUN
-- :with_body whether with its bytes, :with_log with its log, :place_looks places to count, :with_request what of its request;
-- :range_from, :range_max a part of its answer, as far as it has come; :with_head whether with the head of its answer;
-- :reruns how many of those that repeat it, newest first: 16 bytes of the id, 2 of the state, 8 of the time each.
SELECT {run_row},
    CASE :with_body::bigint WHEN 1 THEN r.body_bytes END,
    CASE :with_log::bigint WHEN 1 THEN r.log END,
    CASE WHEN :place_looks::bigint > 0 AND t.node_id IS NULL AND t.run_id IS NOT NULL THEN (
        SELECT count(*) FROM (
            SELECT FROM :schema.ticket q
            WHERE q.node_id IS NULL AND q.class = t.class AND (q.turn, q.run_id) < (t.turn, t.run_id)
            LIMIT :place_looks::bigint) x) ELSE -1 END,
    {waiting_of({priority.high})}, {waiting_of({priority.normal})}, {waiting_of({priority.low})},
    CASE WHEN :with_request::bigint >= {asked_request.head} THEN r.head END,
    CASE WHEN :with_request::bigint = {asked_request.request} THEN r.url END,
    CASE WHEN :with_request::bigint = {asked_request.request} THEN r.secret END,
    r.request_where, r.request_size, r.request_sha256, r.request_file,
    CASE WHEN :with_request::bigint = {asked_request.request} THEN r.request_bytes END,
    CASE WHEN :range_max::bigint > 0 THEN
        CASE WHEN r.state >= {run_state.success} AND r.body_where = {body_where.inline}
            THEN substring(r.body_bytes FROM (:range_from::bigint + 1)::integer FOR :range_max::bigint::integer)
        WHEN r.state >= {run_state.success} AND r.body_where = {body_where.file}
            THEN (SELECT substring(b.bytes
                    FROM (:range_from::bigint % {HL_PG_CHUNK} + 1)::integer FOR :range_max::bigint::integer)
                FROM :schema.body b WHERE b.body_id = r.body_file AND b.seq = :range_from::bigint / {HL_PG_CHUNK})
        WHEN t.node_id IS NOT NULL
            THEN (SELECT substring(s.bytes
                    FROM (:range_from::bigint - s.at + 1)::integer FOR :range_max::bigint::integer)
                FROM :schema.stream s
                WHERE s.run_id = r.run_id AND s.attempt = t.attempt AND s.at <= :range_from::bigint
                    AND s.at > :range_from::bigint - {HL_PG_CHUNK} ORDER BY s.at DESC LIMIT 1) END END,
    CASE :with_head::bigint WHEN 1 THEN coalesce(r.answer_head, (
        SELECT s.answer_head FROM :schema.stream s
        WHERE s.run_id = r.run_id AND s.attempt = t.attempt AND s.at = 0)) END,
    coalesce(t.progress, r.progress),
    (SELECT n.address FROM :schema.node n WHERE n.node_id = t.node_id AND n.node_id <> :me::uuid AND NOT n.is_dead),
    CASE WHEN :reruns::bigint > 0 THEN (
        SELECT string_agg(uuid_send(x.run_id) || int2send(x.state::smallint) || int8send(x.created_ms), ''::bytea
            ORDER BY x.run_id DESC)
        FROM (
            SELECT a.run_id, a.created_ms,
                CASE WHEN a.state >= {run_state.success} THEN a.state WHEN q.node_id IS NULL THEN {run_state.queued}
                    ELSE {run_state.running} END AS state
            FROM :schema.run a
            LEFT JOIN :schema.ticket q ON q.run_id = a.run_id
            WHERE a.rerun_of = r.run_id AND (a.state < {run_state.success} OR a.finished_ms > :kept_since_ms::bigint)
            ORDER BY a.run_id DESC LIMIT :reruns::bigint) x) END
FROM :schema.run r
LEFT JOIN :schema.ticket t ON t.run_id = r.run_id
{delivery_counts}
WHERE r.run_id = :run_id::uuid AND {is_shown};

-- name: ASK_RUNS
SELECT false, r.run_id, {run_row}, NULL::bytea
FROM :schema.run r
LEFT JOIN :schema.ticket t ON t.run_id = r.run_id
{delivery_counts}
WHERE r.run_id < :before::uuid AND r.run_id >= :from::uuid
    AND (:project::text = '' OR r.project = :project::text) AND (:app::text = '' OR r.app = :app::text)
    AND (:state::bigint < 0 OR r.state = :state::bigint)
    AND {is_shown}
    AND (:mode::bigint < 0 OR r.is_async = (:mode::bigint = 1))
ORDER BY r.run_id DESC LIMIT :max::bigint;

-- part: is_listed
(:project::text = '' OR r.project = :project::text) AND (:app::text = '' OR r.app = :app::text)
            AND (:state::bigint < 0 OR r.state = :state::bigint)
            AND (:mode::bigint < 0 OR r.is_async = (:mode::bigint = 1))
            AND (r.state < {run_state.success} OR r.finished_ms > :kept_since_ms::bigint OR EXISTS (
                SELECT FROM :schema.delivery d
                WHERE d.run_id = r.run_id
                    AND (d.state = {delivery_state.pending} OR d.done_ms > :kept_since_ms::bigint)));

-- part: looked_columns
r.run_id, r.state, r.reason, r.http_status, r.has_webhook, r.path, r.error, r.tags;

-- part: looked_runs
-- What a search looks at, newest first.
SELECT {looked_columns} FROM :schema.run r
        WHERE r.run_id < :before::uuid AND r.run_id >= :from::uuid AND {is_listed}
        ORDER BY r.run_id DESC LIMIT :looks::bigint;

-- part: with_tag(tag)
SELECT g.run_id FROM :schema.tag g
        WHERE g.project = :project::text AND g.tag = {tag} AND g.run_id < :before::uuid AND g.run_id >= :from::uuid;

-- part: looked_tags
-- The same of a project's runs with one of the :tags, or names of some: with the one that the fewest have, as far as
-- :tag_count says that.
{with_tag((SELECT chosen.tag FROM chosen))} ORDER BY g.run_id DESC LIMIT :looks::bigint;

-- part: tagged_run
-- The run of `k`. Each is found by itself: a join was planned to read all of them.
LATERAL (SELECT {looked_columns} FROM :schema.run r WHERE r.run_id = k.run_id AND {is_listed} LIMIT 1);

-- part: is_searched
-- Of `l`, one that is looked at.
(:tail::bytea IS NULL OR substring(uuid_send(l.run_id) FROM 13) = :tail::bytea)
        AND (:reason::bigint = 0 OR l.reason = :reason::bigint)
        AND (:status_from::bigint < 0
            OR coalesce(l.http_status, 0) BETWEEN :status_from::bigint AND :status_to::bigint)
        AND (octet_length(:path::bytea) = 0 OR position(:path::bytea IN l.path) > 0)
        AND (octet_length(:error::bytea) = 0 OR l.error = :error::bytea)
        AND (octet_length(:find::bytea) = 0 OR position(:find::bytea IN l.path) > 0
            OR position(:find::bytea IN l.error) > 0 OR position(:find::bytea IN convert_to(l.tags, 'UTF8')) > 0)
        AND {has_tags(l.tags)}
        AND CASE :webhook::bigint WHEN 0 THEN true WHEN 1 THEN NOT l.has_webhook
            ELSE l.has_webhook AND EXISTS (
                SELECT FROM :schema.delivery d WHERE d.run_id = l.run_id AND d.state = :webhook::bigint - 2) END;

-- part: found_rows
SELECT f.is_end, f.run_id, {run_row}, NULL::bytea
FROM found f
LEFT JOIN :schema.run r ON r.run_id = f.run_id
LEFT JOIN :schema.ticket t ON t.run_id = r.run_id
{delivery_counts}
ORDER BY f.run_id DESC, f.is_end;

-- part: tickets
-- What has not ended, queued or running, newest first and one by one, as a skip through the key. Before a queue has statistics,
-- or by a plan of when it was short, all of it is sorted for each page otherwise, 4 s of 60,000: a span of ids and an index of
-- what is queued promise few rows, so there is no lower end, and the state is a CASE.
tickets(run_id) AS (
    SELECT :before::uuid
    UNION ALL
    SELECT (
        SELECT t.run_id FROM :schema.ticket t
        WHERE t.run_id < n.run_id AND (:mode::bigint < 0 OR t.is_async = (:mode::bigint = 1))
            AND CASE WHEN t.node_id IS NULL THEN :state::bigint = {run_state.queued}
                ELSE :state::bigint = {run_state.running} END
        ORDER BY t.run_id DESC LIMIT 1)
    FROM tickets n WHERE n.run_id >= :from::uuid);

-- part: looked_tickets(looks)
SELECT l.* FROM tickets k
        CROSS JOIN LATERAL (
            SELECT {looked_columns} FROM :schema.run r
            WHERE r.run_id = k.run_id AND r.run_id < :before::uuid AND r.run_id >= :from::uuid
                AND (:project::text = '' OR r.project = :project::text) AND (:app::text = '' OR r.app = :app::text)
            LIMIT 1) l
        LIMIT {looks};

-- name: ASK_TICKETS
-- ASK_RUNS of those that have not ended.
WITH RECURSIVE {tickets},
found AS MATERIALIZED (SELECT l.run_id, false AS is_end FROM ({looked_tickets(:max::bigint)}) l)
{found_rows};

-- name: SEARCH_RUNS
-- The same of a search (store/search.h). :looks how many are looked at, :tail an id's end or null, :reason or 0, :status_from
-- or -1, :status_to, :webhook or 0, :path a part of it or '', :error or '', :find a part of either or of the tags or '',
-- :tags or ''. The first column: not a run, but the last that was looked at, where there may be more.
WITH found AS MATERIALIZED (
    (SELECT l.run_id, false AS is_end FROM ({looked_runs}) l WHERE {is_searched} LIMIT :max::bigint)
    UNION ALL
    (SELECT e.run_id, true FROM ({looked_runs}) e OFFSET :looks::bigint - 1 LIMIT 1)
    LIMIT :max::bigint)
{found_rows};

-- part: chosen_tag
chosen AS MATERIALIZED (
    SELECT w.tag FROM unnest(string_to_array(:tags::text, ',')) AS w(tag)
    CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM ({with_tag(w.tag)} LIMIT :tag_count::bigint) AS counted) AS c
    ORDER BY c.n LIMIT 1);

-- name: SEARCH_TAGS
-- The same by its tags.
WITH {chosen_tag},
found AS MATERIALIZED (
    (SELECT l.run_id, false AS is_end FROM ({looked_tags}) k CROSS JOIN {tagged_run} l
    WHERE {is_searched} LIMIT :max::bigint)
    UNION ALL
    (SELECT e.run_id, true FROM ({looked_tags}) e OFFSET :looks::bigint - 1 LIMIT 1)
    LIMIT :max::bigint)
{found_rows};

-- part: points
-- Where each of :points points begins, :step_ms apart, as an id.
(SELECT array_agg((lpad(to_hex(:first_ms::bigint + i * :step_ms::bigint), 12, '0') || repeat('0', 20))::uuid ORDER BY i)
        FROM generate_series(0, :points::bigint - 1) i);

-- part: point_and_state
-- Of `l`.
width_bucket(l.run_id, {points}) - 1 AS point,
        CASE WHEN l.state >= {run_state.success} THEN l.state WHEN EXISTS (
                SELECT FROM :schema.ticket t WHERE t.run_id = l.run_id AND t.node_id IS NOT NULL)
            THEN {run_state.running} ELSE {run_state.queued} END AS state;

-- name: COUNT_RUNS
-- How many of :looks that are looked at are found, by point and state: 0 to :points - 1. The last row has no count: the
-- last that was looked at, where there may be more.
WITH looked AS MATERIALIZED ({looked_runs}),
found AS MATERIALIZED (SELECT {point_and_state} FROM looked l WHERE {is_searched})
SELECT point, state, count(*), NULL::uuid FROM found GROUP BY point, state
UNION ALL
(SELECT -1, 0, 0, e.run_id FROM looked e OFFSET :looks::bigint - 1 LIMIT 1);

-- name: COUNT_TAGS
-- The same by its tags.
WITH {chosen_tag},
looked AS MATERIALIZED ({looked_tags}),
found AS MATERIALIZED (SELECT {point_and_state} FROM looked k CROSS JOIN {tagged_run} l WHERE {is_searched})
SELECT point, state, count(*), NULL::uuid FROM found GROUP BY point, state
UNION ALL
(SELECT -1, 0, 0, e.run_id FROM looked e OFFSET :looks::bigint - 1 LIMIT 1);

-- name: COUNT_TICKETS
-- The same of those that have not ended.
WITH RECURSIVE {tickets},
looked AS MATERIALIZED ({looked_tickets(:looks::bigint)}),
found AS MATERIALIZED (
    SELECT width_bucket(l.run_id, {points}) - 1 AS point FROM looked l WHERE {is_searched})
SELECT point, :state::bigint, count(*), NULL::uuid FROM found GROUP BY point
UNION ALL
(SELECT -1, 0, 0, e.run_id FROM looked e OFFSET :looks::bigint - 1 LIMIT 1);

-- apps ----------------------------------------------------------------------------------------------------------------
-- Names are found by skipping through an index.

-- name: ASK_APPS
WITH RECURSIVE names(name) AS (
    (SELECT app FROM :schema.run WHERE project = :project::text ORDER BY app LIMIT 1)
    UNION ALL
    SELECT (SELECT app FROM :schema.run WHERE project = :project::text AND app > n.name ORDER BY app LIMIT 1)
    FROM names n WHERE n.name IS NOT NULL)
SELECT name FROM names WHERE name IS NOT NULL LIMIT :max::bigint;

-- name: ASK_PROJECTS
WITH RECURSIVE names(name) AS (
    (SELECT project FROM :schema.run ORDER BY project LIMIT 1)
    UNION ALL
    SELECT (SELECT project FROM :schema.run WHERE project > n.name ORDER BY project LIMIT 1)
    FROM names n WHERE n.name IS NOT NULL)
SELECT name FROM names WHERE name IS NOT NULL LIMIT :max::bigint;

-- deliveries ----------------------------------------------------------------------------------------------------------

-- part: next_ms
-- When one is sent next, in ms: null: at once, or it is being sent.
(SELECT (extract(epoch FROM t.due_at) * 1000)::bigint FROM :schema.delivery_ticket t
        WHERE t.delivery_id = d.delivery_id AND t.due_at > now());

-- part: delivery_row
-- A row for each attempt of `d`, a delivery; :attempts how many of each, with what is known beside outcomes where one
-- delivery is asked for.
d.delivery_id, d.run_id, d.state, d.run_state, d.round, d.n, d.max_attempts, d.created_ms,
    CASE WHEN d.state <> {delivery_state.pending} THEN d.done_ms END,
    CASE d.state WHEN {delivery_state.pending} THEN {next_ms} END, d.project, d.app, coalesce(d.url, r.url),
    CASE WHEN :delivery_id::uuid IS NOT NULL THEN CASE WHEN d.url IS NULL THEN r.secret ELSE d.secret END END,
    CASE WHEN :delivery_id::uuid IS NOT NULL THEN (
        SELECT f.since_ms FROM :schema.failing f WHERE f.lane = d.lane) END,
    (d.url IS NOT NULL)::integer, r.traceparent,
    CASE WHEN :attempts::bigint > 0 THEN (
        SELECT count(*) FROM :schema.attempt c WHERE c.delivery_id = d.delivery_id) END,
    a.round, a.n, a.started_ms, a.ended_ms, coalesce(a.verdict, {attempt_verdict.running}), a.http_status, a.error,
    CASE WHEN :delivery_id::uuid IS NOT NULL THEN a.name_us END, a.connect_us, a.tls_us,
    a.first_byte_us, a.address, a.content_type,
    CASE WHEN :delivery_id::uuid IS NOT NULL THEN a.body END, a.sent_size, a.retry_after_s;

-- part: delivery_joins
LEFT JOIN :schema.run r ON r.run_id = d.run_id
LEFT JOIN LATERAL (
    SELECT * FROM :schema.attempt a WHERE a.delivery_id = d.delivery_id
    ORDER BY a.round DESC, a.n DESC LIMIT :attempts::bigint) a ON true;

-- name: ASK_DELIVERIES
-- Of a run, or one of them, or null.
SELECT {delivery_row}
FROM (
    SELECT * FROM :schema.delivery
    WHERE delivery_id < :before::uuid AND delivery_id >= :from::uuid
        AND (:project::text = '' OR project = :project::text) AND (:app::text = '' OR app = :app::text)
        AND (:state::bigint < 0 OR state = :state::bigint) AND (:run_id::uuid IS NULL OR run_id = :run_id::uuid)
        AND (:delivery_id::uuid IS NULL OR delivery_id = :delivery_id::uuid) AND {is_shown_delivery}
    ORDER BY delivery_id DESC LIMIT :max::bigint) d
{delivery_joins}
ORDER BY d.delivery_id DESC, a.round, a.n;

-- part: looked_deliveries(and)
SELECT d.delivery_id FROM :schema.delivery d
        WHERE d.delivery_id < :before::uuid AND d.delivery_id >= :from::uuid
            AND (:project::text = '' OR d.project = :project::text) AND (:app::text = '' OR d.app = :app::text)
            AND (:state::bigint < 0 OR d.state = :state::bigint)
            AND (:run_id::uuid IS NULL OR d.run_id = :run_id::uuid) {and}
            AND {is_shown_delivery}
        ORDER BY d.delivery_id DESC LIMIT :looks::bigint;

-- part: found_deliveries(and)
-- Of :looks that are looked at those whose last attempt has a status from :status_from, -1: any, to :status_to. is_end: none,
-- but the last that was looked at, where there may be more.
((SELECT l.delivery_id, false AS is_end FROM ({looked_deliveries({and})}) l
    WHERE :status_from::bigint < 0 OR (
        SELECT a.http_status FROM :schema.attempt a
        WHERE a.delivery_id = l.delivery_id AND a.ended_ms IS NOT NULL
        ORDER BY a.round DESC, a.n DESC LIMIT 1) BETWEEN :status_from::bigint AND :status_to::bigint
    LIMIT :max::bigint)
    UNION ALL
    (SELECT e.delivery_id, true FROM ({looked_deliveries({and})}) e OFFSET :looks::bigint - 1 LIMIT 1)
    LIMIT :max::bigint);

-- part: search_deliveries(and)
WITH found AS MATERIALIZED {found_deliveries({and})}
SELECT {delivery_row}, f.is_end, f.delivery_id
FROM found f
LEFT JOIN :schema.delivery d ON d.delivery_id = f.delivery_id AND NOT f.is_end
{delivery_joins}
ORDER BY f.delivery_id DESC, f.is_end, a.round, a.n;

-- part: count_deliveries(and)
SELECT count(*) FILTER (WHERE NOT is_end), coalesce(bool_or(is_end), false)
FROM {found_deliveries({and})} f;

-- name: SEARCH_DELIVERIES
{search_deliveries()};

-- name: SEARCH_LANE
{search_deliveries(AND d.lane = :lane::bigint)};

-- name: COUNT_DELIVERIES
{count_deliveries()};

-- name: COUNT_LANE
{count_deliveries(AND d.lane = :lane::bigint)};

-- destinations --------------------------------------------------------------------------------------------------------

-- part: lane_columns
-- As hl_pg_read_destination reads them.
last.run_id, last.url, a.last_error, l.lane, c.pending, dead.n, c.oldest_ms, f.since_ms,
    a.n, a.ok, a.p95_us, a.last_ms, a.last_status;

-- part: lane_joins(project)
-- What is said of a destination: of `l` (lane). :looks how many deliveries are looked at, :attempts_since_ms from when on
-- attempts count.
CROSS JOIN LATERAL (
    SELECT d.run_id, coalesce(d.url, (SELECT r.url FROM :schema.run r WHERE r.run_id = d.run_id)) AS url
    FROM :schema.delivery d
    WHERE d.project = {project} AND d.lane = l.lane ORDER BY d.delivery_id DESC LIMIT 1) last
CROSS JOIN LATERAL (
    SELECT count(*) AS pending, min({waits_since}) AS oldest_ms FROM :schema.delivery d
    WHERE d.project = {project} AND d.lane = l.lane AND d.state = {delivery_state.pending}) c
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM :schema.delivery d
    WHERE d.project = {project} AND d.lane = l.lane AND d.state = {delivery_state.dead}
        AND d.done_ms > :kept_since_ms::bigint) dead
LEFT JOIN :schema.failing f ON f.lane = l.lane
CROSS JOIN LATERAL (
    SELECT array_agg(delivery_id) AS ids FROM (
        SELECT d.delivery_id FROM :schema.delivery d
        WHERE d.project = {project} AND d.lane = l.lane
        ORDER BY d.delivery_id DESC LIMIT :looks::bigint) AS looked) looks
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE ended_ms >= :attempts_since_ms::bigint) AS n,
        count(*) FILTER (WHERE ended_ms >= :attempts_since_ms::bigint AND http_status BETWEEN 200 AND 299) AS ok,
        (percentile_disc(0.95) WITHIN GROUP (ORDER BY ended_ms - started_ms)
            FILTER (WHERE ended_ms >= :attempts_since_ms::bigint) * 1000)::bigint AS p95_us,
        max(ended_ms) AS last_ms,
        (array_agg(http_status ORDER BY ended_ms DESC))[1] AS last_status,
        (array_agg(error ORDER BY ended_ms DESC)
            FILTER (WHERE verdict <> {attempt_verdict.ok} AND octet_length(error) > 0))[1] AS last_error
    FROM :schema.attempt WHERE delivery_id = ANY (looks.ids) AND ended_ms IS NOT NULL) a;

-- name: ASK_DESTINATIONS
-- :after behind which lane, null: from the first.
WITH RECURSIVE lanes(lane, nth) AS (
    (SELECT lane, 1 FROM :schema.delivery
        WHERE project = :project::text AND (:after::bigint IS NULL OR lane > :after::bigint)
        ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT d.lane FROM :schema.delivery d
        WHERE d.project = :project::text AND d.lane > l.lane ORDER BY d.lane LIMIT 1), l.nth + 1
    FROM lanes l WHERE l.lane IS NOT NULL AND l.nth < :max::bigint)
SELECT {lane_columns}
FROM lanes l
{lane_joins(:project::text)}
WHERE l.lane IS NOT NULL ORDER BY l.lane;

-- replicas ------------------------------------------------------------------------------------------------------------

-- name: ASK_REPLICAS
-- Times in ms since the epoch and ago.
SELECT node_id, name, role, version, state,
    floor(extract(epoch FROM started_at) * 1000)::bigint,
    (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint,
    (extract(epoch FROM clock_timestamp() - beat_at) * 1000)::bigint, runs, deliveries
FROM ({replicas}) AS replicas
ORDER BY {replica_order} LIMIT :max::bigint;

-- figures -------------------------------------------------------------------------------------------------------------

-- part: in_scope(of)
(:project::text = '' OR {of}.project = :project::text) AND (:app::text = '' OR {of}.app = :app::text);

-- name: ASK_OVERVIEW
-- :first_minute and :last_minute the span, :first_point the first of its points, :point_minutes minutes of a point,
-- :max_minutes how many rows are looked at; :max_count so far is counted; :with_deliveries 1: also deliveries and replicas,
-- :failing_looks failing destinations that are looked at, :max_failing that are told of, :max_replicas. Rows of several kinds:
-- question_overview.c.
WITH RECURSIVE minutes AS MATERIALIZED (
    SELECT minute, project, app, counts FROM :schema.tally
    WHERE minute >= :first_minute::bigint AND minute < :last_minute::bigint AND {in_scope(tally)}
    ORDER BY minute DESC LIMIT :max_minutes::bigint),
sums AS (
    SELECT project, app, point, what, sum(n)::bigint AS n
    FROM (
        SELECT project, app, (minute - :first_point::bigint) / :point_minutes::bigint AS point,
            x >> {HL_TALLY_COUNT_BITS} AS what, x & 1099511627775 AS n
        FROM minutes CROSS JOIN LATERAL unnest(counts) AS x) AS each
    GROUP BY GROUPING SETS ((project, app, what), (point, what))),
inside AS (
    SELECT count(*) FILTER (WHERE t.node_id IS NULL) AS queued,
        count(*) FILTER (WHERE t.node_id IS NOT NULL) AS running
    FROM (SELECT run_id, node_id FROM :schema.ticket WHERE is_async LIMIT :max_count::bigint) t
    JOIN :schema.run r ON r.run_id = t.run_id
    WHERE {in_scope(r)}),
projects(name) AS (
    (SELECT project FROM :schema.delivery
        WHERE :with_deliveries::bigint = 1 AND (:project::text = '' OR project = :project::text)
        ORDER BY project LIMIT 1)
    UNION ALL
    SELECT (SELECT d.project FROM :schema.delivery d WHERE :project::text = '' AND d.project > p.name
        ORDER BY d.project LIMIT 1)
    FROM projects p WHERE p.name IS NOT NULL),
l AS MATERIALIZED (
    SELECT failing.lane, failing.since_ms,
        (SELECT p.name FROM projects p
            WHERE p.name IS NOT NULL AND EXISTS (
                SELECT FROM :schema.delivery d WHERE d.project = p.name AND d.lane = failing.lane)
            LIMIT 1) AS project
    FROM (SELECT lane, since_ms FROM :schema.failing WHERE :with_deliveries::bigint = 1
        ORDER BY since_ms LIMIT :failing_looks::bigint) AS failing),
worst AS MATERIALIZED (
    SELECT * FROM l WHERE project IS NOT NULL ORDER BY since_ms LIMIT :max_failing::bigint),
replicas AS (
    SELECT * FROM ({replicas}) AS r
    WHERE :with_deliveries::bigint = 1 ORDER BY {replica_order} LIMIT :max_replicas::bigint)
SELECT 0, NULL::text, NULL::text, NULL::text, NULL::uuid, NULL::bytea, NULL::bytea,
    (SELECT convert_from(v, 'UTF8')::bigint FROM :schema.meta WHERE k = 'counted_ms'),
    (SELECT count(*) FROM minutes), (SELECT min(minute) FROM minutes), queued, running,
    (SELECT count(*) FROM (SELECT FROM :schema.ticket WHERE is_async LIMIT :max_count::bigint) AS x),
    (SELECT count(*) FROM (
        SELECT FROM :schema.delivery d
        WHERE :with_deliveries::bigint = 1 AND d.state = {delivery_state.pending} AND {in_scope(d)}
        LIMIT :max_count::bigint) AS x),
    (SELECT count(*) FROM (
        SELECT FROM :schema.delivery d
        WHERE :with_deliveries::bigint = 1 AND d.state = {delivery_state.dead} AND d.done_ms > :kept_since_ms::bigint
            AND {in_scope(d)}
        LIMIT :max_count::bigint) AS x),
    (SELECT count(*) FROM l WHERE project IS NOT NULL), NULL::bigint
FROM inside
UNION ALL
SELECT 1, project, app, NULL, NULL, NULL, NULL, what, n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM sums WHERE point IS NULL
UNION ALL
SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, what, n, point, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM sums WHERE point IS NOT NULL
UNION ALL
SELECT 3, project, NULL, NULL, run_id, url, last_error, lane, pending, dead,
    oldest_ms, since_ms, attempts, ok, p95_us, last_ms, last_status
FROM (
    SELECT l.project, {lane_columns}
    FROM worst l
    {lane_joins(l.project)}) AS w(project, run_id, url, last_error, lane,
    pending, dead, oldest_ms, since_ms, attempts, ok, p95_us, last_ms, last_status)
UNION ALL
SELECT 4, name, version, state, node_id, convert_to(role, 'UTF8'), NULL,
    floor(extract(epoch FROM started_at) * 1000)::bigint,
    (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint,
    (extract(epoch FROM clock_timestamp() - beat_at) * 1000)::bigint, runs, deliveries, NULL, NULL, NULL, NULL, NULL
FROM replicas;

-- part: errors(and)
-- Of the :looks newest failures what is alike: first how many there are, of how many runs, of how many that were looked at
-- and since when; then the :max most frequent.
WITH looked AS MATERIALIZED (
    SELECT r.project, r.app, r.reason, r.error, r.created_ms FROM :schema.run r
    WHERE r.state = {run_state.failure} {and} AND r.run_id < :before::uuid AND r.run_id >= :from::uuid
    ORDER BY r.run_id DESC LIMIT :looks::bigint),
kinds AS MATERIALIZED (
    SELECT project, app, reason, error, count(*) AS n, min(created_ms) AS first_ms, max(created_ms) AS last_ms
    FROM looked WHERE :app::text = '' OR app = :app::text
    GROUP BY project, app, reason, error)
SELECT NULL::text, NULL::text, NULL::bigint, NULL::bytea, (SELECT count(*) FROM kinds),
    (SELECT coalesce(sum(n), 0)::bigint FROM kinds), count(*), min(created_ms)
FROM looked
UNION ALL
(SELECT project, app, reason::bigint, error, n, first_ms, last_ms, NULL
FROM kinds ORDER BY n DESC, last_ms DESC LIMIT :max::bigint);

-- name: ASK_ERRORS
{errors(AND r.project = :project::text)};

-- name: ASK_ERRORS_OF_ALL
{errors()};

-- accounts ------------------------------------------------------------------------------------------------------------

-- name: ASK_ACCOUNTS
SELECT {account} FROM :schema.account
WHERE (:project::text = '' OR project = :project::text) AND account_id < :before::uuid
ORDER BY account_id DESC LIMIT :max::bigint;

-- name: ASK_KEYS
SELECT v FROM :schema.meta WHERE k LIKE 'verify_key:%' ORDER BY k LIMIT :max::bigint;

-- events --------------------------------------------------------------------------------------------------------------
-- No transaction that writes an event lasts for a minute.

-- name: EVENT_READ
-- :after up to which nothing is read, :seen what was seen above that.
WITH old AS (
    SELECT coalesce(max(event_id), :after::bigint) AS mark FROM :schema.event
    WHERE event_id > :after::bigint AND at < now() - interval '60 s')
SELECT {now_ms}, {database}, {last_event}, old.mark, e.event_id, e.kind, e.subject, {limits}
FROM old
LEFT JOIN :schema.event e ON e.event_id > :after::bigint AND (e.node_id IS NULL OR e.node_id = :me::uuid)
    AND e.event_id <> ALL (:seen::bigint[])
LEFT JOIN :schema.account a ON a.account_id = e.subject
ORDER BY e.event_id;

-- name: EVENT_ACCOUNTS
SELECT account_id, revoked_ms > 0, {limits} FROM :schema.account;

-- name: EVENT_CANCELS
-- Of its runs, however they were told of.
SELECT run_id FROM :schema.ticket WHERE node_id = :me::uuid AND is_cancel_wished;

-- bodies --------------------------------------------------------------------------------------------------------------

-- name: BODY_PUT
INSERT INTO :schema.body (body_id, seq, bytes) VALUES (:body_id::uuid, :seq::bigint, :bytes::bytea)
ON CONFLICT DO NOTHING;

-- name: BODY_GET
SELECT bytes FROM :schema.body WHERE body_id = :body_id::uuid AND seq = :seq::bigint;

-- who changed what ----------------------------------------------------------------------------------------------------

-- part: audit_shown
audit_id >= :from::uuid AND audit_id < :before::uuid AND (:action::bigint < 0 OR action = :action::bigint)
ORDER BY audit_id DESC LIMIT :max::bigint;

-- name: ASK_AUDIT
SELECT audit_id, project, action, count, told FROM :schema.audit WHERE {audit_shown};

-- name: ASK_AUDIT_OF_PROJECT
-- And of what all projects share: each in its order, so that no more than two pages are read.
SELECT * FROM (
    (SELECT audit_id, project, action, count, told FROM :schema.audit WHERE project = :project::text AND {audit_shown})
    UNION ALL
    (SELECT audit_id, project, action, count, told FROM :schema.audit WHERE project = '' AND {audit_shown})) AS both_of_them
ORDER BY audit_id DESC LIMIT :max::bigint;

-- name: ASK_TEXT
SELECT v FROM :schema.meta WHERE k = :name::text;

-- bulk work ------------------------------------------------------------------------------------------------------------

-- part: job
job_id, project, version, ended_ms, is_stopping, lease_until <= now(), plan, progress;

-- name: ASK_JOB
-- Of any project: ''.
SELECT {job} FROM :schema.job WHERE job_id = :job_id::uuid AND (:project::text = '' OR project = :project::text);

-- name: ASK_JOBS
SELECT {job} FROM :schema.job WHERE job_id < :before::uuid ORDER BY job_id DESC LIMIT :max::bigint;

-- name: ASK_JOBS_OF_PROJECT
SELECT {job} FROM :schema.job WHERE project = :project::text AND job_id < :before::uuid
ORDER BY job_id DESC LIMIT :max::bigint;

-- name: ASK_JOBS_OPEN
-- They are few.
SELECT {job} FROM :schema.job WHERE ended_ms = 0 AND job_id < :before::uuid ORDER BY job_id DESC LIMIT :max::bigint;

-- name: ASK_JOB_PIECES
SELECT n, fates, items FROM :schema.job_piece
WHERE job_id = :job_id::uuid AND n >= :from::bigint AND fates & :fates::bigint <> 0 ORDER BY n LIMIT :max::bigint;
