/* reply.c - see reply.h. */
#include "store/postgres/reply.h"

#include "loop/mailbox.h"
#include "store/intake.h"
#include "store/op.h"
#include "store/operation.h"
#include "store/postgres/state.h"

void hl_pg_reply(struct hl_pg_store *s, struct hl_store_msg *m, size_t weight, enum hl_err rc)
{
    hl_intake_leave(&s->intake, weight);
    if (rc != HL_OK)
        hl_operation_clear(m);
    m->rc = rc;
    hl_mailbox_post(m->reply_to, &m->msg);
}
