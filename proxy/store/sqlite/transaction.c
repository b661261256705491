/* transaction.c - how a transaction begins and ends, and what a rollback puts back. The store's
 * thread. */
#include "store/sqlite/transaction.h"

#include "base/log.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/minute.h"
#include "store/sqlite/new_run.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"

enum hl_err hl_transaction_begin(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    db->base.is_broken = false;
    db->before = db->now;
    return hl_database_run(db, HL_SQL_BEGIN);
}

void hl_transaction_rollback(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    /* A full volume or an I/O error may have rolled back already. */
    if (!sqlite3_get_autocommit(db->db) && hl_database_run(db, HL_SQL_ROLLBACK) != HL_OK)
        HL_LOG(ERROR, "store: a rollback failed");
    db->now = db->before;
    db->app_id = 0;
    hl_new_run_forget(db);
    hl_run_end_forget(db);
    hl_minute_forget(db);
    hl_running_run_forget(db);
    db->base.is_broken = false;
}

enum hl_err hl_transaction_commit(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = hl_run_end_write(db);
    if (!err)
        err = hl_minute_write(db);
    if (!err)
        err = hl_database_run(db, HL_SQL_COMMIT);
    if (err)
        hl_transaction_rollback(d);
    else
        db->before = db->now;
    return err;
}
