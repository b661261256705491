/* herald.h - tells alerts to HOOKLINE_ALERT_URL: looks whether their conditions hold, hears of others, and has what is to
 * be told stored as deliveries, once among all who share the store; what the store cannot take is sent without it.
 * The control thread's. */
#ifndef HL_ALERT_HERALD_H
#define HL_ALERT_HERALD_H

#include "alert/book.h"
#include "alert/sight.h"
#include "loop/mailbox.h"
#include "loop/wheel.h"
#include "webhook/direct.h"

struct hl_sender;
struct hl_store;

struct hl_herald {
    const struct hl_service *service; /* NULL: there are no alerts, and nothing else is set */
    struct hl_store *store;
    struct hl_sender *sender;
    struct hl_wheel *wheel;
    struct hl_timer timer;
    struct hl_uv_mailbox mail; /* of the store, of the sender */
    struct hl_id_source ids;
    struct hl_str replica; /* empty: the store is this process's own */

    struct hl_list alerts;
    unsigned count;
    struct hl_sight sight;

    struct hl_book book;
    bool has_book;            /* it is what the store has, as far as is known */
    bool has_adopted;         /* what an earlier process has told, and holds still */
    bool is_asking;           /* for that */
    struct hl_alert *telling; /* with the store; NULL: nobody is */
    bool is_note;             /* and that is only to be noted */
    uint64_t store_again_ms;  /* monotonic: it has refused, and is not asked before */

    struct hl_alert *sending; /* with the sender; NULL: nobody is */
    struct hl_direct direct;
    struct hl_buf body;       /* of that */
    uint64_t direct_again_ms; /* monotonic: that has failed, and is not tried before */
    bool is_stopped;
};

/* Where the sender's news go from now on; NULL: there are no alerts. Before the sender starts. False: no event loop
 * can be made. */
HL_MUST_CHECK bool hl_herald_init(
    struct hl_herald *h, const struct hl_service *service, uv_loop_t *loop, struct hl_wheel *wheel);
struct hl_mailbox *hl_herald_news(struct hl_herald *h);
/* With all that it borrows: it looks for the first time. */
void hl_herald_start(struct hl_herald *h, struct hl_store *store, struct hl_sender *sender);

/* Nothing more is told; before the wheel closes. Does nothing to one that is all zero, as the next two. */
void hl_herald_stop(struct hl_herald *h);
/* Nobody answers any more: closes its handle. */
void hl_herald_close(struct hl_herald *h);
void hl_herald_fini(struct hl_herald *h); /* the loop has ended */

#endif
