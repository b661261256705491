/* gather.c - the body of a call that has no slot of the app yet.
 * Owns: the page's growth. Thread: the worker's.
 * Promise: memory stays under 256 KiB and what one read brings more; it goes when the page is sent.
 * Not here: the slot (admission.c), the caller's silence (client.c: HOOKLINE_BODY_TIMEOUT). */
#include "run/gather.h"

#include <string.h>

#include "caller/client.h"

#define GATHER_MAX (256 * 1024)

static bool reserve(struct hl_page *page, struct hl_pages *pages, size_t n)
{
    struct hl_page larger = *page;
    if (page->n + n <= page->cap)
        return true;
    while (larger.cap < page->n + n)
        larger.cap *= 2;
    larger.p = hl_pages_get(pages, larger.cap);
    if (!larger.p)
        return false;
    memcpy(larger.p, page->p, page->n);
    larger.is_grown = true;
    hl_page_drop(page, pages);
    *page = larger;
    return true;
}

bool hl_gather_add(struct hl_run *run, struct hl_str data)
{
    struct hl_page *page = &run->request.page;
    bool is_chunked = run->request.framing == HL_FRAMING_CHUNKED;
    if (!reserve(page, &run->runs->pages, data.n + HL_CHUNK_HEAD_MAX + 2))
        return false;
    if (is_chunked)
        page->n += hl_chunk_head_write(page->p + page->n, data.n);
    hl_page_append(page, data);
    if (is_chunked)
        hl_page_append(page, HL_STR("\r\n"));
    return true;
}

bool hl_gather_add_end(struct hl_run *run, struct hl_str trailer)
{
    struct hl_page *page = &run->request.page;
    if (run->request.framing != HL_FRAMING_CHUNKED)
        return true;
    if (!reserve(page, &run->runs->pages, trailer.n + 5))
        return false;
    hl_page_append(page, HL_STR("0\r\n"));
    hl_page_append(page, trailer);
    hl_page_append(page, HL_STR("\r\n"));
    return true;
}

bool hl_gather_is_enough(const struct hl_run *run)
{
    return run->client->body_seen >= GATHER_MAX;
}
