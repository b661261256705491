/* fresh.c - runs that were accepted or recorded in this transaction. Their rows are written when it
 * ends, or before somebody looks for one of them: a run that is handed out in the transaction that
 * accepts it is written once, as running, and its request is not read back. The store's thread,
 * inside a transaction.
 *
 * What must be sealed is sealed before the first row of a run is written. */
#include "store/message.h"
#include "store/sqlite/database.h"

static bool is_async(const struct hl_accept *a)
{
    return a->m.msg.type == HL_STORE_ACCEPT;
}

enum hl_err hl_fresh_add(struct hl_database *db, int64_t app_id, const struct hl_accept *a)
{
    enum hl_err err = db->n_fresh == HL_FRESH_MAX ? hl_fresh_write(db) : HL_OK;
    if (err)
        return err;
    db->fresh[db->n_fresh++] = (struct hl_fresh_run){
        .accept = a,
        .app_id = app_id,
        .number = db->next_number++,
        .has_begun = !is_async(a),
        .started_ms = a->created_ms,
    };
    db->n_fresh_queued += is_async(a);
    return HL_OK;
}

/* --- handing out ---------------------------------------------------------------------------- */

bool hl_fresh_has_oldest(const struct hl_database *db)
{
    return db->n_fresh_queued > 0 && db->n_fresh_queued == db->base.backlog->now.queued_runs;
}

static enum hl_err make_claimed(const struct hl_accept *a, struct hl_claimed **out)
{
    char *room;
    struct hl_claimed *c =
        hl_message_alloc(sizeof(*c), a->project.n + a->app.n + a->head.n, HL_STORE_CLAIMED, &room);
    if (!c)
        return HL_ERR_NOMEM;
    c->run_id = a->run_id;
    c->epoch = c->attempt = 1;
    c->has_webhook = a->webhook_url.n > 0;
    c->created_ms = a->created_ms;
    c->project = hl_message_copy(&room, a->project);
    c->app = hl_message_copy(&room, a->app);
    c->head = hl_message_copy(&room, a->head);
    c->body = a->body;
    enum hl_err err = hl_sql_copy_body(&c->body, (struct hl_str){a->body.bytes, a->body.size});
    if (err)
        hl_claimed_free(c);
    else
        *out = c;
    return err;
}

enum hl_err hl_fresh_claim(struct hl_database *db, int64_t now_ms, struct hl_claimed **out)
{
    while (db->fresh[db->fresh_begun].has_begun)
        db->fresh_begun++;
    struct hl_fresh_run *fresh = &db->fresh[db->fresh_begun];
    enum hl_err err = make_claimed(fresh->accept, out);
    if (err)
        return err;
    fresh->has_begun = true;
    fresh->started_ms = now_ms;
    db->n_fresh_queued--;
    db->now.claimed_ticket = fresh->number;
    hl_backlog_add_queued(db->base.backlog, -1);
    return HL_OK;
}

/* --- rows ----------------------------------------------------------------------------------- */

static enum hl_err seal_strings(struct hl_database *db, const struct hl_accept *a)
{
    enum hl_err err = HL_OK;
    if (is_async(a))
        err = hl_seal(&db->sealer, "ticket.head", &a->run_id, a->head, &db->sealed_head);
    if (!err && a->webhook_url.n > 0)
        err = hl_seal(&db->sealer, "webhook.url", &a->run_id, a->webhook_url, &db->sealed_url);
    if (!err && a->webhook_secret.n > 0)
        err = hl_seal(
            &db->sealer, "webhook.secret", &a->run_id, a->webhook_secret, &db->sealed_secret);
    return err;
}

