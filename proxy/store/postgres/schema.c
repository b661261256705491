/* schema.c - the tables, in the schema that `~` stands for.
 *
 * What waits or runs has a ticket: a row of a few dozen bytes that goes when the run, or the
 * delivery, ends. What is known of it is in `run` and `delivery`, which are partitioned by the time in
 * their ids, so that what is past its retention is dropped a partition at a time. Bytes that callers
 * and apps gave are bytea: PostgreSQL's text takes neither NUL nor what is not UTF-8. Times of
 * records are milliseconds since the epoch; what is compared with the server's clock is timestamptz.
 */
#include "store/postgres/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/postgres/session.h"

/* Rows that come and go: room for changed ones in their page, and vacuum before they are many. */
#define BUSY_TABLE                                                                                 \
    " WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000,"                                  \
    " autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)"

/* Makes the next partitions that are missing, one of each table; whether it did. The first of all reaches
 * back to the beginning, one after a long absence over all of it. It runs with the owner's rights: a
 * role that may only write rows makes partitions by it. They are made apart and attached: that waits for
 * no one who reads or writes the others. An id's first 48 bits are milliseconds. */
#define MAKE_PARTITIONS(create, kinds, mend)                                                       \
    create                                                                                         \
        " FUNCTION ~.make_partitions(width_ms bigint) RETURNS boolean LANGUAGE plpgsql"            \
        " SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$"                            \
        " DECLARE now_ms bigint := (extract(epoch FROM now()) * 1000)::bigint;"                    \
        " from_ms bigint; to_ms bigint; kind text; part text; lower_bound text; BEGIN"             \
        " IF width_ms IS NULL OR width_ms < 3600000 OR width_ms > 86400000 THEN"                   \
        " RAISE EXCEPTION 'a partition is an hour to a day wide' USING ERRCODE = '22023'; END IF;" \
        " PERFORM pg_advisory_xact_lock(1751871593, hashtext('~'));"                               \
        " SELECT convert_from(v, 'UTF8')::bigint INTO from_ms FROM ~.meta"                         \
        " WHERE k = 'partitions_until';" mend " from_ms := coalesce(from_ms, 0);"                  \
        " IF from_ms >= now_ms + greatest(4 * width_ms, 172800000) THEN RETURN false; END IF;"     \
        " to_ms := greatest(from_ms, now_ms) / width_ms * width_ms + width_ms;"                    \
        " lower_bound := CASE from_ms WHEN 0 THEN 'MINVALUE'"                                      \
        " ELSE quote_literal(rpad(lpad(to_hex(from_ms), 12, '0'), 32, '0')::uuid) END;"            \
        " FOREACH kind IN ARRAY ARRAY[" kinds "] LOOP"                                             \
        " part := kind || '_' || lpad(to_hex(from_ms), 12, '0');"                                  \
        " EXECUTE format('CREATE TABLE ~.%I (LIKE ~.%I INCLUDING DEFAULTS INCLUDING STORAGE)',"    \
        " part, kind);"                                                                            \
        " EXECUTE format('ALTER TABLE ~.%I ATTACH PARTITION ~.%I FOR VALUES FROM (%s) TO (%L)',"   \
        " kind, part, lower_bound, rpad(lpad(to_hex(to_ms), 12, '0'), 32, '0')::uuid);"            \
        " END LOOP;"                                                                               \
        " INSERT INTO ~.meta (k, v) VALUES ('partitions_until', convert_to(to_ms::text, 'UTF8'))"  \
        " ON CONFLICT (k) DO UPDATE SET v = excluded.v;"                                           \
        " RETURN true; END $$"

/* Drops one, with what is in it; also one whose detaching was interrupted. Inside of a function it cannot
 * be detached without a lock on all of the table: who calls it waits for that no longer than lock_timeout.
 */
#define DROP_PARTITION                                                                             \
    "CREATE FUNCTION ~.drop_partition(kind text, part text) RETURNS void LANGUAGE plpgsql"         \
    " SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE is_pending boolean;"    \
    " BEGIN SELECT i.inhdetachpending INTO is_pending FROM pg_inherits i"                          \
    " JOIN pg_class c ON c.oid = i.inhrelid"                                                       \
    " JOIN pg_class p ON p.oid = i.inhparent AND p.relnamespace = c.relnamespace"                  \
    " JOIN pg_namespace n ON n.oid = p.relnamespace WHERE '\"' || n.nspname || '\"' = '~'"         \
    " AND p.relname = kind AND p.relkind = 'p' AND c.relname = part;"                              \
    " IF is_pending IS NULL THEN"                                                                  \
    " RAISE EXCEPTION 'it is no partition of that table' USING ERRCODE = '42P01'; END IF;"         \
    " EXECUTE format('ALTER TABLE ~.%I DETACH PARTITION ~.%I', kind, part)"                        \
    " || CASE WHEN is_pending THEN ' FINALIZE' ELSE '' END;"                                       \
    " EXECUTE format('DROP TABLE ~.%I', part); END $$"

