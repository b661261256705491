/* check.c - what is wrong with a database, before anything is changed in it: at each start, and for
 * `hookline config check` beside running replicas.
 * Promise: all of it is asked in a transaction that may only read.
 * Not here: what the server is (session.c), what the key and the version are (meta.c, schema.c). */
#include "store/postgres/check.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "config/config.h"
#include "store/key.h"
#include "store/postgres/bodies.h"
#include "store/postgres/meta.h"
#include "store/postgres/schema.h"
#include "store/postgres/session.h"
#include "store/secret.h"

#define WHY_MAX 512

/* What there is, and what this role may do with it. */
struct standing {
    bool has_schema, may_use, may_make, has_tables, is_owner;
    char locked[80]; /* a table whose rows it may not read and write; "": none */
};

static bool is_true(const PGresult *result, int column)
{
    return strcmp(PQgetvalue(result, 0, column), "t") == 0;
}

static enum hl_err read_standing(
    struct hl_pg_session *s, struct standing *standing, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_session_ask(s,
        "SELECT n.oid IS NOT NULL, coalesce(has_schema_privilege(n.oid, 'USAGE'), true),"
        " coalesce(has_schema_privilege(n.oid, 'CREATE'),"
        " has_database_privilege(current_database(), 'CREATE')), m.oid IS NOT NULL,"
        " coalesce(pg_has_role(m.relowner, 'USAGE'), true),"
        " (SELECT min(c.relname) FROM pg_class c WHERE c.relnamespace = n.oid"
        " AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
        " AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')"
        " AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')))"
        " FROM (SELECT) AS one LEFT JOIN pg_namespace n ON '\"' || n.nspname || '\"' = '~'"
        " LEFT JOIN pg_class m ON m.relnamespace = n.oid AND m.relname = 'meta'",
        &result, why, why_len);
    if (err)
        return err;
    *standing = (struct standing){.has_schema = is_true(result, 0),
        .may_use = is_true(result, 1),
        .may_make = is_true(result, 2),
        .has_tables = is_true(result, 3),
        .is_owner = is_true(result, 4)};
    snprintf(standing->locked, sizeof(standing->locked), "%s", PQgetvalue(result, 0, 5));
    PQclear(result);
    return HL_OK;
}

static enum hl_err miss(const struct hl_pg_session *s, const char *text, char *why, size_t why_len)
{
    hl_pg_session_miss_right(s, text, why, why_len);
    return HL_ERR_INVALID;
}

static enum hl_err check_rights(
    const struct hl_pg_session *s, const struct standing *standing, char *why, size_t why_len)
{
    char text[160];
    snprintf(text, sizeof(text), "it may not change the rows of %s", standing->locked);
    if (standing->has_schema && !standing->may_use)
        return miss(s, "it may not use the schema", why, why_len);
    if (!standing->has_tables && !standing->may_make)
        return miss(s,
            standing->has_schema ? "it may not create tables" : "it may not create the schema", why,
            why_len);
    return *standing->locked ? miss(s, text, why, why_len) : HL_OK;
}

/* A guest makes no tables: which settings it would have for that is chance. */
static enum hl_err refuse_guest(const struct hl_pg_session *s, char *why, size_t why_len)
{
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_SCHEMA: the schema %s does not exist in this version yet: start "
        "hookline with this database, or run hookline store migrate",
        s->settings->schema);
    return HL_ERR_INVALID;
}

static enum hl_err check_version(struct hl_pg_session *s, const struct standing *standing,
    bool is_guest, char *why, size_t why_len)
{
    bool is_current = false;
    int version;
    enum hl_err err =
        standing->has_tables ? hl_pg_schema_read(s, &is_current, &version, why, why_len) : HL_OK;
    if (err || is_current)
        return err;
    if (is_guest)
        return refuse_guest(s, why, why_len);
    return standing->is_owner
               ? HL_OK
               : miss(s, "the schema has an older version and another owner", why, why_len);
}

static enum hl_err look(
    struct hl_pg_session *s, struct hl_sealer *sealer, bool is_guest, char *why, size_t why_len)
{
    struct standing standing;
    enum hl_err err = read_standing(s, &standing, why, why_len);
    if (!err)
        err = check_rights(s, &standing, why, why_len);
    if (!err)
        err = check_version(s, &standing, is_guest, why, why_len);
    if (err || !standing.has_tables || !sealer)
        return err;
    return hl_pg_meta_look(s, sealer, is_guest ? 0 : s->settings->ttl_ms, why, why_len);
}

enum hl_err hl_pg_look(
    struct hl_pg_session *s, struct hl_sealer *sealer, bool is_guest, char *why, size_t why_len)
{
    char ignored[8];
    enum hl_err err = hl_pg_session_run(s, "BEGIN TRANSACTION READ ONLY", why, why_len);
    if (err)
        return err;
    err = look(s, sealer, is_guest, why, why_len);
    enum hl_err ended =
        hl_pg_session_run(s, "ROLLBACK", err ? ignored : why, err ? sizeof(ignored) : why_len);
    return err ? err : ended;
}

/* --- without a start ---------------------------------------------------------------------------- */

static enum hl_err check_with(const struct hl_config *config, struct hl_sealer *sealer, char *why)
{
    struct hl_pg_settings settings;
    struct hl_pg_session session;
    hl_pg_settings_init(&settings, config);
    enum hl_err err = hl_pg_session_open(&session, &settings, NULL, why, WHY_MAX);
    if (!err) {
        err = hl_pg_look(&session, sealer, false, why, WHY_MAX);
        hl_pg_session_close(&session);
    }
    hl_pg_session_name_setting(err, why, WHY_MAX);
    return err;
}

/* The key itself is the asker's to look at: it may be wrong as well. */
enum hl_err hl_pg_check(const struct hl_config *config, struct hl_buf *problems)
{
    char why[WHY_MAX] = "";
    struct hl_shared_keys keys;
    struct hl_sealer sealer;
    if (hl_pg_bodies_look(config->data_dir.p, why, sizeof(why)) != HL_OK &&
        hl_buf_printf(problems, "%s\n", why) != HL_OK)
        return HL_ERR_NOMEM;
    bool has_key = hl_shared_keys_open(&keys, config, why, sizeof(why)) == HL_OK;
    enum hl_err err = has_key ? hl_sealer_init_shared(&sealer, &keys) : HL_OK;
    if (!err)
        err = check_with(config, has_key ? &sealer : NULL, why);
    if (has_key)
        hl_sealer_fini(&sealer);
    hl_shared_keys_wipe(&keys);
    if (err == HL_OK || err == HL_ERR_NOMEM)
        return err;
    return hl_buf_printf(problems, "%s%s\n", why,
        err == HL_ERR_UNAVAILABLE ? "; a starting replica keeps trying until it is reachable" : "");
}
