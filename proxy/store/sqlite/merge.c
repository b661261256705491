/* merge.c - see merge.h. Each part is read in pieces: with one part a piece is the whole page, with
 * hundreds it is one id, so that few are read for nothing. */
#include "store/sqlite/merge.h"

#include <stdlib.h>
#include <string.h>

void hl_merge_init(struct hl_merge *m, struct hl_reading *r, enum hl_ask which,
    const struct hl_id *before, const struct hl_id *from, uint32_t wanted)
{
    *m = (struct hl_merge){
        .reading = r, .which = which, .before = *before, .from = *from, .wanted = wanted};
}

void hl_merge_fini(struct hl_merge *m)
{
    free(m->parts);
    free(m->ids);
}

enum hl_err hl_merge_add(struct hl_merge *m, int64_t app_id, bool is_async, int state)
{
    if (m->n_parts == m->cap_parts) {
        size_t cap = m->cap_parts ? 2 * m->cap_parts : 8;
        struct hl_merge_part *parts = realloc(m->parts, cap * sizeof(*parts));
        if (!parts)
            return HL_ERR_NOMEM;
        m->parts = parts;
        m->cap_parts = cap;
    }
    m->parts[m->n_parts++] =
        (struct hl_merge_part){.app_id = app_id, .is_async = is_async, .state = state};
    return HL_OK;
}

static struct hl_id *ids_of(struct hl_merge *m, const struct hl_merge_part *part)
{
    return m->ids + (size_t)(part - m->parts) * m->batch;
}

static enum hl_err fetch(struct hl_merge *m, struct hl_merge_part *part)
{
    struct hl_id *ids = ids_of(m, part), before = part->n ? ids[part->n - 1] : m->before;
    struct hl_sql_args *args = hl_reading_bind(m->reading, m->which);
    struct hl_sql_row row;
    enum hl_err err;
    if (hl_sql_takes(args, HL_ASK_P_APP_ID))
        hl_sql_bind_int(args, HL_ASK_P_APP_ID, part->app_id);
    if (hl_sql_takes(args, HL_ASK_P_RUN_ID))
        hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &m->run_id);
    if (hl_sql_takes(args, HL_ASK_P_LANE))
        hl_sql_bind_int(args, HL_ASK_P_LANE, (int64_t)m->lane);
    if (hl_sql_takes(args, HL_ASK_P_TAG))
        hl_sql_bind_text(args, HL_ASK_P_TAG, m->tag);
    if (hl_sql_takes(args, HL_ASK_P_STATE))
        hl_sql_bind_int(args, HL_ASK_P_STATE, part->state);
    if (hl_sql_takes(args, HL_ASK_P_IS_ASYNC))
        hl_sql_bind_int(args, HL_ASK_P_IS_ASYNC, part->is_async);
    hl_sql_bind_id(args, HL_ASK_P_BEFORE, &before);
    hl_sql_bind_id(args, HL_ASK_P_FROM, &m->from);
    hl_sql_bind_int(args, HL_ASK_P_MAX, m->batch);
    part->at = part->n = 0;
    while (!(err = hl_reading_row(m->reading, m->which, &row)))
        hl_sql_id(&row, &ids[part->n++]);
    part->is_whole = part->n < m->batch;
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err fetch_all(struct hl_merge *m)
{
    size_t share = 2 * (size_t)m->wanted / m->n_parts;
    m->batch = share < 1 ? 1 : share < m->wanted ? (uint32_t)share : m->wanted;
    m->ids = malloc(m->n_parts * m->batch * sizeof(*m->ids));
    enum hl_err err = m->ids ? HL_OK : HL_ERR_NOMEM;
    for (size_t i = 0; i < m->n_parts && !err; i++)
        err = fetch(m, &m->parts[i]);
    return err;
}

enum hl_err hl_merge_next(struct hl_merge *m, struct hl_id *id)
{
    struct hl_merge_part *best = NULL;
    if (m->n_parts == 0)
        return HL_ERR_NOT_FOUND;
    enum hl_err err = m->ids ? HL_OK : fetch_all(m);
    for (size_t i = 0; i < m->n_parts && !err; i++) {
        struct hl_merge_part *part = &m->parts[i];
        if (part->at == part->n && !part->is_whole)
            err = fetch(m, part);
        if (part->at == part->n)
            continue;
        const struct hl_id *newest = &ids_of(m, part)[part->at];
        if (!best || memcmp(newest, id, sizeof(*id)) > 0) {
            best = part;
            *id = *newest;
        }
    }
    if (err)
        return err;
    if (!best)
        return HL_ERR_NOT_FOUND;
    best->at++;
    return HL_OK;
}

enum hl_err hl_merge_next_fitting(
    struct hl_merge *m, struct hl_merge_search *search, struct hl_id *id)
{
    bool fits = !search->fits;
    enum hl_err err = hl_merge_next(m, id);
    while (!err && !fits) {
        err = search->fits(m->reading, search->list, id, &fits);
        if (err || fits)
            break;
        search->listing->next = *id;
        search->listing->has_more = --search->looks == 0;
        err = search->listing->has_more ? HL_ERR_NOT_FOUND : hl_merge_next(m, id);
    }
    return err;
}

enum hl_err hl_merge_each_app(struct hl_merge *m, const char *project, const char *app,
    enum hl_err (*add)(struct hl_merge *m, int64_t app_id, const void *arg), const void *arg)
{
    enum hl_ask which = !project[0] ? HL_ASK_APPS : app[0] ? HL_ASK_APP : HL_ASK_APPS_OF_PROJECT;
    struct hl_sql_args *args = hl_reading_bind(m->reading, which);
    struct hl_sql_row row;
    enum hl_err err;
    if (hl_sql_takes(args, HL_ASK_P_PROJECT))
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(project));
    if (which != HL_ASK_APPS_OF_PROJECT)
        hl_sql_bind_text(args, HL_ASK_P_APP, hl_str_from(app));
    while (!(err = hl_reading_row(m->reading, which, &row))) {
        err = add(m, hl_sql_int(&row), arg);
        if (err)
            break;
    }
    hl_reading_done(m->reading, which);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}
