/* rekey.c - see rekey.h.
 *
 * All runs are read, by their ids, because nothing in a row says which key its values are sealed with:
 * those that the new key does not open are sealed anew, some hundred in a statement of its own. That
 * waits for no lock, so that it is never one of two who wait for each other; rows that a replica has
 * just then are looked at again. A run only ever loses such values, so what has become null stays so.
 * Last, in one transaction, comes what all replicas share, with the check value. Whoever seals with
 * the old key meanwhile would lose what it seals: while such a replica lives nothing is done.
 *
 * Deliveries that go elsewhere than their runs' webhooks are few, and are sealed anew one by one.
 *
 * A webhook's lane comes from the key too. That of the run is made anew; its deliveries keep theirs,
 * and so count apart from newer ones of the same destination. */
#include "store/postgres/rekey.h"

#include "store/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/key.h"
#include "store/postgres/check.h"
#include "store/postgres/meta.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/once.h"
#include "store/postgres/session.h"
#include "store/secret.h"

#define RUNS_AT_ONCE 200
#define AGAIN_MS     20

struct rekey {
    struct hl_pg_session session;
    struct hl_pg_params params;
    struct hl_shared_keys keys;
    struct hl_sealer sealer, before, both; /* with the new key, with the one before, with either */
    struct hl_buf plain;                   /* of the value that was opened last */
    struct hl_id after, last;              /* runs up to here are done, or were read */
    bool has_more;
    struct hl_pg_rekeyed *done;
    const struct hl_audit *audit;
    char *why;
    size_t why_len;
};

/* --- one value ---------------------------------------------------------------------------------- */

/* `*is_new`: it was sealed with the key before, and is in `out` as it has to be. */
static enum hl_err seal_anew(struct rekey *r, const char *place, const struct hl_id *row,
    struct hl_str sealed, struct hl_buf *out, bool *is_new)
{
    size_t n;
    *is_new = false;
    r->plain.n = 0;
    if (hl_buf_reserve(&r->plain, sealed.n) != HL_OK)
        return HL_ERR_NOMEM;
    enum hl_err err = hl_unseal(&r->sealer, place, row, sealed, r->plain.p, &n);
    if (err != HL_ERR_CORRUPT)
        return err;
    err = hl_unseal(&r->before, place, row, sealed, r->plain.p, &n);
    if (err == HL_ERR_CORRUPT) {
        r->done->unreadable++;
        return HL_OK;
    }
    r->plain.n = err ? 0 : n;
    if (!err)
        err = hl_seal(&r->sealer, place, row, hl_buf_str(&r->plain), out);
    *is_new = !err;
    return err;
}

/* --- runs ----------------------------------------------------------------------------------------- */

enum { HEAD, URL, SECRET, VALUES };

static const char *const places[VALUES] = {"run.head", "run.url", "run.secret"};

struct sealed_run {
    struct hl_id id;
    bool has_lane;
    int64_t lane;
    struct hl_str values[VALUES]; /* as they are to stand there; empty: null */
    struct hl_buf anew[VALUES];
    uint64_t n_new;
};

static enum hl_err reseal_run(struct rekey *r, struct sealed_run *run)
{
    enum hl_err err = HL_OK;
    for (int i = 0; i < VALUES && !err; i++) {
        bool is_new = false;
        if (run->values[i].n > 0)
            err = seal_anew(r, places[i], &run->id, run->values[i], &run->anew[i], &is_new);
        if (err || !is_new)
            continue;
        run->values[i] = hl_buf_str(&run->anew[i]);
        run->n_new++;
        if (i == URL)
            run->lane = (int64_t)hl_key_lane(&r->keys.key, hl_buf_str(&r->plain));
    }
    return err;
}

static void read_run(struct hl_pg_row *row, struct sealed_run *run)
{
    hl_pg_id(row, &run->id);
    run->has_lane = !hl_pg_next_is_null(row);
    run->lane = hl_pg_int(row);
    for (int i = 0; i < VALUES; i++)
        run->values[i] = hl_pg_str(row);
}

