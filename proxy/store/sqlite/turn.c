/* turn.c - see turn.h. */
#include "store/sqlite/turn.h"

#include "base/log.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/running_run.h"

static void bind_turn(struct hl_sql_args *args, int64_t number, const struct hl_queue_place *place)
{
    hl_sql_bind_int(args, HL_SQL_P_CLASS, place->class);
    hl_sql_bind_int(args, HL_SQL_P_SUBJECT, (int64_t)place->subject);
    hl_sql_bind_int(args, HL_SQL_P_TURN, place->turn);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
}

enum hl_err hl_turn_put_many(struct hl_database *db, const struct hl_waiting_run *runs, size_t n)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0, many; i < n && !err; i += many) {
        many = hl_sql_many(n - i);
        enum hl_sql which = hl_database_many(HL_SQL_TURN_ADD, many);
        struct hl_sql_args *args = hl_database_bind(db, which);
        for (size_t k = 0; k < many; k++) {
            if (runs[i + k].number < db->now.oldest_queued)
                db->now.oldest_queued = runs[i + k].number;
            bind_turn(hl_sql_args_row(args, k), runs[i + k].number, runs[i + k].place);
        }
        err = hl_database_run(db, which);
    }
    return err;
}

enum hl_err hl_turn_put(struct hl_database *db, int64_t number, const struct hl_queue_place *place)
{
    return hl_turn_put_many(db, &(struct hl_waiting_run){number, place}, 1);
}

static enum hl_err end(struct hl_database *db, int64_t number, const struct hl_queue_place *place)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TURN_END);
    hl_sql_bind_int(args, HL_SQL_P_CLASS, place->class);
    hl_sql_bind_int(args, HL_SQL_P_TURN, place->turn);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
    return hl_database_run(db, HL_SQL_TURN_END);
}

enum hl_err hl_turn_start(struct hl_database *db, const struct hl_stored_run *run)
{
    hl_backlog_start(db->base.backlog, &run->place);
    return end(db, run->number, &run->place);
}

enum hl_err hl_turn_drop(struct hl_database *db, const struct hl_stored_run *run)
{
    hl_backlog_unqueue(db->base.backlog, &run->place);
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
