/* statement.h - every SQL statement that the store's thread uses: set-based, with `~` for the schema.
 *
 * An array parameter has an item for each operation of a flush; `ord` is which (from 1). A statement
 * answers a row for each with a code of enum hl_pg_code, and never raises for one bad row. All of them
 * may be sent again when nobody knows whether they were committed: the second time they say the same.
 * Numbers in the text are the enums of record.h (record.c asserts them). */
#ifndef HL_STORE_POSTGRES_STATEMENT_H
#define HL_STORE_POSTGRES_STATEMENT_H

#include "base/compiler.h"
#include "base/err.h"
#include "store/postgres/premise.h"

struct hl_pg_settings;

enum hl_pg_code {
    HL_PG_DONE = 0,
    HL_PG_EXISTS = 1,
    HL_PG_CONFLICT = 2,
    HL_PG_STALE = 3,
    HL_PG_NOT_FOUND = 4,
    HL_PG_AGAIN = 5,  /* somebody else was faster: ask once more */
    HL_PG_BUSY = 7,   /* too much waits */
    HL_PG_BEFORE = 6, /* it is so already: a repetition, if this may be one */
};

#define HL_PG_NOW_MS "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

/* What hl_pg_body and hl_pg_outcome read. */
#define HL_PG_REQUEST                                                                              \
    "r.request_where, r.request_size, r.request_sha256, r.request_file, r.request_bytes"
#define HL_PG_OUTCOME_HEAD                                                                         \
    "r.state, r.reason, r.http_status, r.finished_ms, r.content_type, r.content_encoding,"         \
    " r.encoding, r.escaped_size, r.body_where, r.body_size, r.body_sha256, r.body_file"
#define HL_PG_OUTCOME HL_PG_OUTCOME_HEAD ", r.body_bytes"

/* What hl_pg_limits and hl_pg_account read. */
#define HL_PG_LIMITS                                                                               \
    "max_running, max_queued, rate_count, rate_window_s, max_priority, limits_revision"
#define HL_PG_ACCOUNT                                                                              \
    "account_id, project, name, role, created_ms, expires_ms, revoked_ms, last_used_ms,"           \
    " " HL_PG_LIMITS

/* Dead nodes claim nothing: who buries one waits for the lock, or makes this one see nothing. Nor does what a replica
 * sent over a connection before its last one, and the server comes to only then: nobody would hear of it. */
#define HL_PG_ME_IN(session)                                                                       \
    "me AS MATERIALIZED (SELECT FROM ~.node WHERE node_id = $1 AND NOT is_dead AND session "       \
    "= " session "::uuid FOR KEY SHARE)"
#define HL_PG_ME                                                                                   \
    "me AS MATERIALIZED (SELECT FROM ~.node WHERE node_id = $1 AND NOT is_dead FOR KEY SHARE)"

/* Of a ticket that is known by its id: in a form for which no index is used. That on node_id has an entry
 * for each one that the replica had since the last vacuum: 5,000 were read for an end. */
#define HL_PG_MINE "t.node_id IS NOT DISTINCT FROM $1::uuid"

/* Which database this is: HL_PG_SERVER of session.h, and the table of events. */
#define HL_PG_ERA    "(` || '/' || '~.event'::regclass::oid)"
#define HL_PG_MS(at) "(extract(epoch FROM " at ") * 1000)::bigint"
/* The last number that was given to an event. */
#define HL_PG_LAST_EVENT                                                                           \
    "coalesce(pg_sequence_last_value(pg_get_serial_sequence('~.event', 'event_id')::regclass), 0)"

/* How long what cannot be read from here waits before somebody tries again: the longer, the longer it has been there. */
#define HL_PG_PUT_OFF(row)                                                                         \
    "least(greatest((" HL_PG_NOW_MS " - " row ".created_ms) / 4, 5000), 600000) * interval '1 ms'"

/* A UUID of version 7, where the server has to make one. */
#define HL_PG_NEW_ID                                                                               \
    "overlay(overlay(gen_random_uuid()::text PLACING substr(lpad(to_hex(" HL_PG_NOW_MS "), 12, "   \
    "'0'), 1, 8) || '-' || substr(lpad(to_hex(" HL_PG_NOW_MS "), 12, '0'), 9, 4) FROM 1 FOR 13) "  \
    "PLACING '7' FROM 15 FOR 1)::uuid"

/* Counts, a row each (tally.h), are added to those of their minute. Each replica has rows of its own. */
#define HL_PG_TALLY(counts)                                                                        \
    "INSERT INTO ~.tally AS t (minute, project, app, node_id, counts)"                             \
    " SELECT minute, project, app, $1::uuid, array_agg(count ORDER BY count) FROM (" counts        \
    ") AS c GROUP BY minute, project, app ORDER BY minute, project, app"                           \
    " ON CONFLICT (minute, project, app, node_id) DO UPDATE"                                       \
    " SET counts = ~.add_up(t.counts, excluded.counts)"

/* How runs end: from `gone` (run_id, epoch, attempt, started_ms, node_id, progress), the tickets that went, and
 * `ends` (run_id, state, reason, http_status, finished_ms, content_type, …, body_bytes, delivery_id). */
#define HL_PG_KEEPS "coalesce(r.keeps = 2 OR (r.keeps = 1 AND e.state <> 2), false)"
#define HL_PG_END                                                                                  \
    "request AS (DELETE FROM ~.body b USING gone g, ends e, ~.run r WHERE r.run_id = g.run_id"     \
    " AND e.run_id = g.run_id AND r.request_file IS NOT NULL AND b.body_id = r.request_file"       \
    " AND NOT " HL_PG_KEEPS "),"                                                                   \
    " ended AS (UPDATE ~.run r SET state = e.state, reason = e.reason,"                            \
    " http_status = e.http_status, finished_ms = e.finished_ms, content_type = e.content_type,"    \
    " content_encoding = e.content_encoding, encoding = e.encoding,"                               \
    " escaped_size = e.escaped_size, body_where = e.body_where, body_size = e.body_size,"          \
    " body_sha256 = e.body_sha256, body_file = e.body_file, body_bytes = e.body_bytes,"            \
    " log = e.log, head = CASE WHEN " HL_PG_KEEPS                                                  \
    " THEN r.head END, request_bytes = CASE WHEN " HL_PG_KEEPS                                     \
    " THEN r.request_bytes END, request_file = CASE WHEN " HL_PG_KEEPS                             \
    " THEN r.request_file END, epoch = g.epoch,"                                                   \
    " attempt = g.attempt, started_ms = g.started_ms, node_id = $1, progress = g.progress,"        \
    " replica = (SELECT n.name FROM ~.node n WHERE n.node_id = g.node_id)"                         \
    " FROM gone g JOIN ends e ON e.run_id = g.run_id WHERE r.run_id = g.run_id"                    \
    " RETURNING r.run_id, r.project, r.app, r.state, r.lane, r.has_webhook, r.finished_ms,"        \
    " r.is_async, r.reason, e.run_key, e.wait_key, e.delivery_id, e.max_attempts),"                \
    " tallied AS (" HL_PG_TALLY(                                                                   \
        "SELECT finished_ms / 60000 AS minute, project, app, (k.what"                              \
        " << 40) | count(*) AS count FROM ended CROSS JOIN LATERAL (VALUES "                       \
        "((is_async::integer::bigint "                                                             \
        "<< 11) | (state::bigint << 6) | reason::bigint), (run_key | (is_async::integer::bigint "  \
        "<< 11)),"                                                                                 \
        " (wait_key | (is_async::integer::bigint << 11))) AS k(what) WHERE k.what IS NOT NULL"     \
        " GROUP BY finished_ms / 60000, project, app, k.what") "),"                                \
                                                               " forwarded AS (INSERT INTO "       \
                                                               "~.delivery (delivery_id, run_id, " \
                                                               "project, app, run_state, lane,"    \
                                                               " max_attempts, created_ms) "       \
                                                               "SELECT delivery_id, run_id, "      \
                                                               "project, app, state, lane,"        \
                                                               " max_attempts, finished_ms FROM "  \
                                                               "ended WHERE has_webhook "          \
                                                               "RETURNING delivery_id, lane),"     \
                                                               " forwarding AS (INSERT INTO "      \
                                                               "~.delivery_ticket (delivery_id, "  \
                                                               "lane, due_at)"                     \
                                                               " SELECT delivery_id, lane, now() " \
                                                               "FROM forwarded),"                  \
                                                               " streamed AS (DELETE FROM "        \
                                                               "~.stream s USING gone g WHERE "    \
                                                               "s.run_id = g.run_id)"

/* What ends without an answer of the app's. */
#define HL_PG_NO_ANSWER                                                                            \
    "0 AS http_status, NULL::bytea AS content_type, NULL::bytea AS content_encoding,"              \
    " 3 AS encoding, 0 AS escaped_size, 0 AS body_where, 0 AS body_size,"                          \
    " NULL::bytea AS body_sha256, NULL::uuid AS body_file, NULL::bytea AS body_bytes,"             \
    " NULL::bytea AS log, NULL::bigint AS run_key, NULL::bigint AS wait_key"

/* What came of an event stream whose replica was lost: `c` has its size, its digest, how long it is as the
 * inside of a JSON string, and the bytes of a short one. Only answers with status 200 are kept while they come (run/stream.c). */
#define HL_PG_CAME                                                                                 \
    "CASE WHEN c.size > 0 THEN 200 ELSE 0 END AS http_status,"                                     \
    " CASE WHEN c.size > 0 THEN 'text/event-stream'::bytea END AS content_type,"                   \
    " NULL::bytea AS content_encoding,"                                                            \
    " CASE WHEN c.size = 0 THEN 3 WHEN c.escaped >= 0 THEN 1 ELSE 2 END AS encoding,"              \
    " greatest(coalesce(c.escaped, 0), 0) AS escaped_size,"                                        \
    " CASE WHEN c.size = 0 THEN 0 WHEN c.size <= 262144 THEN 1 ELSE 2 END AS body_where,"          \
    " c.size AS body_size, c.sum AS body_sha256,"                                                  \
    " CASE WHEN c.size > 262144 THEN " HL_PG_NEW_ID " END AS body_file,"                           \
    " c.bytes AS body_bytes, NULL::bytea AS log, NULL::bigint AS run_key,"                         \
    " NULL::bigint AS wait_key"
/* How runs end that were inside a replica that was lost: after `gone`, with is_cancel_wished, too. A stream of
 * more than 256 MiB would be too much for one statement. */
#define HL_PG_LOST(attempts)                                                                       \
    " came AS MATERIALIZED (SELECT run_id, size, CASE WHEN size > 0 THEN sha256(bytes) END AS "    \
    "sum,"                                                                                         \
    " CASE WHEN size > 0 THEN ~.escaped_size(bytes) END AS escaped,"                               \
    " CASE WHEN size BETWEEN 1 AND 262144 THEN bytes END AS bytes FROM (SELECT g.run_id, "         \
    "string_agg(s.bytes, ''::bytea ORDER BY s.at) AS bytes,"                                       \
    " coalesce(sum(octet_length(s.bytes)), 0)::bigint AS size FROM gone g LEFT JOIN ~.stream s"    \
    " ON s.run_id = g.run_id AND s.attempt = g.attempt AND NOT EXISTS (SELECT FROM ~.stream o"     \
    " WHERE o.run_id = g.run_id AND o.attempt = g.attempt AND o.at >= 268435456)"                  \
    " GROUP BY g.run_id) AS c),"                                                                   \
    " ends AS MATERIALIZED (SELECT g.run_id,"                                                      \
    " CASE WHEN is_cancel_wished THEN 4 ELSE 3 END AS state,"                                      \
    " CASE WHEN is_cancel_wished THEN 0 ELSE 6 END AS reason, " HL_PG_NOW_MS " AS finished_ms,"    \
    " " HL_PG_NEW_ID " AS delivery_id, " attempts "::bigint AS max_attempts, " HL_PG_CAME          \
    " FROM gone g JOIN came c ON c.run_id = g.run_id),"                                            \
    " parts AS (INSERT INTO ~.body (body_id, seq, bytes) SELECT e.body_file, p.n,"                 \
    " string_agg(substring(s.bytes FROM p.from_byte + 1 FOR p.to_byte - p.from_byte),"             \
    " ''::bytea ORDER BY s.at) FROM ends e JOIN gone g ON g.run_id = e.run_id"                     \
    " JOIN ~.stream s ON s.run_id = g.run_id AND s.attempt = g.attempt CROSS JOIN LATERAL"         \
    " (SELECT n, greatest(n * 1048576 - s.at, 0)::integer AS from_byte,"                           \
    " least((n + 1) * 1048576 - s.at, octet_length(s.bytes))::integer AS to_byte"                  \
    " FROM generate_series(s.at / 1048576, (s.at + octet_length(s.bytes) - 1) / 1048576) AS n)"    \
    " AS p WHERE e.body_where = 2 GROUP BY e.body_file, p.n), " HL_PG_END
/* So many ordinals are passed over for an attempt whose replica was lost: some that were seen may be unknown. */
#define HL_PG_ORDINALS_LOST "100000000"

/* What a delivery is sent from: `x` has (delivery_id, run_id, lane, round, n, max_attempts). */
#define HL_PG_LEASED                                                                               \
    "x.delivery_id, x.run_id, x.lane, x.round, x.n, x.max_attempts, r.is_async,"                   \
    " (SELECT f.since_ms FROM ~.failing f WHERE f.lane = x.lane), r.project, r.app, r.url,"        \
    " r.secret, r.traceparent, " HL_PG_OUTCOME
/* Nobody has it, and it is due as far as is known: HL_PG_DO_DELIVERY_WAKE has looked. */
#define HL_PG_READY "t.node_id IS NULL AND NOT t.is_waiting"
/* When a delivery is sent next, in ms: null: at once, or it is being sent. */
#define HL_PG_NEXT_MS                                                                              \
    "(SELECT (extract(epoch FROM t.due_at) * 1000)::bigint FROM ~.delivery_ticket t"               \
    " WHERE t.delivery_id = d.delivery_id AND t.due_at > now())"
