/* test_hello.c - a client's hello in pieces. */
#include "tls/hello.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hl_buf held;

static void begin(void)
{
    hl_buf_init(&held, 0);
}

static void end(void)
{
    hl_buf_fini(&held);
}

TestSuite(tls_hello, .init = begin, .fini = end);

static void add(const void *p, size_t n)
{
    cr_assert_eq(hl_buf_append(&held, p, n), HL_OK);
}

static void add_record(const unsigned char *content, size_t n)
{
    const unsigned char head[] = {22, 3, 1, (unsigned char)(n >> 8), (unsigned char)n};
    add(head, sizeof(head));
    add(content, n);
}

/* Of `n` bytes, its head included. */
static unsigned char *make_hello(size_t n)
{
    static unsigned char hello[20000];
    for (size_t i = 0; i < n; i++)
        hello[i] = (unsigned char)(i * 7);
    hello[0] = 1;
    hello[1] = 0;
    hello[2] = (unsigned char)((n - 4) >> 8);
    hello[3] = (unsigned char)(n - 4);
    return hello;
}

static void assert_is_one_record(const unsigned char *hello, size_t n)
{
    const unsigned char *p = (const unsigned char *)held.p;
    cr_assert_eq(held.n, 5 + n);
    cr_assert_eq((size_t)(p[3] << 8 | p[4]), n);
    cr_assert_arr_eq(p + 5, hello, n);
}

Test(tls_hello, in_one_record_stays_as_it_is)
{
    const unsigned char *hello = make_hello(300);
    add_record(hello, 300);
    cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WHOLE);
    assert_is_one_record(hello, 300);
}

Test(tls_hello, in_records_of_any_size_becomes_one)
{
    for (size_t size = 1; size < 300; size += size < 8 ? 1 : 50) {
        const unsigned char *hello = make_hello(300);
        held.n = 0;
        for (size_t at = 0; at < 300; at += size) {
            if (at > 0)
                cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_PARTIAL, "%zu", at);
            add_record(hello + at, 300 - at < size ? 300 - at : size);
        }
        cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WHOLE, "%zu", size);
        assert_is_one_record(hello, 300);
    }
}

Test(tls_hello, in_many_records_that_come_at_once_becomes_one_and_leaves_what_follows)
{
    static const unsigned char next[] = {20, 3, 3, 0, 1, 1, 22, 3};
    const unsigned char *hello = make_hello(3000);
    for (size_t at = 0; at < 3000; at++)
        add_record(hello + at, 1);
    cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WHOLE);
    assert_is_one_record(hello, 3000);

    held.n = 0;
    for (size_t at = 0; at < 3000; at += 1000)
        add_record(hello + at, 1000);
    add(next, sizeof(next));
    cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WHOLE);
    cr_assert_eq(held.n, 5 + 3000 + sizeof(next));
    cr_assert_arr_eq(held.p + 5 + 3000, next, sizeof(next));
    held.n = 5 + 3000;
    assert_is_one_record(hello, 3000);
}

Test(tls_hello, is_awaited_byte_by_byte)
{
    const unsigned char *hello = make_hello(300);
    struct hl_buf all;
    add_record(hello, 100);
    add_record(hello + 100, 200);
    all = held;
    hl_buf_init(&held, 0);
    for (size_t i = 0; i < all.n; i++) {
        cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_PARTIAL);
        add(all.p + i, 1);
    }
    cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WHOLE);
    assert_is_one_record(hello, 300);
    hl_buf_fini(&all);
}

Test(tls_hello, that_cannot_become_right_is_wrong)
{
    static const struct {
        const char *bytes;
        size_t n;
    } second[] = {
        {"\x17\x03\x01\x00\x01x", 6}, /* another kind of record between the pieces */
        {"\x17", 1}, {"\x16\x02", 2}, {"\x16\x03\x01\x00\x00", 5}, /* empty */
        {"\x16\x03\x01\x40\x01", 5},                               /* too long */
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(second); i++) {
        held.n = 0;
        add_record(make_hello(300), 10);
        add(second[i].bytes, second[i].n);
        cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WRONG, "%zu", i);
    }
    held.n = 0;
    add_record((const unsigned char *)"\x02\0\0\1x", 5); /* another message */
    cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WRONG);
    held.n = 0;
    add_record(make_hello(20000), 10); /* longer than mbedTLS takes */
    cr_assert_eq(hl_tls_hello_join(&held), HL_TLS_HELLO_WRONG);
}
