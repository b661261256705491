/* test_gather.c - a body that comes before its call has a slot of the app. */
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "run/gather.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runs_fixture.h"

#define HEAD "POST / HTTP/1.1\r\n\r\n"

static struct hl_run *run;

static void begin(void)
{
    runs_begin();
    run = run_new();
    cr_assert(hl_page_make(&run->request.page, &runs.pages, 1));
    hl_page_append(&run->request.page, hl_str_from(HEAD));
}

TestSuite(gather, .init = begin, .fini = runs_end, .timeout = 60);

static void assert_page(const char *text)
{
    cr_assert_eq(run->request.page.n, strlen(text));
    cr_assert_eq(memcmp(run->request.page.p, text, run->request.page.n), 0);
}

Test(gather, stands_behind_the_head_as_it_came)
{
    run->request.framing = HL_FRAMING_LENGTH;
    cr_assert(hl_gather_add(run, HL_STR("abc")));
    cr_assert(hl_gather_add(run, HL_STR("de")));
    cr_assert(hl_gather_add_end(run, HL_STR("")));
    assert_page(HEAD "abcde");
    cr_assert_not(run->request.page.is_grown, "it can be sent again");
}

Test(gather, is_in_chunks_where_it_has_no_length)
{
    run->request.framing = HL_FRAMING_CHUNKED;
    cr_assert(hl_gather_add(run, HL_STR("0123456789")));
    cr_assert(hl_gather_add_end(run, HL_STR("X-Sum: 1\r\n")));
    assert_page(HEAD "a\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n");
}

Test(gather, outgrows_its_page_without_losing_a_byte)
{
    char piece[1000];
    run->request.framing = HL_FRAMING_LENGTH;
    for (int i = 0; i < 20; i++) {
        memset(piece, 'a' + i, sizeof(piece));
        cr_assert(hl_gather_add(run, (struct hl_str){piece, sizeof(piece)}));
    }
    cr_assert(run->request.page.is_grown);
    cr_assert_eq(run->request.page.n, strlen(HEAD) + 20 * sizeof(piece));
    cr_assert_eq(memcmp(run->request.page.p, HEAD, strlen(HEAD)), 0);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(run->request.page.p[strlen(HEAD) + (size_t)i * sizeof(piece)], 'a' + i);
    cr_assert_eq(runs.pages.slab.in_use, 0, "the page was given back");
}

Test(gather, is_enough_at_256_KiB)
{
    struct hl_client client = {.body_seen = 256 * 1024 - 1};
    run->client = &client;
    cr_assert_not(hl_gather_is_enough(run));
    client.body_seen++;
    cr_assert(hl_gather_is_enough(run));
    run->client = NULL;
}

Test(gather, is_needed_only_where_callers_share_few_slots_and_a_body_is_still_to_come)
{
    struct hl_client client;
    run->client = &client;
    cr_assert_not(hl_gather_is_needed(run));
    config.app_concurrency = 1;
    cr_assert(hl_gather_is_needed(run));
    run->request.is_whole = true;
    cr_assert_not(hl_gather_is_needed(run));
    run->request.is_whole = false;
    run->client = NULL;
    cr_assert_not(hl_gather_is_needed(run), "a stored body waits for nobody");
}