/* Those that have something new, to the front; the others keep nothing. */
static enum hl_err reseal_runs(
    struct rekey *r, const PGresult *result, struct sealed_run *runs, size_t *n)
{
    enum hl_err err = HL_OK;
    *n = 0;
    for (int i = 0; i < PQntuples(result) && !err; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        read_run(&row, &runs[*n]);
        r->last = runs[*n].id;
        err = reseal_run(r, &runs[*n]);
        *n += runs[*n].n_new > 0;
    }
    return err;
}

static void item_or_null(struct hl_pg_params *p, struct hl_str value)
{
    if (value.n > 0)
        hl_pg_item_str(p, value);
    else
        hl_pg_item_null(p);
}

static void bind_runs(struct hl_pg_params *p, const struct sealed_run *runs, size_t n)
{
    hl_pg_params_clear(p);
    HL_PG_EACH(p, HL_PG_ONCE_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &runs[i].id));
    HL_PG_EACH(p, HL_PG_ONCE_P_HEAD, HL_PG_BYTES, n, item_or_null(p, runs[i].values[HEAD]));
    HL_PG_EACH(p, HL_PG_ONCE_P_URL, HL_PG_BYTES, n, item_or_null(p, runs[i].values[URL]));
    HL_PG_EACH(p, HL_PG_ONCE_P_SECRET, HL_PG_BYTES, n, item_or_null(p, runs[i].values[SECRET]));
    hl_pg_array_begin(p, HL_PG_ONCE_P_LANE, HL_PG_INT, n);
    for (size_t i = 0; i < n; i++) {
        if (runs[i].has_lane)
            hl_pg_item_int(p, runs[i].lane);
        else
            hl_pg_item_null(p);
    }
    hl_pg_array_end(p);
    HL_PG_EACH(p, HL_PG_ONCE_P_N_NEW, HL_PG_INT, n, hl_pg_item_int(p, (int64_t)runs[i].n_new));
}

/* `*is_whole`: none was passed over. */
static enum hl_err write_runs(
    struct rekey *r, const struct sealed_run *runs, size_t n, bool *is_whole)
{
    PGresult *result;
    *is_whole = true;
    if (n == 0)
        return HL_OK;
    bind_runs(&r->params, runs, n);
    enum hl_err err = hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_WRITE],
        &r->params, &result, r->why, r->why_len);
    if (err)
        return err;
    *is_whole = (size_t)PQntuples(result) == n;
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        r->done->values += (uint64_t)hl_pg_int(&row);
    }
    PQclear(result);
    return HL_OK;
}

static enum hl_err rekey_found(struct rekey *r, const PGresult *found)
{
    size_t n = 0, cap = (size_t)PQntuples(found);
    uint64_t unreadable = r->done->unreadable;
    bool is_whole = true;
    struct sealed_run *runs = calloc(cap + 1, sizeof(*runs));
    enum hl_err err = runs ? reseal_runs(r, found, runs, &n) : HL_ERR_NOMEM;
    if (!err)
        err = write_runs(r, runs, n, &is_whole);
    for (size_t i = 0; runs && i < cap; i++)
        for (int k = 0; k < VALUES; k++)
            hl_buf_fini(&runs[i].anew[k]);
    free(runs);
    if (!err && is_whole) {
        r->after = r->last;
        r->has_more = cap == RUNS_AT_ONCE;
    } else {
        r->done->unreadable = unreadable; /* they are read once more */
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_MS * 1000000l}, NULL);
    }
    return err;
}

static enum hl_err rekey_runs(struct rekey *r)
{
    enum hl_err err = HL_OK;
    r->has_more = true;
    while (!err && r->has_more) {
        PGresult *found;
        hl_pg_params_clear(&r->params);
        hl_pg_add_id(&r->params, HL_PG_ONCE_P_AFTER, &r->after);
        hl_pg_add_int(&r->params, HL_PG_ONCE_P_MAX, RUNS_AT_ONCE);
        err = hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_READ],
            &r->params, &found, r->why, r->why_len);
        if (!err)
            err = rekey_found(r, found);
        PQclear(found);
    }
    return err;
}

/* --- deliveries with a URL of their own -------------------------------------------------------------- */

