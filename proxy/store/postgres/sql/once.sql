-- once.sql - what is asked now and then, by a session of its own: prepared nowhere.

-- meta: what all replicas have in common ------------------------------------------------------------------------------

-- name: META_GET
SELECT v FROM :schema.meta WHERE k = :name::text;

-- name: META_KEEP
-- What stands there, once ours does if nothing did.
INSERT INTO :schema.meta (k, v) VALUES (:name::text, :value::bytea)
ON CONFLICT (k) DO UPDATE SET v = meta.v RETURNING v;

-- store rekey ---------------------------------------------------------------------------------------------------------

-- name: REKEY_READ
-- The next runs that have sealed values.
SELECT run_id, lane, head, url, secret FROM :schema.run
WHERE run_id > :after::uuid AND (head IS NOT NULL OR url IS NOT NULL OR secret IS NOT NULL)
ORDER BY run_id LIMIT :max::bigint;

-- name: REKEY_TELL
INSERT INTO :schema.audit (audit_id, project, action, count, told)
VALUES (:audit_id::uuid, '', :action::bigint, :count::bigint, :told::bytea);

-- name: REKEY_WRITE
-- Those that nobody has just then; what has become null stays so. How many values of each are new.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:run_id::uuid[], :head::bytea[], :url::bytea[],
        :secret::bytea[], :lane::bigint[], :n_new::bigint[]) AS t(run_id, head, url, secret, lane, n_new)),
held AS MATERIALIZED (
    SELECT i.* FROM input i JOIN :schema.run r ON r.run_id = i.run_id FOR UPDATE OF r SKIP LOCKED),
written AS (
    UPDATE :schema.run r SET head = CASE WHEN r.head IS NOT NULL THEN h.head END,
        url = h.url, secret = h.secret, lane = h.lane
    FROM held h WHERE r.run_id = h.run_id
    RETURNING h.n_new)
SELECT n_new FROM written;

-- name: REKEY_READ_DELIVERIES
-- Those that go elsewhere than their runs' webhooks: both values are sealed as the runs'.
SELECT delivery_id, run_id, url, secret FROM :schema.delivery
WHERE delivery_id > :after::uuid AND url IS NOT NULL ORDER BY delivery_id LIMIT :max::bigint;

-- name: REKEY_WRITE_DELIVERY
UPDATE :schema.delivery SET url = :url::bytea, secret = :secret::bytea WHERE delivery_id = :delivery_id::uuid;

-- name: REKEY_OTHERS
-- A replica that lives and seals with another key.
SELECT name FROM :schema.node
WHERE NOT is_dead AND expires_at > now() AND key_check IS DISTINCT FROM :key_check::bytea
ORDER BY name LIMIT 1;

-- name: REKEY_READ_SHARED
SELECT k, v FROM :schema.meta WHERE k = 'signing_key' OR k LIKE 'verify_key:%' FOR UPDATE;

-- name: REKEY_WRITE_SHARED
UPDATE :schema.meta SET v = :value::bytea WHERE k = :name::text;

-- store status --------------------------------------------------------------------------------------------------------

-- part: time(at)
to_char({at} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- part: age(at)
-- By the clock, for what is seen may have been committed after this transaction began.
round(extract(epoch FROM clock_timestamp() - {at})::numeric, 1);

-- name: STATUS
-- Another role's sessions show their age in transactions to everybody, in time to pg_read_all_stats.
SELECT json_build_object('schema', trim('"' FROM ':schema'),
    'version', (SELECT convert_from(v, 'UTF8')::integer FROM :schema.meta WHERE k = 'version'),
    'replicas', (SELECT coalesce(json_agg(json_build_object('replica_id', node_id, 'name', name,
            'role', role, 'version', version, 'state', state, 'started_at', {time(started_at)},
            'age_seconds', {age(started_at)}, 'beat_seconds', {age(beat_at)},
            'runs', runs, 'deliveries', deliveries) ORDER BY {replica_order}), '[]')
        FROM ({replicas}) AS replicas),
    'queued_runs', q.n, 'oldest_queued_at', {time(q.oldest)},
    'oldest_queued_seconds', {age(q.oldest)}, 'running_runs', q.running,
    'pending_deliveries', (SELECT count(*) FROM :schema.delivery_ticket),
    'dead_letters', (SELECT count(*) FROM :schema.delivery WHERE state = {delivery_state.dead}),
    'dead_tuples', json_build_object('ticket', {dead_tuples(ticket)}, 'delivery_ticket', {dead_tuples(delivery_ticket)}),
    'synchronous_standby_names', current_setting('synchronous_standby_names'),
    'synchronous_commit', current_setting('synchronous_commit'),
    'oldest_snapshot_seconds', a.seconds, 'oldest_snapshot_transactions', a.transactions)::text
FROM (
    SELECT count(*) FILTER (WHERE node_id IS NULL) AS n,
        count(*) FILTER (WHERE node_id IS NOT NULL) AS running,
        min(due_at) FILTER (WHERE node_id IS NULL) AS oldest
    FROM :schema.ticket) q, (
    SELECT coalesce(max(transactions), 0) AS transactions,
        CASE WHEN bool_and(since IS NOT NULL) OR count(*) = 0 THEN coalesce(max({age(since)}), 0) END AS seconds
    FROM ({holders}) AS holders) a;

-- a session -----------------------------------------------------------------------------------------------------------

-- name: LOOK
-- Whether the server keeps what it commits and may be written to, its clock, which of its processes this is, and whether
-- the session was told before what is ours.
SELECT current_setting('fsync'), current_setting('synchronous_commit'),
    current_setting('transaction_read_only'), {now_ms}, pg_backend_pid(), ({was_told})::integer;
