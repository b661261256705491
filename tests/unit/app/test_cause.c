/* test_cause.c - why the app is not reached, in words. */
#include "app/cause.h"

#include <criterion/criterion.h>
#include <string.h>
#include <uv.h>

#include "base/compiler.h"
#include "tls/tls.h"

Test(cause, has_a_text_of_its_own_for_each)
{
    for (int a = 0; a < HL_CAUSE_COUNT; a++) {
        const char *text = hl_cause_text((struct hl_cause){.kind = (enum hl_cause_kind)a});
        cr_assert_not_null(text, "%d", a);
        cr_assert_lt(strlen(text), 200);
        for (int b = 0; b < a; b++)
            cr_assert_str_neq(
                text, hl_cause_text((struct hl_cause){.kind = (enum hl_cause_kind)b}));
    }
}

Test(cause, knows_what_ends_a_connect)
{
    static const struct {
        int error;
        enum hl_cause_kind kind;
    } cases[] = {
        {UV_ECONNREFUSED, HL_CAUSE_REFUSED},
        {UV_ENOENT, HL_CAUSE_NO_SOCKET},
        {UV_EAI_NONAME, HL_CAUSE_UNRESOLVED},
        {UV_EAI_AGAIN, HL_CAUSE_NO_NAME_SERVER},
        {UV_EHOSTUNREACH, HL_CAUSE_NO_ROUTE},
        {UV_EMFILE, HL_CAUSE_SHORT},
        {UV_EADDRNOTAVAIL, HL_CAUSE_NO_PORT},
        {UV_EPROTO, HL_CAUSE_OTHER},
        {HL_TLS_FAULT_PLAIN, HL_CAUSE_TLS_PLAIN},
        {HL_TLS_FAULT_NAME, HL_CAUSE_TLS_NAME},
        {HL_TLS_FAULT_OTHER, HL_CAUSE_TLS_OTHER},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_cause cause = hl_cause_of(cases[i].error);
        cr_assert_eq(cause.kind, cases[i].kind, "%s", hl_tls_error_text(cases[i].error));
        cr_assert_eq(cause.error, cases[i].error);
    }
    cr_assert(hl_cause_is_timeout(hl_cause_of(UV_ETIMEDOUT)));
    cr_assert(hl_cause_is_timeout(hl_cause_of(UV_EAGAIN)), "a unix socket's queue is full");
    cr_assert_not(hl_cause_is_timeout(hl_cause_of(UV_ECONNREFUSED)));
}

Test(cause, names_the_status_of_a_health_path)
{
    struct hl_cause cause = {.kind = HL_CAUSE_HEALTH_STATUS, .status = 404};
    cr_assert_not_null(strstr(hl_cause_text(cause), "404"));
    cause.status = 299 + 300; /* one that nobody uses */
    cr_assert_not_null(strstr(hl_cause_text(cause), "a status other than 2xx"));
}