static enum hl_err write_delivery(
    struct rekey *r, const struct hl_id *id, struct hl_str url, struct hl_str secret)
{
    PGresult *result;
    hl_pg_params_clear(&r->params);
    hl_pg_add_id(&r->params, HL_PG_ONCE_P_DELIVERY_ID, id);
    hl_pg_add_str(&r->params, HL_PG_ONCE_P_URL, url);
    if (secret.n > 0)
        hl_pg_add_str(&r->params, HL_PG_ONCE_P_SECRET, secret);
    else
        hl_pg_add_null(&r->params, HL_PG_ONCE_P_SECRET);
    enum hl_err err =
        hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_WRITE_DELIVERY],
            &r->params, &result, r->why, r->why_len);
    PQclear(result);
    return err;
}

static enum hl_err rekey_delivery(struct rekey *r, struct hl_pg_row *row)
{
    struct hl_buf anew[2] = {{0}};
    struct hl_str values[2];
    struct hl_id run_id;
    bool is_new[2] = {false, false};
    enum hl_err err = HL_OK;
    hl_pg_id(row, &r->last);
    hl_pg_id(row, &run_id);
    for (int i = 0; i < 2 && !err; i++) {
        values[i] = hl_pg_str(row);
        if (values[i].n > 0)
            err = seal_anew(r, places[URL + i], &run_id, values[i], &anew[i], &is_new[i]);
        if (is_new[i])
            values[i] = hl_buf_str(&anew[i]);
    }
    if (!err && (is_new[0] || is_new[1]))
        err = write_delivery(r, &r->last, values[0], values[1]);
    if (!err)
        r->done->values += (uint64_t)is_new[0] + is_new[1];
    hl_buf_fini(&anew[0]);
    hl_buf_fini(&anew[1]);
    return err;
}

static enum hl_err rekey_deliveries(struct rekey *r)
{
    enum hl_err err = HL_OK;
    int n = RUNS_AT_ONCE;
    r->after = (struct hl_id){0};
    while (!err && n == RUNS_AT_ONCE) {
        PGresult *found;
        hl_pg_params_clear(&r->params);
        hl_pg_add_id(&r->params, HL_PG_ONCE_P_AFTER, &r->after);
        hl_pg_add_int(&r->params, HL_PG_ONCE_P_MAX, RUNS_AT_ONCE);
        err =
            hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_READ_DELIVERIES],
                &r->params, &found, r->why, r->why_len);
        n = err ? 0 : PQntuples(found);
        for (int i = 0; i < n && !err; i++)
            err = rekey_delivery(r, &(struct hl_pg_row){.result = found, .row = i});
        r->after = r->last;
        PQclear(found);
    }
    return err;
}

/* --- what all replicas share ------------------------------------------------------------------------ */

static enum hl_err write_shared(struct rekey *r, struct hl_str name, struct hl_str value)
{
    PGresult *result;
    hl_pg_params_clear(&r->params);
    hl_pg_add_str(&r->params, HL_PG_ONCE_P_NAME, name);
    hl_pg_add_str(&r->params, HL_PG_ONCE_P_VALUE, value);
    enum hl_err err =
        hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_WRITE_SHARED],
            &r->params, &result, r->why, r->why_len);
    PQclear(result);
    return err;
}

static enum hl_err rekey_shared_row(struct rekey *r, struct hl_pg_row *row)
{
    static const struct hl_id no_row;
    struct hl_buf anew = {0};
    bool is_new;
    struct hl_str name = hl_pg_str(row), value = hl_pg_str(row);
    enum hl_err err = seal_anew(r, hl_pg_meta_place(name), &no_row, value, &anew, &is_new);
    if (!err && is_new)
        err = write_shared(r, name, hl_buf_str(&anew));
    if (!err)
        r->done->values += is_new;
    hl_buf_fini(&anew);
    return err;
}

static enum hl_err rekey_shared_rows(struct rekey *r)
{
    PGresult *result;
    hl_pg_params_clear(&r->params);
    enum hl_err err =
        hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_READ_SHARED],
            &r->params, &result, r->why, r->why_len);
    for (int i = 0; !err && i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        err = rekey_shared_row(r, &row);
    }
    PQclear(result);
    return err;
}

