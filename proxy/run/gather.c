/* gather.c - the body of a call that has no slot of the app yet.
 * Owns: the page's growth. Thread: the worker's.
 * Promise: memory stays under 256 KiB and what one read brings more; it goes when the page is sent.
 * Not here: the slot (admission.c), the caller's silence (client.c: HOOKLINE_BODY_TIMEOUT). */
#include "run/gather.h"

#include <string.h>

#include "caller/client.h"

#define GATHER_MAX (256 * 1024)

static bool reserve(struct hl_run *run, size_t n)
{
    struct hl_runs *runs = run->runs;
    size_t cap = run->page_cap;
    if (run->page_n + n <= cap)
        return true;
    while (cap < run->page_n + n)
        cap *= 2;
    char *page = hl_pages_get(&runs->pages, cap);
    if (!page)
        return false;
    memcpy(page, run->page, run->page_n);
    hl_pages_put(&runs->pages, run->page, run->page_cap);
    run->page = page;
    run->page_cap = cap;
    run->is_page_grown = true;
    return true;
}

static void append(struct hl_run *run, struct hl_str bytes)
{
    if (bytes.n)
        memcpy(run->page + run->page_n, bytes.p, bytes.n);
    run->page_n += bytes.n;
}

bool hl_gather_add(struct hl_run *run, struct hl_str data)
{
    bool is_chunked = run->request_framing == HL_FRAMING_CHUNKED;
    if (!reserve(run, data.n + HL_CHUNK_HEAD_MAX + 2))
        return false;
    if (is_chunked)
        run->page_n += hl_chunk_head_write(run->page + run->page_n, data.n);
    append(run, data);
    if (is_chunked)
        append(run, HL_STR("\r\n"));
    return true;
}

bool hl_gather_add_end(struct hl_run *run, struct hl_str trailer)
{
    if (run->request_framing != HL_FRAMING_CHUNKED)
        return true;
    if (!reserve(run, trailer.n + 5))
        return false;
    append(run, HL_STR("0\r\n"));
    append(run, trailer);
    append(run, HL_STR("\r\n"));
    return true;
}

bool hl_gather_is_enough(const struct hl_run *run)
{
    return run->client->body_seen >= GATHER_MAX;
}