static enum hl_err add_run(struct hl_database *db, const struct hl_fresh_run *fresh)
{
    const struct hl_accept *a = fresh->accept;
    struct hl_sql_args args = hl_database_bind(db, HL_SQL_RUN_ADD);
    hl_sql_bind_id(&args, &a->run_id);
    hl_sql_bind_int(&args, fresh->app_id);
    hl_sql_bind_int(&args, fresh->has_begun ? HL_RUN_RUNNING : HL_RUN_QUEUED);
    hl_sql_bind_int(&args, is_async(a));
    hl_sql_bind_int(&args, a->webhook_url.n > 0);
    hl_sql_bind_int(&args, a->created_ms);
    if (fresh->has_begun)
        hl_sql_bind_int(&args, fresh->started_ms);
    else
        hl_sql_bind_null(&args);
    hl_sql_bind_int(&args, fresh->has_begun); /* attempt */
    hl_sql_bind_int(&args, fresh->has_begun); /* epoch */
    hl_sql_bind_int(&args, fresh->number);
    hl_sql_bind_text(&args, a->method);
    hl_sql_bind_text(&args, hl_path_of_target(a->target));
    if (is_async(a))
        hl_sql_bind_int(&args, (int64_t)a->body.size);
    else
        hl_sql_bind_null(&args);
    return hl_database_run(db, HL_SQL_RUN_ADD);
}

static enum hl_err add_ticket(struct hl_database *db, const struct hl_fresh_run *fresh)
{
    const struct hl_accept *a = fresh->accept;
    struct hl_sql_args args = hl_database_bind(db, HL_SQL_TICKET_ADD);
    hl_sql_bind_int(&args, fresh->number);
    hl_sql_bind_id(&args, &a->run_id);
    hl_sql_bind_int(&args, is_async(a));
    if (is_async(a))
        hl_sql_bind_blob(&args, hl_buf_str(&db->sealed_head));
    else
        hl_sql_bind_null(&args);
    hl_sql_bind_body(&args, &a->body);
    hl_database_keep_file(db, &a->body);
    return hl_database_run(db, HL_SQL_TICKET_ADD);
}

static enum hl_err add_webhook(struct hl_database *db, const struct hl_accept *a)
{
    if (a->webhook_url.n == 0)
        return HL_OK;
    struct hl_sql_args args = hl_database_bind(db, HL_SQL_WEBHOOK_ADD);
    hl_sql_bind_id(&args, &a->run_id);
    hl_sql_bind_int(&args, (int64_t)hl_key_lane(&db->key, a->webhook_url));
    hl_sql_bind_blob(&args, hl_buf_str(&db->sealed_url));
    if (a->webhook_secret.n > 0)
        hl_sql_bind_blob(&args, hl_buf_str(&db->sealed_secret));
    else
        hl_sql_bind_null(&args);
    hl_sql_bind_text(&args, a->traceparent);
    return hl_database_run(db, HL_SQL_WEBHOOK_ADD);
}

static void remember(struct hl_database *db, const struct hl_fresh_run *fresh)
{
    const struct hl_accept *a = fresh->accept;
    bool has_file = a->body.where == HL_BODY_FILE;
    hl_running_add(db, &a->run_id,
        &(struct hl_stored_run){
            .app_id = fresh->app_id,
            .number = fresh->number,
            .state = HL_RUN_RUNNING,
            .epoch = 1,
            .attempt = 1,
            .is_async = is_async(a),
            .has_webhook = a->webhook_url.n > 0,
            .has_file = has_file,
            .file = a->body.file,
            .file_size = has_file ? a->body.size : 0,
        });
}

static enum hl_err write_one(struct hl_database *db, const struct hl_fresh_run *fresh)
{
    enum hl_err err = seal_strings(db, fresh->accept);
    if (!err)
        err = add_run(db, fresh);
    if (!err)
        err = add_ticket(db, fresh);
    if (!err)
        err = add_webhook(db, fresh->accept);
    if (!err && fresh->has_begun)
        remember(db, fresh);
    return err;
}

void hl_fresh_forget(struct hl_database *db)
{
    db->n_fresh = db->n_fresh_queued = db->fresh_begun = 0;
}

enum hl_err hl_fresh_write(struct hl_database *db)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < db->n_fresh && !err; i++)
        err = write_one(db, &db->fresh[i]);
    if (!err)
        hl_fresh_forget(db);
    return err;
}
