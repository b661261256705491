/* meta.c - see meta.h. */
#include "store/postgres/meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/str.h"
#include "store/account.h"
#include "store/backend.h"
#include "store/key.h"
#include "store/postgres/once.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/session.h"
#include "store/postgres/state.h"

const char *hl_pg_meta_place(struct hl_str name)
{
    return hl_str_eq(name, HL_STR("signing_key")) ? "meta.signing_key" : "meta.verify_key";
}

/* --- the signing key -------------------------------------------------------------------------- */

/* `plain` has room for HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD. */
static enum hl_err open_key(
    struct hl_sealer *sealer, const char *place, struct hl_str sealed, char *plain, size_t *n)
{
    static const struct hl_id no_row;
    if (sealed.n > HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD)
        return HL_ERR_CORRUPT;
    enum hl_err err = hl_unseal(sealer, place, &no_row, sealed, plain, n);
    return !err && *n > HL_SIGNING_KEY_MAX ? HL_ERR_CORRUPT : err;
}

static enum hl_err open_signing_key(
    struct hl_sealer *sealer, struct hl_str sealed, char *plain, size_t *n)
{
    return open_key(sealer, "meta.signing_key", sealed, plain, n);
}

enum hl_err hl_pg_open_old_key(struct hl_pg_store *s, struct hl_str sealed, struct hl_old_key *out)
{
    char plain[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD];
    enum hl_err err = open_key(&s->sealer, "meta.verify_key", sealed, plain, &out->n);
    if (!err)
        memcpy(out->bytes, plain, out->n);
    explicit_bzero(plain, sizeof(plain));
    return err;
}

enum hl_err hl_pg_keep_signing_key(struct hl_pg_store *s, struct hl_str sealed)
{
    char plain[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD];
    size_t n = 0;
    enum hl_err err = open_signing_key(&s->sealer, sealed, plain, &n);
    if (!err) {
        memcpy(s->signing_key, plain, n);
        s->base.signing_key_n = n;
    }
    explicit_bzero(plain, sizeof(plain));
    return err;
}

/* --- rows ------------------------------------------------------------------------------------- */

static enum hl_err ask_meta(struct hl_pg_session *session, const char *key,
    const struct hl_str *value, PGresult **out, char *why, size_t why_len)
{
    struct hl_pg_params params;
    hl_pg_params_init(&params);
    hl_pg_add_str(&params, HL_PG_ONCE_P_NAME, hl_str_from(key));
    if (value)
        hl_pg_add_str(&params, HL_PG_ONCE_P_VALUE, *value);
    enum hl_err err = hl_pg_session_do(session,
        &hl_pg_once_statements[value ? HL_PG_ONCE_META_KEEP : HL_PG_ONCE_META_GET], &params, out,
        why, why_len);
    hl_pg_params_fini(&params);
    return err;
}

/* What stands there, once `kept` does if nothing did; NULL: nothing is kept. No row: nothing stands there. */
static enum hl_err find_meta(struct hl_pg_session *session, const char *key,
    const struct hl_str *kept, PGresult **out, char *why, size_t why_len)
{
    enum hl_err err = ask_meta(session, key, NULL, out, why, why_len);
    if (err || PQntuples(*out) > 0 || !kept)
        return err;
    PQclear(*out);
    return ask_meta(session, key, kept, out, why, why_len);
}

static struct hl_str first_value(const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    return hl_pg_str(&row);
}

/* --- what must be the same everywhere ----------------------------------------------------------- */

/* While keys are changed it is either of the two. */
static enum hl_err check_key(struct hl_pg_session *session, const struct hl_sealer *sealer,
    bool is_kept, char *why, size_t why_len)
{
    PGresult *result;
    struct hl_str ours = hl_key_check(sealer->key);
    enum hl_err err =
        find_meta(session, "key_check", is_kept ? &ours : NULL, &result, why, why_len);
    if (err)
        return err;
    struct hl_str theirs = PQntuples(result) > 0 ? first_value(result) : ours;
    bool is_known = hl_str_eq(theirs, ours) ||
                    (sealer->previous && hl_str_eq(theirs, hl_key_check(sealer->previous)));
    PQclear(result);
    if (is_known)
        return HL_OK;
    snprintf(why, why_len,
        "HOOKLINE_KEY: **** is not the key that this schema was made with%s: give all replicas "
        "that one",
        sealer->previous ? ", nor is HOOKLINE_PREVIOUS_KEY" : "");
    return HL_ERR_INVALID;
}

