/* page.c - a page that a body joins before its call has a slot of the app.
 * Promise: it grows to what has come, and loses nothing when it does.
 * Not here: how much joins it (admission.c), the caller's silence (client.c: HOOKLINE_BODY_TIMEOUT). */
#include "run/page.h"

#include "http/chunked.h"

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

bool hl_page_add_body(
    struct hl_page *page, struct hl_pages *pages, enum hl_framing framing, struct hl_str data)
{
    bool is_chunked = framing == HL_FRAMING_CHUNKED;
    if (!reserve(page, pages, data.n + HL_CHUNK_HEAD_MAX + 2))
        return false;
    if (is_chunked)
        page->n += hl_chunk_head_write(page->p + page->n, data.n);
    hl_page_append(page, data);
    if (is_chunked)
        hl_page_append(page, HL_STR("\r\n"));
    return true;
}

bool hl_page_add_end(
    struct hl_page *page, struct hl_pages *pages, enum hl_framing framing, struct hl_str trailer)
{
    if (framing != HL_FRAMING_CHUNKED)
        return true;
    if (!reserve(page, pages, trailer.n + 5))
        return false;
    hl_page_append(page, HL_STR("0\r\n"));
    hl_page_append(page, trailer);
    hl_page_append(page, HL_STR("\r\n"));
    return true;
}