/* Names are compared byte by byte, whatever the database's language. */
#define NAME "text COLLATE \"C\" NOT NULL"

/* The steps of each version, ending with NULL. Never edited once released: a change is a new one. */
static const char *const first[] = {"CREATE TABLE ~.meta (k text PRIMARY KEY, v bytea NOT NULL)",
    "CREATE TABLE ~.node (node_id uuid PRIMARY KEY, name text NOT NULL, version text NOT NULL,"
    " address text NOT NULL, started_at timestamptz NOT NULL, beat_at timestamptz NOT NULL,"
    " expires_at timestamptz NOT NULL, is_dead boolean NOT NULL DEFAULT false)"
    " WITH (fillfactor = 50)",
    "CREATE TABLE ~.ticket (run_id uuid PRIMARY KEY, due_at timestamptz NOT NULL,"
    " epoch integer NOT NULL, attempt integer NOT NULL, node_id uuid, started_ms bigint,"
    " is_async boolean NOT NULL, is_cancel_wished boolean NOT NULL DEFAULT false)" BUSY_TABLE,
    "CREATE INDEX ticket_due ON ~.ticket (due_at, run_id) WHERE node_id IS NULL",
    "CREATE INDEX ticket_node ON ~.ticket (node_id) WHERE node_id IS NOT NULL",
    "CREATE TABLE ~.run (run_id uuid NOT NULL, project " NAME ", app " NAME ","
    " state smallint NOT NULL DEFAULT 0, is_async boolean NOT NULL, has_webhook boolean NOT NULL,"
    " created_ms bigint NOT NULL, method bytea NOT NULL, path bytea NOT NULL,"
    " head bytea, request_where smallint NOT NULL, request_size bigint NOT NULL,"
    " request_sha256 bytea, request_file uuid, request_bytes bytea,"
    " lane bigint, url bytea, secret bytea, traceparent bytea,"
    " epoch integer, attempt integer NOT NULL DEFAULT 0, node_id uuid, started_ms bigint,"
    " reason smallint NOT NULL DEFAULT 0, http_status integer NOT NULL DEFAULT 0,"
    " finished_ms bigint, content_type bytea, content_encoding bytea,"
    " encoding smallint NOT NULL DEFAULT 3, escaped_size bigint NOT NULL DEFAULT 0,"
    " body_where smallint NOT NULL DEFAULT 0, body_size bigint NOT NULL DEFAULT 0,"
    " body_sha256 bytea, body_file uuid, body_bytes bytea, PRIMARY KEY (run_id))"
    " PARTITION BY RANGE (run_id)",
    "CREATE INDEX run_by_app ON ~.run (project, app, run_id)",
    "CREATE INDEX run_by_state ON ~.run (state, run_id) WHERE state >= 3",
    "CREATE TABLE ~.delivery (delivery_id uuid NOT NULL, run_id uuid NOT NULL,"
    " project " NAME ", app " NAME ", run_state smallint NOT NULL,"
    " lane bigint NOT NULL, state smallint NOT NULL DEFAULT 0, round integer NOT NULL DEFAULT 1,"
    " n integer NOT NULL DEFAULT 0, max_attempts integer NOT NULL, created_ms bigint NOT NULL,"
    " done_ms bigint, PRIMARY KEY (delivery_id)) PARTITION BY RANGE (delivery_id)",
    "CREATE INDEX delivery_by_run ON ~.delivery (run_id)",
    "CREATE INDEX delivery_by_app ON ~.delivery (project, app, delivery_id)",
    "CREATE INDEX delivery_by_state ON ~.delivery (state, delivery_id) WHERE state <> 1",
    "CREATE TABLE ~.delivery_ticket (delivery_id uuid PRIMARY KEY, lane bigint NOT NULL,"
    " due_at timestamptz NOT NULL, node_id uuid)" BUSY_TABLE,
    "CREATE INDEX delivery_ticket_due ON ~.delivery_ticket (lane, due_at, delivery_id)"
    " WHERE node_id IS NULL",
    "CREATE INDEX delivery_ticket_node ON ~.delivery_ticket (node_id) WHERE node_id IS NOT NULL",
    "CREATE TABLE ~.attempt (delivery_id uuid NOT NULL, round integer NOT NULL,"
    " n integer NOT NULL, started_ms bigint NOT NULL, ended_ms bigint, verdict smallint,"
    " http_status integer NOT NULL DEFAULT 0, error bytea, PRIMARY KEY (delivery_id, round, n))"
    " PARTITION BY RANGE (delivery_id)",
    "CREATE TABLE ~.idem (project " NAME ", app " NAME ", subject bytea NOT NULL,"
    " key bytea NOT NULL, run_id uuid NOT NULL, fingerprint bytea NOT NULL,"
    " expires_ms bigint NOT NULL, is_told boolean NOT NULL DEFAULT false,"
    " PRIMARY KEY (project, app, subject, key))",
    "CREATE INDEX idem_by_expiry ON ~.idem (expires_ms)",
    "CREATE TABLE ~.body (body_id uuid NOT NULL, seq integer NOT NULL, bytes bytea NOT NULL,"
    " PRIMARY KEY (body_id, seq)) PARTITION BY RANGE (body_id)",
    "ALTER TABLE ~.body ALTER COLUMN bytes SET STORAGE EXTERNAL",
    "CREATE TABLE ~.account (account_id uuid PRIMARY KEY, project " NAME ","
    " name bytea NOT NULL, role smallint NOT NULL, created_ms bigint NOT NULL,"
    " expires_ms bigint NOT NULL, revoked_ms bigint NOT NULL, last_used_ms bigint NOT NULL)",
    "CREATE INDEX account_by_project ON ~.account (project, account_id)",
    "CREATE TABLE ~.event (event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " at timestamptz NOT NULL DEFAULT now(), node_id uuid, kind smallint NOT NULL, subject uuid)",
    MAKE_PARTITIONS("CREATE", "'run', 'delivery', 'attempt', 'body'", ""),
    "REVOKE EXECUTE ON FUNCTION ~.make_partitions(bigint) FROM PUBLIC", DROP_PARTITION,
    "REVOKE EXECUTE ON FUNCTION ~.drop_partition(text, text) FROM PUBLIC", NULL};

