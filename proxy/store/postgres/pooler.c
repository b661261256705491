/* pooler.c - see thread.h. Until it is found out sessions of the pool have been told what is ours; that is taken back
 * in each that is met again. */
#include "store/postgres/thread.h"

#include "base/log.h"
#include "store/postgres/link.h"
#include "store/postgres/session.h"

static void renew(struct hl_pg_link *link)
{
    if (hl_pg_link_is_up(link) && !hl_pg_is_pooled(link->conn))
        hl_pg_link_renew(link, "it turned out to lead through a pooler");
}

static void note(struct hl_pg_store *s)
{
    if (atomic_exchange(&s->settings.is_pooled, true))
        return;
    HL_LOG(INFO, "store: connected through a pooler: each transaction sets what it relies on");
    renew(&s->writer);
    renew(&s->reader);
    renew(&s->listener);
}

void hl_pg_pooler_meet(struct hl_pg_store *s, struct hl_pg_link *link)
{
    if (hl_pg_is_pooled(link->conn))
        note(s);
    else if (atomic_load(&s->settings.is_pooled)) /* it was found out while this one began */
        renew(link);
}

void hl_pg_pooler_watch(struct hl_pg_store *s, int pid, bool is_told)
{
    if (!hl_pg_is_pooled(s->writer.conn)) {
        if (pid != PQbackendPID(s->writer.conn) || !is_told)
            note(s);
        return;
    }
    struct hl_pg_transaction *e = is_told ? hl_pg_transaction_begin(s, NULL) : NULL;
    if (!e)
        return;
    hl_pg_transaction_add(e, HL_PG_DO_SETUP_UNDO);
    bool is_sent = hl_pg_transaction_send(e);
    (void)is_sent; /* the next beat may find it again */
}
