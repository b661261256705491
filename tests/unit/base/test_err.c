#include <criterion/criterion.h>
#include <errno.h>

#include "base/err.h"

Test(err, has_a_text_for_every_code)
{
#define X(name, text) cr_assert_str_eq(hl_err_text(HL_ERR_##name), (text));
    HL_ERR_MAP(X)
#undef X
    cr_assert_str_eq(hl_err_text((enum hl_err)9999), "unknown error");
}

Test(err, maps_errno)
{
    cr_assert_eq(hl_err_from_errno(0), HL_OK);
    cr_assert_eq(hl_err_from_errno(ENOSPC), HL_ERR_FULL);
    cr_assert_eq(hl_err_from_errno(EMFILE), HL_ERR_EXHAUSTED);
    cr_assert_eq(hl_err_from_errno(ENFILE), HL_ERR_EXHAUSTED);
    cr_assert_eq(hl_err_from_errno(ENOENT), HL_ERR_NOT_FOUND);
    cr_assert_eq(hl_err_from_errno(ECONNREFUSED), HL_ERR_UNAVAILABLE);
    cr_assert_eq(hl_err_from_errno(EIO), HL_ERR_IO);
    cr_assert_eq(hl_err_from_errno(123456), HL_ERR_IO);
}