/* Who had a run when it ended: a replica's row goes, its runs stay. */
static const char *const second[] = {"ALTER TABLE ~.run ADD COLUMN replica text",
    "ALTER TABLE ~.node ADD COLUMN key_check bytea", NULL};

/* What a call says of its time: inside the app, and until its first start. When a replica's app last took
 * calls; a replica of an older hookline says nothing of that. */
static const char *const third[] = {"ALTER TABLE ~.ticket ADD COLUMN timeout_ms bigint",
    "ALTER TABLE ~.ticket ADD COLUMN start_by timestamptz",
    "CREATE INDEX ticket_start ON ~.ticket (start_by)"
    " WHERE start_by IS NOT NULL AND node_id IS NULL AND attempt = 0",
    "ALTER TABLE ~.node ADD COLUMN app_at timestamptz", NULL};

/* Queued runs by their turns. What a replica of an older hookline accepts or has accepted comes first, and it
 * claims by due_at: that index is dropped when none of them can be there any more. */
static const char *const fourth[] = {
    "ALTER TABLE ~.ticket ADD COLUMN class smallint NOT NULL DEFAULT 1",
    "ALTER TABLE ~.ticket ADD COLUMN subject bigint NOT NULL DEFAULT 0",
    "ALTER TABLE ~.ticket ADD COLUMN turn bigint NOT NULL DEFAULT 0",
    "CREATE INDEX ticket_turn ON ~.ticket (class, turn, run_id) WHERE node_id IS NULL",
    "CREATE INDEX ticket_subject ON ~.ticket (class, subject, turn) WHERE is_async",
    "ALTER TABLE ~.run ADD COLUMN priority smallint NOT NULL DEFAULT 1", NULL};

/* Limits of accounts. A replica of an older hookline makes accounts without any, and heeds none. */
static const char *const fifth[] = {
    "ALTER TABLE ~.account ADD COLUMN max_running bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN max_queued bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN rate_count bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN rate_window_s bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN max_priority smallint NOT NULL DEFAULT 1,"
    " ADD COLUMN limits_revision bigint NOT NULL DEFAULT 0",
    NULL};

/* What is kept of the log about a run that failed. */
static const char *const sixth[] = {"ALTER TABLE ~.run ADD COLUMN log bytea", NULL};

/* Runs again. Of one that waits for its next attempt the class is raised by ten: no claim by class sees it; a
 * replica of an older hookline claims it when it is due, and does not try it again. */
static const char *const seventh[] = {"ALTER TABLE ~.ticket ADD COLUMN max_attempts integer",
    "CREATE INDEX ticket_retry ON ~.ticket (due_at) WHERE node_id IS NULL AND class >= 10",
    "ALTER TABLE ~.run ADD COLUMN attempt_log text", NULL};

