#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/id.h"
#include "base/str.h"

static int order(const struct hl_id *a, const struct hl_id *b)
{
    return memcmp(a->b, b->b, sizeof(a->b));
}

Test(id, has_version_7_the_rfc_variant_and_the_time)
{
    struct hl_id_source source;
    hl_id_source_init(&source);
    for (int i = 0; i < 500; i++) {
        int64_t now = 1795248000000 + i;
        struct hl_id id = hl_id_next(&source, now);
        cr_assert_eq(id.b[6] >> 4, 7);
        cr_assert_eq(id.b[8] >> 6, 2);
        cr_assert_eq(hl_id_time_ms(&id), now);
    }
}

Test(id, grows_strictly_also_when_a_millisecond_overflows)
{
    struct hl_id_source source;
    hl_id_source_init(&source);
    struct hl_id before = hl_id_next(&source, 1000);
    for (int i = 0; i < 20000; i++) {
        struct hl_id id = hl_id_next(&source, 1000);
        cr_assert_lt(order(&before, &id), 0, "at %d", i);
        before = id;
    }
    /* 20,000 ids need between 5 and 10 counters of 2,049 to 4,096. */
    cr_assert(hl_id_time_ms(&before) >= 1004 && hl_id_time_ms(&before) <= 1010);
}

Test(id, grows_when_the_clock_is_set_back_by_seconds)
{
    struct hl_id_source source;
    hl_id_source_init(&source);
    struct hl_id a = hl_id_next(&source, 5000), b = hl_id_next(&source, 1000);
    cr_assert_lt(order(&a, &b), 0);
}

Test(id, goes_back_with_a_clock_that_was_far_ahead)
{
    struct hl_id_source source;
    hl_id_source_init(&source);
    hl_id_next(&source, 1795248000000 + 24 * 3600 * 1000);
    struct hl_id id = hl_id_next(&source, 1795248000000);
    cr_assert_eq(hl_id_time_ms(&id), 1795248000000);
}

Test(id, draws_different_random_bits_for_each_id)
{
    struct hl_id_source source;
    hl_id_source_init(&source);
    struct hl_id before = hl_id_next(&source, 1);
    for (int64_t ms = 2; ms < 1000; ms++) {
        struct hl_id id = hl_id_next(&source, ms);
        cr_assert_neq(memcmp(id.b + 8, before.b + 8, 8), 0);
        before = id;
    }
}

Test(id, formats_and_reads_back)
{
    static const struct hl_id id = {{0x01, 0x93, 0xab, 0xcd, 0xef, 0x00, 0x7f, 0xff, 0x80, 0x11,
        0x22, 0x33, 0x44, 0x55, 0x66, 0x77}};
    struct hl_id back;
    char text[HL_ID_TEXT];
    hl_id_format(&id, text);
    cr_assert_eq(memcmp(text, "0193abcd-ef00-7fff-8011-223344556677", HL_ID_TEXT), 0);
    cr_assert(hl_id_parse((struct hl_str){text, sizeof(text)}, &back));
    cr_assert(hl_id_eq(&id, &back));
    cr_assert(hl_id_parse(HL_STR("0193ABCD-EF00-7FFF-8011-223344556677"), &back));
    cr_assert(hl_id_eq(&id, &back));
}

Test(id, refuses_what_is_no_uuid)
{
    static const char *const bad[] = {"", "0193abcd-ef00-7fff-8011-22334455667",
        "0193abcd-ef00-7fff-8011-2233445566778", "0193abcdef00-7fff-8011-2233445566777",
        "0193abcd-ef00-7fff-8011-22334455667g", "0193abcd-ef00-7fff-8011+223344556677",
        "{193abcd-ef00-7fff-8011-22334455667}"};
    struct hl_id id;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_id_parse(hl_str_from(bad[i]), &id), "%s", bad[i]);
}

Test(id, knows_nil)
{
    struct hl_id id = {{0}};
    cr_assert(hl_id_is_nil(&id));
    id.b[15] = 1;
    cr_assert_not(hl_id_is_nil(&id));
}
