/* test_connect.c - how a session of PostgreSQL's is begun. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "session_fixture.h"

static struct session_fixture database;

static void begin(void)
{
    session_fixture_begin(&database);
}

static void end(void)
{
    session_fixture_end(&database);
}

static void expect_gss(const char *mode)
{
    PQconninfoOption *all = PQconninfo(database.session.conn), *option = all;
    while (option->keyword && strcmp(option->keyword, "gssencmode") != 0)
        option++;
    cr_assert_str_eq(option->val, mode);
    PQconninfoFree(all);
}

TestSuite(postgres_connect, .init = begin, .fini = end, .timeout = 300);

Test(postgres_connect, kerberos_is_asked_for_nothing_unless_that_is_wanted)
{
    char why[300] = "";
    expect_gss("disable");
    hl_pg_session_close(&database.session);
    setenv("PGGSSENCMODE", "prefer", 1);
    cr_assert_eq(hl_pg_session_open(&database.session, &database.settings, NULL, why, sizeof(why)),
        HL_OK, "%s", why);
    expect_gss("prefer");
}
