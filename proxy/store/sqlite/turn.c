/* turn.c - see turn.h. */
#include "store/sqlite/turn.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/running_run.h"

/* --- those that come first ------------------------------------------------------------------- */

void hl_turn_forget_ahead(struct hl_database *db)
{
    for (int i = 0; i < HL_PRIORITIES; i++)
        db->ahead[i].n = db->ahead[i].n_begun = 0;
}

/* What is known of a class ends: its first turns are over. */
static enum hl_err write_class(struct hl_database *db, struct hl_turns_ahead *ahead)
{
    size_t n_begun = ahead->n_begun;
    ahead->n = ahead->n_begun = 0;
    if (n_begun == 0)
        return HL_OK;
    const struct hl_turn *last = &ahead->turns[n_begun - 1];
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TURNS_END);
    hl_sql_bind_int(args, HL_SQL_P_CLASS, last->place.class);
    hl_sql_bind_int(args, HL_SQL_P_TURN, last->place.turn);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, last->number);
    return hl_database_run(db, HL_SQL_TURNS_END);
}

enum hl_err hl_turn_write(struct hl_database *db)
{
    enum hl_err err = HL_OK;
    for (int i = 0; i < HL_PRIORITIES && !err; i++)
        err = write_class(db, &db->ahead[i]);
    return err;
}

static void read_turn(struct hl_sql_row *row, struct hl_turn *turn)
{
    turn->place = hl_turn_read(row);
    turn->number = hl_sql_int(row);
}

static enum hl_err read_ahead(
    struct hl_database *db, enum hl_priority class, struct hl_turns_ahead *ahead)
{
    struct hl_sql_row row;
    enum hl_err err = write_class(db, ahead);
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TURNS_FIRST);
    hl_sql_bind_int(args, HL_SQL_P_CLASS, class);
    hl_sql_bind_int(args, HL_SQL_P_MAX, HL_TURNS_AHEAD);
    while (!(err = hl_database_row(db, HL_SQL_TURNS_FIRST, &row)))
        read_turn(&row, &ahead->turns[ahead->n++]);
    if (err != HL_ERR_NOT_FOUND)
        return err;
    return ahead->n > 0 ? HL_OK : HL_ERR_NOT_FOUND;
}

/* Where the subjects of some are blocked: of the others, which are walked over to. */
static enum hl_err find_other(struct hl_database *db, enum hl_priority class, struct hl_turn *turn)
{
    const struct hl_quota_blocked *blocked = &db->base.backlog->blocked;
    struct hl_sql_row row;
    db->blocked.n = 0;
    enum hl_err err = hl_turn_write(db);
    for (size_t i = 0; i < blocked->n && !err; i++) {
        char text[24];
        snprintf(text, sizeof(text), "%c%lld", i > 0 ? ',' : '[', (long long)blocked->subjects[i]);
        err = hl_buf_append_str(&db->blocked, hl_str_from(text));
    }
    if (!err)
        err = hl_buf_append_str(&db->blocked, HL_STR("]"));
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TURN_OTHER);
    hl_sql_bind_int(args, HL_SQL_P_CLASS, class);
    hl_sql_bind_text(args, HL_SQL_P_BLOCKED, hl_buf_str(&db->blocked));
    err = hl_database_row(db, HL_SQL_TURN_OTHER, &row);
    if (err)
        return err;
    read_turn(&row, turn);
    hl_database_done(db, HL_SQL_TURN_OTHER);
    return HL_OK;
}

enum hl_err hl_turn_next(struct hl_database *db, enum hl_priority class, struct hl_turn *turn)
{
    struct hl_turns_ahead *ahead = &db->ahead[class];
    if (db->base.backlog->blocked.n > 0)
        return find_other(db, class, turn);
    enum hl_err err = ahead->n_begun == ahead->n ? read_ahead(db, class, ahead) : HL_OK;
    if (!err)
        *turn = ahead->turns[ahead->n_begun];
    return err;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void bind_turn(struct hl_sql_args *args, const struct hl_turn *turn)
{
    hl_sql_bind_int(args, HL_SQL_P_CLASS, turn->place.class);
    hl_sql_bind_int(args, HL_SQL_P_SUBJECT, (int64_t)turn->place.subject);
    hl_sql_bind_int(args, HL_SQL_P_TURN, turn->place.turn);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, turn->number);
}

enum hl_err hl_turn_put_many(struct hl_database *db, const struct hl_turn *turns, size_t n)
{
    enum hl_err err = n > 0 ? hl_turn_write(db) : HL_OK;
    for (size_t i = 0, many; i < n && !err; i += many) {
        many = hl_sql_many(n - i);
        enum hl_sql which = hl_database_many(HL_SQL_TURN_ADD, many);
        struct hl_sql_args *args = hl_database_bind(db, which);
        for (size_t k = 0; k < many; k++) {
            if (turns[i + k].number < db->now.oldest_queued)
                db->now.oldest_queued = turns[i + k].number;
            bind_turn(hl_sql_args_row(args, k), &turns[i + k]);
        }
        err = hl_database_run(db, which);
    }
    return err;
}

enum hl_err hl_turn_put(struct hl_database *db, int64_t number, const struct hl_queue_place *place)
{
    return hl_turn_put_many(db, &(struct hl_turn){number, *place}, 1);
}

static enum hl_err end(struct hl_database *db, int64_t number, const struct hl_queue_place *place)
{
    enum hl_err err = hl_turn_write(db);
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TURN_END);
    hl_sql_bind_int(args, HL_SQL_P_CLASS, place->class);
    hl_sql_bind_int(args, HL_SQL_P_TURN, place->turn);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
    return hl_database_run(db, HL_SQL_TURN_END);
}

enum hl_err hl_turn_start(struct hl_database *db, const struct hl_stored_run *run)
{
    struct hl_turns_ahead *ahead = &db->ahead[run->place.class];
    hl_backlog_start(db->base.backlog, &run->place);
    if (ahead->n_begun == ahead->n || ahead->turns[ahead->n_begun].number != run->number)
        return end(db, run->number, &run->place);
    ahead->n_begun++;
    return HL_OK;
}

enum hl_err hl_turn_drop(struct hl_database *db, const struct hl_stored_run *run)
{
    hl_backlog_unqueue(db->base.backlog, &run->place);
    hl_waiting_run_drop(&db->waiting, run->number);
    return end(db, run->number, &run->place);
}

struct hl_queue_place hl_turn_read(struct hl_sql_row *row)
{
    struct hl_queue_place place = {.class = hl_priority_of((int)hl_sql_int(row))};
    place.subject = (uint64_t)hl_sql_int(row);
    place.turn = hl_sql_int(row);
    return place;
}

enum hl_err hl_turn_load(struct hl_database *db)
{
    struct hl_backlog *backlog = db->base.backlog;
    struct hl_sql_row row;
    enum hl_err err;
    while (!(err = hl_database_row(db, HL_SQL_TURN_EACH, &row))) {
        struct hl_queue_place place = hl_turn_read(&row);
        if (backlog->now.queued[place.class] == 0)
            hl_turns_begin_at(&backlog->turns, place.class, place.turn);
        hl_backlog_queue_again(backlog, &place);
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_turn_mend(struct hl_database *db)
{
    HL_LOG(ERROR, "store: the order of the queued runs was damaged and has been rebuilt");
    enum hl_err err = hl_database_run(db, HL_SQL_TURN_STALE);
    return err ? err : hl_database_run(db, HL_SQL_TURN_LOST);
}
