/* test_page.c - a body that joins a page before its call has a slot of the app. */
#include "caller/client.h"
#include "callers_fixture.h"
#include "run/page.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runs_fixture.h"

#define HEAD "POST / HTTP/1.1\r\n\r\n"

static struct hl_page page;
static enum hl_framing framing;

static void begin(void)
{
    runs_begin();
    cr_assert(hl_page_make(&page, &runs.pages, 1));
    hl_page_append(&page, hl_str_from(HEAD));
}

static void end(void)
{
    hl_page_drop(&page, &runs.pages);
    runs_end();
}

TestSuite(page, .init = begin, .fini = end, .timeout = 180);

static void assert_page(const char *text)
{
    cr_assert_eq(page.n, strlen(text));
    cr_assert_eq(memcmp(page.p, text, page.n), 0);
}

Test(page, stands_behind_the_head_as_it_came)
{
    framing = HL_FRAMING_LENGTH;
    cr_assert(hl_page_add_body(&page, &runs.pages, framing, HL_STR("abc")));
    cr_assert(hl_page_add_body(&page, &runs.pages, framing, HL_STR("de")));
    cr_assert(hl_page_add_end(&page, &runs.pages, framing, HL_STR("")));
    assert_page(HEAD "abcde");
    cr_assert_not(page.is_grown, "it can be sent again");
}

Test(page, is_in_chunks_where_it_has_no_length)
{
    framing = HL_FRAMING_CHUNKED;
    cr_assert(hl_page_add_body(&page, &runs.pages, framing, HL_STR("0123456789")));
    cr_assert(hl_page_add_end(&page, &runs.pages, framing, HL_STR("X-Sum: 1\r\n")));
    assert_page(HEAD "a\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n");
}

Test(page, outgrows_its_page_without_losing_a_byte)
{
    char piece[1000];
    framing = HL_FRAMING_LENGTH;
    for (int i = 0; i < 20; i++) {
        memset(piece, 'a' + i, sizeof(piece));
        cr_assert(
            hl_page_add_body(&page, &runs.pages, framing, (struct hl_str){piece, sizeof(piece)}));
    }
    cr_assert(page.is_grown);
    cr_assert_eq(page.n, strlen(HEAD) + 20 * sizeof(piece));
    cr_assert_eq(memcmp(page.p, HEAD, strlen(HEAD)), 0);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(page.p[strlen(HEAD) + (size_t)i * sizeof(piece)], 'a' + i);
    cr_assert_eq(runs.pages.slab.in_use, 0, "the page was given back");
}