/* Who made a run; null where nobody was asked, and of runs that a replica of an older hookline accepted. */
static const char *const eighth[] = {"ALTER TABLE ~.run ADD COLUMN identity bytea", NULL};

/* Whether a run's request is kept: 1 unless it succeeds, 2 in any case, null not. What a replica of an older
 * hookline ends loses it. */
static const char *const ninth[] = {"ALTER TABLE ~.run ADD COLUMN keeps smallint",
    "ALTER TABLE ~.run ADD COLUMN rerun_of uuid", NULL};

/* Event streams that can be followed: what came of those that go on, and how far runs say they are. How long a
 * text is as the inside of a JSON string, where the server ends a run whose replica was lost; -1: it is none. A
 * replica of an older hookline ends such a run without what came of it. */
#define ESCAPED_SIZE                                                                               \
    "CREATE FUNCTION ~.escaped_size(bytes bytea) RETURNS bigint LANGUAGE plpgsql STABLE"           \
    " SET search_path = pg_catalog, pg_temp AS $$ BEGIN"                                           \
    " IF current_setting('server_encoding') <> 'UTF8' THEN RETURN -1; END IF;"                     \
    " RETURN octet_length(to_json(convert_from(bytes, 'UTF8'))::text) - 2;"                        \
    " EXCEPTION WHEN OTHERS THEN RETURN -1; END $$"
static const char *const tenth[] = {
    "CREATE TABLE ~.stream (run_id uuid NOT NULL, attempt integer NOT NULL, at bigint NOT NULL,"
    " bytes bytea NOT NULL, PRIMARY KEY (run_id, attempt, at))",
    "ALTER TABLE ~.stream ALTER COLUMN bytes SET STORAGE EXTERNAL",
    "ALTER TABLE ~.ticket ADD COLUMN progress text", "ALTER TABLE ~.run ADD COLUMN progress text",
    "CREATE INDEX run_stream ON ~.run (finished_ms)"
    " WHERE NOT is_async AND NOT has_webhook AND body_where IN (1, 2)",
    ESCAPED_SIZE, NULL};

/* What is known of attempts beside their outcomes; destinations that fail; where the webhooks of runs go, to be
 * counted. Deliveries that wait for a later attempt are in an index of their own, by when that is due: a replica of an
 * older hookline does not put any off, and leases by due_at. What one accepts has no lane. */
static const char *const eleventh[] = {
    "ALTER TABLE ~.attempt ADD COLUMN name_us integer, ADD COLUMN connect_us integer,"
    " ADD COLUMN tls_us integer, ADD COLUMN first_byte_us integer, ADD COLUMN address bytea,"
    " ADD COLUMN content_type bytea, ADD COLUMN body bytea",
    "ALTER TABLE ~.delivery_ticket ADD COLUMN is_waiting boolean NOT NULL DEFAULT false",
    "CREATE INDEX delivery_ticket_ready ON ~.delivery_ticket (lane, due_at, delivery_id)"
    " WHERE node_id IS NULL AND NOT is_waiting",
    "CREATE INDEX delivery_ticket_waiting ON ~.delivery_ticket (due_at)"
    " WHERE node_id IS NULL AND is_waiting",
    "CREATE TABLE ~.failing (lane bigint PRIMARY KEY, since_ms bigint NOT NULL)",
    "ALTER TABLE ~.ticket ADD COLUMN lane bigint",
    "CREATE INDEX ticket_lane ON ~.ticket (lane) WHERE lane IS NOT NULL",
    "CREATE INDEX delivery_by_lane ON ~.delivery (project, lane, delivery_id)",
    "CREATE INDEX delivery_by_lane_state ON ~.delivery (project, lane, state, created_ms)"
    " WHERE state <> 1",
    NULL};

/* How runs end, counted by minute and app (tally.h), from here on: each replica has rows of its own. Who told of
 * calls that have no record, and what last. What a replica of an older hookline ends is not counted. */
#define ADD_UP                                                                                     \
    "CREATE FUNCTION ~.add_up(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE"     \
    " SET search_path = pg_catalog, pg_temp AS $$"                                                 \
    " SELECT array_agg(what << 40 | n ORDER BY what) FROM (SELECT x >> 40 AS what,"                \
    " sum(x & 1099511627775)::bigint AS n FROM unnest(a || b) AS x GROUP BY x >> 40) AS c $$"
