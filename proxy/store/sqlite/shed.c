/* shed.c - what goes when the store is at its size limit: what is kept of requests, the bodies of the oldest finished
 * runs, the keys of runs that are gone, then those runs, dead letters last. The store's thread; each step is a transaction
 * of its own, and gives no more than it takes to come within the limit. How far each walk has come is in db->now: a step
 * that is rolled back has not been there. */
#include "base/clock.h"
#include "store/driver.h"
#include "store/sqlite/database.h"

/* Between two turns of a walk through what was passed over, where a delivery has ended since. */
#define LEAST_PAUSE_MS 250
#define LOOKS_A_MS     10
/* Results that one step looks at: about a millisecond. */
#define SHED_LOOKS 256
#define SHED_KEYS  64
#define SMALL_BODY 1024
/* What a body in a file costs a step, in rows. */
#define FILE_COST 4

/* A small one among many frees no page: it goes with its run. */
static bool has_body(const struct hl_result *result)
{
    return result->where == HL_BODY_FILE ||
           (result->where == HL_BODY_INLINE && result->size > SMALL_BODY);
}

/* The youngest eighth keeps its bodies while there are runs to give and it is not long bodies that
 * fill the store: when nearly all that is kept has no body any more, records are what fills it, and each
 * new answer would be gone before its caller has read it. */
static bool is_spared(struct hl_database *db, int64_t number)
{
    int64_t oldest = db->now.shed[HL_SHED_RUNS].result, newest = db->next_number;
    return number > newest - (newest - oldest) / 8 && !hl_upkeep_is_mostly_long(db);
}

static enum hl_err has_delivery(
    struct hl_database *db, const struct hl_id *run_id, enum hl_delivery_state state, bool *has)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_OF);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    hl_sql_bind_int(args, HL_SQL_P_STATE, state);
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_OF, &row);
    *has = !err;
    if (!err)
        hl_database_done(db, HL_SQL_DELIVERY_OF);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* `*pending`: it may go when its delivery has ended. */
static enum hl_err may_go(struct hl_database *db, enum hl_shed what, const struct hl_result *result,
    bool *may, bool *pending)
{
    bool is_dead = false;
    if (what == HL_SHED_REQUESTS) {
        *may = result->has_request;
        return HL_OK;
    }
    *may = what != HL_SHED_BODIES || has_body(result);
    if (!*may)
        return HL_OK;
    enum hl_err err = has_delivery(db, &result->run_id, HL_DELIVERY_PENDING, pending);
    if (!err && what == HL_SHED_RUNS)
        err = has_delivery(db, &result->run_id, HL_DELIVERY_DEAD, &is_dead);
    *may = !*pending && !is_dead;
    return err;
}

static enum hl_err give_up(
    struct hl_database *db, enum hl_shed what, const struct hl_result *result)
{
    if (what == HL_SHED_REQUESTS)
        return hl_result_drop_request(db, result);
    if (what == HL_SHED_BODIES) {
        db->now.shed_bodies++;
        return hl_result_strip(db, result);
    }
    db->now.shed_runs++;
    return hl_result_drop(db, result);
}

/* Looks at the next result; `*left` is what the step may still cost. */
static enum hl_err shed_next(struct hl_database *db, enum hl_shed what, int *left)
{
    struct hl_result result;
    struct hl_shed_walk *walk = &db->now.shed[what];
    bool may = false, pending = false;
    enum hl_err err = hl_result_next(db, HL_SQL_RESULT_AFTER, walk->result, &result);
    if (!err && what == HL_SHED_BODIES && is_spared(db, result.number))
        err = HL_ERR_NOT_FOUND;
    if (!err)
        err = may_go(db, what, &result, &may, &pending);
    if (err)
        return err;
    walk->result = result.number;
    walk->looks++;
    if (pending && walk->again == 0)
        walk->again = result.number;
    if (!may)
        return HL_OK;
    bool is_file =
        what == HL_SHED_REQUESTS ? result.has_request_file : result.where == HL_BODY_FILE;
    *left -= is_file ? FILE_COST : 1;
    return give_up(db, what, &result);
}

