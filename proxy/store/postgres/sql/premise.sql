-- premise.sql - what statements rely on in a session; each connection has these.

-- name: PREMISE_UNDO
-- Behind a pooler: what an earlier connection, which did not know of it, has left.
-- text: HL_PG_PREMISES_UNDONE store/postgres/premise.h
-- name: ISOLATE
-- text: HL_PG_PREMISE_ISOLATION store/postgres/premise.h
-- name: PREMISE
-- text: HL_PG_PREMISES_AS_QUERY store/postgres/premise.h
