/* test_operation.c - the rows of the store's requests: what one promises together with another. */
#include <criterion/criterion.h>

#include "base/compiler.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/change.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"

static const struct hl_operation *row(enum hl_store_op op)
{
    const struct hl_store_msg m = {.msg.type = op};
    return hl_operation_of(&m);
}

static const struct hl_change *change(enum hl_store_op op)
{
    const struct hl_store_msg m = {.msg.type = op};
    return hl_change_of(&m);
}

Test(store_operation, what_gets_a_reply_from_a_batch_can_be_applied)
{
    for (int op = HL_STORE_ACCEPT; op <= HL_STORE_KEEP_KEY; op++) {
        bool is_engines = op == HL_STORE_CREDIT || op == HL_STORE_LEASE_CREDIT ||
                          op == HL_STORE_WITHDRAW || row(op)->is_question; /* never in a batch */
        cr_expect_neq(!change(op)->apply, !is_engines, "operation %d", op);
    }
}

Test(store_operation, what_brings_work_may_be_refused_and_a_question_changes_nothing)
{
    for (int op = HL_STORE_ACCEPT; op <= HL_STORE_KEEP_KEY; op++) {
        const struct hl_operation *operation = row(op);
        cr_expect(!operation->brings_work || operation->may_be_refused, "operation %d", op);
        cr_expect(!operation->is_question ||
                      (!operation->may_be_refused && !change(op)->note && !change(op)->fill),
            "operation %d", op);
        cr_expect(!operation->limit_at || operation->is_question, "operation %d", op);
    }
}

/* What ends something, or undoes it, waits for space instead. */
Test(store_operation, what_ends_something_is_never_refused)
{
    static const enum hl_store_op ends[] = {HL_STORE_FINISH, HL_STORE_RELEASE, HL_STORE_CANCEL,
        HL_STORE_ATTEMPT, HL_STORE_OUTCOME, HL_STORE_REDELIVER, HL_STORE_REVOKE_ACCOUNT,
        HL_STORE_LIMIT_ACCOUNT};
    for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++)
        cr_expect_not(row(ends[i])->may_be_refused, "operation %d", ends[i]);
}

Test(store_operation, what_is_no_request_has_an_empty_row)
{
    static const uint32_t types[] = {0, HL_STORE_KEEP_KEY + 1, HL_STORE_CLAIMED, UINT32_MAX};
    for (size_t i = 0; i < HL_ARRAY_LEN(types); i++) {
        struct hl_store_msg m = {.msg.type = types[i]};
        cr_expect_null(hl_change_of(&m)->apply);
        cr_expect_not(hl_operation_of(&m)->is_question);
        hl_operation_prepare(&m);
        hl_operation_clear(&m);
    }
}

Test(store_operation, the_limit_of_a_list_is_bounded)
{
    struct hl_list_runs runs = {.m.msg.type = HL_STORE_LIST_RUNS};
    struct hl_list_deliveries deliveries = {
        .m.msg.type = HL_STORE_LIST_DELIVERIES, .limit = UINT32_MAX};
    struct hl_list_accounts accounts = {.m.msg.type = HL_STORE_LIST_ACCOUNTS, .limit = 7};
    hl_operation_prepare(&runs.m);
    hl_operation_prepare(&deliveries.m);
    hl_operation_prepare(&accounts.m);
    cr_expect_eq(runs.limit, 1);
    cr_expect_eq(deliveries.limit, HL_LIST_MAX);
    cr_expect_eq(accounts.limit, 7);
}

Test(store_operation, a_message_weighs_its_strings_and_the_body_that_it_carries)
{
    char bytes[100] = {0};
    struct hl_accept a = {.m.msg.type = HL_STORE_ACCEPT, .head = {bytes, 30}};
    size_t bare = sizeof(a) + 30;
    cr_expect_eq(hl_operation_weigh(&a.m), bare);
    a.body = (struct hl_body){.where = HL_BODY_INLINE, .bytes = bytes, .size = sizeof(bytes)};
    cr_expect_eq(hl_operation_weigh(&a.m), bare + sizeof(bytes));
    a.body.where = HL_BODY_FILE;
    cr_expect_eq(hl_operation_weigh(&a.m), bare);
    struct hl_attempt_report report = {0};
    struct hl_attempt_outcome outcome = {.m.msg.type = HL_STORE_OUTCOME};
    cr_expect_eq(hl_operation_weigh(&outcome.m), sizeof(outcome));
    outcome.report = &report;
    cr_expect_eq(hl_operation_weigh(&outcome.m), sizeof(outcome) + sizeof(report));
    struct hl_store_msg withdraw = {.msg.type = HL_STORE_WITHDRAW};
    cr_expect_eq(hl_operation_weigh(&withdraw), sizeof(struct hl_attempt_outcome));
}