/* The longer the last turn took, the later is the next: looking takes a tenth of the time at most. */
static int64_t pause_before_turn(const struct hl_shed_walk *walk)
{
    int64_t ms = LEAST_PAUSE_MS + walk->looks / LOOKS_A_MS;
    return ms < HL_PURGE_LOOK_AGAIN_MS ? ms : HL_PURGE_LOOK_AGAIN_MS;
}

/* A walk only goes forward, so that a store with nothing left to give is not looked through again
 * and again; those that were passed over because of a pending delivery have another turn soon
 * after one has ended, those that ended behind its back as soon as it has come to the end. */
static enum hl_err shed(struct hl_database *db, enum hl_shed what, unsigned max)
{
    struct hl_shed_walk *walk = &db->now.shed[what];
    enum hl_err err = HL_OK;
    int most = (int)max * FILE_COST, left = most;
    bool is_over = true;
    for (unsigned i = 0; i < SHED_LOOKS && left > 0 && is_over && !err; i++) {
        int before = left;
        err = shed_next(db, what, &left);
        if (left < before)
            is_over = hl_upkeep_is_over(db);
    }
    if (err == HL_ERR_NOT_FOUND && left < most)
        return HL_OK;
    int64_t now_ms = hl_clock_wall_ms();
    if (err == HL_ERR_NOT_FOUND && walk->again > 0 &&
        !hl_purge_is_pause(walk->again_ms, HL_PURGE_LOOK_AGAIN_MS, now_ms)) {
        walk->result = walk->again - 1;
        walk->again = 0;
        walk->again_ms = now_ms + HL_PURGE_LOOK_AGAIN_MS;
        walk->soon_ms = now_ms + pause_before_turn(walk);
        walk->looks = 0;
        err = HL_OK;
    }
    return err;
}

void hl_shed_note_delivery_end(struct hl_database *db)
{
    for (int what = HL_SHED_BODIES; what < HL_SHED_WALKS; what++) {
        struct hl_shed_walk *walk = &db->now.shed[what];
        if (walk->again_ms > walk->soon_ms)
            walk->again_ms = walk->soon_ms;
    }
}

/* The keys of runs that are gone go after them: kept for their day they would fill what the runs have
 * given up, until nothing else is left to give. */
static enum hl_err shed_keys(struct hl_database *db)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_IDEM_SHED);
    hl_sql_bind_int(args, HL_SQL_P_MAX, SHED_KEYS);
    enum hl_err err = hl_database_run(db, HL_SQL_IDEM_SHED);
    return err || sqlite3_changes(db->db) > 0 ? err : HL_ERR_NOT_FOUND;
}

enum hl_err hl_shed_step(struct hl_driver *d, unsigned max)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = shed(db, HL_SHED_REQUESTS, max);
    if (err == HL_ERR_NOT_FOUND)
        err = shed(db, HL_SHED_BODIES, max);
    if (err == HL_ERR_NOT_FOUND)
        err = shed_keys(db);
    for (int what = HL_SHED_RUNS; what < HL_SHED_WALKS && err == HL_ERR_NOT_FOUND; what++)
        err = shed(db, (enum hl_shed)what, max);
    return hl_database_end(db, err);
}

void hl_shed_note_late(struct hl_database *db, int64_t number, bool keeps_request)
{
    for (int what = keeps_request ? 0 : HL_SHED_BODIES; what < HL_SHED_WALKS; what++) {
        struct hl_shed_walk *walk = &db->now.shed[what];
        if (number > walk->result)
            continue;
        if (walk->again == 0 || walk->again > number)
            walk->again = number;
        walk->again_ms = 0;
    }
}