static const char *const twelfth[] = {
    "CREATE TABLE ~.tally (minute bigint NOT NULL, project " NAME ", app " NAME ","
    " node_id uuid NOT NULL, counts bigint[] NOT NULL,"
    " PRIMARY KEY (minute, project, app, node_id)) WITH (fillfactor = 50)",
    "CREATE TABLE ~.tally_source (source uuid PRIMARY KEY, seen uuid NOT NULL,"
    " at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50)",
    ADD_UP,
    "INSERT INTO ~.meta (k, v) VALUES ('counted_ms',"
    " convert_to(floor(extract(epoch FROM now()) * 1000)::bigint::text, 'UTF8'))",
    "CREATE INDEX delivery_since ON ~.delivery (coalesce(done_ms, created_ms)) WHERE state = 0",
    "DROP INDEX ~.delivery_by_lane_state",
    "CREATE INDEX delivery_by_lane_state ON ~.delivery (project, lane, state, created_ms)"
    " INCLUDE (done_ms) WHERE state <> 1",
    NULL};

/* Over which connection a replica claims. One of an older hookline says nothing of it, and asks for nothing. */
static const char *const thirteenth[] = {"ALTER TABLE ~.node ADD COLUMN session uuid", NULL};

/* Who changed what, from here on. What is changed by way of a replica of an older hookline is not in it. */
static const char *const fourteenth[] = {
    "CREATE TABLE ~.audit (audit_id uuid PRIMARY KEY, project " NAME ","
    " action smallint NOT NULL, count bigint NOT NULL, told bytea NOT NULL)",
    "CREATE INDEX audit_by_project ON ~.audit (project, audit_id, action)", NULL};

/* Rates that replicas share: until when each subject's window goes on, and what was lent of it. Part of it to one of
 * `replicas`: its share as far as it `had` less, or as much of what is left, and never in small pieces. What it gives back,
 * and owes, is of the window until `was_until_ms`, or of none. A crash of the server may forget the last of it: nobody
 * waits for the disk. A replica of an older hookline borrows nothing, and counts for itself. */
#define LEND                                                                                       \
    "CREATE FUNCTION ~.lend(whose uuid, most bigint, window_ms bigint, wanted bigint, had bigint," \
    " back bigint, owed bigint, was_until_ms bigint, replicas bigint, OUT lent bigint,"            \
    " OUT rest bigint, OUT until_ms bigint, OUT left_ms bigint) LANGUAGE plpgsql"                  \
    " SET search_path = pg_catalog, pg_temp AS $$ DECLARE r ~.rate%ROWTYPE; now_ms bigint; BEGIN"  \
    " PERFORM set_config('synchronous_commit', 'off', true);"                                      \
    " LOOP SELECT * INTO r FROM ~.rate WHERE subject = whose FOR UPDATE; EXIT WHEN FOUND;"         \
    " INSERT INTO ~.rate (subject, until_ms, taken) VALUES (whose, 0, 0) ON CONFLICT DO NOTHING;"  \
    " END LOOP;"                                                                                   \
    " now_ms := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;"                      \
    " lent := 0; rest := most; until_ms := 0; left_ms := 0;"                                       \
    " IF r.until_ms <= now_ms OR r.until_ms > now_ms + window_ms THEN"                             \
    " IF wanted + owed = 0 THEN RETURN; END IF;"                                                   \
    " r.until_ms := now_ms + window_ms; r.taken := 0; had := 0;"                                   \
    " ELSIF r.until_ms = was_until_ms THEN r.taken := greatest(r.taken - back, 0);"                \
    " ELSE had := 0; END IF;"                                                                      \
    " r.taken := r.taken + owed; rest := greatest(most - r.taken, 0);"                             \
    " lent := least(rest, wanted, greatest((rest + replicas - 1) / replicas,"                      \
    " most / replicas - had, most / 32, 1));"                                                      \
    " r.taken := r.taken + lent; rest := rest - lent;"                                             \
    " until_ms := r.until_ms; left_ms := r.until_ms - now_ms;"                                     \
    " UPDATE ~.rate SET until_ms = r.until_ms, taken = r.taken WHERE subject = whose; END $$"
static const char *const fifteenth[] = {
    "CREATE TABLE ~.rate (subject uuid PRIMARY KEY, until_ms bigint NOT NULL,"
    " taken bigint NOT NULL)" BUSY_TABLE,
    LEND, NULL};

/* Calls at once that replicas share: how many permits each of `nodes` `held`, and how many of them it used, as it said last;
 * those of the dead are whoever's that asks. `me` has `mine`, whatever that makes of all, and if it wants more also its share of
 * `most`, or as much of what is left beyond it. Where nothing is left the others are told so often at most (an event's kind is
 * enum hl_pg_event's). A crash of the server may forget the last of it: a replica says all again when it is connected. One of an
 * older hookline holds none, and counts for itself. */
