-- listen.sql - what is sent over the listener's connection, and nothing else.

-- name: LISTEN
LISTEN :schema;

-- name: UNLISTEN
UNLISTEN :schema;

-- name: NOTIFY
NOTIFY :schema;

-- name: NOTIFY_ANSWER
-- Of nothing but the answer to a call at a front.
NOTIFY :schema, 'answer';

-- name: NO_FLUSH
-- For this transaction: its commit does not wait for the disk.
SELECT set_config('synchronous_commit', 'off', true);
