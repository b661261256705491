/* run_map.c - see run_map.h. */
#include "store/postgres/run_map.h"

void hl_pg_run_map_init(struct hl_pg_run_map *l)
{
    hl_id_map_init(&l->boxes);
    hl_id_map_init(&l->epochs);
}

void hl_pg_run_map_fini(struct hl_pg_run_map *l)
{
    hl_id_map_fini(&l->boxes);
    hl_id_map_fini(&l->epochs);
}

void hl_pg_run_map_clear(struct hl_pg_run_map *l)
{
    hl_id_map_clear(&l->boxes);
    hl_id_map_clear(&l->epochs);
}

enum hl_err hl_pg_run_map_reserve(struct hl_pg_run_map *l, size_t more)
{
    enum hl_err err = hl_id_map_reserve(&l->boxes, more);
    return err ? err : hl_id_map_reserve(&l->epochs, more);
}

void hl_pg_run_map_put(
    struct hl_pg_run_map *l, const struct hl_id *run, uint32_t epoch, struct hl_mailbox *box)
{
    hl_id_map_put(&l->boxes, run, box);
    hl_id_map_put(&l->epochs, run, (void *)(uintptr_t)epoch);
}

struct hl_mailbox *hl_pg_run_map_find(const struct hl_pg_run_map *l, const struct hl_id *run)
{
    return hl_id_map_find(&l->boxes, run);
}

bool hl_pg_run_map_has(const struct hl_pg_run_map *l, const struct hl_id *run, uint32_t epoch)
{
    return epoch > 0 && hl_id_map_find(&l->epochs, run) == (void *)(uintptr_t)epoch;
}

bool hl_pg_run_map_end(struct hl_pg_run_map *l, const struct hl_id *run, uint32_t epoch)
{
    if (!hl_pg_run_map_has(l, run, epoch))
        return false;
    hl_id_map_remove(&l->boxes, run);
    hl_id_map_remove(&l->epochs, run);
    return true;
}
