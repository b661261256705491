-- account.sql - service accounts, and hookline's own signing key.

-- name: ACCOUNT_ADD
WITH added AS (
    INSERT INTO :schema.account (account_id, project, name, role,
        created_ms, expires_ms, revoked_ms, last_used_ms, {limits})
    VALUES (:account_id::uuid, :project::text, :name::bytea, :role::bigint,
        :created_ms::bigint, :expires_ms::bigint, 0, 0, :max_running::bigint, :max_queued::bigint,
        :rate_count::bigint, :rate_window_s::bigint, :max_priority::bigint, :limits_revision::bigint)
    ON CONFLICT DO NOTHING
    RETURNING account_id),
told AS (
    INSERT INTO :schema.event (kind, subject) SELECT {pg_event.added}, account_id FROM added),
{audited((SELECT -1::bigint AS n FROM added))}
SELECT 1, CASE WHEN EXISTS (SELECT FROM added) THEN {pg_code.done} ELSE {pg_code.before} END;

-- name: ACCOUNT_REVOKE
-- Of any project: ''.
WITH revoked AS (
    UPDATE :schema.account SET revoked_ms = CASE revoked_ms WHEN 0 THEN :now_ms::bigint ELSE revoked_ms END
    WHERE account_id = :account_id::uuid AND (:project::text = '' OR project = :project::text)
    RETURNING account_id, revoked_ms),
told AS (
    INSERT INTO :schema.event (kind, subject) SELECT {pg_event.revoked}, account_id FROM revoked),
{audited((SELECT -1::bigint AS n FROM revoked WHERE revoked_ms = :now_ms::bigint))}
SELECT 1, CASE WHEN EXISTS (SELECT FROM revoked) THEN {pg_code.done} ELSE {pg_code.not_found} END,
    (SELECT revoked_ms FROM revoked);

-- name: ACCOUNT_RECALL
-- Accounts that were revoked, in a database that may not know of it.
WITH revoked AS (
    UPDATE :schema.account SET revoked_ms = i.ms
    FROM unnest(:account_id::uuid[], :revoked_ms::bigint[]) AS i(id, ms)
    WHERE account_id = i.id AND revoked_ms = 0
    RETURNING account_id),
told AS (
    INSERT INTO :schema.event (kind, subject) SELECT {pg_event.revoked}, account_id FROM revoked)
SELECT count(*) FROM revoked;

-- part: keeps_limit(bit)
:changed::bigint & (1 << {bit}) = 0;

-- name: ACCOUNT_LIMIT
-- Of any project: ''. :changed which change, by the bits of enum hl_limit.
WITH limited AS (
    UPDATE :schema.account SET
        max_running = CASE WHEN {keeps_limit({limit.max_running})} THEN max_running ELSE :max_running::bigint END,
        max_queued = CASE WHEN {keeps_limit({limit.max_queued})} THEN max_queued ELSE :max_queued::bigint END,
        rate_count = CASE WHEN {keeps_limit({limit.rate})} THEN rate_count ELSE :rate_count::bigint END,
        rate_window_s = CASE WHEN {keeps_limit({limit.rate})} THEN rate_window_s ELSE :rate_window_s::bigint END,
        max_priority = CASE WHEN {keeps_limit({limit.max_priority})} THEN max_priority ELSE :max_priority::bigint END,
        limits_revision = limits_revision + 1
    WHERE account_id = :account_id::uuid AND (:project::text = '' OR project = :project::text)
    RETURNING {account}),
told AS (
    INSERT INTO :schema.event (kind, subject) SELECT {pg_event.limited}, account_id FROM limited),
{audited((SELECT -1::bigint AS n FROM limited))}
SELECT 1, CASE WHEN l.account_id IS NULL THEN {pg_code.not_found} ELSE {pg_code.done} END, l.*
FROM (SELECT 1) AS one LEFT JOIN limited l ON true;

-- name: ACCOUNT_TOUCH
WITH touched AS (
    UPDATE :schema.account a SET last_used_ms = greatest(a.last_used_ms, u.ms)
    FROM unnest(:account_id::uuid[], :used_ms::bigint[]) AS u(id, ms) WHERE a.account_id = u.id)
SELECT 1, {pg_code.done};

-- name: KEY_KEEP
-- The first one stays.
WITH kept AS (
    INSERT INTO :schema.meta (k, v) VALUES ('signing_key', :value::bytea) ON CONFLICT (k) DO NOTHING RETURNING k)
SELECT 1,
    CASE WHEN EXISTS (SELECT FROM kept) THEN {pg_code.done}
        WHEN EXISTS (SELECT FROM :schema.meta WHERE k = 'signing_key') THEN {pg_code.exists}
        ELSE {pg_code.again} END,
    (SELECT v FROM :schema.meta WHERE k = 'signing_key');