static void write_duration(char out[32], uint64_t ms)
{
    if (ms % 1000 == 0)
        snprintf(out, 32, "%llus", (unsigned long long)ms / 1000);
    else
        snprintf(out, 32, "%llums", (unsigned long long)ms);
}

static void explain_ttl(uint64_t ours_ms, uint64_t theirs_ms, char *why, size_t why_len)
{
    char ours[32], theirs[32];
    write_duration(ours, ours_ms);
    write_duration(theirs, theirs_ms);
    snprintf(why, why_len,
        "HOOKLINE_REPLICA_TTL: %s here, but %s at the other replicas: give all the same one (to "
        "change it stop all, then run hookline store migrate)",
        ours, theirs);
}

static enum hl_err check_ttl(
    struct hl_pg_session *session, uint64_t ttl_ms, bool is_kept, char *why, size_t why_len)
{
    char text[24], theirs[24];
    PGresult *result;
    struct hl_str ours = {
        text, (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)ttl_ms)};
    enum hl_err err = find_meta(session, "ttl_ms", is_kept ? &ours : NULL, &result, why, why_len);
    if (err)
        return err;
    bool is_other = PQntuples(result) > 0 && !hl_str_eq(first_value(result), ours);
    snprintf(theirs, sizeof(theirs), "%.*s",
        HL_STR_ARG((PQntuples(result) > 0 ? first_value(result) : ours)));
    PQclear(result);
    if (!is_other)
        return HL_OK;
    explain_ttl(ttl_ms, strtoull(theirs, NULL, 10), why, why_len);
    return HL_ERR_INVALID;
}

/* --- the whole ---------------------------------------------------------------------------------- */

static enum hl_err refuse_signing_key(char *why, size_t why_len)
{
    snprintf(why, why_len,
        "HOOKLINE_POSTGRES_URL: the signing key in the database is damaged: restore the table meta "
        "from a backup");
    return HL_ERR_INVALID;
}

enum hl_err hl_pg_meta_look(struct hl_pg_session *session, struct hl_sealer *sealer,
    uint64_t ttl_ms, char *why, size_t why_len)
{
    char plain[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD];
    size_t n;
    PGresult *result = NULL;
    enum hl_err err = check_key(session, sealer, false, why, why_len);
    if (!err && ttl_ms > 0)
        err = check_ttl(session, ttl_ms, false, why, why_len);
    if (!err)
        err = ask_meta(session, "signing_key", NULL, &result, why, why_len);
    if (!err && PQntuples(result) > 0 &&
        open_signing_key(sealer, first_value(result), plain, &n) != HL_OK)
        err = refuse_signing_key(why, why_len);
    PQclear(result);
    explicit_bzero(plain, sizeof(plain));
    return err;
}

enum hl_err hl_pg_meta_keep_key(
    struct hl_pg_session *session, const struct hl_sealer *sealer, char *why, size_t why_len)
{
    return check_key(session, sealer, true, why, why_len);
}

enum hl_err hl_pg_meta_share(
    struct hl_pg_store *s, struct hl_pg_session *session, char *why, size_t why_len)
{
    PGresult *result = NULL;
    enum hl_err err = check_key(session, &s->sealer, true, why, why_len);
    if (!err && !s->is_guest)
        err = check_ttl(session, s->settings.ttl_ms, true, why, why_len);
    if (!err)
        err = ask_meta(session, "signing_key", NULL, &result, why, why_len);
    if (!err && PQntuples(result) > 0 && hl_pg_keep_signing_key(s, first_value(result)) != HL_OK)
        err = refuse_signing_key(why, why_len);
    PQclear(result);
    return err;
}