#define HOLD                                                                                       \
    "CREATE FUNCTION ~.hold(whose uuid, me uuid, most bigint, mine bigint, used bigint,"           \
    " wants boolean, OUT replicas bigint, OUT has bigint, OUT rest bigint, OUT idle bigint,"       \
    " OUT is_told boolean) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$"           \
    " DECLARE r ~.permit%ROWTYPE; at timestamptz; others bigint; more bigint := 0; BEGIN"          \
    " PERFORM set_config('synchronous_commit', 'off', true);"                                      \
    " LOOP SELECT * INTO r FROM ~.permit WHERE subject = whose FOR UPDATE; EXIT WHEN FOUND;"       \
    " INSERT INTO ~.permit (subject, nodes, held, used, told_at)"                                  \
    " VALUES (whose, '{}', '{}', '{}', '-infinity') ON CONFLICT DO NOTHING; END LOOP;"             \
    " at := clock_timestamp(); is_told := false;"                                                  \
    " SELECT greatest(count(*), 1), wants AND coalesce(bool_or(node_id = me), false)"              \
    " INTO replicas, wants FROM ~.node WHERE NOT is_dead AND expires_at > at;"                     \
    " SELECT coalesce(sum(h.n) FILTER (WHERE o.expires_at > at), 0),"                              \
    " coalesce(sum(greatest(h.n - h.used, 0)) FILTER (WHERE o.expires_at > at), 0),"               \
    " coalesce(array_agg(h.node), '{}'), coalesce(array_agg(h.n), '{}'),"                          \
    " coalesce(array_agg(h.used), '{}') INTO others, idle, r.nodes, r.held, r.used"                \
    " FROM unnest(r.nodes, r.held, r.used) AS h(node, n, used)"                                    \
    " JOIN ~.node o ON o.node_id = h.node AND NOT o.is_dead WHERE h.node <> me;"                   \
    " rest := most - others - mine;"                                                               \
    " IF wants AND rest > 0 THEN"                                                                  \
    " more := least(rest, greatest((rest + replicas - 1) / replicas, most / replicas - mine, 1));" \
    " ELSIF wants AND others > 0 AND r.told_at < at - interval '200 ms' THEN"                      \
    " is_told := true; r.told_at := at;"                                                           \
    " INSERT INTO ~.event (node_id, kind, subject) SELECT node,"                                   \
    " CASE WHEN mine < greatest(most / replicas, 1) THEN 6 ELSE 5 END, whose"                      \
    " FROM unnest(r.nodes) AS node; END IF;"                                                       \
    " has := mine + more; rest := rest - more;"                                                    \
    " IF has > 0 THEN r.nodes := r.nodes || me; r.held := r.held || has;"                          \
    " r.used := r.used || hold.used; END IF;"                                                      \
    " IF cardinality(r.nodes) = 0 THEN DELETE FROM ~.permit WHERE subject = whose; RETURN; END "   \
    "IF;"                                                                                          \
    " UPDATE ~.permit p SET nodes = r.nodes, held = r.held, used = r.used, told_at = r.told_at"    \
    " WHERE p.subject = whose; END $$"
static const char *const sixteenth[] = {
    "CREATE TABLE ~.permit (subject uuid PRIMARY KEY, nodes uuid[] NOT NULL,"
    " held bigint[] NOT NULL, used bigint[] NOT NULL, told_at timestamptz NOT NULL)" BUSY_TABLE,
    HOLD, NULL};

/* Fronts and workers: what a replica does (HOOKLINE_ROLE); whether a front's caller waits for a run, and the head
 * of the app's answer for him, sealed: of a stream that goes on beside its first part. A replica of an older hookline
 * keeps no heads: whoever waits for a run that it ran is told that the answer was not kept. */
static const char *const seventeenth[] = {
    "ALTER TABLE ~.node ADD COLUMN role text NOT NULL DEFAULT 'all'",
    "ALTER TABLE ~.ticket ADD COLUMN has_caller boolean NOT NULL DEFAULT false",
    "ALTER TABLE ~.run ADD COLUMN answer_head bytea",
    "ALTER TABLE ~.stream ADD COLUMN answer_head bytea", NULL};

/* What the app said went wrong, of what fails from here on. What a replica of an older hookline ends has none. */
static const char *const eighteenth[] = {"ALTER TABLE ~.run ADD COLUMN error bytea",
    "CREATE INDEX run_failed ON ~.run (project, run_id) INCLUDE (app, reason, error, created_ms)"
    " WHERE state = 3",
    NULL};

/* Tags of runs, and by which runs that have some are found: a row with each, and one with its name alone. They go with
 * the partition of their runs. A replica of an older hookline accepts runs without. */
