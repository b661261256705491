-- upkeep.sql - partitions, what gauges say, what goes in time.

-- name: PARTITION
-- How wide one is, in ms: whether more have to be made.
SELECT :schema.make_partitions(:width_ms::bigint)::integer;

-- name: STREAM_TRIM
-- What ended until :until_ms is past the retention of streams, :max_bytes may be kept of them: the oldest lose their
-- bodies, and parts of streams whose runs have ended go. How much there was.
WITH kept AS MATERIALIZED (
    SELECT run_id, body_file, body_size, finished_ms,
        sum(body_size) OVER (ORDER BY finished_ms DESC, run_id) AS total
    FROM :schema.run
    WHERE NOT is_async AND NOT has_webhook AND body_where IN ({body_where.inline}, {body_where.file})),
old AS MATERIALIZED (
    SELECT run_id, body_file FROM kept WHERE finished_ms <= :until_ms::bigint OR total > :max_bytes::bigint
    ORDER BY finished_ms, run_id LIMIT 500),
stripped AS (
    UPDATE :schema.run r SET body_where = {body_where.dropped}, body_bytes = NULL, body_file = NULL,
        encoding = {encoding.none}
    FROM old o WHERE r.run_id = o.run_id AND r.body_where IN ({body_where.inline}, {body_where.file})),
parts AS (
    DELETE FROM :schema.body b USING old o WHERE b.body_id = o.body_file),
left_over AS (
    DELETE FROM :schema.stream s WHERE NOT EXISTS (SELECT FROM :schema.ticket t WHERE t.run_id = s.run_id))
SELECT coalesce(sum(body_size), 0)::bigint FROM kept;

-- name: FAILING_TRIM
-- Where nothing is to be sent nobody knows what a destination would do.
WITH over AS (
    DELETE FROM :schema.failing f
    WHERE NOT EXISTS (SELECT FROM :schema.delivery_ticket t WHERE t.lane = f.lane AND t.node_id IS NULL)
        AND NOT EXISTS (SELECT FROM :schema.delivery_ticket t WHERE t.lane = f.lane AND t.node_id IS NOT NULL)
    RETURNING lane)
SELECT count(*) FROM over;

-- gauges --------------------------------------------------------------------------------------------------------------

-- name: COUNT
-- Of all replicas; the last two of the others, by what NODE_BEAT says of their apps.
SELECT (SELECT count(*) FROM :schema.ticket WHERE node_id IS NULL AND class < {HL_PG_CLASS_LATER}),
    (SELECT (extract(epoch FROM min(due_at)) * 1000)::bigint FROM :schema.ticket
        WHERE node_id IS NULL AND class < {HL_PG_CLASS_LATER}),
    (SELECT count(*) FROM :schema.delivery_ticket),
    (SELECT min({waits_since}) FROM :schema.delivery WHERE state = {delivery_state.pending}),
    (SELECT count(*) FROM :schema.node WHERE NOT is_dead AND expires_at > now()),
    (SELECT (extract(epoch FROM max(coalesce(app_at, beat_at))) * 1000)::bigint FROM :schema.node WHERE NOT is_dead),
    {start_ms()},
    (SELECT count(*) FROM :schema.ticket WHERE node_id IS NULL AND class >= {HL_PG_CLASS_LATER}),
    (SELECT count(*) FROM :schema.ticket WHERE lane IS NOT NULL),
    (SELECT count(*) FROM :schema.node
        WHERE NOT is_dead AND expires_at > now() AND node_id <> :me::uuid AND app_at = beat_at),
    (SELECT count(*) FROM :schema.node
        WHERE NOT is_dead AND expires_at > now() AND node_id <> :me::uuid
            AND app_at = beat_at - interval '1 ms');

-- name: DESTINATION_COUNT
-- Destinations with :min deliveries or more, counted from acceptance. What a replica of an older hookline has accepted
-- counts from its run's end.
SELECT lane, sum(n)::bigint FROM (
    SELECT lane, count(*) AS n FROM :schema.delivery_ticket GROUP BY lane
    UNION ALL
    SELECT lane, count(*) FROM :schema.ticket WHERE lane IS NOT NULL GROUP BY lane) AS lanes
GROUP BY lane HAVING sum(n) >= :min::bigint ORDER BY 2 DESC LIMIT 16;

-- name: MEASURE
-- Of the server.
SELECT {dead_tuples(ticket)}, {dead_tuples(delivery_ticket)},
    (extract(epoch FROM clock_timestamp() - min(since)) * 1000)::bigint,
    (array_agg(xid ORDER BY transactions DESC))[1]::text::bigint
FROM ({holders}) AS holders;
