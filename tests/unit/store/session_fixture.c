/* session_fixture.c - see session_fixture.h. */
#include "session_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define WHY_MAX 300

void session_fixture_begin(struct session_fixture *s)
{
    char why[WHY_MAX] = "";
    fixture_init(&s->f, HL_STORE_POSTGRES);
    fixture_open(&s->f);
    fixture_close(&s->f);
    hl_pg_settings_init(&s->settings, s->f.config);
    cr_assert_eq(
        hl_pg_session_open(&s->session, &s->settings, NULL, why, sizeof(why)), HL_OK, "%s", why);
}

void session_fixture_end(struct session_fixture *s)
{
    hl_pg_session_close(&s->session);
    fixture_fini(&s->f);
}

void session_fixture_run(struct session_fixture *s, const char *sql)
{
    char why[WHY_MAX] = "";
    cr_assert_eq(hl_pg_session_run(&s->session, sql, why, sizeof(why)), HL_OK, "%s", why);
}

void session_fixture_read(
    struct session_fixture *s, const char *sql, long *const values[], int count)
{
    char why[WHY_MAX] = "";
    PGresult *result;
    cr_assert_eq(hl_pg_session_ask(&s->session, sql, &result, why, sizeof(why)), HL_OK, "%s", why);
    for (int i = 0; i < count; i++)
        *values[i] = strtol(PQgetvalue(result, 0, i), NULL, 10);
    PQclear(result);
}