/* $n of them, in ms since the epoch, as the server's time. */
#define HL_PG_AT(ms) "to_timestamp(" ms " / 1000.0)"

/* Of the project $1 and the app $2, where they are named. */
#define HL_PG_IN_SCOPE(of)                                                                         \
    "($1::text = '' OR " of ".project = $1::text) AND ($2::text = '' OR " of ".app = $2::text)"

/* Since when a pending delivery waits: until it ends done_ms says when it was redelivered. */
#define HL_PG_SINCE "coalesce(done_ms, created_ms)"
/* When it ended, by which it is kept: never before its run, though the clock was set back meanwhile. */
#define HL_PG_DONE_MS(delivery) "greatest(" HL_PG_NOW_MS ", " delivery ".created_ms)"

/* What is said of a destination: of `l` (lane). */
#define HL_PG_LANE_COLUMNS                                                                         \
    "l.lane, last.run_id, last.url, c.pending, dead.n, c.oldest_ms, f.since_ms,"                   \
    " a.n, a.ok, a.p95_us, a.last_ms, a.last_status, a.last_error"
#define HL_PG_LANE_JOINS(project, looks, hour_ms, kept_ms)                                         \
    " CROSS JOIN LATERAL (SELECT d.run_id, (SELECT r.url FROM ~.run r"                             \
    " WHERE r.run_id = d.run_id) AS url FROM ~.delivery d WHERE d.project = " project              \
    " AND d.lane = l.lane ORDER BY d.delivery_id DESC LIMIT 1) last"                               \
    " CROSS JOIN LATERAL (SELECT count(*) AS pending, min(" HL_PG_SINCE ") AS oldest_ms"           \
    " FROM ~.delivery d WHERE d.project = " project " AND d.lane = l.lane AND d.state = 0) c"      \
    " CROSS JOIN LATERAL (SELECT count(*) AS n FROM ~.delivery d WHERE d.project = " project       \
    " AND d.lane = l.lane AND d.state = 2 AND d.done_ms > " kept_ms "::bigint) dead"               \
    " LEFT JOIN ~.failing f ON f.lane = l.lane CROSS JOIN LATERAL"                                 \
    " (SELECT array_agg(delivery_id) AS ids FROM (SELECT d.delivery_id FROM ~.delivery d"          \
    " WHERE d.project = " project " AND d.lane = l.lane ORDER BY d.delivery_id DESC"               \
    " LIMIT " looks "::bigint) AS looked) looks"                                                   \
    " CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE ended_ms >= " hour_ms "::bigint) AS n,"    \
    " count(*) FILTER (WHERE ended_ms >= " hour_ms "::bigint AND http_status BETWEEN 200 AND 299)" \
    " AS ok, (percentile_disc(0.95) WITHIN GROUP (ORDER BY ended_ms - started_ms)"                 \
    " FILTER (WHERE ended_ms >= " hour_ms "::bigint) * 1000)::bigint AS p95_us,"                   \
    " max(ended_ms) AS last_ms,"                                                                   \
    " (array_agg(http_status ORDER BY ended_ms DESC))[1] AS last_status,"                          \
    " (array_agg(error ORDER BY ended_ms DESC) FILTER (WHERE verdict <> 0"                         \
    " AND octet_length(error) > 0))[1] AS last_error FROM ~.attempt"                               \
    " WHERE delivery_id = ANY (looks.ids) AND ended_ms IS NOT NULL) a"

/* A run in lists: `r` with its ticket `t` and HL_PG_DELIVERY_COUNTS. */
#define HL_PG_RUN_ROW                                                                              \
    "r.run_id, CASE WHEN r.state >= 2 THEN r.state WHEN t.node_id IS NULL THEN 0 ELSE 1 END,"      \
    " r.is_async, r.has_webhook, coalesce(t.attempt, r.attempt),"                                  \
    " r.created_ms, coalesce(t.started_ms, r.started_ms), r.request_size, r.priority, "            \
    "r.attempt_log, CASE WHEN t.class >= 10 AND t.node_id IS NULL THEN (extract(epoch FROM "       \
    "t.due_at) * 1000)::bigint END, r.method, "                                                    \
    "r.path, r.identity, r.rerun_of,"                                                              \
    " r.project, r.app, coalesce(r.replica, (SELECT n.name FROM ~.node n"                          \
    " WHERE n.node_id = t.node_id)), c.pending, c.ok, c.dead, " HL_PG_OUTCOME_HEAD
#define HL_PG_DELIVERY_COUNTS                                                                      \
    " LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE d.state = 0) AS pending,"                   \
    " count(*) FILTER (WHERE d.state = 1) AS ok, count(*) FILTER (WHERE d.state = 2) AS dead,"     \
    " max(d.done_ms) AS done_ms"                                                                   \
    " FROM ~.delivery d WHERE d.run_id = r.run_id) c ON r.has_webhook"

/* In how many ms the first queued run is to start; -1: none is. */
#define HL_PG_START_MS(of)                                                                         \
    "coalesce((SELECT CASE WHEN min(start_by) IS NOT NULL THEN greatest(0,"                        \
    " (extract(epoch FROM min(start_by) - now()) * 1000)::bigint) END FROM ~.ticket"               \
    " WHERE start_by IS NOT NULL AND node_id IS NULL AND attempt = 0" of "), -1)"

/* Queued, and due; of a class, in turn. */
#define HL_PG_CLAIMABLE                                                                            \
    "t.node_id IS NULL AND t.due_at <= now() AND EXISTS (SELECT FROM me)"                          \
    " AND (t.start_by IS NULL OR t.start_by > now() OR t.attempt > 0)"
/* How many of a class wait, up to $5. */
#define HL_PG_WAITING(class)                                                                       \
    "CASE WHEN $5::bigint > 0 AND t.node_id IS NULL AND t.run_id IS NOT NULL THEN (SELECT "        \
    "count(*)"                                                                                     \
    " FROM (SELECT FROM ~.ticket q WHERE q.node_id IS NULL AND q.class = " class " LIMIT "         \
                                                                                 "$5::bigint) x) " \
                                                                                 "END"
#define HL_PG_IN_TURN(class, n, which)                                                             \
    "SELECT t.run_id FROM ~.ticket t WHERE " HL_PG_CLAIMABLE which                                 \
    " AND t.class = " class " ORDER BY t.turn, t.run_id LIMIT " n                                  \
                            "::bigint FOR UPDATE OF t SKIP LOCKED"
/* clang-format off */
#define HL_PG_CLAIM(which)                                                                         \
    "high AS (" HL_PG_IN_TURN("0", "$4", which) "),"                                               \
    " normal AS (" HL_PG_IN_TURN("1", "$5", which) "), low AS (" HL_PG_IN_TURN("2", "$6", which)   \
    "), wanted AS MATERIALIZED (SELECT run_id FROM high UNION ALL SELECT run_id FROM normal"       \
    " UNION ALL SELECT run_id FROM low),"                                                          \
    " others AS (SELECT t.run_id FROM ~.ticket t WHERE " HL_PG_CLAIMABLE which                     \
    " AND t.run_id NOT IN (SELECT run_id FROM wanted) AND t.class < 10"                           \
    " ORDER BY t.class, t.turn, t.run_id"                                                          \
    " LIMIT $2::bigint - (SELECT count(*) FROM wanted) FOR UPDATE OF t SKIP LOCKED),"              \
    " next AS (SELECT run_id FROM wanted UNION ALL SELECT run_id FROM others),"                    \
    " taken AS (UPDATE ~.ticket t SET node_id = $1::uuid, epoch = t.epoch + 1,"                    \
    " attempt = t.attempt + 1, started_ms = $3::bigint FROM next"                                  \
    " WHERE t.run_id = next.run_id RETURNING t.run_id, t.epoch, t.attempt, t.class,"               \
    " t.turn, t.subject, t.timeout_ms, t.max_attempts)"                                                            \
    " SELECT x.run_id, r.run_id IS NOT NULL, x.epoch, x.attempt, r.has_webhook, r.created_ms,"     \
    " x.timeout_ms, x.max_attempts, r.attempt_log, r.project, r.app, r.head, " HL_PG_REQUEST ", x.class, x.turn, x.subject"       \
    " FROM taken x LEFT JOIN ~.run r ON r.run_id = x.run_id"                                       \
    " ORDER BY x.class, x.turn, x.run_id"
/* clang-format on */

/* What is left for each account that has a max_running, and whether a ticket is among the first of its
 * account's that it is left for. */
#define HL_PG_ROOM                                                                                 \
    "room AS MATERIALIZED (SELECT s.subject, CASE WHEN current_setting('hookline.counts', true)"   \
    " = 'true' THEN s.room - (SELECT count(*) FROM ~.ticket o WHERE o.node_id IS NOT NULL"         \
    " AND o.node_id <> $1::uuid AND o.subject = s.subject) ELSE 0 END AS room"                     \
    " FROM unnest($7::bigint[], $8::bigint[]) AS s(subject, room))"
#define HL_PG_HAS_ROOM                                                                             \
    " AND coalesce((SELECT CASE WHEN m.room <= 0 THEN false ELSE m.room > (SELECT count(*) FROM"   \
    " (SELECT FROM ~.ticket q WHERE q.node_id IS NULL AND q.class = ANY ('{0,1,2}')"               \
    " AND q.subject = t.subject AND q.due_at <= now()"                                             \
    " AND (q.class, q.turn, q.run_id) < (t.class, t.turn, t.run_id) LIMIT m.room) AS before) END"  \
    " FROM room m WHERE m.subject = t.subject LIMIT 1), true)"
#define HL_PG_COUNT_QUEUED(class)                                                                  \
    "(SELECT count(*) FROM (SELECT FROM ~.ticket WHERE node_id IS NULL AND due_at <= now()"        \
    " AND class = " class " LIMIT $1::bigint) AS queued)"                                          \
                          " + (SELECT count(*) FROM woken WHERE class = " class ")"

/* What is past its retention is hidden at once, but not while its webhook is to be sent: that begins after the
 * last of its end, its delivery's end and a redelivery (contract 6). */
#define HL_PG_SHOWN_DELIVERY(until) "(state = 0 OR done_ms > " until "::bigint)"
#define HL_PG_SHOWN(until)                                                                         \
    "(r.state < 2 OR r.finished_ms > " until "::bigint OR c.pending > 0"                           \
    " OR c.done_ms > " until "::bigint)"

/* What a search looks at, newest first: SEARCH_RUNS. */
#define HL_PG_LOOKED_RUNS                                                                          \
    "SELECT r.run_id, r.reason, r.http_status, r.has_webhook, r.path FROM ~.run r"                 \
    " WHERE r.run_id < $5::uuid AND r.run_id >= $6::uuid"                                          \
    " AND ($1::text = '' OR r.project = $1::text) AND ($2::text = '' OR r.app = $2::text)"         \
    " AND ($3::bigint < 0 OR r.state = $3::bigint)"                                                \
    " AND ($4::bigint < 0 OR r.is_async = ($4::bigint = 1))"                                       \
    " AND (r.state < 2 OR r.finished_ms > $8::bigint OR EXISTS (SELECT FROM ~.delivery d"          \
    " WHERE d.run_id = r.run_id AND (d.state = 0 OR d.done_ms > $8::bigint)))"                     \
    " ORDER BY r.run_id DESC LIMIT $9::bigint"

/* The same of deliveries: SEARCH_DELIVERIES. */
#define HL_PG_LOOKED_DELIVERIES(of_lane)                                                           \
    "SELECT d.delivery_id FROM ~.delivery d WHERE d.delivery_id < $5::uuid"                        \
    " AND d.delivery_id >= $6::uuid AND ($1::text = '' OR d.project = $1::text)"                   \
    " AND ($2::text = '' OR d.app = $2::text) AND ($3::bigint < 0 OR d.state = $3::bigint)"        \
    " AND ($4::uuid IS NULL OR d.run_id = $4::uuid) AND " of_lane                                  \
    " AND " HL_PG_SHOWN_DELIVERY("$10") " ORDER BY d.delivery_id DESC LIMIT $11::bigint"
#define HL_PG_FOUND_DELIVERIES(of_lane)                                                            \
    "((SELECT l.delivery_id, false AS is_end FROM (" HL_PG_LOOKED_DELIVERIES(                      \
        of_lane) ") l"                                                                             \
                 " WHERE $13::bigint < 0 OR (SELECT a.http_status"                                 \
                 " FROM ~.attempt a WHERE a.delivery_id = l.delivery_id AND a.ended_ms IS NOT "    \
                 "NULL"                                                                            \
                 " ORDER BY a.round DESC, a.n DESC LIMIT 1) BETWEEN $13::bigint AND $14::bigint"   \
                 " LIMIT $7::bigint) UNION ALL (SELECT e.delivery_id, true FROM "                  \
                 "(" HL_PG_LOOKED_DELIVERIES(of_lane) ") e OFFSET $11::bigint - 1 LIMIT 1)"        \
                                                      " LIMIT $7::bigint)"

/* A row for each attempt of `d`, a delivery; $9 how many of each, with what is known beside outcomes where $8 is not
 * null. */
#define HL_PG_DELIVERY_ROW                                                                         \
    "d.delivery_id, d.run_id, d.state, d.run_state, d.round, d.n,"                                 \
    " d.max_attempts, d.created_ms, CASE WHEN d.state <> 0 THEN d.done_ms END, d.project, d.app,"  \
    " r.url, CASE WHEN $9::bigint"                                                                 \
    " > 0 THEN (SELECT count(*) FROM ~.attempt c WHERE c.delivery_id = d.delivery_id) END,"        \
    " CASE d.state WHEN 0 THEN " HL_PG_NEXT_MS " END,"                                             \
    " a.round, a.n, a.started_ms, a.ended_ms, coalesce(a.verdict, 5), a.http_status, a.error,"     \
    " CASE WHEN $8::uuid IS NOT NULL THEN a.name_us END, a.connect_us, a.tls_us,"                  \
    " a.first_byte_us, a.address, a.content_type,"                                                 \
    " CASE WHEN $8::uuid IS NOT NULL THEN a.body END"
