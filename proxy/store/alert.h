/* alert.h - alerts that were told, as all who share a store and later processes know them, and how one is told.
 * Messages as store.h has them; what the text says is the asker's (alert/book.h). */
#ifndef HL_STORE_ALERT_H
#define HL_STORE_ALERT_H

#include "base/buf.h"
#include "store/op.h"

struct hl_accept;
struct hl_finish;

/* GET_ALERTS: the text that is kept; NOT_FOUND: none. */
struct hl_get_alerts {
    struct hl_store_msg m;
    struct hl_buf value; /* reply; owned by the message */
};
void hl_get_alerts_fini(struct hl_get_alerts *g);

/* TELL_ALERT: the text becomes `value`, and in the same commit a run begins and ends whose webhook is the alert.
 * STALE: what is kept is not `former` (empty: nothing) any more: nothing changed. Any other error: nothing did
 * either, as far as is known. */
struct hl_tell_alert {
    struct hl_store_msg m;
    struct hl_buf former, value; /* owned by the message, as what follows */
    struct hl_accept *run;       /* a RECORD; NULL: nothing is told, the text alone is another */
    struct hl_finish *end;       /* its FINISH: of a body that is INLINE */
};
void hl_tell_alert_free(struct hl_tell_alert *t); /* NULL-safe */

#endif
