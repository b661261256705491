/* postgres_cluster.c - starts the server in the process that runs the tests: its environment, and so
 * the URL, is theirs; and keeps the schemas that they give back. */
#include "postgres_cluster.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/logging.h>
#include <criterion/types.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void start_server(void)
{
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
        return;
    spawn_server(input[0], output[1]);
    close(input[0]);
    close(output[1]);
    server_input = input[1];
    server_output = fdopen(output[0], "r");
    read_url();
}

static void end_server(void)
{
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

/* --- schemas -------------------------------------------------------------------------------- */

#define SCHEMAS 256

enum use { NOT_THERE, TAKEN, SPARE };

/* Of the program's tests, in a file that they share, as each is a process of its own: one that a test has not given
 * back is not used again. */
struct schema {
    atomic_int use;
    char name[POSTGRES_SCHEMA_SIZE], shape[POSTGRES_SHAPE_SIZE];
};

#define SCHEMAS_FILE "HOOKLINE_TEST_SCHEMAS"

static void make_file(void)
{
    char path[256];
    const char *parent = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/hookline-schemas-XXXXXX", parent ? parent : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || ftruncate(fd, SCHEMAS * sizeof(struct schema)) != 0)
        return;
    close(fd);
    setenv(SCHEMAS_FILE, path, true);
}

/* NULL: there is none, and each test makes its own. */
static struct schema *all_schemas(void)
{
    static struct schema *schemas;
    const char *path = getenv(SCHEMAS_FILE);
    int fd = path && !schemas ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return schemas;
    void *memory =
        mmap(NULL, SCHEMAS * sizeof(*schemas), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    schemas = memory == MAP_FAILED ? NULL : memory;
    return schemas;
}

static bool move(struct schema *schema, int from, int to)
{
    return atomic_compare_exchange_strong(&schema->use, &from, to);
}

void postgres_schema_draw(char name[POSTGRES_SCHEMA_SIZE])
{
    uint64_t number;
    cr_assert_eq(getrandom(&number, sizeof(number), 0), (ssize_t)sizeof(number));
    snprintf(name, POSTGRES_SCHEMA_SIZE, "test_%016" PRIx64, number);
}

void postgres_schema_take(char name[POSTGRES_SCHEMA_SIZE], char shape[POSTGRES_SHAPE_SIZE])
{
    struct schema *schemas = all_schemas();
    for (struct schema *schema = schemas; schemas && schema < schemas + SCHEMAS; schema++)
        if (move(schema, SPARE, TAKEN)) {
            strcpy(name, schema->name);
            strcpy(shape, schema->shape);
            move(schema, TAKEN, NOT_THERE);
            return;
        }
    postgres_schema_draw(name);
    shape[0] = '\0';
}

/* One that there is no place for is never used again. */
static void keep(const char *name, const char *shape)
{
    struct schema *schemas = all_schemas();
    for (struct schema *schema = schemas; schemas && schema < schemas + SCHEMAS; schema++)
        if (move(schema, NOT_THERE, TAKEN)) {
            strcpy(schema->name, name);
            strcpy(schema->shape, shape);
            move(schema, TAKEN, SPARE);
            return;
        }
}

/* Fails the test when it cannot be done; the first value, borrowed until the next call. */
static const char *say(PGconn *connection, const char *sql)
{
    static char value[64];
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    cr_assert(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", sql,
        PQerrorMessage(connection));
    snprintf(value, sizeof(value), "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return value;
}

static void measure(PGconn *connection, const char *name, char shape[POSTGRES_SHAPE_SIZE])
{
    char sql[300];
    snprintf(sql, sizeof(sql),
        "SELECT md5(string_agg(concat_ws(' ', c.relname, c.relkind, c.relnatts, c.relispartition), "
        "',' ORDER BY"
        " c.relname)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "
        "n.nspname = '%s'",
        name);
    snprintf(shape, POSTGRES_SHAPE_SIZE, "%s", say(connection, sql));
}

void postgres_schema_measure(const char *name, char shape[POSTGRES_SHAPE_SIZE])
{
    PGconn *connection = PQconnectdb(postgres_url());
    measure(connection, name, shape);
    PQfinish(connection);
}

static void await_sessions(PGconn *connection, const char *name)
{
    char sql[200];
    snprintf(sql, sizeof(sql),
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'", name);
    while (strcmp(say(connection, sql), "0") != 0)
        usleep(1000);
}

/* What making it leaves: which tables there are, and since when runs are counted. Of a table that is partitioned only
 * the parts that ever had a row are looked at. */
static void empty(PGconn *connection, const char *name)
{
    char sql[800];
    snprintf(sql, sizeof(sql),
        "DO $$ DECLARE part regclass; BEGIN"
        " FOR part IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = '%s'::regnamespace"
        " AND c.relkind = 'r' AND c.relname <> 'meta' AND pg_relation_size(c.oid) > 0 LOOP"
        " EXECUTE format('DELETE FROM %%s', part); END LOOP;"
        " DELETE FROM %s.meta WHERE k NOT IN ('version', 'least_reader', 'partitions_until', "
        "'counted_ms');"
        " UPDATE %s.meta SET v = convert_to(floor(extract(epoch FROM now()) * 1000)::bigint::text, "
        "'UTF8')"
        " WHERE k = 'counted_ms'; END $$",
        name, name, name);
    say(connection, sql);
}

static void drop(PGconn *connection, const char *name)
{
    char sql[200];
    snprintf(sql, sizeof(sql),
        "SET client_min_messages = warning; SET lock_timeout = '20s'; DROP SCHEMA IF EXISTS %s "
        "CASCADE",
        name);
    say(connection, sql);
}

void postgres_schema_drop(const char *name)
{
    PGconn *connection = PQconnectdb(postgres_url());
    drop(connection, name);
    PQfinish(connection);
}

bool postgres_schema_clean(const char *name, const char *shape)
{
    char is[POSTGRES_SHAPE_SIZE];
    PGconn *connection = PQconnectdb(postgres_url());
    await_sessions(connection, name);
    measure(connection, name, is);
    bool is_same = *shape && strcmp(shape, is) == 0;
    if (is_same)
        empty(connection, name);
    else
        drop(connection, name);
    PQfinish(connection);
    return is_same;
}

void postgres_schema_give_back(const char *name, const char *shape)
{
    if (postgres_schema_clean(name, shape))
        keep(name, shape);
}

/* --- the program's beginning and end ------------------------------------------------------------ */

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    if (!wants_server(tests))
        return;
    make_file();
    if (!getenv(VARIABLE))
        start_server();
}

/* tests/run.sh has a server that ends with the tests, and says so. */
static void drop_spare(void)
{
    struct schema *schemas = all_schemas();
    for (struct schema *schema = schemas; schemas && schema < schemas + SCHEMAS; schema++)
        if (schema->use == SPARE)
            postgres_schema_drop(schema->name);
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    (void)stats;
    if (server_output)
        end_server();
    else if (!getenv("HOOKLINE_TEST_KEEP_SCHEMAS"))
        drop_spare();
    if (getenv(SCHEMAS_FILE))
        unlink(getenv(SCHEMAS_FILE));
}
