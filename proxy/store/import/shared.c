/* shared.c - what is not of one run: the signing key, accounts, who changed what, Idempotency-Keys, counts of
 * ends. */
#include <inttypes.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "store/driver.h"
#include "store/import/import.h"
#include "store/import/passage.h"
#include "store/import/source.h"
#include "store/key.h"
#include "store/postgres/meta.h"
#include "store/postgres/row.h"
#include "store/postgres/statement.h"
#include "store/sqlite/database.h"
#include "store/tally.h"

/* --- the signing key ---------------------------------------------------------------------------- */

static const struct hl_id no_row;

static enum hl_err read_meta(struct hl_passage *p, struct hl_str name, struct hl_buf *value)
{
    PGresult *result;
    hl_pg_params_clear(&p->params);
    hl_pg_add_str(&p->params, HL_WRITE_P_NAME, name);
    enum hl_err err = hl_pg_session_do(&p->session, &hl_import_write_statements[HL_WRITE_META_GET],
        &p->params, &result, p->why, p->why_len);
    value->n = 0;
    if (!err && PQntuples(result) > 0) {
        struct hl_pg_row row = {.result = result};
        err = hl_buf_append_str(value, hl_pg_str(&row));
    }
    PQclear(result);
    return err;
}

static enum hl_err put_meta(struct hl_passage *p, struct hl_str name, struct hl_str plain)
{
    struct hl_buf sealed = {0};
    PGresult *result = NULL;
    enum hl_err err = hl_seal(&p->sealer, hl_pg_meta_place(name), &no_row, plain, &sealed);
    hl_pg_params_clear(&p->params);
    hl_pg_add_str(&p->params, HL_WRITE_P_NAME, name);
    hl_pg_add_str(&p->params, HL_WRITE_P_VALUE, hl_buf_str(&sealed));
    if (!err)
        err = hl_pg_session_do(&p->session, &hl_import_write_statements[HL_WRITE_META_ADD],
            &p->params, &result, p->why, p->why_len);
    PQclear(result);
    hl_buf_fini(&sealed);
    return err;
}

/* Under a name that says nothing of it, and is the same another time. */
static struct hl_str name_second(struct hl_str key, char out[64])
{
    static const char prefix[] = "verify_key:";
    uint8_t digest[32];
    size_t n = strlen(prefix);
    mbedtls_sha256_ret((const unsigned char *)key.p, key.n, digest, 0);
    memcpy(out, prefix, n);
    hl_hex_write(out + n, digest, 16);
    return (struct hl_str){out, n + 32};
}

static bool is_same(struct hl_passage *p, const struct hl_buf *sealed, struct hl_str ours)
{
    char plain[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD];
    size_t n = 0;
    bool is = sealed->n <= sizeof(plain) &&
              hl_unseal(&p->sealer, "meta.signing_key", &no_row, hl_buf_str(sealed), plain, &n) ==
                  HL_OK &&
              hl_str_eq((struct hl_str){plain, n}, ours);
    explicit_bzero(plain, sizeof(plain));
    return is;
}

static enum hl_err put_signing_key(struct hl_passage *p, struct hl_str ours)
{
    char name[64];
    struct hl_buf theirs = {0};
    enum hl_err err = put_meta(p, HL_STR("signing_key"), ours);
    if (!err)
        err = read_meta(p, HL_STR("signing_key"), &theirs);
    if (!err && !is_same(p, &theirs, ours)) {
        p->done->is_second_key = true;
        err = put_meta(p, name_second(ours, name), ours);
    }
    hl_buf_fini(&theirs);
    return err;
}

enum hl_err hl_import_signing_key(struct hl_passage *p)
{
    struct hl_str ours = {(const char *)p->db->base.signing_key, p->db->base.signing_key_n};
    enum hl_err err = hl_passage_begin(p);
    if (!err && ours.n > 0)
        err = put_signing_key(p, ours);
    return err ? err : hl_passage_commit(p, HL_IMPORT_ACCOUNTS, &no_row);
}

/* --- rows that need nothing else ------------------------------------------------------------------ */

/* How one kind of them goes over: as they stand, by the columns of what is read, or as `add` has it. */
struct kind {
    enum hl_import_read read;
    enum hl_import_write write; /* answers how many are new */
    const struct hl_pg_column *columns;
    size_t n_columns;
    void (*add)(struct hl_passage *p, struct hl_sql_row *row);
};

static void add_as_it_stands(
    struct hl_pg_columns *rows, const struct kind *kind, struct hl_sql_row *row)
{
    for (size_t i = 0; i < kind->n_columns; i++) {
        unsigned param = kind->columns[i].param;
        struct hl_id id;
        switch (kind->columns[i].type) {
        case HL_PG_INT:
            hl_pg_columns_int(rows, param, hl_sql_int(row));
            break;
        case HL_PG_ID:
            hl_sql_id(row, &id);
            hl_pg_columns_id(rows, param, &id);
            break;
        case HL_PG_BYTES:
            hl_pg_columns_bytes(rows, param, hl_sql_str(row));
            break;
        case HL_PG_TEXT:
            hl_pg_columns_text(rows, param, hl_sql_str(row));
            break;
        }
    }
}

