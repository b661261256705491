/* query.c - what all questions have in common before and after a driver answers them. Any thread. */
#include "store/query.h"

#include <stdlib.h>

#include "store/account.h"
#include "store/message.h"

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

static void bound(uint32_t *limit)
{
    *limit = *limit < 1 ? 1 : *limit < HL_LIST_MAX ? *limit : HL_LIST_MAX;
}

void hl_question_prepare(struct hl_store_msg *m)
{
    if (m->msg.type == HL_STORE_LIST_RUNS)
        bound(&((struct hl_list_runs *)m)->limit);
    else if (m->msg.type == HL_STORE_LIST_DELIVERIES)
        bound(&((struct hl_list_deliveries *)m)->limit);
    else if (m->msg.type == HL_STORE_LIST_ACCOUNTS)
        bound(&((struct hl_list_accounts *)m)->limit);
}

void hl_question_clear(struct hl_store_msg *m)
{
    switch (m->msg.type) {
    case HL_STORE_LIST_RUNS:
        hl_list_runs_fini((struct hl_list_runs *)m);
        break;
    case HL_STORE_GET_DELIVERY:
        hl_get_delivery_fini((struct hl_get_delivery *)m);
        break;
    case HL_STORE_LIST_DELIVERIES:
        hl_list_deliveries_fini((struct hl_list_deliveries *)m);
        break;
    case HL_STORE_LIST_APPS:
        hl_list_apps_fini((struct hl_list_apps *)m);
        break;
    case HL_STORE_LIST_ACCOUNTS:
        hl_list_accounts_fini((struct hl_list_accounts *)m);
        break;
    default: /* GET_RUN says more than nothing when it is CORRUPT */
        break;
    }
}
