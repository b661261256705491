/* files.c - see files.h. */
#include "store/import/files.h"

#include <stdlib.h>
#include <unistd.h>

#include "store/body_file.h"
#include "store/data_dir.h"
#include "store/import/passage.h"
#include "store/postgres/bodies.h"
#include "store/postgres/row.h"
#include "store/record.h"
#include "store/sqlite/database.h"

enum hl_err hl_import_files_init(struct hl_import_files *files)
{
    *files = (struct hl_import_files){.part = malloc(HL_PG_CHUNK)};
    return files->part ? HL_OK : HL_ERR_NOMEM;
}

void hl_import_files_fini(struct hl_import_files *files)
{
    free(files->part);
}

void hl_import_files_note(
    struct hl_import_files *files, const struct hl_id *run_id, const struct hl_body *body)
{
    if (body->where == HL_BODY_FILE)
        files->all[files->n++] = (struct hl_import_file){.run_id = *run_id, .id = body->file};
}

static void mark_known(struct hl_import_files *files, const PGresult *result)
{
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_id run_id;
        struct hl_pg_row row = {.result = result, .row = i};
        hl_pg_id(&row, &run_id);
        for (size_t k = 0; k < files->n; k++)
            files->all[k].is_known |= hl_id_eq(&files->all[k].run_id, &run_id);
    }
}

static enum hl_err find_known(struct hl_passage *p, struct hl_import_files *files)
{
    PGresult *result;
    hl_pg_params_clear(&p->params);
    HL_PG_EACH(&p->params, HL_WRITE_P_RUN_ID, HL_PG_ID, files->n,
        hl_pg_item_id(&p->params, &files->all[i].run_id));
    enum hl_err err = hl_pg_session_do(&p->session,
        &hl_import_write_statements[HL_WRITE_RUNS_KNOWN], &p->params, &result, p->why, p->why_len);
    if (!err)
        mark_known(files, result);
    PQclear(result);
    return err;
}

static enum hl_err put_part(
    struct hl_passage *p, const struct hl_id *file, int64_t seq, struct hl_str part)
{
    PGresult *result;
    hl_pg_params_clear(&p->params);
    hl_pg_add_id(&p->params, HL_WRITE_P_BODY_ID, file);
    hl_pg_add_int(&p->params, HL_WRITE_P_SEQ, seq);
    hl_pg_add_str(&p->params, HL_WRITE_P_BYTES, part);
    enum hl_err err = hl_pg_session_do(&p->session, &hl_import_write_statements[HL_WRITE_BODY_PUT],
        &p->params, &result, p->why, p->why_len);
    PQclear(result);
    return err;
}

static enum hl_err put_parts(
    struct hl_passage *p, struct hl_import_files *files, const struct hl_id *id, int fd)
{
    enum hl_err err = HL_OK;
    for (int64_t seq = 0; !err; seq++) {
        size_t n = 0;
        ssize_t got = 1;
        while (n < HL_PG_CHUNK && (got = read(fd, files->part + n, HL_PG_CHUNK - n)) > 0)
            n += (size_t)got;
        if (got < 0)
            return HL_ERR_IO;
        if (n == 0)
            break;
        err = put_part(p, id, seq, (struct hl_str){files->part, n});
    }
    return err;
}

enum hl_err hl_import_files_put(struct hl_passage *p, struct hl_import_files *files)
{
    enum hl_err err = files->n > 0 ? find_known(p, files) : HL_OK;
    for (size_t i = 0; i < files->n && !err; i++) {
        int fd;
        if (files->all[i].is_known)
            continue;
        err = hl_body_file_open(p->db->dir.path, &files->all[i].id, &fd);
        if (err)
            break;
        err = put_parts(p, files, &files->all[i].id, fd);
        close(fd);
    }
    files->n = 0;
    return err;
}
