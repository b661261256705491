#include <criterion/criterion.h>

#include "base/buf.h"

Test(buf, grows_and_keeps_its_bytes)
{
    struct hl_buf b;
    hl_buf_init(&b, 0);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(hl_buf_printf(&b, "%03d,", i), HL_OK);
    cr_assert_eq(b.n, 4000);
    cr_assert_eq(memcmp(b.p + 3996, "999,", 4), 0);
    hl_buf_drop(&b, 3996);
    cr_assert(hl_str_eq(hl_buf_str(&b), HL_STR("999,")));
    hl_buf_fini(&b);
    cr_assert_eq(b.n, 0);
}

Test(buf, refuses_what_exceeds_its_cap_and_appends_nothing)
{
    struct hl_buf b;
    hl_buf_init(&b, 10);
    cr_assert_eq(hl_buf_append_str(&b, HL_STR("12345678")), HL_OK);
    cr_assert_eq(hl_buf_append_str(&b, HL_STR("abc")), HL_ERR_TOO_LARGE);
    cr_assert_eq(hl_buf_printf(&b, "%s", "abc"), HL_ERR_TOO_LARGE);
    cr_assert(hl_str_eq(hl_buf_str(&b), HL_STR("12345678")));
    cr_assert_eq(hl_buf_printf(&b, "%s", "ab"), HL_OK);
    cr_assert(hl_str_eq(hl_buf_str(&b), HL_STR("12345678ab")));
    cr_assert_eq(hl_buf_reserve(&b, SIZE_MAX), HL_ERR_TOO_LARGE);
    hl_buf_fini(&b);
}

Test(buf, drops_everything_when_asked_for_more)
{
    struct hl_buf b;
    hl_buf_init(&b, 0);
    cr_assert_eq(hl_buf_append_str(&b, HL_STR("abc")), HL_OK);
    hl_buf_drop(&b, 7);
    cr_assert_eq(b.n, 0);
    hl_buf_fini(&b);
}
