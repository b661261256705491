/* migrate.c - see migrate.h. All objects have one owner, whoever made the schema: one who may do more
 * becomes that owner for it. A replica's role owns nothing: it writes rows, and makes partitions by a
 * function of the owner's. */
#include "store/postgres/migrate.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "store/postgres/check.h"
#include "store/postgres/param.h"
#include "store/postgres/partition.h"
#include "store/postgres/schema.h"
#include "store/postgres/session.h"

/* The role is named by a setting, because a name may have anything in it. Settings are those of each transaction:
 * the connection may be a pooler's. */
#define FIND_ROLE "SELECT FROM pg_roles WHERE rolname = current_setting('hookline.role')"

/* Only where it lacks the right: that takes the database's owner. */
#define LET_CONNECT                                                                                \
    "DO $$ DECLARE who text := current_setting('hookline.role'); BEGIN"                            \
    " IF NOT has_database_privilege(who, current_database(), 'CONNECT') THEN"                      \
    " EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), who);"              \
    " END IF; END $$"

#define GRANT_ALL                                                                                  \
    "DO $$ DECLARE who text := current_setting('hookline.role'); BEGIN"                            \
    " EXECUTE format('GRANT USAGE ON SCHEMA ~ TO %I', who);"                                       \
    " EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ~ TO %I',"      \
    " who);"                                                                                       \
    " EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ~ TO %I', who);"              \
    " EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ~ TO %I', who);"                    \
    " EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA ~"                                        \
    " GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I', who);"                                \
    " EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA ~"                                        \
    " GRANT USAGE, SELECT ON SEQUENCES TO %I', who);"                                              \
    " EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA ~"                                        \
    " GRANT EXECUTE ON FUNCTIONS TO %I', who); END $$"

#define FORGET_TTL                                                                                 \
    "DELETE FROM ~.meta WHERE k = 'ttl_ms'"                                                        \
    " AND NOT EXISTS (SELECT FROM ~.node WHERE NOT is_dead AND expires_at > now())"

static enum hl_err find_role(struct hl_pg_session *s, const char *role, char *why, size_t why_len)
{
    PGresult *result;
    char *quoted = PQescapeLiteral(s->conn, role, strlen(role));
    enum hl_err err =
        quoted ? hl_buf_printf(&s->setup, "SET LOCAL hookline.role = %s; ", quoted) : HL_ERR_NOMEM;
    PQfreemem(quoted);
    if (!err)
        err = hl_pg_session_ask(s, FIND_ROLE, &result, why, why_len);
    if (err)
        return err;
    bool is_there = PQntuples(result) > 0;
    PQclear(result);
    if (is_there)
        return HL_OK;
    snprintf(why, why_len, "--role: there is no role \"%s\": create it first (CREATE ROLE … LOGIN)",
        role);
    return HL_ERR_NOT_FOUND;
}

static enum hl_err become_owner(struct hl_pg_session *s, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_session_ask(s,
        "SELECT 'SET LOCAL ROLE ' || quote_ident(pg_get_userbyid(nspowner)) || '; ' FROM "
        "pg_namespace"
        " WHERE '\"' || nspname || '\"' = '~'",
        &result, why, why_len);
    if (err)
        return err;
    if (PQntuples(result) > 0)
        err = hl_buf_append_str(&s->setup, hl_str_from(PQgetvalue(result, 0, 0)));
    PQclear(result);
    return err;
}

static enum hl_err migrate(struct hl_pg_session *s, const struct hl_config *config,
    const char *role, int *version, char *why, size_t why_len)
{
    bool is_current;
    enum hl_err err = role ? find_role(s, role, why, why_len) : HL_OK;
    if (!err && role)
        err = hl_pg_session_run(s, LET_CONNECT, why, why_len);
    if (!err)
        err = become_owner(s, why, why_len);
    if (!err)
        err = hl_pg_look(s, NULL, false, why, why_len);
    if (!err)
        err = hl_pg_schema_migrate(s, why, why_len);
    if (!err)
        err = hl_pg_partitions_make(s, (int64_t)config->retention_ms, why, why_len);
    if (!err && role)
        err = hl_pg_session_run(s, GRANT_ALL, why, why_len);
    if (!err)
        err = hl_pg_session_run(s, FORGET_TTL, why, why_len);
    return err ? err : hl_pg_schema_read(s, &is_current, version, why, why_len);
}

enum hl_err hl_pg_migrate(
    const struct hl_config *config, const char *role, int *version, char *why, size_t why_len)
{
    struct hl_pg_settings settings;
    struct hl_pg_session session;
    hl_pg_settings_init(&settings, config);
    enum hl_err err = hl_pg_session_open(&session, &settings, NULL, why, why_len);
    if (!err) {
        err = migrate(&session, config, role, version, why, why_len);
        hl_pg_session_close(&session);
    }
    hl_pg_session_name_setting(err, why, why_len);
    return err;
}