#define TAG_PARTITIONS                                                                             \
    "DO $$ DECLARE p record; BEGIN FOR p IN SELECT c.relname AS name,"                             \
    " pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i JOIN pg_class c"              \
    " ON c.oid = i.inhrelid WHERE i.inhparent = '~.run'::regclass AND NOT i.inhdetachpending LOOP" \
    " EXECUTE format('CREATE TABLE ~.%I PARTITION OF ~.tag %s', 'tag' || substr(p.name, 4),"       \
    " p.bound); END LOOP; END $$"
static const char *const nineteenth[] = {"ALTER TABLE ~.run ADD COLUMN tags text COLLATE \"C\"",
    "CREATE TABLE ~.tag (project " NAME ", tag " NAME ", run_id uuid NOT NULL,"
    " PRIMARY KEY (project, tag, run_id)) PARTITION BY RANGE (run_id)",
    TAG_PARTITIONS,
    MAKE_PARTITIONS("CREATE OR REPLACE", "'run', 'delivery', 'attempt', 'body', 'tag'", ""), NULL};

/* A delivery may go elsewhere than its run says; a replica of an older hookline sends it where the run's goes. What is
 * known of attempts beside their outcomes. */
static const char *const twentieth[] = {
    "ALTER TABLE ~.delivery ADD COLUMN url bytea, ADD COLUMN secret bytea",
    "ALTER TABLE ~.attempt ADD COLUMN sent_size bigint, ADD COLUMN retry_after_s bigint", NULL};

/* Bulk work: who walks a job holds it until `lease_until`. A replica of an older hookline leaves it to the others. */
static const char *const twenty_first[] = {
    "CREATE TABLE ~.job (job_id uuid PRIMARY KEY, project " NAME ", version bigint NOT NULL,"
    " ended_ms bigint NOT NULL, is_stopping boolean NOT NULL, lease_until timestamptz NOT NULL,"
    " plan bytea NOT NULL, progress bytea NOT NULL)",
    "CREATE INDEX job_by_project ON ~.job (project, job_id)",
    "CREATE INDEX job_open ON ~.job (project, job_id) WHERE ended_ms = 0",
    "CREATE INDEX job_by_end ON ~.job (ended_ms) WHERE ended_ms > 0",
    "CREATE TABLE ~.job_piece (job_id uuid NOT NULL, n bigint NOT NULL, fates bigint NOT NULL,"
    " items bytea NOT NULL, PRIMARY KEY (job_id, n))",
    NULL};

/* How the time of a call was spent, of what ends from here on; and which runs repeat another one. */
static const char *const twenty_second[] = {
    "ALTER TABLE ~.run ADD COLUMN gate_us bigint, ADD COLUMN connect_us bigint,"
    " ADD COLUMN first_byte_us bigint",
    "CREATE INDEX run_again ON ~.run (rerun_of, run_id) WHERE rerun_of IS NOT NULL", NULL};

/* First of all each table gets what another one has for a time that is not past: a replica of an older hookline may have
 * been inside the function that did not know of a table, when that came. */
#define KINDS "'run', 'delivery', 'attempt', 'body', 'tag'"
#define MEND_PARTITIONS                                                                            \
    " DECLARE gap record; is_mended boolean := false; BEGIN FOR gap IN"                            \
    " WITH had AS (SELECT k.kind, substr(c.relname, length(k.kind) + 2) AS suffix,"                \
    " pg_get_expr(c.relpartbound, c.oid) AS bound FROM unnest(ARRAY[" KINDS "]) AS k(kind)"        \
    " JOIN pg_inherits i ON i.inhparent = ('~.' || k.kind)::regclass"                              \
    " JOIN pg_class c ON c.oid = i.inhrelid),"                                                     \
    " spans AS (SELECT h.*, coalesce(substring(h.bound FROM 'FROM \\(''([0-9a-f-]{36})'), '') AS " \
    "low,"                                                                                         \
    " substring(h.bound FROM 'TO \\(''([0-9a-f-]{36})') AS high FROM had h)"                       \
    " SELECT DISTINCT ON (k.kind, s.low) k.kind, k.kind || '_' || s.suffix AS name, s.bound"       \
    " FROM spans s CROSS JOIN unnest(ARRAY[" KINDS "]) AS k(kind)"                                 \
    " WHERE s.high > rpad(lpad(to_hex(now_ms), 12, '0'), 32, '0')::uuid::text"                     \
    " AND NOT EXISTS (SELECT FROM spans o WHERE o.kind = k.kind AND o.low < s.high"                \
    " AND s.low < o.high) AND to_regclass(format('~.%I', k.kind || '_' || s.suffix)) IS NULL"      \
    " ORDER BY k.kind, s.low LOOP"                                                                 \
    " EXECUTE format('CREATE TABLE ~.%I (LIKE ~.%I INCLUDING DEFAULTS INCLUDING STORAGE)',"        \
    " gap.name, gap.kind);"                                                                        \
    " EXECUTE format('ALTER TABLE ~.%I ATTACH PARTITION ~.%I %s', gap.kind, gap.name, gap.bound);" \
    " is_mended := true; END LOOP; IF is_mended THEN RETURN true; END IF; END;"
