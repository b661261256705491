-- account.sql - service accounts. The writing connection's.

-- part: limits
max_running, max_queued, rate_count, rate_window_s, max_priority, limits_revision;

-- part: limits_values
:max_running, :max_queued, :rate_count, :rate_window_s, :max_priority, :limits_revision;

-- part: account
account_id, {account_columns}, {limits};

-- name: ACCOUNT_ADD
INSERT INTO account ({account})
VALUES (:account_id, {account_values}, {limits_values});

-- name: ACCOUNT_GET
SELECT {account} FROM account WHERE account_id = :account_id;

-- name: ACCOUNT_FIND
SELECT project, revoked_ms FROM account WHERE account_id = :account_id;

-- name: ACCOUNT_LIMIT
UPDATE account SET ({limits}) = ({limits_values}) WHERE account_id = :account_id;

-- name: ACCOUNT_REVOKE
UPDATE account SET revoked_ms = :now_ms WHERE account_id = :account_id;

-- name: ACCOUNT_ANY
SELECT 1 FROM account WHERE revoked_ms = 0 LIMIT 1;

-- name: ACCOUNT_REVOKE_ALL
UPDATE account SET revoked_ms = :now_ms WHERE revoked_ms = 0;

-- name: ACCOUNT_TOUCH
UPDATE account SET last_used_ms = max(last_used_ms, :used_ms) WHERE account_id = :account_id;

-- name: ACCOUNT_PURGE
DELETE FROM account WHERE account_id IN (
    SELECT account_id FROM account WHERE revoked_ms > 0 AND expires_ms <= :until_ms ORDER BY expires_ms LIMIT :max);

-- name: ACCOUNT_OLDEST
SELECT expires_ms FROM account WHERE revoked_ms > 0 ORDER BY expires_ms LIMIT 1;
