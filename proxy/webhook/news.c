/* news.c - see news.h. Thread: the sender's. */
#include "webhook/news.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/destination.h"
#include "store/lease.h"
#include "webhook/parcel.h"
#include "webhook/transfer_result.h"

void hl_news_post(struct hl_mailbox *to, enum hl_news_kind kind, int64_t since_ms,
    const char *destination, const char *error)
{
    size_t n = strlen(destination) + 1;
    struct hl_news *news = to && n > 1 ? malloc(sizeof(*news) + n) : NULL;
    if (!news)
        return;
    *news = (struct hl_news){.msg.type = HL_NEWS, .kind = kind, .since_ms = since_ms};
    snprintf(news->error, sizeof(news->error), "%s", error);
    memcpy(news->destination, destination, n);
    hl_mailbox_post(to, &news->msg);
}

void hl_news_tell(struct hl_mailbox *to, enum hl_news_kind kind, int64_t since_ms,
    const struct hl_parcel *p, const struct hl_transfer_result *result)
{
    char destination[HL_DESTINATION_MAX], status[16];
    if (!to || hl_destination_write(destination, p->leased->url) == 0)
        return;
    snprintf(status, sizeof(status), "status %u", result->http_status);
    hl_news_post(to, kind, since_ms, destination, result->http_status > 0 ? status : result->error);
}
