/* store.c - `hookline store`: what is done with a database that many replicas share, with a data directory, and with
 * the key of both (`hookline key create`). Of a database the commands ask itself, whether a sidecar runs here or not; `migrate`
 * and `status` need no key. A data directory is copied, or looked through, beside the sidecar that runs on it or
 * without one.
 * Not here: what they do there (store/postgres/migrate.c, status.c, rekey.c; store/import; store/sqlite/backup.c). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
#include "base/base64.h"
#include "base/log.h"
#include "base/random.h"
#include "api/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/table.h"
#include "config/config.h"
#include "config/value.h"
#include "store/import/import.h"
#include "store/key.h"
#include "store/postgres/migrate.h"
#include "store/audit.h"
#include "store/postgres/rekey.h"
#include "store/postgres/status.h"
#include "store/sqlite/backup.h"

#define WHY_MAX 512

/* ---- settings ---- */

/* Or names the file of one. */
static bool is_key(const char *variable)
{
    static const char *const names[] = {"HOOKLINE_KEY=", "HOOKLINE_KEY_FILE=",
        "HOOKLINE_PREVIOUS_KEY=", "HOOKLINE_PREVIOUS_KEY_FILE="};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Whoever looks after the database need not have the key: one that opens nothing stands for it. */
static char **without_key(char *const *environment)
{
    static char no_key[] =
        "HOOKLINE_KEY=0000000000000000000000000000000000000000000000000000000000000000";
    size_t n = 0, kept = 0;
    while (environment[n])
        n++;
    char **out = calloc(n + 2, sizeof(*out));
    for (size_t i = 0; out && i < n; i++)
        if (!is_key(environment[i]))
            out[kept++] = environment[i];
    if (out)
        out[kept] = no_key;
    return out;
}

/* With another store the key may be one too many: that is not what is wrong. */
static bool has_postgres(char *const *environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, "HOOKLINE_STORE=", strlen("HOOKLINE_STORE=")) == 0)
            return strcmp(*environment, "HOOKLINE_STORE=postgres") == 0;
    return false;
}

static int refuse_store(const struct hl_cli *cli)
{
    hl_cli_fail(cli, "this command is for HOOKLINE_STORE=postgres; no other store needs it");
    return HL_CLI_USAGE;
}

/* With the keys. */
static int load_whole_config(const struct hl_cli *cli, struct hl_config **config)
{
    *config = NULL;
    return has_postgres(cli->environ) ? hl_cli_load_config(cli, config) : refuse_store(cli);
}

static int load_config(const struct hl_cli *cli, struct hl_config **config)
{
    *config = NULL;
    if (!has_postgres(cli->environ))
        return refuse_store(cli);
    struct hl_cli keyless = *cli;
    char **environment = without_key(cli->environ);
    if (!environment)
        return hl_cli_fail(cli, "%s", hl_err_text(HL_ERR_NOMEM));
    keyless.environ = environment;
    int status = hl_cli_load_config(&keyless, config);
    free(environment);
    return status;
}

/* ---- migrate ---- */