static enum hl_err send_batch(struct hl_passage *p, const struct kind *kind, uint64_t *count)
{
    PGresult *result;
    if (p->rows.rows == 0)
        return HL_OK;
    enum hl_err err = hl_passage_begin(p);
    if (!err)
        err = hl_passage_send(p, kind->write, &result);
    if (err)
        return err;
    struct hl_pg_row row = {.result = result};
    *count += (uint64_t)hl_pg_int(&row);
    PQclear(result);
    return hl_passage_commit(p, p->stage, &no_row);
}

static enum hl_err send_all(
    struct hl_passage *p, const struct kind *kind, sqlite3_stmt *st, uint64_t *count)
{
    struct hl_sql_row row;
    enum hl_err err;
    while (!(err = hl_import_source_step(p->db, st, &row, p->why, p->why_len))) {
        if (kind->add)
            kind->add(p, &row);
        else
            add_as_it_stands(&p->rows, kind, &row);
        hl_pg_columns_end_row(&p->rows);
        if (hl_passage_is_full(p))
            err = send_batch(p, kind, count);
        if (err)
            return err;
    }
    return err == HL_ERR_NOT_FOUND ? send_batch(p, kind, count) : err;
}

/* Twice is as good as once: no place in between is noted. */
static enum hl_err carry(struct hl_passage *p, const struct kind *kind, uint64_t *count)
{
    struct hl_sql_args args;
    sqlite3_stmt *st = hl_import_source_prepare(p->db, kind->read, &args, p->why, p->why_len);
    if (!st)
        return HL_ERR_IO;
    if (hl_sql_takes(&args, HL_READ_P_NOW_MS))
        hl_sql_bind_int(&args, HL_READ_P_NOW_MS, p->now_ms);
    enum hl_err err = send_all(p, kind, st, count);
    sqlite3_finalize(st);
    if (!err)
        err = hl_passage_begin(p);
    return err ? err : hl_passage_commit(p, p->stage + 1, &no_row);
}

static const struct hl_pg_column of_accounts[] = {{HL_WRITE_P_ACCOUNT_ID, HL_PG_ID},
    {HL_WRITE_P_PROJECT, HL_PG_TEXT}, {HL_WRITE_P_NAME, HL_PG_BYTES}, {HL_WRITE_P_ROLE, HL_PG_INT},
    {HL_WRITE_P_CREATED_MS, HL_PG_INT}, {HL_WRITE_P_EXPIRES_MS, HL_PG_INT},
    {HL_WRITE_P_REVOKED_MS, HL_PG_INT}, {HL_WRITE_P_LAST_USED_MS, HL_PG_INT},
    {HL_WRITE_P_MAX_RUNNING, HL_PG_INT}, {HL_WRITE_P_MAX_QUEUED, HL_PG_INT},
    {HL_WRITE_P_RATE_COUNT, HL_PG_INT}, {HL_WRITE_P_RATE_WINDOW_S, HL_PG_INT},
    {HL_WRITE_P_MAX_PRIORITY, HL_PG_INT}, {HL_WRITE_P_LIMITS_REVISION, HL_PG_INT}};

static const struct hl_pg_column of_keys[] = {{HL_WRITE_P_PROJECT, HL_PG_TEXT},
    {HL_WRITE_P_APP, HL_PG_TEXT}, {HL_WRITE_P_SUBJECT, HL_PG_BYTES}, {HL_WRITE_P_KEY, HL_PG_BYTES},
    {HL_WRITE_P_RUN_ID, HL_PG_ID}, {HL_WRITE_P_FINGERPRINT, HL_PG_BYTES},
    {HL_WRITE_P_EXPIRES_MS, HL_PG_INT}};

static const struct hl_pg_column of_audit[] = {{HL_WRITE_P_AUDIT_ID, HL_PG_ID},
    {HL_WRITE_P_PROJECT, HL_PG_TEXT}, {HL_WRITE_P_ACTION, HL_PG_INT}, {HL_WRITE_P_COUNT, HL_PG_INT},
    {HL_WRITE_P_TOLD, HL_PG_BYTES}};

static const struct hl_pg_column of_job_pieces[] = {{HL_WRITE_P_JOB_ID, HL_PG_ID},
    {HL_WRITE_P_N, HL_PG_INT}, {HL_WRITE_P_FATES, HL_PG_INT}, {HL_WRITE_P_ITEMS, HL_PG_BYTES}};

static const struct hl_pg_column of_jobs[] = {{HL_WRITE_P_JOB_ID, HL_PG_ID},
    {HL_WRITE_P_PROJECT, HL_PG_TEXT}, {HL_WRITE_P_VERSION, HL_PG_INT},
    {HL_WRITE_P_ENDED_MS, HL_PG_INT}, {HL_WRITE_P_IS_STOPPING, HL_PG_INT},
    {HL_WRITE_P_PLAN, HL_PG_BYTES}, {HL_WRITE_P_PROGRESS, HL_PG_BYTES}};