static const char *const twenty_third[] = {
    MAKE_PARTITIONS("CREATE OR REPLACE", KINDS, MEND_PARTITIONS), NULL};

/* versions[i] leads from version i to i + 1. */
static const char *const *const versions[] = {first, second, third, fourth, fifth, sixth, seventh,
    eighth, ninth, tenth, eleventh, twelfth, thirteenth, fourteenth, fifteenth, sixteenth,
    seventeenth, eighteenth, nineteenth, twentieth, twenty_first, twenty_second, twenty_third};

#define NEWEST (int)HL_ARRAY_LEN(versions)
/* Of pg_advisory_xact_lock, with the schema's own number. */
#define MIGRATION_LOCK 0x686b6c69

/* A version below this cannot read what NEWEST leaves. */
#define LEAST_READER "1"

enum hl_err hl_pg_schema_read(
    struct hl_pg_session *s, bool *is_current, int *version, char *why, size_t why_len)
{
    int64_t least, found;
    enum hl_err err = hl_pg_session_ask_int(
        s, "SELECT convert_from(v, 'UTF8') FROM ~.meta WHERE k = 'version'", &found, why, why_len);
    if (!err)
        err = hl_pg_session_ask_int(s,
            "SELECT convert_from(v, 'UTF8') FROM ~.meta WHERE k = 'least_reader'", &least, why,
            why_len);
    if (err)
        return err;
    *version = (int)found;
    *is_current = found >= NEWEST;
    if (least <= NEWEST)
        return HL_OK;
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_URL: the schema is of a newer hookline (version %d, readable from %d "
        "on; "
        "this one knows %d): upgrade this one",
        *version, (int)least, NEWEST);
    return HL_ERR_INVALID;
}

static enum hl_err apply(struct hl_pg_session *s, int version, char *why, size_t why_len)
{
    enum hl_err err = HL_OK;
    for (int v = version; v < NEWEST && !err; v++)
        for (const char *const *step = versions[v]; *step && !err; step++)
            err = hl_pg_session_run(s, *step, why, why_len);
    char sql[200];
    snprintf(sql, sizeof(sql),
        "INSERT INTO ~.meta (k, v) VALUES ('version', '%d'), ('least_reader', '" LEAST_READER "')"
        " ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        NEWEST);
    return err ? err : hl_pg_session_run(s, sql, why, why_len);
}

/* What is there is asked first: a role that may not make anything needs no right to. */
static enum hl_err make_schema(struct hl_pg_session *s, char *why, size_t why_len)
{
    int64_t is_there;
    enum hl_err err = hl_pg_session_ask_int(s,
        "SELECT count(*) FROM pg_namespace WHERE '\"' || nspname || '\"' = '~'", &is_there, why,
        why_len);
    if (!err && !is_there)
        err = hl_pg_session_run(s, "CREATE SCHEMA ~", why, why_len);
    return err;
}

static enum hl_err migrate(struct hl_pg_session *s, char *why, size_t why_len)
{
    int64_t has_meta;
    int version = 0;
    bool is_current = false;
    enum hl_err err = make_schema(s, why, why_len);
    if (!err)
        err = hl_pg_session_ask_int(
            s, "SELECT count(to_regclass('~.meta'))", &has_meta, why, why_len);
    if (!err && has_meta)
        err = hl_pg_schema_read(s, &is_current, &version, why, why_len);
    return err || is_current ? err : apply(s, version, why, why_len);
}

enum hl_err hl_pg_schema_migrate(struct hl_pg_session *s, char *why, size_t why_len)
{
    char lock[80];
    snprintf(lock, sizeof(lock), "SELECT pg_advisory_xact_lock(%d, hashtext('~'))", MIGRATION_LOCK);
    enum hl_err err = hl_pg_session_run(s, "BEGIN", why, why_len);
    if (!err)
        err = hl_pg_session_run(s, lock, why, why_len);
    if (!err)
        err = migrate(s, why, why_len);
    if (!err)
        return hl_pg_session_run(s, "COMMIT", why, why_len);
    char ignored[8];
    enum hl_err undone = hl_pg_session_run(s, "ROLLBACK", ignored, sizeof(ignored));
    (void)undone; /* a session that cannot roll back is closed next */
    return err;
}