#define HL_PG_DELIVERY_JOINS                                                                       \
    " LEFT JOIN ~.run r ON r.run_id = d.run_id"                                                    \
    " LEFT JOIN LATERAL (SELECT * FROM ~.attempt a WHERE a.delivery_id = d.delivery_id"            \
    " ORDER BY a.round DESC, a.n DESC LIMIT $9::bigint) a ON true"
#define HL_PG_SEARCHED_DELIVERIES(of_lane)                                                         \
    "WITH found AS MATERIALIZED " HL_PG_FOUND_DELIVERIES(                                          \
        of_lane) " SELECT " HL_PG_DELIVERY_ROW                                                     \
                 ", f.is_end, f.delivery_id FROM found f LEFT JOIN ~.delivery d"                   \
                 " ON d.delivery_id = f.delivery_id AND NOT f.is_end" HL_PG_DELIVERY_JOINS         \
                 " ORDER BY f.delivery_id DESC, f.is_end, a.round, a.n"
#define HL_PG_COUNTED_DELIVERIES(of_lane)                                                          \
    "SELECT count(*) FILTER (WHERE NOT is_end), coalesce(bool_or(is_end), false) "                 \
    "FROM " HL_PG_FOUND_DELIVERIES(of_lane) " f WHERE $8::uuid IS NULL AND $9::bigint >= 0"

#define HL_PG_DEAD_TUPLES(table) "pg_stat_get_dead_tuples('~." table "'::regclass)"

/* Who keeps rows of this database from being vacuumed: others' snapshots and transactions, standbys with
 * hot_standby_feedback; not vacuum's own workers, which belong to nobody. Everybody sees how many
 * transactions ago that was; `since` is null for one who may not see the time. */
#define HL_PG_HOLDERS                                                                              \
    "SELECT o.xid, age(o.xid) AS transactions, a.xact_start AS since FROM pg_stat_activity a"      \
    " CROSS JOIN LATERAL (SELECT CASE WHEN a.backend_xmin IS NULL"                                 \
    " OR age(a.backend_xid) > age(a.backend_xmin) THEN a.backend_xid ELSE a.backend_xmin END) AS " \
    "o(xid)"                                                                                       \
    " WHERE o.xid IS NOT NULL AND a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL"            \
    " AND coalesce(a.datname = current_database(), true)"

/* Dead ones are of interest for as long as somebody may ask what became of them. */
#define HL_PG_REPLICAS                                                                             \
    "SELECT n.node_id, n.name, n.version, CASE WHEN n.is_dead THEN 'dead'"                         \
    " WHEN n.expires_at <= now() THEN 'silent' ELSE 'alive' END AS state, n.started_at, "          \
    "n.beat_at,"                                                                                   \
    " (SELECT count(*) FROM ~.ticket t WHERE t.node_id = n.node_id) AS runs,"                      \
    " (SELECT count(*) FROM ~.delivery_ticket t WHERE t.node_id = n.node_id) AS deliveries"        \
    " FROM ~.node n WHERE NOT n.is_dead OR n.beat_at > now() - interval '1 day'"
#define HL_PG_REPLICA_ORDER "state = 'dead', started_at, node_id"

