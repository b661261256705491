/* passage.c - see passage.h. The note of a move is a row of `meta`: "import:" and its id; the stage, and
 * the id up to which it has come. */
#include "store/import/passage.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_AT_ONCE  256
#define BYTES_AT_ONCE (4u << 20)

bool hl_passage_is_full(const struct hl_passage *p)
{
    return p->rows.rows >= ROWS_AT_ONCE || p->more.rows >= 4 * ROWS_AT_ONCE ||
           p->rows.bytes + p->more.bytes >= BYTES_AT_ONCE;
}

enum hl_err hl_passage_begin(struct hl_passage *p)
{
    return hl_pg_session_run(&p->session, "BEGIN", p->why, p->why_len);
}

enum hl_err hl_passage_send(struct hl_passage *p, enum hl_import_write which, PGresult **result)
{
    const struct hl_statement *statement = &hl_import_write_statements[which];
    hl_pg_params_clear(&p->params);
    hl_pg_columns_bind(&p->rows, &p->params);
    hl_pg_columns_bind(&p->more, &p->params);
    hl_pg_columns_clear(&p->rows);
    hl_pg_columns_clear(&p->more);
    return hl_pg_session_do(&p->session, statement, &p->params, result, p->why, p->why_len);
}

/* --- notes ------------------------------------------------------------------------------------ */

static struct hl_str name_note(const struct hl_passage *p, char out[64])
{
    char id[HL_ID_TEXT];
    hl_id_format(&p->move, id);
    return (struct hl_str){out, (size_t)snprintf(out, 64, "import:%.*s", HL_ID_TEXT, id)};
}

enum hl_err hl_passage_commit(
    struct hl_passage *p, enum hl_import_stage stage, const struct hl_id *after)
{
    char name[64], id[HL_ID_TEXT], value[64];
    PGresult *result;
    hl_id_format(after, id);
    int n = snprintf(value, sizeof(value), "%d %.*s", stage, HL_ID_TEXT, id);
    hl_pg_params_clear(&p->params);
    hl_pg_add_str(&p->params, HL_WRITE_P_NAME, name_note(p, name));
    hl_pg_add_str(&p->params, HL_WRITE_P_VALUE, (struct hl_str){value, (size_t)n});
    enum hl_err err = hl_pg_session_do(&p->session, &hl_import_write_statements[HL_WRITE_META_PUT],
        &p->params, &result, p->why, p->why_len);
    PQclear(result);
    if (!err)
        err = hl_pg_session_run(&p->session, "COMMIT", p->why, p->why_len);
    p->stage = stage;
    p->after = *after;
    return err;
}

static void read_note(struct hl_passage *p, struct hl_str note)
{
    const size_t id_at = 2;
    if (note.n == id_at + HL_ID_TEXT &&
        hl_id_parse((struct hl_str){note.p + id_at, HL_ID_TEXT}, &p->after))
        p->stage = (enum hl_import_stage)(note.p[0] - '0');
}

enum hl_err hl_passage_resume(struct hl_passage *p)
{
    char name[64];
    PGresult *result;
    p->stage = HL_IMPORT_SIGNING_KEY;
    p->after = (struct hl_id){{0}};
    hl_pg_params_clear(&p->params);
    hl_pg_add_str(&p->params, HL_WRITE_P_NAME, name_note(p, name));
    enum hl_err err = hl_pg_session_do(&p->session, &hl_import_write_statements[HL_WRITE_META_GET],
        &p->params, &result, p->why, p->why_len);
    if (!err && PQntuples(result) > 0)
        read_note(p, (struct hl_str){PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0)});
    PQclear(result);
    return err;
}
