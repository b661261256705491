-- alert.sql - alerts: what is kept of those that were told, and the delivery that tells one.

-- name: ALERT_TELL
-- Unless what is kept is another than the former text; ''::bytea: none. With a :run_id a run is there that has ended,
-- and its webhook waits. Who sends it a second time, for want of an answer, finds its own text, and that is stale.
WITH kept AS (
    INSERT INTO :schema.meta AS m (k, v) SELECT 'alerts', :value::bytea
    WHERE :former::bytea = '' OR EXISTS (SELECT FROM :schema.meta WHERE k = 'alerts')
    ON CONFLICT (k) DO UPDATE SET v = excluded.v WHERE m.v = :former::bytea
    RETURNING k),
runs AS (
    INSERT INTO :schema.run (run_id, project, app, state, is_async, has_webhook, created_ms, started_ms, finished_ms,
        method, path, request_where, request_size, lane, url, traceparent, epoch, attempt, node_id, replica,
        http_status, content_type, encoding, body_where, body_size, body_sha256, body_bytes)
    SELECT :run_id::uuid, :project::text, :app::text, {run_state.success}, false, true, :created_ms::bigint,
        :created_ms::bigint, :created_ms::bigint, :method::bytea, :path::bytea, {body_where.none}, -1, :lane::bigint,
        :url::bytea, '', 1, 1, :me::uuid, (SELECT name FROM :schema.node WHERE node_id = :me::uuid),
        200, 'application/json', {encoding.json}, {body_where.inline}, octet_length(:body_bytes::bytea), :body_sha256::bytea,
        :body_bytes::bytea
    FROM kept WHERE :run_id::uuid IS NOT NULL
    RETURNING run_id, project, app, state, lane, finished_ms),
forwarded AS (
    INSERT INTO :schema.delivery (delivery_id, run_id, project, app, run_state, lane, max_attempts, created_ms)
    SELECT :delivery_id::uuid, run_id, project, app, state, lane, :delivery_attempts::bigint, finished_ms FROM runs
    RETURNING delivery_id, lane),
forwarding AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at)
    SELECT delivery_id, lane, now() FROM forwarded)
SELECT 1, CASE WHEN EXISTS (SELECT FROM kept) THEN {pg_code.done} ELSE {pg_code.stale} END;
