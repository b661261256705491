/* test_run.c - runs through the store: accept, claim, finish, cancel, idempotency (store.md 7). */
#include <criterion/criterion.h>
#include <string.h>

#include "fixture.h"

STORE_TEST(i1_a_run_passes_through_every_state)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.head = "HEAD", .body = "ping"}, &id), HL_OK);
    cr_assert_eq(state_of(f, &id), HL_RUN_QUEUED);

    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->epoch, 1);
    cr_assert_eq(c->attempt, 1);
    cr_assert(!c->has_webhook);
    cr_assert(hl_str_eq(c->project, HL_STR("p")) && hl_str_eq(c->app, HL_STR("a")));
    cr_assert(hl_str_eq(c->head, HL_STR("HEAD")));
    cr_assert_eq(c->body.where, HL_BODY_INLINE);
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("ping")));
    cr_assert_eq(state_of(f, &id), HL_RUN_RUNNING);

    cr_assert_eq(finish_run(f, &id, c->epoch, "pong"), HL_OK);
    struct hl_get_run g;
    cr_assert_eq(get_run(f, &id, &g), HL_OK);
    cr_assert_eq(g.state, HL_RUN_SUCCESS);
    cr_assert_eq(g.outcome.http_status, 200);
    cr_assert_str_eq(g.outcome.content_type, "text/plain");
    cr_assert(
        hl_str_eq((struct hl_str){g.outcome.body.bytes, g.outcome.body.size}, HL_STR("pong")));
    hl_body_fini(&g.outcome.body);
    hl_claimed_free(c);
}
