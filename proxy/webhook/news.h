/* news.h - what the delivery thread tells of destinations, for alerts. */
#ifndef HL_WEBHOOK_NEWS_H
#define HL_WEBHOOK_NEWS_H

#include "loop/mailbox.h"
#include "store/record.h"

struct hl_parcel;
struct hl_transfer_result;

enum { HL_NEWS = 1025 }; /* a message's type, beside HL_DIRECT */

enum hl_news_kind {
    HL_NEWS_FAILING, /* none of its last attempts had an answer, since then */
    HL_NEWS_ANSWERS, /* it has answered: for the first time in this process, or after it was failing */
    HL_NEWS_DEAD,    /* a delivery has been given up */
};

struct hl_news {
    struct hl_msg msg;
    enum hl_news_kind kind;
    int64_t since_ms; /* FAILING: wall time */
    char error[HL_ATTEMPT_ERROR_MAX +
               1];      /* FAILING, DEAD: of the last attempt; never a URL or secret */
    char destination[]; /* scheme://host, and :port unless it is the scheme's */
};

/* `to` NULL: nobody wants news. Without memory it is not told. */
void hl_news_post(struct hl_mailbox *to, enum hl_news_kind kind, int64_t since_ms,
    const char *destination, const char *error);
/* Of the attempt that has just ended. */
void hl_news_tell(struct hl_mailbox *to, enum hl_news_kind kind, int64_t since_ms,
    const struct hl_parcel *p, const struct hl_transfer_result *result);

#endif
