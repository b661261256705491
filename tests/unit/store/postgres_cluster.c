/* postgres_cluster.c - starts the server in the process that runs the tests: its environment, and so
 * the URL, is theirs. */
#include "postgres_cluster.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/logging.h>
#include <criterion/types.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "HOOKLINE_TEST_POSTGRES"

extern char **environ;

/* The server's life: it ends when this is closed, and has ended when `server_output` does. */
static int server_input = -1;
static FILE *server_output;

static bool has_enabled(struct criterion_suite_set *suite)
{
    if (suite->suite.data && suite->suite.data->disabled)
        return false;
    FOREACH_SET(struct criterion_test * test, suite->tests)
    if (!test->data->disabled)
        return true;
    return false;
}

static bool wants_server(struct criterion_test_set *tests)
{
    FOREACH_SET(struct criterion_suite_set * suite, tests->suites)
    if (strncmp(suite->suite.name, "postgres", strlen("postgres")) == 0 && has_enabled(suite))
        return true;
    return false;
}

/* setsid makes it nobody's child here: the library waits for any child, and knows its own alone. */
static void spawn_server(int input, int output)
{
    char *argv[] = {"setsid", "--fork", HL_SOURCE_DIR "/tests/postgres/cluster.sh", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0)
        waitpid(pid, NULL, 0);
    posix_spawn_file_actions_destroy(&actions);
}

/* Its first line begins with the URL. */
static void read_url(void)
{
    char line[512];
    if (fgets(line, sizeof(line), server_output) && strchr(line, ' ')) {
        *strchr(line, ' ') = '\0';
        setenv(VARIABLE, line, true);
    }
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    int input[2], output[2];
    if (getenv(VARIABLE) || !wants_server(tests))
        return;
    if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
        return;
    spawn_server(input[0], output[1]);
    close(input[0]);
    close(output[1]);
    server_input = input[1];
    server_output = fdopen(output[0], "r");
    read_url();
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    (void)stats;
    if (!server_output)
        return;
    close(server_input);
    while (fgetc(server_output) != EOF)
        ;
    fclose(server_output);
}

const char *postgres_url(void)
{
    const char *url = getenv(VARIABLE);
    cr_assert(url, "there is no PostgreSQL: tests/postgres/cluster.sh has said why");
    return url;
}

void postgres_schema_draw(char name[POSTGRES_SCHEMA_SIZE])
{
    uint64_t number;
    cr_assert_eq(getrandom(&number, sizeof(number), 0), (ssize_t)sizeof(number));
    snprintf(name, POSTGRES_SCHEMA_SIZE, "test_%016" PRIx64, number);
}

void postgres_schema_drop(const char *name)
{
    char sql[192];
    PGconn *connection = PQconnectdb(postgres_url());
    snprintf(sql, sizeof(sql),
        "SET client_min_messages = warning; SET lock_timeout = '20s';"
        "DROP SCHEMA IF EXISTS %s CASCADE",
        name);
    PGresult *result = PQexec(connection, sql);
    cr_assert(PQresultStatus(result) == PGRES_COMMAND_OK, "%s", PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
}