int hl_cli_store_migrate(const struct hl_cli *cli)
{
    const char *role = NULL;
    const struct hl_cli_option options[] = {{"--role", &role, NULL}};
    char why[WHY_MAX] = "";
    struct hl_config *config;
    size_t count;
    int version;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    if (status == HL_CLI_OK)
        status = load_config(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    if (hl_pg_migrate(config, role, &version, why, sizeof(why)) != HL_OK)
        status = hl_cli_fail(cli, "%s", why);
    else
        fprintf(cli->out, "the schema %.*s has version %d%s%s\n",
            HL_STR_ARG(config->postgres_schema), version, role ? "; replicas may connect as " : "",
            role ? role : "");
    hl_config_free(config);
    return status;
}

/* ---- import ---- */

static void print_imported(const struct hl_cli *cli, const struct hl_imported *done)
{
    fprintf(cli->out,
        "imported: %llu accounts, %llu runs (%llu queued, %llu interrupted), %llu deliveries "
        "(%llu pending, %llu dead), %llu Idempotency-Keys%s\n",
        (unsigned long long)done->accounts, (unsigned long long)done->runs,
        (unsigned long long)done->queued, (unsigned long long)done->interrupted,
        (unsigned long long)done->deliveries, (unsigned long long)done->pending,
        (unsigned long long)done->dead, (unsigned long long)done->keys,
        done->is_second_key ? "; its signing key only verifies: the schema has one" : "");
    if (done->unreadable > 0)
        fprintf(cli->err, "hookline: %llu values or files in the directory cannot be read\n",
            (unsigned long long)done->unreadable);
}

int hl_cli_store_import(const struct hl_cli *cli)
{
    const char *path;
    char why[WHY_MAX] = "";
    struct hl_config *config;
    struct hl_imported done;
    int status =
        hl_cli_read_word(cli, NULL, 0, &path, "the data directory of a hookline that does not run");
    if (status == HL_CLI_OK)
        status = load_whole_config(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    hl_log_setup(HL_LOG_WARN, HL_LOG_PLAIN);
    if (hl_import(config, path, &done, why, sizeof(why)) != HL_OK)
        status = hl_cli_fail(cli, "%s", why);
    else
        print_imported(cli, &done);
    hl_config_free(config);
    return status;
}

/* ---- rekey ---- */

/* Who does it. NULL: out of memory. */
static struct hl_audit *make_audit(void)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_id_source ids;
    hl_id_source_init(&ids);
    struct hl_audit what = {
        .id = hl_id_next(&ids, now_ms), .action = HL_AUDIT_KEY_ROTATED, .count = -1};
    struct hl_audit_author author = {.via = "command", .has_uid = true, .uid = getuid()};
    json_t *who = hl_audit_author_json(&author);
    struct hl_audit *audit = hl_audit_make(&what, who, NULL, NULL);
    json_decref(who);
    return audit;
}

int hl_cli_store_rekey(const struct hl_cli *cli)
{
    char why[WHY_MAX] = "";
    struct hl_config *config;
    struct hl_pg_rekeyed done;
    int status = load_whole_config(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    struct hl_audit *audit = make_audit();
    if (!audit || hl_pg_rekey(config, audit, &done, why, sizeof(why)) != HL_OK)
        status = hl_cli_fail(cli, "%s", audit ? why : "out of memory");
    else
        fprintf(cli->out,
            "%llu values were encrypted again; HOOKLINE_PREVIOUS_KEY can be removed\n",
            (unsigned long long)done.values);
    if (status == HL_CLI_OK && done.unreadable > 0)
        fprintf(cli->err, "hookline: %llu values open with neither key and are left as they were\n",
            (unsigned long long)done.unreadable);
    free(audit);
    hl_config_free(config);
    return status;
}

/* ---- status ---- */

static void print_replicas(const struct hl_cli *cli, const json_t *replicas)
{
    static const char *const titles[] = {"REPLICA", "NAME", "ROLE", "VERSION", "STATE", "STARTED",
        "LAST BEAT", "RUNS", "DELIVERIES"};
    static const char *const members[] = {
        "replica_id", "name", "role", "version", "state", "started_at", NULL, "runs", "deliveries"};
    struct hl_cli_table table;
    char text[HL_CLI_MEMBER_TEXT];
    size_t i;
    const json_t *replica;
    hl_cli_table_init(&table, titles, HL_ARRAY_LEN(titles));
    json_array_foreach(replicas, i, replica)
    {
        for (size_t k = 0; k < HL_ARRAY_LEN(members); k++) {
            if (members[k])
                hl_cli_member(replica, members[k], text, sizeof(text));
            else
                snprintf(text, sizeof(text), "%.1f s ago",
                    json_number_value(json_object_get(replica, "beat_seconds")));
            hl_cli_table_add(&table, text);
        }
    }
    hl_cli_table_print(&table, cli->out);
    hl_cli_table_fini(&table);
}

static long long count_of(const json_t *status, const char *name)
{
    return json_integer_value(json_object_get(status, name));
}

static void print_snapshot(const struct hl_cli *cli, const json_t *status)
{
    const json_t *seconds = json_object_get(status, "oldest_snapshot_seconds");
    long long transactions = count_of(status, "oldest_snapshot_transactions");
    if (json_is_number(seconds))
        fprintf(cli->out, "oldest snapshot: %.1f s, %lld transactions\n",
            json_number_value(seconds), transactions);
    else
        fprintf(cli->out,
            "oldest snapshot: %lld transactions (its time is shown to pg_read_all_stats)\n",
            transactions);
}

/* With `local` a commit waits for no standby either. */
static void print_standbys(const struct hl_cli *cli, const json_t *status)
{
    char names[256], commit[32];
    hl_cli_member(status, "synchronous_standby_names", names, sizeof(names));
    hl_cli_member(status, "synchronous_commit", commit, sizeof(commit));
    bool waits = *names && strcmp(commit, "on") == 0;
    waits |= *names && strncmp(commit, "remote_", strlen("remote_")) == 0;
    fprintf(cli->out, "synchronous standbys: %s\n",
        waits ? names : "none: a failover may lose what was committed last");
}

static void print_status(const struct hl_cli *cli, const json_t *status)
{
    const json_t *dead = json_object_get(status, "dead_tuples");
    print_replicas(cli, json_object_get(status, "replicas"));
    fprintf(cli->out, "\nschema: %s, version %lld\n",
        json_string_value(json_object_get(status, "schema")), count_of(status, "version"));
    fprintf(cli->out, "runs: %lld queued", count_of(status, "queued_runs"));
    if (count_of(status, "queued_runs") > 0)
        fprintf(cli->out, ", the oldest for %.1f s",
            json_number_value(json_object_get(status, "oldest_queued_seconds")));
    fprintf(cli->out, "; %lld running\n", count_of(status, "running_runs"));
    fprintf(cli->out, "deliveries: %lld pending, %lld dead\n",
        count_of(status, "pending_deliveries"), count_of(status, "dead_letters"));
    fprintf(cli->out, "dead tuples: %lld in ticket, %lld in delivery_ticket\n",
        count_of(dead, "ticket"), count_of(dead, "delivery_ticket"));
    print_snapshot(cli, status);
    print_standbys(cli, status);
}

static int show(const struct hl_cli *cli, const struct hl_buf *text, bool is_json)
{
    json_error_t error;
    json_t *status = json_loadb(text->p, text->n, 0, &error);
    if (!status)
        return hl_cli_fail(cli, "the database's answer cannot be read");
    if (!is_json)
        print_status(cli, status);
    else if (json_dumpf(
                 status, cli->out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) == 0)
        fputc('\n', cli->out);
    json_decref(status);
    return HL_CLI_OK;
}

int hl_cli_store_status(const struct hl_cli *cli)
{
    bool is_json = false;
    const struct hl_cli_option options[] = {{"--json", NULL, &is_json}};
    char why[WHY_MAX] = "";
    struct hl_config *config;
    struct hl_buf text;
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    if (status == HL_CLI_OK)
        status = load_config(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    hl_buf_init(&text, 0);
    if (hl_pg_status(config, &text, why, sizeof(why)) != HL_OK)
        status = hl_cli_fail(cli, "%s", why);
    else
        status = show(cli, &text, is_json);
    hl_buf_fini(&text);
    hl_config_free(config);
    return status;
}

/* ---- a data directory ---- */

#define WHY_MAX      512
#define DEFAULT_RATE (UINT64_C(64) << 20)
#define LEAST_RATE   (UINT64_C(64) << 10)

/* Of settings for another store nothing is a data directory's. */
static int load(const struct hl_cli *cli, struct hl_config **config)
{
    int status = hl_cli_load_config(cli, config);
    if (status != HL_CLI_OK || (*config)->store == HL_STORE_SQLITE)
        return status;
    hl_config_free(*config);
    *config = NULL;
    hl_cli_fail(cli, "this command is for the store of a data directory (HOOKLINE_STORE=sqlite)");
    return HL_CLI_USAGE;
}

static int read_rate(const struct hl_cli *cli, const char *text, uint64_t *rate)
{
    *rate = DEFAULT_RATE;
    if (!text || (hl_value_parse_size(hl_str_from(text), rate) && *rate >= LEAST_RATE))
        return HL_CLI_OK;
    return hl_cli_usage_error(cli, "--rate takes a size of 64KiB or more, the bytes per second");
}

static int print_backup(const struct hl_cli *cli, const struct hl_config *config, const char *to,
    const struct hl_backed_up *done)
{
    fprintf(cli->out,
        "%s: a database of %llu bytes, checked; %llu bodies of %llu bytes, and %llu already "
        "there\n",
        to, (unsigned long long)done->database_bytes, (unsigned long long)done->bodies,
        (unsigned long long)done->body_bytes, (unsigned long long)done->kept);
    if (config->key_file.n > 0)
        fprintf(cli->out, "it does not contain the key: keep %.*s as well\n",
            HL_STR_ARG(config->key_file));
    if (done->missing == 0)
        return HL_CLI_OK;
    return hl_cli_fail(cli, "it lacks %llu bodies, whose files are missing in the store",
        (unsigned long long)done->missing);
}

int hl_cli_store_backup(const struct hl_cli *cli)
{
    const char *to, *rate_text = NULL;
    const struct hl_cli_option options[] = {{"--rate", &rate_text, NULL}};
    char why[WHY_MAX] = "";
    uint64_t rate;
    struct hl_config *config;
    struct hl_backed_up done;
    int status = hl_cli_read_word(
        cli, options, HL_ARRAY_LEN(options), &to, "the directory that the backup is made in");
    if (status == HL_CLI_OK)
        status = read_rate(cli, rate_text, &rate);
    if (status == HL_CLI_OK)
        status = load(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    if (hl_backup(config, to, rate, &done, why, sizeof(why)) != HL_OK)
        status = hl_cli_fail(cli, "%s", why);
    else
        status = print_backup(cli, config, to, &done);
    hl_config_free(config);
    return status;
}

int hl_cli_store_check(const struct hl_cli *cli)
{
    const char *words[1] = {NULL};
    char why[WHY_MAX] = "";
    size_t count;
    struct hl_config *config;
    struct hl_looked_through done;
    struct hl_buf problems;
    int status = hl_cli_read_arguments(cli, NULL, 0, words, 1, &count);
    if (status == HL_CLI_OK)
        status = load(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    const char *dir = count > 0 ? words[0] : config->data_dir.p;
    hl_buf_init(&problems, 0);
    if (hl_look_through(dir, config->key_file, &done, &problems, why, sizeof(why)) != HL_OK) {
        status = hl_cli_fail(cli, "%s", why[0] ? why : hl_err_text(HL_ERR_NOMEM));
    } else if (problems.n > 0) {
        hl_cli_print_lines(cli, "", (struct hl_str){problems.p, problems.n});
        status = hl_cli_fail(cli, "the store in %s is damaged", dir);
    } else {
        fprintf(cli->out, "%s: whole; %llu runs, %llu bodies in files%s\n", dir,
            (unsigned long long)done.runs, (unsigned long long)done.bodies,
            done.has_key ? "" : "; its key is not in it");
    }
    hl_buf_fini(&problems);
    hl_config_free(config);
    return status;
}

/* ---- the key ---- */

int hl_cli_key_create(const struct hl_cli *cli)
{
    uint8_t raw[HL_KEY_SIZE];
    char text[2 * HL_KEY_SIZE + 1];
    hl_random_fill(raw, sizeof(raw));
    hl_hex_write(text, raw, sizeof(raw));
    text[2 * HL_KEY_SIZE] = '\n';
    bool is_written = fwrite(text, 1, sizeof(text), cli->out) == sizeof(text);
    explicit_bzero(raw, sizeof(raw));
    explicit_bzero(text, sizeof(text));
    return is_written ? HL_CLI_OK : HL_CLI_FAILED;
}