/* clang-format off */
#define HL_PG_MAP(X)                                                                               \
    /* $1 me; $21 how long a key is kept, in ms; $23 whether too much waits for a new one. What begins */ \
    /* here and now has a replica that lives. Who is told of an earlier run by its key makes a note of */ \
    /* it first: from then on nobody withdraws that run. Keys are taken in one order everywhere, or */ \
    /* two replicas wait for each other. $28 each class's turn now, where nothing of it is queued; */ \
    /* 0: this replica has claimed nothing of it yet. $29 how many its account may have queued; 0: any */ \
    /* number. A run that is sent again does not stand in its own way: it has its place. $33 which requests */ \
    /* are kept. $34 this session: what an earlier one brings late was refused since, and is taken back. */ \
    X(RUN_ADD, "WITH " HL_PG_ME ", mine AS (SELECT FROM ~.node WHERE node_id = $1 AND session = $34::uuid),"     \
        " raw AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::text[]," \
        " $4::text[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[],"          \
        " $10::bigint[], $11::bytea[], $12::uuid[], $13::bytea[], $14::bigint[], $15::bytea[],"    \
        " $16::bytea[], $17::bytea[], $18::bytea[], $19::bytea[], $20::bytea[], $22::bigint[],"    \
        " $23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[],"              \
        " $29::bigint[], $30::bigint[], $31::bytea[], $32::uuid[])"                                                                          \
        " WITH ORDINALITY AS t(run_id, project, app, created_ms, method, path, head,"              \
        " request_where, request_size, request_sha256, request_file, request_bytes, lane, url,"    \
        " secret, traceparent, subject, key, fingerprint, is_async, is_beyond, timeout_ms,"        \
        " wait_ms, priority, who, max_queued, most, identity, rerun_of, ord)),"                                     \
        " input AS MATERIALIZED (SELECT *, CASE WHEN is_beyond = 1 THEN 1 WHEN max_queued = 0"     \
        " THEN 0 WHEN max_queued < row_number() OVER (PARTITION BY who, max_queued = 0"            \
        " ORDER BY ord) + (SELECT count(*) FROM (SELECT FROM ~.ticket t WHERE t.node_id IS NULL"   \
        " AND t.class = ANY ('{0,1,2,10,11,12}') AND t.subject = raw.who LIMIT raw.max_queued) AS queued)"  \
        " THEN 1 ELSE 0 END AS is_busy FROM raw),"                                                 \
        " kept AS (INSERT INTO ~.idem AS old (project, app, subject, key, run_id, fingerprint,"    \
        " expires_ms) SELECT project, app, subject, key, run_id, fingerprint,"                     \
        " created_ms + $21::bigint FROM input WHERE key IS NOT NULL AND is_busy = 0"               \
        " AND EXISTS (SELECT FROM mine)"                                                           \
        " ORDER BY project, app, subject, key"                                                     \
        " ON CONFLICT (project, app, subject, key) DO UPDATE SET run_id = excluded.run_id,"        \
        " fingerprint = excluded.fingerprint, expires_ms = excluded.expires_ms, is_told = false"   \
        " WHERE old.expires_ms <= excluded.expires_ms - $21::bigint RETURNING old.run_id),"        \
        " fresh AS (SELECT * FROM input WHERE is_busy = 0 AND EXISTS (SELECT FROM mine)"           \
        " AND (key IS NULL OR run_id IN (SELECT run_id FROM kept))"                                \
        " AND (is_async = 1 OR EXISTS (SELECT FROM me))),"                                         \
        " runs AS (INSERT INTO ~.run (run_id, project, app, is_async, has_webhook, created_ms,"    \
        " method, path, head, request_where, request_size, request_sha256, request_file,"          \
        " request_bytes, lane, url, secret, traceparent, priority, identity, rerun_of, keeps)"                      \
        " SELECT run_id, project, app,"                                                            \
        " is_async = 1, url IS NOT NULL, created_ms, method, path, head, request_where,"           \
        " request_size, request_sha256, request_file, request_bytes, lane, url, secret,"           \
        " traceparent, priority, identity, rerun_of, $33::bigint FROM fresh ON CONFLICT (run_id) DO NOTHING RETURNING run_id),"     \
        " places AS MATERIALIZED (SELECT p.priority, p.who, greatest(1, coalesce("                 \
        " (SELECT t.turn FROM ~.ticket t WHERE t.node_id IS NULL AND t.class = p.priority"         \
        " ORDER BY t.turn LIMIT 1), nullif(($28::bigint[])[p.priority + 1], 0), (SELECT max(t.turn)" \
        " FROM ~.ticket t WHERE t.node_id IS NOT NULL AND t.class = p.priority)), (SELECT t.turn + 1 FROM ~.ticket t WHERE t.is_async"        \
        " AND t.class = p.priority AND t.subject = p.who ORDER BY t.turn DESC LIMIT 1)) AS turn"   \
        " FROM (SELECT DISTINCT priority, who FROM fresh WHERE is_async = 1) p),"                  \
        " tickets AS (INSERT INTO ~.ticket (run_id, due_at, epoch, attempt, node_id, started_ms,"  \
        " is_async, timeout_ms, start_by, max_attempts, class, subject, lane, turn)"                                   \
        " SELECT f.run_id, now(), 1 - is_async, 1 - is_async,"                                     \
        " CASE is_async WHEN 0 THEN $1::uuid END, CASE is_async WHEN 0 THEN created_ms END,"       \
        " is_async = 1, nullif(timeout_ms, 0), now() + nullif(wait_ms, 0) *"              \
        " interval '1 ms', nullif(f.most, 0), f.priority, f.who, f.lane, coalesce(p.turn - 1 + row_number()"                  \
        " OVER (PARTITION BY f.priority, f.who, f.is_async ORDER BY f.ord), 0)"                    \
        " FROM fresh f LEFT JOIN places p ON f.is_async = 1 AND p.priority = f.priority"           \
        " AND p.who = f.who WHERE f.run_id IN (SELECT run_id FROM runs)),"                         \
        " told AS (UPDATE ~.idem o SET is_told = true FROM input i WHERE o.project = i.project"    \
        " AND o.app = i.app AND o.subject = i.subject AND o.key = i.key AND NOT o.is_told"         \
        " AND o.run_id <> i.run_id AND o.fingerprint = i.fingerprint"                              \
        " AND o.expires_ms > i.created_ms RETURNING o.run_id)"                                     \
        " SELECT i.ord, CASE WHEN n.run_id IS NOT NULL THEN 0"                                     \
        " WHEN NOT EXISTS (SELECT FROM mine) OR i.is_async = 0 AND NOT EXISTS (SELECT FROM me) THEN 5" \
        " WHEN i.key IS NULL AND i.is_busy = 1 AND NOT EXISTS (SELECT FROM ~.run r"                \
        " WHERE r.run_id = i.run_id) THEN 7 WHEN i.key IS NULL"                                    \
        " OR old.run_id = i.run_id THEN 6 WHEN i.is_busy = 1 AND (old.run_id IS NULL"              \
        " OR old.expires_ms <= i.created_ms) THEN 7 WHEN old.run_id IS NULL THEN 5"                \
        " WHEN old.fingerprint <> i.fingerprint THEN 2 WHEN old.is_told"                           \
        " OR old.run_id IN (SELECT run_id FROM told) THEN 1 ELSE 5 END,"                           \
        " old.run_id FROM input i LEFT JOIN runs n ON n.run_id = i.run_id LEFT JOIN ~.idem old"    \
        " ON old.project = i.project AND old.app = i.app AND old.subject = i.subject"              \
        " AND old.key = i.key")                                                                    \
    /* The last one of each: this session. $1 me, $2 how many, $3 now in ms, $4 to $6 how many of each class; where there are fewer of */ \
    /* one, others. Where accounts have a max_running: $7 their subjects, $8 how many more of each this */ \
    /* replica may have inside, before what others have */                                         \
    X(RUN_CLAIM, "WITH " HL_PG_ME_IN("$7") ", " HL_PG_CLAIM(""))                                            \
    X(RUN_CLAIM_WITHIN, "WITH " HL_PG_ME_IN("$9") ", " HL_PG_ROOM ", " HL_PG_CLAIM(HL_PG_HAS_ROOM))         \
    /* Who has it counts what others have, too; the others leave such accounts out meanwhile */    \
    X(CLAIM_LOCK, "SELECT set_config('hookline.counts', pg_try_advisory_xact_lock(1751870572,"     \
        " hashtext('~'))::text, true)")                                                            \
    /* $1 me, $18 attempts of a delivery, $19 logs, $20 and $21 how long it took (tally.h). $22 by how much this */ \
    /* replica's clock was set since the end, $23 what it says now: where both are off by a minute the end is as long */ \
    /* ago as it was, by this server's clock. */                                              \
    X(RUN_FINISH, "WITH input AS MATERIALIZED (SELECT *, ended_ms + CASE WHEN abs(set_ms + "       \
        HL_PG_NOW_MS " - $23::bigint) < 60000 THEN 0 ELSE set_ms + " HL_PG_NOW_MS " - $23::bigint END" \
        " AS finished_ms FROM unnest($2::uuid[], $3::bigint[],"                                    \
        " $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[],"       \
        " $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[], $15::uuid[],"  \
        " $16::bytea[], $17::uuid[], $19::bytea[], $20::bigint[], $21::bigint[], $22::bigint[])"   \
        " WITH ORDINALITY AS t(run_id, epoch, state, reason,"                                      \
        " http_status, ended_ms, content_type, content_encoding, encoding, escaped_size,"          \
        " body_where, body_size, body_sha256, body_file, body_bytes, delivery_id, log, run_key,"    \
        " wait_key, set_ms, ord)),"                                                                        \
        " gone AS (DELETE FROM ~.ticket t USING input i WHERE t.run_id = i.run_id"                 \
        " AND t.epoch = i.epoch AND " HL_PG_MINE                                                   \
        " RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress,"            \
        " t.is_cancel_wished)," /* hl_outcome_cancel */                                            \
        " ends AS (SELECT i.run_id, CASE WHEN g.is_cancel_wished THEN 4 ELSE i.state END AS state," \
        " CASE WHEN g.is_cancel_wished THEN 0 ELSE i.reason END AS reason, http_status,"           \
        " finished_ms, content_type, content_encoding, encoding, escaped_size, body_where,"        \
        " body_size, body_sha256, body_file, body_bytes, delivery_id, log, run_key, wait_key,"     \
        " $18::bigint AS max_attempts FROM input i JOIN gone g ON g.run_id = i.run_id), " HL_PG_END \
        " SELECT i.ord, CASE WHEN g.run_id IS NOT NULL THEN 0 WHEN r.run_id IS NULL THEN 4"        \
        " WHEN r.state >= 2 AND r.epoch = i.epoch AND r.node_id = $1::uuid THEN 6 ELSE 3 END,"     \
        " r.has_webhook, coalesce(g.is_cancel_wished, r.state = 4, false)"                          \
        " FROM input i LEFT JOIN gone g ON g.run_id = i.run_id"                                    \
        " LEFT JOIN ~.run r ON r.run_id = i.run_id")                                               \
    /* $1 me, $6 attempts of a delivery */                                                         \
    /* $1 me, $6 attempts of a delivery; a retry has waited $8 ms when it is due, $9 is its entry */ \
    X(RUN_RELEASE, "WITH input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::bigint[],"    \
        " $4::bigint[], $5::uuid[], $7::bigint[], $8::bigint[], $9::text[]) WITH ORDINALITY"       \
        " AS t(run_id, epoch, finished_ms, delivery_id, is_retry, wait_ms, entry, ord)),"          \
        " back AS (UPDATE ~.ticket t SET node_id = NULL,"                                          \
        " epoch = t.epoch + 1, attempt = t.attempt - 1 + i.is_retry, started_ms = NULL,"           \
        " due_at = CASE i.is_retry WHEN 1 THEN now() + i.wait_ms * interval '1 ms'"                \
        " ELSE t.due_at END, class = t.class % 10 + 10 * i.is_retry FROM input i"                  \
        " WHERE t.run_id = i.run_id AND t.epoch = i.epoch AND " HL_PG_MINE                         \
        " AND NOT t.is_cancel_wished RETURNING t.run_id, i.is_retry, i.entry),"                    \
        " noted AS (UPDATE ~.run r SET attempt_log = coalesce(r.attempt_log, '') || b.entry"       \
        " FROM back b WHERE r.run_id = b.run_id AND b.is_retry = 1),"                              \
        " begun AS (DELETE FROM ~.stream s USING back b WHERE s.run_id = b.run_id),"               \
        " gone AS (DELETE FROM ~.ticket t USING input i WHERE t.run_id = i.run_id"                 \
        " AND t.epoch = i.epoch AND " HL_PG_MINE " AND t.is_cancel_wished"                         \
        " RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress),"           \
        " ends AS (SELECT run_id, 4 AS state, 0 AS reason, " HL_PG_NOW_MS " AS finished_ms, delivery_id,"              \
        " $6::bigint AS max_attempts, " HL_PG_NO_ANSWER " FROM input), " HL_PG_END                 \
        " SELECT i.ord, CASE WHEN b.run_id IS NOT NULL OR g.run_id IS NOT NULL THEN 0 ELSE 3 END"  \
        " FROM input i LEFT JOIN back b ON b.run_id = i.run_id"                                    \
        " LEFT JOIN gone g ON g.run_id = i.run_id")                                                \
    /* $1 me, $7 attempts of a delivery; the third column: who has the run, if it is running */    \
    X(RUN_CANCEL, "WITH input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::text[],"       \
        " $4::text[], $5::bigint[], $6::uuid[]) WITH ORDINALITY AS t(run_id, project, app,"        \
        " finished_ms, delivery_id, ord)), found AS (SELECT i.*, r.state AS was FROM input i"      \
        " JOIN ~.run r ON r.run_id = i.run_id WHERE (i.project = '' OR i.project = r.project)"     \
        " AND (i.app = '' OR i.app = r.app)),"                                                     \
        " gone AS (DELETE FROM ~.ticket t USING found f WHERE t.run_id = f.run_id"                 \
        " AND t.node_id IS NULL RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id,"  \
        " t.progress),"                                                                            \
        " wished AS (UPDATE ~.ticket t SET is_cancel_wished = true FROM found f"                   \
        " WHERE t.run_id = f.run_id AND t.node_id IS NOT NULL RETURNING t.run_id, t.node_id),"     \
        " told AS (INSERT INTO ~.event (node_id, kind, subject) SELECT node_id, 1, run_id"         \
        " FROM wished WHERE node_id <> $1::uuid),"                                                 \
        " ends AS (SELECT run_id, 4 AS state, 0 AS reason, " HL_PG_NOW_MS " AS finished_ms, delivery_id,"              \
        " $7::bigint AS max_attempts, " HL_PG_NO_ANSWER " FROM found), " HL_PG_END                \
        " SELECT i.ord, CASE WHEN g.run_id IS NOT NULL OR w.run_id IS NOT NULL THEN 0"             \
        " WHEN f.run_id IS NULL THEN 4 WHEN f.was = 4 THEN 6 WHEN f.was >= 2 THEN 2 ELSE 5 END,"   \
        " w.node_id FROM input i"                                                                  \
        " LEFT JOIN found f ON f.run_id = i.run_id LEFT JOIN gone g ON g.run_id = i.run_id"        \
        " LEFT JOIN wished w ON w.run_id = i.run_id")                                              \
    /* $1 me, $2 how many, $3 attempts of a delivery; the second column: in how many ms the next one is */ \
    /* due, -1: none is */                                                                         \
    X(RUN_EXPIRE, "WITH " HL_PG_ME ", late AS (SELECT t.run_id FROM ~.ticket t"                    \
        " WHERE t.start_by <= now() AND t.node_id IS NULL AND t.attempt = 0"                       \
        " AND EXISTS (SELECT FROM me) ORDER BY t.start_by LIMIT $2::bigint"                        \
        " FOR UPDATE OF t SKIP LOCKED),"                                                           \
        " gone AS (DELETE FROM ~.ticket t USING late WHERE t.run_id = late.run_id"                 \
        " RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress),"           \
        " ends AS (SELECT run_id, 3 AS state, 7 AS reason, " HL_PG_NOW_MS " AS finished_ms,"       \
        " " HL_PG_NEW_ID " AS delivery_id, $3::bigint AS max_attempts, " HL_PG_NO_ANSWER           \
        " FROM gone), " HL_PG_END                                                                  \
        " SELECT (SELECT count(*) FROM gone), " HL_PG_START_MS(" AND run_id NOT IN (SELECT run_id FROM late)")) \
    /* $1 me, $2 whose counts they are, $3 which; the same twice counts once. $4 to $6 where each of $7 belongs */ \
    X(TALLY, "WITH fresh AS (INSERT INTO ~.tally_source AS s (source, seen) VALUES ($2::uuid,"     \
        " $3::uuid) ON CONFLICT (source) DO UPDATE SET seen = excluded.seen, at = now()"           \
        " WHERE s.seen <> excluded.seen RETURNING 1),"                                             \
        " tallied AS (" HL_PG_TALLY("SELECT * FROM unnest($4::bigint[], $5::text[], $6::text[],"    \
        " $7::bigint[]) AS u(minute, project, app, count) WHERE EXISTS (SELECT FROM fresh)") ")"    \
        " SELECT 1, 0")                                                                            \
    /* Which of the runs $1 have ended. */                                                         \
    X(RUN_ENDED, "SELECT run_id FROM ~.run WHERE run_id = ANY ($1::uuid[]) AND state >= 2")        \
    /* Runs whose next attempt is due go into the queue, $1 at the most; how many of each class are */ \
    /* queued, up to $1. */                                                                        \
    X(QUEUE_PEEK, "WITH due AS MATERIALIZED (SELECT run_id FROM ~.ticket WHERE node_id IS NULL"    \
        " AND class >= 10 AND due_at <= now() ORDER BY due_at LIMIT $1::bigint"                    \
        " FOR UPDATE SKIP LOCKED), woken AS (UPDATE ~.ticket t SET class = t.class % 10 FROM due"  \
        " WHERE t.run_id = due.run_id RETURNING t.class)"                                          \
        " SELECT " HL_PG_COUNT_QUEUED("0") ", " HL_PG_COUNT_QUEUED("1") ", "              \
        HL_PG_COUNT_QUEUED("2"))                                                                   \
    /* Deliveries that are due wait no longer, $1 at the most; how many those are, and in how many ms the next */ \
    /* one is due, -1: none is. The others cost LEASE nothing: they are in no index that it reads. */ \
    X(DELIVERY_WAKE, "WITH due AS MATERIALIZED (SELECT delivery_id FROM ~.delivery_ticket"         \
        " WHERE node_id IS NULL AND is_waiting AND due_at <= now() ORDER BY due_at"                \
        " LIMIT $1::bigint FOR UPDATE SKIP LOCKED),"                                               \
        " woken AS (UPDATE ~.delivery_ticket t SET is_waiting = false FROM due"                    \
        " WHERE t.delivery_id = due.delivery_id RETURNING t.delivery_id)"                          \
        " SELECT (SELECT count(*) FROM woken), coalesce((SELECT greatest(0,"                       \
        " ceil(extract(epoch FROM due_at - now()) * 1000)::bigint) FROM ~.delivery_ticket"         \
        " WHERE node_id IS NULL AND is_waiting AND due_at > now() ORDER BY due_at LIMIT 1), -1)")  \
    /* $1 me, $2 the lane after which to begin, $3 how many, $4 places at a lane, 0: as many as are free, */ \
    /* $5, $6 lanes and the places taken there, $7 attempts of a delivery, $8 now in ms, $9 how many places */ \
    /* are free, $10 how many those lanes have taken that are not proven, $11 lanes that are. While the others */ \
    /* may have no more, only these are looked at; else lanes in turn, so many that some of them have free */ \
    /* places. What is found is taken in turn for as long as each lane, and all that are not proven together, */ \
    /* have fewer places than are free then. */ \
    X(LEASE, "WITH RECURSIVE " HL_PG_ME_IN("$12") ", known AS MATERIALIZED (SELECT lane, taken FROM"         \
        " unnest($5::bigint[], $6::bigint[]) AS k(lane, taken)),"                                  \
        " lanes(lane, nth) AS ((SELECT t.lane, 1 FROM ~.delivery_ticket t WHERE " HL_PG_READY      \
        " AND t.lane > $2::bigint AND ($4::bigint > 0 OR $10::bigint < 3 * $9::bigint)"            \
        " ORDER BY t.lane LIMIT 1)"                                                                \
        " UNION ALL SELECT (SELECT t.lane FROM ~.delivery_ticket t WHERE " HL_PG_READY             \
        " AND t.lane > l.lane ORDER BY t.lane LIMIT 1), l.nth + 1 FROM lanes l"                    \
        " WHERE l.lane IS NOT NULL AND l.nth < 64 + cardinality($5::bigint[])),"                   \
        " proven AS (SELECT p.lane FROM (SELECT lane FROM unnest($11::bigint[]) AS u(lane)"        \
        " WHERE lane > $2::bigint AND $4::bigint = 0 AND $10::bigint >= 3 * $9::bigint"            \
        " ORDER BY lane) p WHERE EXISTS"                                                           \
        " (SELECT FROM ~.delivery_ticket t WHERE " HL_PG_READY " AND t.lane = p.lane) LIMIT 64),"  \
        " seen AS (SELECT lane FROM lanes WHERE lane IS NOT NULL UNION ALL SELECT lane FROM proven),"  \
        " judged AS (SELECT s.lane, coalesce(k.taken, 0) AS taken, f.lane IS NULL"                 \
        " AND s.lane = ANY ($11::bigint[]) AS is_proven, f.lane IS NULL AND $4::bigint = 0"        \
        " AS is_shared, CASE WHEN f.lane IS NOT NULL THEN 1 WHEN $4::bigint > 0 THEN $4::bigint"   \
        " ELSE $9::bigint END AS most FROM seen s LEFT JOIN known k ON k.lane = s.lane"            \
        " LEFT JOIN ~.failing f ON f.lane = s.lane),"                                              \
        " open AS MATERIALIZED (SELECT * FROM judged WHERE taken < most"                           \
        " AND (is_proven OR $4::bigint > 0"                                                        \
        " OR $10::bigint < CASE taken WHEN 0 THEN 3 ELSE 1 END * $9::bigint)),"                    \
        " found AS MATERIALIZED (SELECT o.*, d.delivery_id, d.due_at FROM open o CROSS JOIN LATERAL"  \
        " (SELECT t.delivery_id, t.due_at FROM ~.delivery_ticket t WHERE " HL_PG_READY             \
        " AND t.lane = o.lane AND t.due_at <= now() ORDER BY t.due_at, t.delivery_id"              \
        " LIMIT least(o.most - o.taken, greatest(1, $3::bigint / (SELECT count(*) FROM open)))"    \
        " FOR UPDATE SKIP LOCKED) d WHERE EXISTS (SELECT FROM me) LIMIT $3::bigint),"              \
        " ranked AS (SELECT *, row_number() OVER (PARTITION BY lane ORDER BY due_at, delivery_id)" \
        " - 1 AS before FROM found), turns AS (SELECT *, row_number() OVER (ORDER BY before, lane)" \
        " - 1 AS gone, row_number() OVER (PARTITION BY is_proven ORDER BY before, lane) - 1"       \
        " AS alike FROM ranked), next AS (SELECT delivery_id FROM turns"                           \
        " WHERE (NOT is_shared OR taken + before < $9::bigint - gone)"                             \
        " AND (is_proven OR $4::bigint > 0 OR $10::bigint + alike"                                 \
        " < CASE taken + before WHEN 0 THEN 3 ELSE 1 END * ($9::bigint - gone))),"                 \
        " taken AS (UPDATE ~.delivery_ticket t SET node_id = $1::uuid FROM next"                   \
        " WHERE t.delivery_id = next.delivery_id RETURNING t.delivery_id, t.lane),"                \
        " x AS (UPDATE ~.delivery d SET n = d.n + 1,"                                              \
        " max_attempts = CASE d.max_attempts WHEN 0 THEN $7::bigint ELSE d.max_attempts END"      \
        " FROM taken t WHERE d.delivery_id = t.delivery_id RETURNING d.delivery_id, d.run_id,"     \
        " d.lane, d.round, d.n, d.max_attempts),"                                                  \
        " added AS (INSERT INTO ~.attempt (delivery_id, round, n, started_ms)"                     \
        " SELECT delivery_id, round, n, $8::bigint FROM x ON CONFLICT DO NOTHING)"                 \
        " SELECT " HL_PG_LEASED " FROM x LEFT JOIN ~.run r ON r.run_id = x.run_id"                 \
        " ORDER BY x.lane, x.delivery_id")                                                         \
    /* $1 me, $6 now in ms */                                                                      \
    X(ATTEMPT, "WITH input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::bigint[],"        \
        " $4::bigint[], $5::bigint[]) WITH ORDINALITY AS t(delivery_id, round, n, is_again, ord))," \
        " held AS (SELECT i.*, d.n AS was FROM input i JOIN ~.delivery_ticket t"                   \
        " ON t.delivery_id = i.delivery_id AND " HL_PG_MINE                               \
        " JOIN ~.delivery d ON d.delivery_id = i.delivery_id AND d.round = i.round"                \
        " AND d.max_attempts >= i.n AND (d.n = i.n - 1 AND i.is_again = 0 OR d.n = i.n AND EXISTS" \
        " (SELECT FROM ~.attempt a WHERE a.delivery_id = i.delivery_id AND a.round = i.round"      \
        " AND a.n = i.n AND a.verdict IS NULL)) FOR UPDATE OF t),"                                 \
        " x AS (UPDATE ~.delivery d SET n = h.n FROM held h WHERE d.delivery_id = h.delivery_id"   \
        " RETURNING h.ord, d.delivery_id, d.run_id, d.lane, d.round, d.n, d.max_attempts),"        \
        " added AS (INSERT INTO ~.attempt (delivery_id, round, n, started_ms)"                     \
        " SELECT delivery_id, round, n, $6::bigint FROM held WHERE was < n ON CONFLICT DO NOTHING)" \
        " SELECT i.ord, CASE WHEN x.ord IS NULL THEN 3 ELSE 0 END, " HL_PG_LEASED                  \
        " FROM input i LEFT JOIN x ON x.ord = i.ord LEFT JOIN ~.run r ON r.run_id = x.run_id")     \
    /* $1 me. A retry is due at next_ms, 0: at once, whoever sends it; what is put off is anybody's. That a */ \
    /* destination fails is noted until one of its attempts has an answer. */ \
    X(OUTCOME, "WITH input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::bigint[],"        \
        " $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[],"      \
        " $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[]," \
        " $16::bigint[], $17::bigint[], $18::bytea[], $19::bytea[], $20::bytea[])"                 \
        " WITH ORDINALITY AS t(delivery_id, round, n, verdict, http_status, started_ms, ended_ms," \
        " error, next_ms, puts_off, health, since_ms, name_us, connect_us, tls_us, first_byte_us," \
        " address, content_type, body, ord)),"                                                     \
        " held AS (SELECT i.*, d.lane, d.n >= d.max_attempts AS is_last,"                          \
        " i.verdict = 3 AND i.started_ms = 0 AND EXISTS (SELECT FROM ~.attempt a WHERE"            \
        " a.delivery_id = i.delivery_id AND a.round = i.round AND a.n = i.n AND a.verdict IS NULL)" \
        " AS is_unsent FROM input i"                                                               \
        " JOIN ~.delivery_ticket t ON t.delivery_id = i.delivery_id AND " HL_PG_MINE      \
        " JOIN ~.delivery d ON d.delivery_id = i.delivery_id AND d.round = i.round AND d.n = i.n"  \
        " FOR UPDATE OF t), judged AS (SELECT *, CASE WHEN verdict = 0 THEN 1"                     \
        " WHEN verdict = 2 OR is_last AND NOT is_unsent THEN 2 END AS final FROM held),"           \
        " over AS (DELETE FROM ~.delivery_ticket t USING judged j"                                 \
        " WHERE t.delivery_id = j.delivery_id AND j.final IS NOT NULL),"                           \
        " back AS (UPDATE ~.delivery_ticket t SET node_id = CASE WHEN j.verdict = 3"               \
        " OR j.puts_off = 1 THEN NULL ELSE t.node_id END, due_at = CASE WHEN j.verdict = 3"        \
        " THEN t.due_at WHEN j.next_ms > 0 THEN " HL_PG_AT("j.next_ms") " ELSE now() END,"         \
        " is_waiting = CASE j.verdict WHEN 3 THEN t.is_waiting AND t.due_at > now()"               \
        " ELSE j.next_ms > 0 END FROM judged j"                                                    \
        " WHERE t.delivery_id = j.delivery_id AND j.final IS NULL),"                               \
        " fails AS (INSERT INTO ~.failing (lane, since_ms) SELECT lane, min(since_ms) FROM judged" \
        " WHERE verdict <> 3 AND health = 2 GROUP BY lane ORDER BY lane ON CONFLICT DO NOTHING),"  \
        " heals AS (DELETE FROM ~.failing f USING judged j WHERE f.lane = j.lane"                  \
        " AND j.verdict <> 3 AND j.health <> 2 AND (j.http_status > 0 OR j.health = 1)),"          \
        " noted AS (UPDATE ~.delivery d SET state = coalesce(j.final, d.state), n = d.n -"         \
        " j.is_unsent::integer, done_ms = CASE WHEN j.final IS NOT NULL THEN " HL_PG_DONE_MS("d")  \
        " ELSE d.done_ms END"                                                                      \
        " FROM judged j WHERE d.delivery_id = j.delivery_id),"                                     \
        " closed AS (UPDATE ~.attempt a SET started_ms = j.started_ms, ended_ms = j.ended_ms,"     \
        " verdict = CASE WHEN j.verdict = 1 AND j.final IS NOT NULL THEN 2 ELSE j.verdict END,"    \
        " http_status = j.http_status, error = j.error, name_us = j.name_us,"                      \
        " connect_us = j.connect_us, tls_us = j.tls_us, first_byte_us = j.first_byte_us,"          \
        " address = j.address, content_type = j.content_type, body = j.body FROM judged j"         \
        " WHERE a.delivery_id = j.delivery_id AND a.round = j.round AND a.n = j.n"                 \
        " AND a.verdict IS NULL AND NOT j.is_unsent),"                                             \
        " dropped AS (DELETE FROM ~.attempt a USING judged j WHERE a.delivery_id = j.delivery_id"  \
        " AND a.round = j.round AND a.n = j.n AND a.verdict IS NULL AND j.is_unsent)"              \
        " SELECT i.ord, CASE WHEN j.ord IS NOT NULL THEN 0 WHEN EXISTS (SELECT FROM ~.attempt a"   \
        " WHERE a.delivery_id = i.delivery_id AND a.round = i.round AND a.n = i.n"                 \
        " AND a.ended_ms = i.ended_ms) THEN 6 ELSE 3 END, j.final FROM input i"                    \
        " LEFT JOIN judged j ON j.ord = i.ord")                                                    \
    /* $1 the delivery, $2 its project or '', $3 attempts */                                       \
    X(REDELIVER, "WITH renewed AS (UPDATE ~.delivery SET state = 0, round = round + 1, n = 0,"     \
        " max_attempts = $3::bigint, done_ms = " HL_PG_NOW_MS " WHERE delivery_id = $1::uuid"       \
        " AND state <> 0"                                                                          \
        " AND done_ms > $4::bigint AND ($2::text = '' OR project = $2::text)"                       \
        " RETURNING delivery_id, lane),"                 \
        " due AS (INSERT INTO ~.delivery_ticket (delivery_id, lane, due_at)"                       \
        " SELECT delivery_id, lane, now() FROM renewed)"                                           \
        " SELECT 1, CASE WHEN EXISTS (SELECT FROM renewed) THEN 0 WHEN EXISTS (SELECT"             \
        " FROM ~.delivery WHERE delivery_id = $1::uuid AND " HL_PG_SHOWN_DELIVERY("$4")            \
        " AND ($2::text = '' OR project = $2::text))"                                              \
        " THEN 6 ELSE 4 END, (SELECT count(*) FROM renewed), 0, NULL::uuid")                       \
    /* $1 project, $2 state, $3 from, $4 behind which delivery, $5 how many are looked at, */ \
    /* $6 attempts, $7 as $10 below */ \
    X(REDELIVER_MANY, "WITH looked AS MATERIALIZED (SELECT delivery_id FROM ~.delivery"            \
        " WHERE project = $1::text AND state = $2::bigint AND delivery_id > $4::uuid"            \
        " AND delivery_id >= $3::uuid"                                                             \
        " AND done_ms > $7::bigint"                                                                \
        " ORDER BY delivery_id LIMIT $5::bigint), renewed AS (UPDATE ~.delivery d SET state = 0,"  \
        " round = d.round + 1, n = 0, max_attempts = $6::bigint, done_ms = " HL_PG_NOW_MS " FROM looked l" \
        " WHERE d.delivery_id = l.delivery_id AND d.state = $2::bigint"                          \
        " RETURNING d.delivery_id, d.lane),"                                                       \
        " due AS (INSERT INTO ~.delivery_ticket (delivery_id, lane, due_at)"                       \
        " SELECT delivery_id, lane, now() FROM renewed)"                                           \
        " SELECT 1, 0, (SELECT count(*) FROM renewed), (SELECT count(*) FROM looked) = $5::bigint," \
        " (SELECT delivery_id FROM looked ORDER BY delivery_id DESC LIMIT 1)")                     \
    /* --- replicas ---------------------------------------------------------------------------- */ \
    /* $1 me: which database this is, and when it says that this replica beat last. Events above the last number */ \
    /* that was given are in the way of new ones; what they said is read from its tables, as by everybody who */ \
    /* comes to another database. No new one is among them: its number was given before it was seen. */ \
    X(NODE_LOOK, "WITH dropped AS (DELETE FROM ~.event WHERE event_id > (SELECT " HL_PG_LAST_EVENT \
        ") RETURNING 1) SELECT " HL_PG_ERA ", coalesce((SELECT " HL_PG_MS("beat_at") " FROM ~.node"  \
        " WHERE node_id = $1::uuid), 0), (SELECT count(*) FROM dropped), " HL_PG_NOW_MS)           \
    /* $1 what this replica was before, $2 its name, $3 version, $4 the check value of its key: it has left, and what */ \
    /* it had not ended is whoever's that comes next. It is not waited for. */                     \
    X(NODE_PAST, "INSERT INTO ~.node (node_id, name, version, address, key_check, started_at,"     \
        " beat_at, app_at, expires_at) VALUES ($1::uuid, $2::text, $3::text, '', $4::bytea, now()," \
        " 'epoch', 'epoch', '-infinity') ON CONFLICT (node_id) DO UPDATE SET is_dead = false,"     \
        " beat_at = 'epoch', expires_at = '-infinity'")                                            \
    /* $1 me, $2 since when this is another database, in ms, $3 a lifetime: how many of the others were alive */ \
    /* before, and have not beaten since */                                                        \
    X(NODE_UNHEARD, "WITH before AS (SELECT max(beat_at) AS last FROM ~.node WHERE "               \
        HL_PG_MS("beat_at") " < $2::bigint) SELECT count(*) FROM ~.node n, before b"               \
        " WHERE n.node_id <> $1::uuid AND " HL_PG_MS("n.beat_at") " < $2::bigint" \
        " AND n.beat_at > greatest(b.last - $3::bigint * interval '1 ms', 'epoch')")                                  \
    /* $1 me, $2 runs that are here, or ended here, $3 under which epoch, $4 now in ms: what knows of an earlier */ \
    /* one only is this replica's again. */ \
    X(RUN_RETAKE, "WITH back AS (UPDATE ~.ticket t SET node_id = $1::uuid, epoch = i.epoch, class = t.class % 10," \
        " attempt = t.attempt + (t.node_id IS NULL)::integer,"                                     \
        " started_ms = coalesce(t.started_ms, $4::bigint) FROM unnest($2::uuid[], $3::bigint[])"   \
        " AS i(run_id, epoch) WHERE t.run_id = i.run_id AND t.epoch < i.epoch RETURNING 1)"        \
        " SELECT (SELECT count(*) FROM back)")                                                     \
    /* Deliveries $1 that are settled: $2 their round, $3 and last attempt, $4 how; $5 to $8 that attempt. What was */ \
    /* made anew since then is another round. */                                                   \
    X(DELIVERY_RECALL, "WITH held AS MATERIALIZED (SELECT i.* FROM unnest($1::uuid[], $2::bigint[]," \
        " $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])"     \
        " AS i(delivery_id, round, n, state, verdict, http_status, started_ms, ended_ms)"          \
        " JOIN ~.delivery d ON d.delivery_id = i.delivery_id AND d.state = 0 AND d.round <= i.round" \
        " FOR UPDATE OF d), over AS (DELETE FROM ~.delivery_ticket t USING held h"                 \
        " WHERE t.delivery_id = h.delivery_id), noted AS (UPDATE ~.delivery d SET state = h.state," \
        " round = h.round, n = h.n, done_ms = " HL_PG_DONE_MS("d") " FROM held h"                   \
        " WHERE d.delivery_id = h.delivery_id),"                                                   \
        " closed AS (INSERT INTO ~.attempt AS a (delivery_id, round, n, started_ms, ended_ms, verdict," \
        " http_status) SELECT delivery_id, round, n, started_ms, ended_ms, verdict, http_status"   \
        " FROM held ON CONFLICT (delivery_id, round, n) DO UPDATE SET started_ms = excluded.started_ms," \
        " ended_ms = excluded.ended_ms, verdict = excluded.verdict,"                               \
        " http_status = excluded.http_status WHERE a.verdict IS NULL) SELECT count(*) FROM held")  \
    /* $1 me, $2 name, $3 version, $4 address, $5 lifetime in ms, $6 the check value of its key, */ \
    /* $7 this session */   \
    X(NODE_JOIN, "INSERT INTO ~.node (node_id, name, version, address, key_check, started_at,"     \
        " beat_at, app_at, expires_at, session) VALUES ($1::uuid, $2::text, $3::text, $4::text,"   \
        " $6::bytea, now(), now(), 'epoch', now() + $5::bigint * interval '1 ms', $7::uuid)"       \
        " ON CONFLICT (node_id) DO UPDATE SET session = excluded.session")                         \
    /* $1 me, $2 lifetime in ms, $3 1: my app takes calls, $4 this session. No row: this replica is dead. Whether it */ \
    /* is this session that may claim, and whether any claim is this replica's, of a run and of a delivery */ \
    X(NODE_BEAT, "UPDATE ~.node n SET beat_at = now(), expires_at = now() + $2::bigint *"          \
        " interval '1 ms', app_at = CASE $3::bigint WHEN 1 THEN now() ELSE n.app_at END FROM ~.node o WHERE n.node_id = $1::uuid AND o.node_id = n.node_id"      \
        " AND NOT n.is_dead RETURNING " HL_PG_NOW_MS ", o.expires_at < now(), " HL_PG_ERA ", "     \
        HL_PG_MS("o.beat_at") ", " HL_PG_MS("n.beat_at") ", coalesce(n.session = $4::uuid, false), pg_backend_pid(), " HL_PG_PREMISE_MARK "," \
        " EXISTS (SELECT FROM ~.ticket WHERE node_id = $1::uuid AND is_async),"                    \
        " EXISTS (SELECT FROM ~.delivery_ticket WHERE node_id = $1::uuid)")                                          \
    /* $1 me: what it has goes on elsewhere, nobody has to wait for its time to pass. What it could not end is */ \
    /* whoever's that comes next: -infinity, it has left */                                        \
    X(NODE_LEAVE, "WITH gone AS (DELETE FROM ~.node WHERE node_id = $1::uuid AND NOT EXISTS"       \
        " (SELECT FROM ~.ticket WHERE node_id = $1::uuid) AND NOT EXISTS"                          \
        " (SELECT FROM ~.delivery_ticket WHERE node_id = $1::uuid) RETURNING 1)"                   \
        " UPDATE ~.node SET expires_at = '-infinity' WHERE node_id = $1::uuid"                     \
        " AND NOT EXISTS (SELECT FROM gone)")                                                      \
    /* $1 me, $2 attempts of a run, $3 of a delivery, $4 0: only who has left; the last column: what */ \
    /* NODE_BURY_STREAM has to do */                                                               \
    X(NODE_BURY, "WITH dead AS MATERIALIZED (SELECT node_id FROM ~.node WHERE NOT is_dead"         \
        " AND expires_at < CASE $4::bigint WHEN 0 THEN '0001-01-01' ELSE now() END"                \
        " AND node_id <> $1::uuid LIMIT 4 FOR UPDATE SKIP LOCKED),"                                \
        " buried AS (UPDATE ~.node n SET is_dead = true, expires_at = greatest(n.expires_at,"      \
        " n.beat_at) FROM dead d WHERE n.node_id = d.node_id),"                                    \
        " again AS (SELECT t.run_id, t.node_id, t.attempt, t.started_ms FROM ~.ticket t"         \
        " JOIN dead d ON d.node_id = t.node_id WHERE t.is_async AND NOT t.is_cancel_wished"        \
        " AND t.attempt < least($2::bigint, t.max_attempts)),"                                     \
        " back AS (UPDATE ~.ticket t SET node_id = NULL, epoch = t.epoch + 1, started_ms = NULL"   \
        " FROM again a WHERE t.run_id = a.run_id AND t.node_id = a.node_id"      \
        " RETURNING t.run_id),"                                                                    \
        " noted AS (UPDATE ~.run r SET attempt_log = coalesce(r.attempt_log,'') || a.attempt"     \
        " ||' '|| coalesce(a.started_ms, 0) ||' '|| " HL_PG_NOW_MS " ||' 0 6 '||"                   \
        " a.attempt::bigint * " HL_PG_ORDINALS_LOST " ||';' FROM again a WHERE r.run_id = a.run_id),"  \
        " begun AS (DELETE FROM ~.stream s USING back b WHERE s.run_id = b.run_id),"               \
        " long AS MATERIALIZED (SELECT s.run_id FROM ~.stream s JOIN ~.ticket t"                   \
        " ON t.run_id = s.run_id AND t.attempt = s.attempt JOIN dead d ON d.node_id = t.node_id"   \
        " GROUP BY s.run_id HAVING sum(octet_length(s.bytes)) > 262144),"                          \
        " gone AS (DELETE FROM ~.ticket t USING dead d WHERE t.node_id = d.node_id"                \
        " AND t.run_id NOT IN (SELECT run_id FROM again UNION ALL SELECT run_id FROM long)"        \
        " RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress,"            \
        " t.is_cancel_wished),"                                                                    \
        HL_PG_LOST("$3") ","                                                                       \
        " held AS (SELECT y.delivery_id, y.round, y.n, y.n >= y.max_attempts AS is_last"           \
        " FROM ~.delivery_ticket t JOIN dead d ON d.node_id = t.node_id"                           \
        " JOIN ~.delivery y ON y.delivery_id = t.delivery_id FOR UPDATE OF t),"                    \
        " lost AS (UPDATE ~.attempt a SET ended_ms = " HL_PG_NOW_MS ", verdict = 4 FROM held h" \
        " WHERE a.delivery_id = h.delivery_id AND a.round = h.round AND a.n = h.n"                 \
        " AND a.verdict IS NULL),"                                                                 \
        " letters AS (UPDATE ~.delivery y SET state = 2, done_ms = " HL_PG_DONE_MS("y") " FROM held h" \
        " WHERE y.delivery_id = h.delivery_id AND h.is_last),"                                     \
        " over AS (DELETE FROM ~.delivery_ticket t USING held h"                                   \
        " WHERE t.delivery_id = h.delivery_id AND h.is_last),"                                     \
        " freed AS (UPDATE ~.delivery_ticket t SET node_id = NULL FROM held h"                     \
        " WHERE t.delivery_id = h.delivery_id AND NOT h.is_last)"                                  \
        " SELECT (SELECT count(*) FROM dead), (SELECT count(*) FROM gone),"                        \
        " (SELECT count(*) FROM back), (SELECT count(*) FROM held), (SELECT count(*)"              \
        " FROM ~.ticket t JOIN ~.node n ON n.node_id = t.node_id WHERE n.is_dead)")                \
    /* $1 me, $2 attempts of a delivery: one run whose long stream NODE_BURY has left, for it would take */ \
    /* much memory of the server's to end many of them at once */                                  \
    X(NODE_BURY_STREAM, "WITH one AS MATERIALIZED (SELECT t.run_id FROM ~.ticket t JOIN ~.node n"  \
        " ON n.node_id = t.node_id WHERE n.is_dead LIMIT 1 FOR UPDATE OF t SKIP LOCKED),"          \
        " gone AS (DELETE FROM ~.ticket t USING one o WHERE t.run_id = o.run_id"                   \
        " RETURNING t.run_id, t.epoch, t.attempt, t.started_ms, t.node_id, t.progress,"            \
        " t.is_cancel_wished)," HL_PG_LOST("$2") " SELECT count(*) FROM gone")                     \
    /* $1 me, $2 the runs that workers have: all other claims were never heard of */               \
    X(RUN_STRAYS, "WITH back AS (UPDATE ~.ticket SET node_id = NULL, epoch = epoch + 1,"           \
        " attempt = attempt - 1, started_ms = NULL WHERE node_id = $1::uuid AND is_async"          \
        " AND run_id <> ALL ($2::uuid[]) RETURNING run_id) SELECT count(*) FROM back")             \
    /* $1 runs, $2 how long a key is kept, in ms: what has not begun, and nobody was told of by its */ \
    /* key, is as if it had never been. Keys are locked first, in the order of RUN_ADD. Each row is */ \
    /* found by itself, by an index: joins were planned to read all keys and all that is queued. */ \
    X(RUN_WITHDRAW, "WITH found AS MATERIALIZED (SELECT i.run_id, k.project, k.app, k.subject,"    \
        " k.key FROM unnest($1::uuid[]) AS i(run_id) CROSS JOIN LATERAL (SELECT created_ms"        \
        " FROM ~.run WHERE run_id = i.run_id LIMIT 1) r CROSS JOIN LATERAL (SELECT * FROM ~.idem o" \
        " WHERE o.expires_ms = r.created_ms + $2::bigint AND o.run_id = i.run_id LIMIT 1) k"       \
        " ORDER BY k.project, k.app, k.subject, k.key),"                                           \
        " keys AS MATERIALIZED (SELECT f.*, k.is_told FROM found f CROSS JOIN LATERAL"             \
        " (SELECT o.is_told FROM ~.idem o WHERE o.project = f.project AND o.app = f.app"           \
        " AND o.subject = f.subject AND o.key = f.key AND o.run_id = f.run_id FOR UPDATE) k),"     \
        " gone AS (DELETE FROM ~.ticket WHERE run_id = ANY ($1::uuid[])"                           \
        " AND run_id <> ALL (ARRAY(SELECT run_id FROM keys WHERE is_told))"                        \
        " AND num_nulls(node_id) = 1 AND attempt = 0 RETURNING run_id),"                           \
        " runs AS (DELETE FROM ~.run r USING gone g WHERE r.run_id = g.run_id"                     \
        " RETURNING r.request_file),"                                                              \
        " request AS (DELETE FROM ~.body b USING runs r WHERE b.body_id = r.request_file),"        \
        " freed AS (DELETE FROM ~.idem o USING keys k JOIN gone g ON g.run_id = k.run_id"          \
        " WHERE o.project = k.project AND o.app = k.app AND o.subject = k.subject"                 \
        " AND o.key = k.key)"                                                                      \
        " SELECT count(*) FROM gone")                                                              \
    /* $1 me, $2 the deliveries that the sender has */                                             \
    X(DELIVERY_STRAYS, "WITH back AS (UPDATE ~.delivery_ticket SET node_id = NULL"                 \
        " WHERE node_id = $1::uuid AND delivery_id <> ALL ($2::uuid[]) RETURNING delivery_id),"    \
        " unsent AS (UPDATE ~.delivery d SET n = d.n - 1 FROM back b"                              \
        " WHERE d.delivery_id = b.delivery_id RETURNING d.delivery_id, d.round, d.n + 1 AS n),"    \
        " dropped AS (DELETE FROM ~.attempt a USING unsent u WHERE a.delivery_id = u.delivery_id"  \
        " AND a.round = u.round AND a.n = u.n AND a.verdict IS NULL)"                              \
        " SELECT count(*) FROM back")                                                              \
    /* $1 how wide one is, in ms: whether more have to be made */                                  \
    X(PARTITION, "SELECT ~.make_partitions($1::bigint)::integer")                                  \
    /* What gauges say of all replicas. */                                                         \
    X(COUNT, "SELECT (SELECT count(*) FROM ~.ticket WHERE node_id IS NULL AND class < 10),"        \
        " (SELECT (extract(epoch FROM min(due_at)) * 1000)::bigint FROM ~.ticket"                  \
        " WHERE node_id IS NULL AND class < 10), (SELECT count(*) FROM ~.delivery_ticket),"                       \
        " (SELECT min(" HL_PG_SINCE ") FROM ~.delivery WHERE state = 0),"                          \
        " (SELECT count(*) FROM ~.node WHERE NOT is_dead AND expires_at > now()),"                 \
        " (SELECT (extract(epoch FROM max(coalesce(app_at, beat_at))) * 1000)::bigint FROM ~.node" \
        " WHERE NOT is_dead), " HL_PG_START_MS("") ", (SELECT count(*) FROM ~.ticket"              \
        " WHERE node_id IS NULL AND class >= 10), (SELECT count(*) FROM ~.ticket WHERE lane IS NOT NULL)") \
    /* Destinations with $1 deliveries or more, counted from acceptance. What a replica of an older hookline */ \
    /* has accepted counts from its run's end. */ \
    X(CROWD, "SELECT lane, sum(n)::bigint FROM (SELECT lane, count(*) AS n FROM ~.delivery_ticket" \
        " GROUP BY lane UNION ALL SELECT lane, count(*) FROM ~.ticket WHERE lane IS NOT NULL"      \
        " GROUP BY lane) AS lanes GROUP BY lane HAVING sum(n) >= $1::bigint"                       \
        " ORDER BY 2 DESC LIMIT 16")                                                               \
    /* Where nothing is to be sent nobody knows what a destination would do. */                    \
    X(FAILING_TRIM, "WITH over AS (DELETE FROM ~.failing f WHERE NOT EXISTS (SELECT"               \
        " FROM ~.delivery_ticket t WHERE t.lane = f.lane AND t.node_id IS NULL) AND NOT EXISTS"    \
        " (SELECT FROM ~.delivery_ticket t WHERE t.lane = f.lane AND t.node_id IS NOT NULL)"       \
        " RETURNING lane) SELECT count(*) FROM over")                                              \
    /* And of the server. */                                                                       \
    X(MEASURE, "SELECT " HL_PG_DEAD_TUPLES("ticket") ", " HL_PG_DEAD_TUPLES("delivery_ticket") "," \
        " (extract(epoch FROM clock_timestamp() - min(since)) * 1000)::bigint,"                    \
        " (array_agg(xid ORDER BY transactions DESC))[1]::text::bigint"                            \
        " FROM (" HL_PG_HOLDERS ") AS holders")                                                    \
    X(ACCOUNT_ADD, "WITH added AS (INSERT INTO ~.account (account_id, project, name, role,"        \
        " created_ms, expires_ms, revoked_ms, last_used_ms, " HL_PG_LIMITS ") VALUES ($1::uuid,"   \
        " $2::text, $3::bytea, $4::bigint, $5::bigint, $6::bigint, 0, 0, $7::bigint, $8::bigint,"  \
        " $9::bigint, $10::bigint, $11::bigint, $12::bigint) ON CONFLICT DO NOTHING"               \
        " RETURNING account_id), told AS (INSERT INTO ~.event (kind, subject)"                     \
        " SELECT 3, account_id FROM added)"                                                        \
        " SELECT 1, CASE WHEN EXISTS (SELECT FROM added) THEN 0 ELSE 6 END")                       \
    /* $1 account, $2 project or '', $3 now in ms */                                               \
    X(ACCOUNT_REVOKE, "WITH revoked AS (UPDATE ~.account SET revoked_ms = CASE revoked_ms"         \
        " WHEN 0 THEN $3::bigint ELSE revoked_ms END WHERE account_id = $1::uuid"                  \
        " AND ($2::text = '' OR project = $2::text) RETURNING account_id, revoked_ms),"            \
        " told AS (INSERT INTO ~.event (kind, subject) SELECT 2, account_id FROM revoked)"         \
        " SELECT 1, CASE WHEN EXISTS (SELECT FROM revoked) THEN 0 ELSE 4 END,"                     \
        " (SELECT revoked_ms FROM revoked)")                                                       \
    /* Accounts $1 that were revoked at $2, in a database that may not know of it. */              \
    X(ACCOUNT_RECALL, "WITH revoked AS (UPDATE ~.account SET revoked_ms = i.ms"                    \
        " FROM unnest($1::uuid[], $2::bigint[]) AS i(id, ms) WHERE account_id = i.id"              \
        " AND revoked_ms = 0 RETURNING account_id),"                                               \
        " told AS (INSERT INTO ~.event (kind, subject) SELECT 2, account_id FROM revoked)"         \
        " SELECT count(*) FROM revoked")                                                           \
    /* $1 account, $2 project or '', $3 which change, by the bits of enum hl_limit, $4 to $8 to what */ \
    X(ACCOUNT_LIMIT, "WITH limited AS (UPDATE ~.account SET"                                       \
        " max_running = CASE WHEN $3::bigint & 1 = 0 THEN max_running ELSE $4::bigint END,"        \
        " max_queued = CASE WHEN $3::bigint & 2 = 0 THEN max_queued ELSE $5::bigint END,"          \
        " rate_count = CASE WHEN $3::bigint & 4 = 0 THEN rate_count ELSE $6::bigint END,"          \
        " rate_window_s = CASE WHEN $3::bigint & 4 = 0 THEN rate_window_s ELSE $7::bigint END,"    \
        " max_priority = CASE WHEN $3::bigint & 8 = 0 THEN max_priority ELSE $8::bigint END,"      \
        " limits_revision = limits_revision + 1 WHERE account_id = $1::uuid"                       \
        " AND ($2::text = '' OR project = $2::text) RETURNING " HL_PG_ACCOUNT "),"                 \
        " told AS (INSERT INTO ~.event (kind, subject) SELECT 4, account_id FROM limited)"         \
        " SELECT 1, CASE WHEN l.account_id IS NULL THEN 4 ELSE 0 END, l.* FROM (SELECT 1) AS one"  \
        " LEFT JOIN limited l ON true")                                                            \
    X(ACCOUNT_TOUCH, "WITH touched AS (UPDATE ~.account a"                                         \
        " SET last_used_ms = greatest(a.last_used_ms, u.ms)"                                       \
        " FROM unnest($1::uuid[], $2::bigint[]) AS u(id, ms) WHERE a.account_id = u.id)"           \
        " SELECT 1, 0")                                                                            \
    X(KEY_KEEP, "WITH kept AS (INSERT INTO ~.meta (k, v) VALUES ('signing_key', $1::bytea)"        \
        " ON CONFLICT (k) DO NOTHING RETURNING k) SELECT 1, CASE WHEN EXISTS (SELECT FROM kept)"   \
        " THEN 0 WHEN EXISTS (SELECT FROM ~.meta WHERE k = 'signing_key') THEN 1 ELSE 5 END,"       \
        " (SELECT v FROM ~.meta WHERE k = 'signing_key')") \
    /* $1 the body, $2 which chunk, $3 its bytes */                                                \
    X(BODY_PUT, "INSERT INTO ~.body (body_id, seq, bytes) VALUES ($1::uuid, $2::bigint,"           \
        " $3::bytea) ON CONFLICT DO NOTHING")                                                      \
    X(BODY_GET, "SELECT bytes FROM ~.body WHERE body_id = $1::uuid AND seq = $2::bigint")          \
    /* $1 me; parts of streams whose runs this replica has; one that comes again may be longer */  \
    X(STREAM_PUT, "WITH input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::bigint[],"     \
        " $4::bigint[], $5::bigint[], $6::bytea[]) WITH ORDINALITY"                                \
        " AS t(run_id, epoch, attempt, at, bytes, ord)),"                                          \
        " mine AS MATERIALIZED (SELECT i.* FROM input i JOIN ~.ticket t ON t.run_id = i.run_id"    \
        " AND t.epoch = i.epoch AND " HL_PG_MINE " FOR KEY SHARE OF t),"                           \
        " added AS (INSERT INTO ~.stream AS s (run_id, attempt, at, bytes) SELECT run_id, attempt,"  \
        " at, bytes FROM mine ON CONFLICT (run_id, attempt, at) DO UPDATE SET bytes = excluded.bytes" \
        " WHERE octet_length(excluded.bytes) > octet_length(s.bytes))"                             \
        " SELECT i.ord, CASE WHEN m.ord IS NULL THEN 3 ELSE 0 END FROM input i"                    \
        " LEFT JOIN mine m ON m.ord = i.ord")                                                      \
    /* $1 me */                                                                                    \
    X(PROGRESS_PUT, "WITH input AS MATERIALIZED (SELECT * FROM unnest($2::uuid[], $3::bigint[],"   \
        " $4::text[]) WITH ORDINALITY AS t(run_id, epoch, json, ord)),"                            \
        " said AS (UPDATE ~.ticket t SET progress = i.json FROM input i WHERE t.run_id = i.run_id" \
        " AND t.epoch = i.epoch AND " HL_PG_MINE " RETURNING i.ord)"                               \
        " SELECT i.ord, CASE WHEN s.ord IS NULL THEN 3 ELSE 0 END FROM input i"                    \
        " LEFT JOIN said s ON s.ord = i.ord")                                                      \
    /* $1 what ended until then is past the retention of streams, $2 how much may be kept of them: the */ \
    /* oldest lose their bodies, and parts of streams whose runs have ended go. How much there was. */ \
    X(STREAM_TRIM, "WITH kept AS MATERIALIZED (SELECT run_id, body_file, body_size, finished_ms,"  \
        " sum(body_size) OVER (ORDER BY finished_ms DESC, run_id) AS total FROM ~.run"             \
        " WHERE NOT is_async AND NOT has_webhook AND body_where IN (1, 2)),"                       \
        " old AS MATERIALIZED (SELECT run_id, body_file FROM kept WHERE finished_ms <= $1::bigint" \
        " OR total > $2::bigint ORDER BY finished_ms, run_id LIMIT 500),"                          \
        " stripped AS (UPDATE ~.run r SET body_where = 3, body_bytes = NULL, body_file = NULL,"    \
        " encoding = 3 FROM old o WHERE r.run_id = o.run_id AND r.body_where IN (1, 2)),"          \
        " parts AS (DELETE FROM ~.body b USING old o WHERE b.body_id = o.body_file),"              \
        " left_over AS (DELETE FROM ~.stream s WHERE NOT EXISTS (SELECT FROM ~.ticket t"           \
        " WHERE t.run_id = s.run_id))"                                                             \
        " SELECT coalesce(sum(body_size), 0)::bigint FROM kept")                                   \
    /* $1 me, $2 runs that cannot be begun here: somebody looks at them within the hour */         \
    X(RUN_PUT_OFF, "UPDATE ~.ticket t SET node_id = NULL, epoch = t.epoch + 1, attempt = t.attempt - 1," \
        " started_ms = NULL, due_at = now() + " HL_PG_PUT_OFF("r") " FROM ~.run r"                  \
        " WHERE t.node_id = $1::uuid AND t.run_id = ANY ($2::uuid[]) AND r.run_id = t.run_id")                                 \
    /* $1 me, $2 deliveries that cannot be sent from here: likewise */                             \
    X(DELIVERY_PUT_OFF, "WITH back AS (UPDATE ~.delivery_ticket t SET node_id = NULL,"             \
        " is_waiting = true, due_at = now() + " HL_PG_PUT_OFF("y") " FROM ~.delivery y WHERE t.node_id = $1::uuid" \
        " AND t.delivery_id = ANY ($2::uuid[]) AND y.delivery_id = t.delivery_id RETURNING t.delivery_id),"                              \
        " unsent AS (UPDATE ~.delivery d SET n = d.n - 1 FROM back b"                              \
        " WHERE d.delivery_id = b.delivery_id RETURNING d.delivery_id, d.round, d.n + 1 AS n)"     \
        " DELETE FROM ~.attempt a USING unsent u WHERE a.delivery_id = u.delivery_id"              \
        " AND a.round = u.round AND a.n = u.n AND a.verdict IS NULL")                              \
    /* --- questions --------------------------------------------------------------------------- */ \
    /* $1 the run, $2 whether with the body's bytes, $3 what ended until then is past its retention, */ \
    /* $4 with its log, $5 places to count, $6 its request: 1 the head, 2 all of it; $7, $8 a part of */ \
    /* its answer, as far as it has come; $9 me */                                                 \
    X(ASK_RUN, "SELECT " HL_PG_RUN_ROW ", CASE $2::bigint WHEN 1 THEN r.body_bytes END,"           \
        " CASE $4::bigint WHEN 1 THEN r.log END, CASE WHEN $5::bigint > 0 AND t.node_id IS NULL"   \
        " AND t.run_id IS NOT NULL THEN (SELECT count(*) FROM (SELECT FROM ~.ticket q"             \
        " WHERE q.node_id IS NULL AND q.class = t.class AND (q.turn, q.run_id) < (t.turn, t.run_id)" \
        " LIMIT $5::bigint) x) ELSE -1 END, " HL_PG_WAITING("0") ", " HL_PG_WAITING("1") ", "      \
        HL_PG_WAITING("2") ", CASE WHEN $6::bigint >= 1 THEN r.head END, CASE WHEN $6::bigint = 2" \
        " THEN r.url END, CASE WHEN $6::bigint = 2 THEN r.secret END, r.request_where,"            \
        " r.request_size, r.request_sha256, r.request_file,"                                       \
        " CASE WHEN $6::bigint = 2 THEN r.request_bytes END, CASE WHEN $8::bigint > 0 THEN"        \
        " CASE WHEN r.state >= 2 AND r.body_where = 1 THEN substring(r.body_bytes"                 \
        " FROM ($7::bigint + 1)::integer FOR $8::bigint::integer)"                                 \
        " WHEN r.state >= 2 AND r.body_where = 2 THEN (SELECT substring(b.bytes"                   \
        " FROM ($7::bigint % 1048576 + 1)::integer FOR $8::bigint::integer) FROM ~.body b"         \
        " WHERE b.body_id = r.body_file AND b.seq = $7::bigint / 1048576)"                         \
        " WHEN t.node_id IS NOT NULL THEN (SELECT substring(s.bytes"                               \
        " FROM ($7::bigint - s.at + 1)::integer FOR $8::bigint::integer) FROM ~.stream s"          \
        " WHERE s.run_id = r.run_id AND s.attempt = t.attempt AND s.at <= $7::bigint"              \
        " AND s.at > $7::bigint - 1048576 ORDER BY s.at DESC LIMIT 1) END END,"                    \
        " coalesce(t.progress, r.progress), (SELECT n.address FROM ~.node n"                       \
        " WHERE n.node_id = t.node_id AND n.node_id <> $9::uuid AND NOT n.is_dead)"                \
        " FROM ~.run r LEFT JOIN ~.ticket t ON t.run_id = r.run_id" HL_PG_DELIVERY_COUNTS          \
        " WHERE r.run_id = $1::uuid AND " HL_PG_SHOWN("$3"))                                   \
    /* $1 project or '', $2 app or '', $3 state or -1, $4 mode or -1, $5 before, $6 from, $7 limit, */ \
    /* $8 as $3 above */                                                                           \
    X(ASK_RUNS, "SELECT false, r.run_id, " HL_PG_RUN_ROW ", NULL::bytea"                                         \
        " FROM ~.run r LEFT JOIN ~.ticket t ON t.run_id = r.run_id" HL_PG_DELIVERY_COUNTS          \
        " WHERE r.run_id < $5::uuid AND r.run_id >= $6::uuid"                                      \
        " AND ($1::text = '' OR r.project = $1::text) AND ($2::text = '' OR r.app = $2::text)"     \
        " AND ($3::bigint < 0 OR r.state = $3::bigint)"                                            \
        " AND " HL_PG_SHOWN("$8")                                                                 \
        " AND ($4::bigint < 0 OR r.is_async = ($4::bigint = 1))"                                   \
        " ORDER BY r.run_id DESC LIMIT $7::bigint")                                                \
    /* The same of a search (store/search.h). $9 how many are looked at, $10 an id's end or null, $11 reason or 0, */ \
    /* $12 status from or -1, $13 to, $14 webhook or 0, $15 part of the path or ''. The first column: not a run, but */ \
    /* the last that was looked at, where there may be more */                                     \
    X(SEARCH_RUNS, "WITH found AS MATERIALIZED ((SELECT l.run_id, false AS is_end FROM ("          \
        HL_PG_LOOKED_RUNS ") l WHERE ($10::bytea IS NULL"                                          \
        " OR substring(uuid_send(l.run_id) FROM 13) = $10::bytea)"                                 \
        " AND ($11::bigint = 0 OR l.reason = $11::bigint) AND ($12::bigint < 0"                    \
        " OR coalesce(l.http_status, 0) BETWEEN $12::bigint AND $13::bigint)"                      \
        " AND (octet_length($15::bytea) = 0 OR position($15::bytea IN l.path) > 0)"                \
        " AND CASE $14::bigint WHEN 0 THEN true WHEN 1 THEN NOT l.has_webhook ELSE l.has_webhook"  \
        " AND EXISTS (SELECT FROM ~.delivery d WHERE d.run_id = l.run_id"                          \
        " AND d.state = $14::bigint - 2) END LIMIT $7::bigint) UNION ALL"                          \
        " (SELECT e.run_id, true FROM (" HL_PG_LOOKED_RUNS ") e"                                   \
        " OFFSET $9::bigint - 1 LIMIT 1) LIMIT $7::bigint)"                                        \
        " SELECT f.is_end, f.run_id, " HL_PG_RUN_ROW ", NULL::bytea"                               \
        " FROM found f LEFT JOIN ~.run r ON r.run_id = f.run_id"                                   \
        " LEFT JOIN ~.ticket t ON t.run_id = r.run_id" HL_PG_DELIVERY_COUNTS                       \
        " ORDER BY f.run_id DESC, f.is_end")                                                       \
    /* The same of those that have not ended: queued (0) or running (1). */                        \
    X(ASK_TICKETS, "SELECT false, r.run_id, " HL_PG_RUN_ROW ", NULL::bytea"                                      \
        " FROM ~.ticket t JOIN ~.run r ON r.run_id = t.run_id" HL_PG_DELIVERY_COUNTS               \
        " WHERE t.run_id < $5::uuid AND t.run_id >= $6::uuid"                                      \
        " AND ($1::text = '' OR r.project = $1::text) AND ($2::text = '' OR r.app = $2::text)"     \
        " AND (t.node_id IS NOT NULL) = ($3::bigint = 1)"                                          \
        " AND ($4::bigint < 0 OR t.is_async = ($4::bigint = 1))"                                   \
        " ORDER BY t.run_id DESC LIMIT $7::bigint")                                                \
    /* $1 project or '', $2 app or '', $3 state or -1, $4 run or null, $5 before, $6 from, */      \
    /* $7 limit, $8 delivery or null, $9 how many attempts, $10 what ended until then is hidden */ \
    X(ASK_DELIVERIES, "SELECT " HL_PG_DELIVERY_ROW                                                 \
        " FROM (SELECT * FROM ~.delivery WHERE delivery_id < $5::uuid AND delivery_id >= $6::uuid" \
        " AND ($1::text = '' OR project = $1::text) AND ($2::text = '' OR app = $2::text)"         \
        " AND ($3::bigint < 0 OR state = $3::bigint) AND ($4::uuid IS NULL OR run_id = $4::uuid)"  \
        " AND ($8::uuid IS NULL OR delivery_id = $8::uuid) AND " HL_PG_SHOWN_DELIVERY("$10")       \
        " ORDER BY delivery_id DESC LIMIT $7::bigint) d" HL_PG_DELIVERY_JOINS                      \
        " ORDER BY d.delivery_id DESC, a.round, a.n")                                              \
    /* The same of a search: $11 how many are looked at, $12 lane or null, $13 status from or -1, $14 to. The last */ \
    /* columns: none, but the last that was looked at, where there may be more */                  \
    X(SEARCH_DELIVERIES, HL_PG_SEARCHED_DELIVERIES("$12::bigint IS NULL"))                         \
    X(SEARCH_LANE, HL_PG_SEARCHED_DELIVERIES("d.lane = $12::bigint"))                              \
    X(COUNT_DELIVERIES, HL_PG_COUNTED_DELIVERIES("$12::bigint IS NULL"))                           \
    X(COUNT_LANE, HL_PG_COUNTED_DELIVERIES("d.lane = $12::bigint"))                                \
    /* $1 project, $2 behind which lane, null: from the first, $3 limit, $4 how many deliveries of each are */ \
    /* looked at, $5 from when on attempts count, $6 what ended until then is hidden */            \
    X(ASK_DESTINATIONS, "WITH RECURSIVE lanes(lane, nth) AS ((SELECT lane, 1 FROM ~.delivery"      \
        " WHERE project = $1::text AND ($2::bigint IS NULL OR lane > $2::bigint)"                  \
        " ORDER BY lane LIMIT 1) UNION ALL SELECT (SELECT d.lane FROM ~.delivery d"                \
        " WHERE d.project = $1::text AND d.lane > l.lane ORDER BY d.lane LIMIT 1), l.nth + 1"      \
        " FROM lanes l WHERE l.lane IS NOT NULL AND l.nth < $3::bigint)"                           \
        " SELECT " HL_PG_LANE_COLUMNS " FROM lanes l"                                              \
        HL_PG_LANE_JOINS("$1::text", "$4", "$5", "$6")                                             \
        " WHERE l.lane IS NOT NULL ORDER BY l.lane")                                               \
    /* $1 project or '', $2 app or '', $3 and $4 minutes, $5 the first of the points, $6 minutes of a point, */ \
    /* $7 how many rows are looked at; $8 so far is counted; $9 1: also deliveries and replicas, $10 failing */ \
    /* destinations that are looked at, $11 that are told of, $12 to $14 as $4 to $6 above, $15 replicas. Rows of */ \
    /* several kinds: question_overview.c */                                                       \
    X(ASK_OVERVIEW, "WITH RECURSIVE minutes AS MATERIALIZED (SELECT minute, project, app, counts"  \
        " FROM ~.tally WHERE minute >= $3::bigint AND minute < $4::bigint AND " HL_PG_IN_SCOPE("tally") \
        " ORDER BY minute DESC LIMIT $7::bigint),"                                                 \
        " sums AS (SELECT project, app, point, what, sum(n)::bigint AS n FROM (SELECT project,"    \
        " app, (minute - $5::bigint) / $6::bigint AS point, x >> 40 AS what,"                      \
        " x & 1099511627775 AS n FROM minutes CROSS JOIN LATERAL unnest(counts) AS x) AS each"     \
        " GROUP BY GROUPING SETS ((project, app, what), (point, what))),"                          \
        " inside AS (SELECT count(*) FILTER (WHERE t.node_id IS NULL) AS queued,"                  \
        " count(*) FILTER (WHERE t.node_id IS NOT NULL) AS running FROM (SELECT run_id, node_id"   \
        " FROM ~.ticket WHERE is_async LIMIT $8::bigint) t JOIN ~.run r ON r.run_id = t.run_id"    \
        " WHERE " HL_PG_IN_SCOPE("r") "),"                                                         \
        " projects(name) AS ((SELECT project FROM ~.delivery WHERE $9::bigint = 1"                 \
        " AND ($1::text = '' OR project = $1::text) ORDER BY project LIMIT 1) UNION ALL"           \
        " SELECT (SELECT d.project FROM ~.delivery d WHERE $1::text = '' AND d.project > p.name"   \
        " ORDER BY d.project LIMIT 1) FROM projects p WHERE p.name IS NOT NULL),"                  \
        " l AS MATERIALIZED (SELECT failing.lane, failing.since_ms, (SELECT p.name FROM projects p" \
        " WHERE p.name IS NOT NULL AND EXISTS (SELECT FROM ~.delivery d WHERE d.project = p.name"  \
        " AND d.lane = failing.lane) LIMIT 1) AS project FROM (SELECT lane, since_ms"              \
        " FROM ~.failing WHERE $9::bigint = 1 ORDER BY since_ms LIMIT $10::bigint) AS failing),"   \
        " worst AS MATERIALIZED (SELECT * FROM l WHERE project IS NOT NULL ORDER BY since_ms"      \
        " LIMIT $11::bigint),"                                                                     \
        " replicas AS (SELECT * FROM (" HL_PG_REPLICAS ") AS r WHERE $9::bigint = 1"               \
        " ORDER BY " HL_PG_REPLICA_ORDER " LIMIT $15::bigint)"                                     \
        " SELECT 0, NULL::text, NULL::text, NULL::text, NULL::uuid, NULL::bytea, NULL::bytea,"     \
        " (SELECT convert_from(v, 'UTF8')::bigint FROM ~.meta WHERE k = 'counted_ms'),"            \
        " (SELECT count(*) FROM minutes), (SELECT min(minute) FROM minutes), queued, running,"     \
        " (SELECT count(*) FROM (SELECT FROM ~.ticket WHERE is_async LIMIT $8::bigint) AS x),"     \
        " (SELECT count(*) FROM (SELECT FROM ~.delivery d WHERE $9::bigint = 1 AND d.state = 0"    \
        " AND " HL_PG_IN_SCOPE("d") " LIMIT $8::bigint) AS x),"                                    \
        " (SELECT count(*) FROM (SELECT FROM ~.delivery d WHERE $9::bigint = 1 AND d.state = 2"    \
        " AND d.done_ms > $14::bigint AND " HL_PG_IN_SCOPE("d") " LIMIT $8::bigint) AS x),"     \
        " (SELECT count(*) FROM l WHERE project IS NOT NULL), NULL::bigint FROM inside"            \
        " UNION ALL SELECT 1, project, app, NULL, NULL, NULL, NULL, what, n, NULL, NULL, NULL,"    \
        " NULL, NULL, NULL, NULL, NULL FROM sums WHERE point IS NULL"                              \
        " UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, what, n, point, NULL, NULL,"     \
        " NULL, NULL, NULL, NULL, NULL FROM sums WHERE point IS NOT NULL"                          \
        " UNION ALL SELECT 3, project, NULL, NULL, run_id, url, last_error, lane, pending, dead,"  \
        " oldest_ms, since_ms, attempts, ok, p95_us, last_ms, last_status"                         \
        " FROM (SELECT l.project, " HL_PG_LANE_COLUMNS " FROM worst l"                             \
        HL_PG_LANE_JOINS("l.project", "$12", "$13", "$14") ") AS w(project, lane, run_id, url,"    \
        " pending, dead, oldest_ms, since_ms, attempts, ok, p95_us, last_ms, last_status,"         \
        " last_error)"                                                                             \
        " UNION ALL SELECT 4, name, version, state, node_id, NULL, NULL,"                          \
        " floor(extract(epoch FROM started_at) * 1000)::bigint,"                                   \
        " (extract(epoch FROM now() - started_at) * 1000)::bigint,"                                \
        " (extract(epoch FROM now() - beat_at) * 1000)::bigint, runs, deliveries, NULL, NULL,"     \
        " NULL, NULL, NULL FROM replicas")                                                         \
    /* $1 project or '', $2 before, $3 limit */                                                    \
    X(ASK_ACCOUNTS, "SELECT " HL_PG_ACCOUNT " FROM ~.account"                                      \
        " WHERE ($1::text = '' OR project = $1::text)"                                             \
        " AND account_id < $2::uuid ORDER BY account_id DESC LIMIT $3::bigint")                    \
    /* $1 limit */                                                                                 \
    X(ASK_KEYS, "SELECT v FROM ~.meta WHERE k LIKE 'verify_key:%' ORDER BY k LIMIT $1::bigint")    \
    /* $1 project, $2 limit */                                                                     \
    X(ASK_APPS, "WITH RECURSIVE names(name) AS ((SELECT app FROM ~.run WHERE project = $1::text"   \
        " ORDER BY app LIMIT 1) UNION ALL SELECT (SELECT app FROM ~.run WHERE project = $1::text"  \
        " AND app > n.name ORDER BY app LIMIT 1) FROM names n WHERE n.name IS NOT NULL)"           \
        " SELECT name FROM names WHERE name IS NOT NULL LIMIT $2::bigint")                         \
    X(ASK_PROJECTS, "WITH RECURSIVE names(name) AS ((SELECT project FROM ~.run"                    \
        " ORDER BY project LIMIT 1) UNION ALL SELECT (SELECT project FROM ~.run"                   \
        " WHERE project > n.name ORDER BY project LIMIT 1) FROM names n WHERE n.name IS NOT NULL)" \
        " SELECT name FROM names WHERE name IS NOT NULL AND $1::text = '' LIMIT $2::bigint")       \
    /* $1 limit; times in ms since the epoch and ago */                                            \
    X(ASK_REPLICAS, "SELECT node_id, name, version, state,"                                        \
        " floor(extract(epoch FROM started_at) * 1000)::bigint,"                                        \
        " (extract(epoch FROM now() - started_at) * 1000)::bigint,"                                \
        " (extract(epoch FROM now() - beat_at) * 1000)::bigint, runs, deliveries"                  \
        " FROM (" HL_PG_REPLICAS ") AS replicas ORDER BY " HL_PG_REPLICA_ORDER " LIMIT $1::bigint")

