/* test_alert.c - alerts in every store: what is kept of them changes with the delivery that tells one, or neither does. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "fixture.h"
#include "store/accept.h"
#include "store/alert.h"
#include "store/claim.h"
#include "store/lease.h"

#define URL  "https://alerts.example/hook"
#define BODY "{\"type\":\"hookline.alert.app_not_ready\"}"

/* NULL `id`: nothing is told. */
static enum hl_err tell(
    struct fixture *f, const char *former, const char *value, const struct hl_id *id)
{
    struct hl_tell_alert *t = calloc(1, sizeof(*t));
    cr_assert_not_null(t);
    t->m.msg.type = HL_STORE_TELL_ALERT;
    cr_assert_eq(hl_buf_append_str(&t->former, hl_str_from(former)), HL_OK);
    cr_assert_eq(hl_buf_append_str(&t->value, hl_str_from(value)), HL_OK);
    if (id) {
        t->run = make_accept(f, HL_STORE_RECORD, &(struct run_spec){.url = URL, .id = *id});
        t->end = make_finish(id, 1, BODY);
        t->end->outcome.encoding = HL_ENCODING_JSON;
    }
    enum hl_err rc = ask(f, &f->asker, &t->m);
    hl_tell_alert_free(t);
    return rc;
}

static void assert_kept(struct fixture *f, const char *value)
{
    struct hl_get_alerts g = {.m.msg.type = HL_STORE_GET_ALERTS};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&g.value), hl_str_from(value)));
    hl_get_alerts_fini(&g);
}

STORE_TEST(an_alert_is_told_by_whoever_knows_the_former_ones_and_by_nobody_else)
{
    struct hl_get_alerts none = {.m.msg.type = HL_STORE_GET_ALERTS};
    struct hl_id first = new_id(f), second = new_id(f);
    cr_assert_eq(ask(f, &f->asker, &none.m), HL_ERR_NOT_FOUND);
    cr_assert_eq(tell(f, "x", "a", &first), HL_ERR_STALE);
    cr_assert_eq(tell(f, "", "a", &first), HL_OK);
    cr_assert_eq(tell(f, "", "b", &second), HL_ERR_STALE);
    cr_assert_eq(state_of(f, &first), HL_RUN_SUCCESS);
    assert_kept(f, "a");
    give_lease_credit(f, 2);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&l->run_id, &first));
    cr_assert(hl_str_eq(l->url, HL_STR(URL)));
    cr_assert_eq(l->outcome.encoding, HL_ENCODING_JSON);
    cr_assert_eq(l->outcome.body.size, sizeof(BODY) - 1);
    cr_assert(hl_body_is_intact(&l->outcome.body));
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED));
    hl_leased_free(l);
}

STORE_TEST(what_is_kept_of_alerts_changes_without_one_too)
{
    cr_assert_eq(tell(f, "", "a", NULL), HL_OK);
    cr_assert_eq(tell(f, "a", "b", NULL), HL_OK);
    assert_kept(f, "b");
    give_lease_credit(f, 1);
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED));
}

TestSuite(alert);

/* The run of the second is there already: its row cannot be written. */
Test(alert, what_is_kept_stays_where_the_delivery_cannot_be_written)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    struct hl_id id = new_id(&f);
    cr_assert_eq(tell(&f, "", "a", &id), HL_OK);
    cr_assert_neq(tell(&f, "a", "b", &id), HL_OK);
    assert_kept(&f, "a");
    cr_assert_eq(fixture_count(&f, "delivery"), 1);
    fixture_fini(&f);
}
