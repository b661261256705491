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