/* Events and notifications. No transaction that writes an event lasts for a minute. */
#define HL_PG_OUTBOX_MAP(X)                                                                        \
    /* $1 me, $2 up to which nothing is read, $3 what was seen above that */                       \
    X(EVENT_READ, "WITH old AS (SELECT coalesce(max(event_id), $2::bigint) AS mark FROM ~.event"   \
        " WHERE event_id > $2::bigint AND at < now() - interval '60 s')"                           \
        " SELECT " HL_PG_NOW_MS ", " HL_PG_ERA ", " HL_PG_LAST_EVENT ", old.mark, e.event_id, e.kind, e.subject, " HL_PG_LIMITS         \
        " FROM old LEFT JOIN ~.event e ON e.event_id > $2::bigint AND (e.node_id IS NULL"          \
        " OR e.node_id = $1::uuid) AND e.event_id <> ALL ($3::bigint[])"                           \
        " LEFT JOIN ~.account a ON a.account_id = e.subject ORDER BY e.event_id")                  \
    X(EVENT_ACCOUNTS, "SELECT account_id, revoked_ms > 0, " HL_PG_LIMITS " FROM ~.account")        \
    /* $1 me: cancels of its runs, however they were told of. */                                   \
    X(EVENT_CANCELS, "SELECT run_id FROM ~.ticket WHERE node_id = $1::uuid AND is_cancel_wished")  \
    /* Behind a pooler: what each transaction begins with (premise.h). */                          \
    /* Behind a pooler: what an earlier connection, which did not know of it, has left. */         \
    X(PREMISE_UNDO, HL_PG_PREMISES_UNDONE)                                                         \
    X(ISOLATE, HL_PG_PREMISE_ISOLATION)                                             \
    X(PREMISE, HL_PG_PREMISES_AS_QUERY)                                                            \
    X(LISTEN, "LISTEN ~")                                                                          \
    X(UNLISTEN, "UNLISTEN ~")                                                                      \
    X(NOTIFY, "NOTIFY ~")                                                                          \
    /* For this transaction: its commit does not wait for the disk. */                             \
    X(NO_FLUSH, "SELECT set_config('synchronous_commit', 'off', true)")

/* clang-format on */

/* `kind` of events, with their subjects. */
enum hl_pg_event {
    HL_PG_EVENT_CANCEL = 1, /* a run that the event's node has */
    HL_PG_EVENT_REVOKED,    /* an account */
    HL_PG_EVENT_ADDED,      /* an account */
    HL_PG_EVENT_LIMITED,    /* an account; replicas of an older hookline pass it over */
};

enum hl_pg_sql {
#define X(name, text) HL_PG_DO_##name,
    HL_PG_MAP(X) HL_PG_OUTBOX_MAP(X)
#undef X
        HL_PG_SQL_COUNT
};

/* The texts for one schema. */
struct hl_pg_texts {
    char *text[HL_PG_SQL_COUNT]; /* owned */
};

/* HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_texts_init(
    struct hl_pg_texts *texts, const struct hl_pg_settings *settings);
void hl_pg_texts_fini(struct hl_pg_texts *texts);

/* What a prepared statement is called. */
const char *hl_pg_statement_name(enum hl_pg_sql which);

#endif
