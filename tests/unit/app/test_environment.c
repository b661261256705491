/* test_environment.c - what the app finds in its environment, and above all what it does not. */
#include "app/child.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/choice.h"
#include "config/command.h"
#include "config/config.h"
#include "config/option.h"

static struct hl_config config;
static char **made;

static void make(char *const *environment, const struct hl_user *user)
{
    made = hl_environment_for_app(environment, &config, user);
    cr_assert(made);
}

static void end(void)
{
    free(made);
}

TestSuite(environment, .fini = end);

static const char *value(const char *name)
{
    const char *found = NULL;
    for (char **p = made; *p; p++) {
        if (strncmp(*p, name, strlen(name)) != 0 || (*p)[strlen(name)] != '=')
            continue;
        cr_assert_null(found, "%s is there twice", name);
        found = *p + strlen(name) + 1;
    }
    return found;
}

Test(environment, has_no_secret_of_ours_nor_the_name_of_its_file)
{
    char entries[2 * 64][80];
    char *environment[2 * 64 + 1];
    size_t n = 0;
    for (size_t i = 0; i < hl_option_count; i++) {
        if (!hl_options[i].is_secret)
            continue;
        snprintf(entries[n], sizeof(entries[n]), "%s=secret", hl_options[i].name);
        environment[n] = entries[n];
        n++;
        snprintf(entries[n], sizeof(entries[n]), "%s_FILE=/secret", hl_options[i].name);
        environment[n] = entries[n];
        n++;
    }
    cr_assert_geq(n, 2);
    environment[n++] = "HOOKLINE_KEY_FILE=/key";
    environment[n] = NULL;
    make(environment, NULL);
    for (char **p = made; *p; p++)
        cr_assert_eq(strncmp(*p, "PORT=", 5), 0, "%s", *p);
}

#define PG_VARIABLES                                                                               \
    "PGPASSWORD=x", "PGPASSWORD_FILE=/x", "PGPASSFILE=/x", "PGSERVICEFILE=/x", "PGSSLKEY=/x"

Test(environment, has_no_secret_of_the_connection_to_the_database)
{
    config.store = HL_STORE_POSTGRES;
    make((char *[]){PG_VARIABLES, "PGHOST=db", "PGPASSWORDS=x", NULL}, NULL);
    cr_assert_str_eq(value("PGHOST"), "db");
    cr_assert_str_eq(value("PGPASSWORDS"), "x");
    size_t n = 0;
    while (made[n])
        n++;
    cr_assert_eq(n, 3, "these two and PORT");
}

Test(environment, keeps_the_apps_own_database_where_hookline_has_none)
{
    config.store = HL_STORE_SQLITE;
    make((char *[]){PG_VARIABLES, NULL}, NULL);
    cr_assert_str_eq(value("PGPASSWORD"), "x");
    cr_assert_str_eq(value("PGSSLKEY"), "/x");
}

Test(environment, keeps_all_else_as_it_was)
{
    make((char *[]){"PATH=/bin", "HOOKLINE_LOG_LEVEL=debug", "HOOKLINE_FUNCTION_CONCURRENCY=2",
             "EMPTY=", "=odd", "also odd", "SECRET_OF_THE_APP=x", "SSL_CERT_FILE=/x", NULL},
        NULL);
    cr_assert_str_eq(value("PATH"), "/bin");
    cr_assert_str_eq(value("HOOKLINE_LOG_LEVEL"), "debug");
    cr_assert_str_eq(value("HOOKLINE_FUNCTION_CONCURRENCY"), "2");
    cr_assert_str_eq(value("EMPTY"), "");
    cr_assert_str_eq(value("SECRET_OF_THE_APP"), "x");
    cr_assert_str_eq(value("SSL_CERT_FILE"), "/x");
    cr_assert_str_eq(made[4], "=odd");
    cr_assert_str_eq(made[5], "also odd");
}

Test(environment, says_the_port_of_the_app_in_place_of_another)
{
    config.app_url.port = 8123;
    make((char *[]){"PORT=80", "PORTAL=x", NULL}, NULL);
    cr_assert_str_eq(value("PORT"), "8123");
    cr_assert_str_eq(value("PORTAL"), "x");
    cr_assert_null(value("SOCKET"));
}

Test(environment, says_the_path_of_the_socket)
{
    config.app_url = (struct hl_app_url){.is_unix = true, .path = "/run/app.sock"};
    make((char *[]){"SOCKET=old", NULL}, NULL);
    cr_assert_str_eq(value("SOCKET"), "/run/app.sock");
    cr_assert_str_eq(value("HOOKLINE_FUNCTION_SOCKET"), "/run/app.sock");
    cr_assert_null(value("PORT"));
}

Test(environment, names_the_user_that_it_runs_as)
{
    struct hl_user user = {.uid = 5, .name = "runner", .home = "/home/runner"};
    make((char *[]){"HOME=/root", "USER=root", "LOGNAME=root", NULL}, &user);
    cr_assert_str_eq(value("HOME"), "/home/runner");
    cr_assert_str_eq(value("USER"), "runner");
    cr_assert_str_eq(value("LOGNAME"), "runner");
    free(made);
    user.name[0] = '\0'; /* a number that no passwd has */
    make((char *[]){"HOME=/root", NULL}, &user);
    cr_assert_str_eq(value("HOME"), "/root");
}