/* --- how runs ended ------------------------------------------------------------------------------- */

/* An array's text. Counts that cannot be read, or without memory, are left out. */
static struct hl_str write_counts(struct hl_str bytes, struct hl_buf *text)
{
    text->n = 0;
    enum hl_err err = hl_buf_append(text, "{", 1);
    for (size_t i = 0; i + 8 <= bytes.n && !err; i += 8)
        err = hl_buf_printf(text, "%s%" PRIu64, i > 0 ? "," : "", hl_tally_read_one(bytes.p + i));
    if (!err)
        err = hl_buf_append(text, "}", 1);
    return err ? HL_STR("{}") : hl_buf_str(text);
}

/* In the place of the replica that counted them: by it another move of the same directory finds its rows. */
static struct hl_id name_counter(const struct hl_passage *p, struct hl_str counts)
{
    struct hl_id id;
    uint8_t digest[32];
    mbedtls_sha256_context c;
    mbedtls_sha256_init(&c);
    mbedtls_sha256_starts_ret(&c, 0);
    mbedtls_sha256_update_ret(&c, p->db->key.check, sizeof(p->db->key.check));
    mbedtls_sha256_update_ret(&c, (const uint8_t *)counts.p, counts.n);
    mbedtls_sha256_finish_ret(&c, digest);
    mbedtls_sha256_free(&c);
    memcpy(id.b, digest, sizeof(id.b));
    return id;
}

static void add_minute(struct hl_passage *p, struct hl_sql_row *row)
{
    struct hl_buf text = {0};
    hl_pg_columns_text(&p->rows, HL_WRITE_P_PROJECT, hl_sql_str(row));
    hl_pg_columns_text(&p->rows, HL_WRITE_P_APP, hl_sql_str(row));
    hl_pg_columns_int(&p->rows, HL_WRITE_P_MINUTE, hl_sql_int(row));
    struct hl_str counts = hl_sql_str(row);
    struct hl_id counter = name_counter(p, counts);
    hl_pg_columns_text(&p->rows, HL_WRITE_P_COUNTS, write_counts(counts, &text));
    hl_pg_columns_id(&p->rows, HL_WRITE_P_COUNTER, &counter);
    hl_buf_fini(&text);
}

/* What the schema has been counting for longer than the directory stays so. */
static enum hl_err carry_since(struct hl_passage *p)
{
    struct hl_sql_row row;
    char sql[300];
    struct hl_sql_args args;
    sqlite3_stmt *st =
        hl_import_source_prepare(p->db, HL_READ_COUNTED_SINCE, &args, p->why, p->why_len);
    if (!st)
        return HL_ERR_IO;
    enum hl_err err = hl_import_source_step(p->db, st, &row, p->why, p->why_len);
    int64_t since_ms = err ? 0 : hl_sql_int(&row);
    sqlite3_finalize(st);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    snprintf(sql, sizeof(sql),
        "UPDATE ~.meta SET v = convert_to(least(convert_from(v, 'UTF8')::bigint, %" PRId64
        ")::text, 'UTF8') WHERE k = 'counted_ms'",
        since_ms);
    return hl_pg_session_run(&p->session, sql, p->why, p->why_len);
}

/* --- the stages --------------------------------------------------------------------------------- */

#define KIND(NAME, table)                                                                          \
    {                                                                                              \
        .read = HL_READ_##NAME, .write = HL_WRITE_##NAME, .columns = (table),                      \
        .n_columns = HL_ARRAY_LEN(table)                                                           \
    }

enum hl_err hl_import_rows(struct hl_passage *p)
{
    static const struct kind kinds[] = {
        [HL_IMPORT_ACCOUNTS] = KIND(ACCOUNTS, of_accounts),
        [HL_IMPORT_KEYS] = KIND(KEYS, of_keys),
        [HL_IMPORT_MINUTES] = {.read = HL_READ_MINUTES,
            .write = HL_WRITE_MINUTES,
            .add = add_minute},
        [HL_IMPORT_AUDIT] = KIND(AUDIT, of_audit),
        [HL_IMPORT_JOB_PIECES] = KIND(JOB_PIECES, of_job_pieces),
        [HL_IMPORT_JOBS] = KIND(JOBS, of_jobs),
    };
    uint64_t uncounted = 0;
    uint64_t *count = p->stage == HL_IMPORT_ACCOUNTS ? &p->done->accounts
                      : p->stage == HL_IMPORT_KEYS   ? &p->done->keys
                                                     : &uncounted;
    enum hl_err err = p->stage == HL_IMPORT_MINUTES ? carry_since(p) : HL_OK;
    return err ? err : carry(p, &kinds[p->stage], count);
}
