/* test_intake.c - how much may wait before what brings work is refused. */
#include <criterion/criterion.h>

#include "store/intake.h"
#include "store/op.h"

enum { MOST = 4096, LIGHT = 64, ALL_BYTES = 64 << 20 };

static struct hl_intake intake;

static enum hl_err enter(enum hl_store_op op, size_t weight)
{
    const struct hl_store_msg m = {.msg.type = op};
    return hl_intake_enter(&intake, &m, weight);
}

Test(intake, takes_a_record_where_so_many_wait_that_an_accept_is_refused)
{
    for (int i = 0; i < MOST; i++)
        cr_assert_eq(enter(HL_STORE_FINISH, LIGHT), HL_OK);
    cr_assert_eq(enter(HL_STORE_ACCEPT, LIGHT), HL_ERR_BUSY);
    cr_assert_eq(enter(HL_STORE_RECORD, LIGHT), HL_OK);
    hl_intake_leave(&intake, LIGHT);
    hl_intake_leave(&intake, LIGHT);
    cr_assert_eq(enter(HL_STORE_ACCEPT, LIGHT), HL_OK);
}

Test(intake, refuses_what_brings_work_beyond_its_bytes_and_nothing_else)
{
    cr_assert_eq(enter(HL_STORE_FINISH, ALL_BYTES), HL_OK);
    cr_assert_eq(enter(HL_STORE_RECORD, 1), HL_ERR_BUSY);
    cr_assert_eq(enter(HL_STORE_ACCEPT, 1), HL_ERR_BUSY);
    cr_assert_eq(enter(HL_STORE_FINISH, 1), HL_OK);
}

Test(intake, has_room_for_what_became_lighter)
{
    cr_assert_eq(enter(HL_STORE_FINISH, ALL_BYTES), HL_OK);
    hl_intake_shrink(&intake, LIGHT);
    cr_assert_eq(enter(HL_STORE_RECORD, LIGHT + 1), HL_ERR_BUSY);
    cr_assert_eq(enter(HL_STORE_RECORD, LIGHT), HL_OK);
    hl_intake_leave(&intake, LIGHT);
    hl_intake_leave(&intake, ALL_BYTES - LIGHT);
    cr_assert_eq(enter(HL_STORE_RECORD, ALL_BYTES), HL_OK);
}