static enum hl_err tell(struct rekey *r)
{
    PGresult *result;
    hl_pg_params_clear(&r->params);
    hl_pg_add_id(&r->params, HL_PG_ONCE_P_AUDIT_ID, &r->audit->id);
    hl_pg_add_int(&r->params, HL_PG_ONCE_P_ACTION, r->audit->action);
    hl_pg_add_int(&r->params, HL_PG_ONCE_P_COUNT, (int64_t)r->done->values);
    hl_pg_add_str(&r->params, HL_PG_ONCE_P_TOLD, hl_audit_told(r->audit));
    enum hl_err err = hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_TELL],
        &r->params, &result, r->why, r->why_len);
    PQclear(result);
    return err;
}

static enum hl_err rekey_shared(struct rekey *r)
{
    enum hl_err err = hl_pg_session_run(&r->session, "BEGIN", r->why, r->why_len);
    if (!err)
        err = rekey_shared_rows(r);
    if (!err)
        err = write_shared(r, HL_STR("key_check"), hl_key_check(&r->keys.key));
    if (!err)
        err = tell(r);
    return err ? err : hl_pg_session_run(&r->session, "COMMIT", r->why, r->why_len);
}

/* --- the whole -------------------------------------------------------------------------------------- */

static enum hl_err look_for_others(struct rekey *r)
{
    PGresult *result;
    hl_pg_params_clear(&r->params);
    hl_pg_add_str(&r->params, HL_PG_ONCE_P_KEY_CHECK, hl_key_check(&r->keys.key));
    enum hl_err err = hl_pg_session_do(&r->session, &hl_pg_once_statements[HL_PG_ONCE_REKEY_OTHERS],
        &r->params, &result, r->why, r->why_len);
    if (!err && PQntuples(result) > 0) {
        struct hl_pg_row row = {.result = result};
        struct hl_str name = hl_pg_str(&row);
        snprintf(r->why, r->why_len,
            "HOOKLINE_KEY: the replica %.*s still encrypts with another key: start it with this "
            "one, and that one as HOOKLINE_PREVIOUS_KEY, then run this again",
            HL_STR_ARG(name));
        err = HL_ERR_CONFLICT;
    }
    PQclear(result);
    return err;
}

static enum hl_err rekey_all(struct rekey *r)
{
    enum hl_err err = hl_pg_look(&r->session, &r->both, true, r->why, r->why_len);
    if (!err)
        err = look_for_others(r);
    if (!err)
        err = rekey_runs(r);
    if (!err)
        err = rekey_deliveries(r);
    if (!err)
        err = look_for_others(r);
    return err ? err : rekey_shared(r);
}

static enum hl_err open_keys(struct rekey *r, const struct hl_config *config)
{
    enum hl_err err = hl_shared_keys_open(&r->keys, config, r->why, r->why_len);
    if (!err && !r->keys.has_previous) {
        snprintf(r->why, r->why_len,
            "HOOKLINE_PREVIOUS_KEY: not set: set it to the key that values have been encrypted "
            "with so far, and HOOKLINE_KEY to the new one");
        err = HL_ERR_INVALID;
    }
    if (!err)
        err = hl_sealer_init(&r->sealer, &r->keys.key);
    if (!err)
        err = hl_sealer_init(&r->before, &r->keys.previous);
    return err ? err : hl_sealer_init_shared(&r->both, &r->keys);
}

static void close_rekey(struct rekey *r)
{
    hl_pg_params_fini(&r->params);
    if (r->plain.p)
        explicit_bzero(r->plain.p, r->plain.cap);
    hl_buf_fini(&r->plain);
    hl_sealer_fini(&r->sealer);
    hl_sealer_fini(&r->before);
    hl_sealer_fini(&r->both);
    hl_shared_keys_wipe(&r->keys);
}

enum hl_err hl_pg_rekey(const struct hl_config *config, const struct hl_audit *audit,
    struct hl_pg_rekeyed *done, char *why, size_t why_len)
{
    struct hl_pg_settings settings;
    struct rekey r = {.done = done, .audit = audit, .why = why, .why_len = why_len};
    *done = (struct hl_pg_rekeyed){0};
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
    hl_pg_settings_init(&settings, config);
    hl_pg_params_init(&r.params);
    enum hl_err err = open_keys(&r, config);
    if (!err)
        err = hl_pg_session_open(&r.session, &settings, NULL, why, why_len);
    if (!err) {
        err = rekey_all(&r);
        hl_pg_session_close(&r.session);
        hl_pg_session_name_setting(err, why, why_len);
    }
    close_rekey(&r);
    return err;
}
