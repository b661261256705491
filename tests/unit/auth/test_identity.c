/* test_identity.c - who a token stands for, and what is shown of that. */
#include <criterion/criterion.h>

#include "auth/identity.h"

Test(identity, what_is_shown_is_the_account_or_the_subject)
{
    static const struct {
        const char *identity, *subject;
    } cases[] = {
        {"0193f0b0-0000-7000-8000-000000000000", "0193f0b0-0000-7000-8000-000000000000"},
        {"session:ann", "ann"},
        {"0011223344556677:urn:a:b", "urn:a:b"},
        {"0011223344556677:", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        cr_assert(hl_str_eq(hl_identity_subject(hl_str_from(cases[i].identity)),
                      hl_str_from(cases[i].subject)),
            "%zu", i);
}
