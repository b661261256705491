/* query.c - frees what the replies to questions brought. Any thread. */
#include "store/query.h"

#include <stdlib.h>

#include "store/account.h"

void hl_get_run_fini(struct hl_get_run *g)
{
    hl_run_row_fini(&g->run);
    hl_body_fini(&g->outcome.body);
}

void hl_list_runs_fini(struct hl_list_runs *l)
{
    for (size_t i = 0; i < l->count; i++)
        hl_run_row_fini(&l->rows[i]);
    free(l->rows);
    free(l->picked);
    l->rows = NULL;
    l->picked = NULL;
    l->count = l->n_picked = 0;
}

void hl_get_delivery_fini(struct hl_get_delivery *g)
{
    hl_delivery_row_fini(&g->delivery);
}

void hl_list_deliveries_fini(struct hl_list_deliveries *l)
{
    for (size_t i = 0; i < l->count; i++)
        hl_delivery_row_fini(&l->rows[i]);
    free(l->rows);
    l->rows = NULL;
    l->count = 0;
}

void hl_list_apps_fini(struct hl_list_apps *l)
{
    free(l->names);
    l->names = NULL;
    l->count = 0;
}

void hl_list_accounts_fini(struct hl_list_accounts *l)
{
    free(l->rows);
    l->rows = NULL;
    l->count = 0;
}
