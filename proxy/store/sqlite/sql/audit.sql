-- audit.sql - who changed what. The writing connection's.

-- part: audit
audit_id, project, action, count, told;

-- name: AUDIT_ADD
-- A change that goes on in a later commit counts more.
INSERT INTO audit ({audit}) VALUES (:audit_id, :project, :action, :count, :told)
ON CONFLICT (audit_id) DO UPDATE SET count = excluded.count;

-- name: AUDIT_PURGE
DELETE FROM audit WHERE audit_id IN (
    SELECT audit_id FROM audit WHERE audit_id < :before ORDER BY audit_id LIMIT :max);

-- name: AUDIT_OLDEST
SELECT audit_id FROM audit ORDER BY audit_id LIMIT 1;
