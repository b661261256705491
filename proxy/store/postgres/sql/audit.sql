-- audit.sql - who changed what.

-- name: AUDIT_ADD
WITH {audited((SELECT -1::bigint AS n))}
SELECT 1, {pg_code.done};

-- name: AUDIT_ACCEPTED
-- Of runs that this transaction has accepted.
INSERT INTO :schema.audit (audit_id, project, action, count, told)
SELECT i.audit_id, i.project, i.action, -1, i.told
FROM unnest(:audit_id::uuid[], :audit_project::text[], :audit_action::bigint[], :audit_told::bytea[], :run_id::uuid[])
    AS i(audit_id, project, action, told, run_id)
WHERE EXISTS (SELECT FROM :schema.run r WHERE r.run_id = i.run_id)
ON CONFLICT (audit_id) DO NOTHING;

-- name: SETTINGS_KEEP
-- Unless what is kept is another than the former one; ''::bytea: nothing.
WITH kept AS (
    INSERT INTO :schema.meta AS m (k, v) SELECT 'settings', :value::bytea
    WHERE :former::bytea = '' OR EXISTS (SELECT FROM :schema.meta WHERE k = 'settings')
    ON CONFLICT (k) DO UPDATE SET v = excluded.v WHERE m.v = :former::bytea
    RETURNING k),
{audited((SELECT -1::bigint AS n FROM kept))}
SELECT 1, CASE WHEN EXISTS (SELECT FROM kept) THEN {pg_code.done} ELSE {pg_code.stale} END;
