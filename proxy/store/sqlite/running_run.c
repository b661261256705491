/* running_run.c - what is known of the runs that have begun, so that their end needs no look at their
 * rows. The store's thread. The rows are the truth: what is not remembered is read, and a rollback
 * forgets everything. */
#include "store/sqlite/running_run.h"

#include <stdlib.h>

#include "store/sqlite/database.h"

void hl_running_run_add(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run)
{
    if (hl_id_map_reserve(&db->running, 1) != HL_OK)
        return;
    struct hl_stored_run *copy = malloc(sizeof(*copy));
    if (!copy)
        return;
    *copy = *run;
    hl_running_run_drop(db, run_id);
    hl_id_map_put(&db->running, run_id, copy);
}

bool hl_running_run_find(const struct hl_database *db, const struct hl_id *run_id, uint32_t epoch,
    struct hl_stored_run *run)
{
    const struct hl_stored_run *known = hl_id_map_find(&db->running, run_id);
    if (!known || known->epoch != epoch)
        return false;
    *run = *known;
    return true;
}

void hl_running_run_drop(struct hl_database *db, const struct hl_id *run_id)
{
    free(hl_id_map_remove(&db->running, run_id));
}

void hl_running_run_forget(struct hl_database *db)
{
    for (size_t i = 0; i < db->running.cap && db->running.n > 0; i++) {
        if (!db->running.entries[i].value)
            continue;
        free(db->running.entries[i].value);
        db->running.entries[i].value = NULL;
        db->running.n--;
    }
}
