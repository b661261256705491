-- setup.sql - what statements rely on in a session; each connection has these.

-- name: SETUP_UNDO
-- Behind a pooler: what an earlier connection, which did not know of it, has left.
-- text: HL_PG_SETUP_UNDONE store/postgres/session_setup.h
-- name: ISOLATE
-- text: HL_PG_SETUP_ISOLATION store/postgres/session_setup.h
-- name: SETUP
-- text: HL_PG_SETUP_AS_QUERY store/postgres/session_setup.h
