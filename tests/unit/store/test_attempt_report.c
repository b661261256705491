#include <criterion/criterion.h>
#include <stdlib.h>

#include "store/attempt.h"

static struct hl_attempt_report full(void)
{
    struct hl_attempt_report r = {.name_us = -1,
        .connect_us = 0,
        .tls_us = INT32_MAX,
        .first_byte_us = 258,
        .sent_size = (uint64_t)1 << 33 | 7,
        .retry_after_s = 3600,
        .address = "[2001:db8::1]:443",
        .content_type = "text/plain",
        .body_n = HL_REPORT_BODY_MAX};
    memset(r.body, 'x', sizeof(r.body));
    r.body[3] = '\0';
    return r;
}

Test(attempt_report, comes_back_as_it_was_packed)
{
    struct hl_attempt_report r = full();
    char room[HL_REPORT_PACKED_MAX];
    struct hl_attempt_report *back = hl_attempt_report_unpack(hl_attempt_report_pack(&r, room));
    cr_assert_not_null(back);
    cr_assert_eq(memcmp(back, &r, sizeof(r)), 0);
    free(back);
}

/* Schema 19 and before: without the mark and what follows it. */
Test(attempt_report, of_an_older_hookline_is_read)
{
    struct hl_attempt_report r = full();
    char room[HL_REPORT_PACKED_MAX];
    struct hl_str packed = hl_attempt_report_pack(&r, room);
    struct hl_attempt_report *back =
        hl_attempt_report_unpack((struct hl_str){packed.p + 16, packed.n - 16});
    cr_assert_not_null(back);
    r.sent_size = r.retry_after_s = 0;
    cr_assert_eq(memcmp(back, &r, sizeof(r)), 0);
    free(back);
}

Test(attempt_report, fits_its_room_when_all_is_as_long_as_it_may_be)
{
    struct hl_attempt_report r = full();
    memset(r.address, 'a', HL_REPORT_ADDRESS_MAX);
    memset(r.content_type, 't', HL_REPORT_TYPE_MAX);
    char room[HL_REPORT_PACKED_MAX];
    cr_assert_eq(hl_attempt_report_pack(&r, room).n, sizeof(room));
}

Test(attempt_report, is_none_where_there_is_none_or_bytes_are_damaged)
{
    char room[HL_REPORT_PACKED_MAX];
    struct hl_attempt_report r = full();
    cr_assert_eq(hl_attempt_report_pack(NULL, room).n, 0);
    cr_assert_null(hl_attempt_report_unpack(HL_STR("")));
    struct hl_str packed = hl_attempt_report_pack(&r, room);
    for (size_t n = 0; n < 16 + 16 + 18 + 11; n++)
        cr_assert_null(hl_attempt_report_unpack((struct hl_str){packed.p, n}), "%zu", n);
    char longer[HL_REPORT_PACKED_MAX + 1] = {0};
    memcpy(longer, packed.p, packed.n);
    cr_assert_null(hl_attempt_report_unpack((struct hl_str){longer, packed.n + 1}));
}
