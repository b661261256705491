/* rate_limit.c - see rate_limit.h. Any thread. Off the warm path. */
#include "http/rate_limit.h"

#include "base/assert.h"
#include "http/writer.h"

static void write_item(struct hl_writer *w, const char *policy, uint32_t number, struct hl_str name)
{
    HL_WRITE(w, "\"");
    hl_write_str(w, hl_str_from(policy));
    HL_WRITE(w, "\";");
    hl_write_str(w, name);
    HL_WRITE(w, "=");
    hl_write_u64(w, number);
}

static void write_param(struct hl_writer *w, struct hl_str name, uint32_t seconds)
{
    if (seconds == 0)
        return;
    HL_WRITE(w, ";");
    hl_write_str(w, name);
    HL_WRITE(w, "=");
    hl_write_u64(w, seconds);
}

void hl_rate_limit_write(char out[HL_RATE_LIMIT_MAX], const struct hl_rate_limit *limit)
{
    struct hl_writer writer = hl_writer_on(out, HL_RATE_LIMIT_MAX), *w = &writer;
    HL_WRITE(w, "RateLimit-Policy: ");
    write_item(w, limit->policy, limit->quota, HL_STR("q"));
    write_param(w, HL_STR("w"), limit->window_s);
    HL_WRITE(w, "\r\nRateLimit: ");
    write_item(w, limit->policy, 0, HL_STR("r"));
    write_param(w, HL_STR("t"), limit->wait_s);
    HL_WRITE(w, "\r\n");
    hl_write(w, "", 1);
    HL_ASSERT(hl_writer_end(w) > 0);
}
