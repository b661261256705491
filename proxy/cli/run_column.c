/* run_column.c - which columns a list of runs has, and what stands in them.
 * Not here: how wide they become (table.c). */
#include "cli/run_column.h"

#include <string.h>

#include "cli/cli.h"

/* "delivered", "dead", "pending", or nothing: a run has one webhook at most. */
static const char *webhook_of(const json_t *run, char out[HL_TAGS_TEXT + 1])
{
    static const char *const states[] = {"dead", "pending", "delivered"};
    (void)out;
    const json_t *counts = json_object_get(run, "deliveries");
    for (size_t i = 0; i < HL_ARRAY_LEN(states); i++)
        if (json_integer_value(json_object_get(counts, states[i])) > 0)
            return states[i];
    return NULL;
}

const char *hl_cli_run_tags(const json_t *run, char out[HL_TAGS_TEXT + 1])
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(json_object_get(run, "tags"), name, value)
    {
        const char *text = json_string_value(value);
        int added = snprintf(
            out + n, HL_TAGS_TEXT + 1 - n, "%s%s=%s", n > 0 ? "," : "", name, text ? text : "");
        if (added < 0 || n + (size_t)added > HL_TAGS_TEXT)
            break; /* no hookline says so */
        n += (size_t)added;
    }
    out[n] = '\0';
    return out;
}

/* At 80 characters: which run of which app, why it failed and when. Those that were named are all shown, however wide that
 * is. */
static const struct {
    const char *name, *member; /* NULL: `made` says it */
    struct hl_cli_column column;
    bool is_usual;
    const char *(*made)(const json_t *run, char out[HL_TAGS_TEXT + 1]);
} all[] = {
    {"run", "run_id", {"RUN", HL_CLI_RUN_ID, 0}, true, NULL},
    {"project", "project_id", {"PROJECT", HL_CLI_PLAIN, 9}, true, NULL},
    {"app", "app_name", {"APP", HL_CLI_TEXT, 2}, true, NULL},
    {"method", "method", {"METHOD", HL_CLI_PLAIN, 0}, false, NULL},
    {"path", "path", {"PATH", HL_CLI_TEXT, 3}, true, NULL},
    {"mode", "mode", {"MODE", HL_CLI_PLAIN, 8}, true, NULL},
    {"state", "state", {"STATE", HL_CLI_PLAIN, 0}, true, NULL},
    {"reason", "reason", {"REASON", HL_CLI_PLAIN, 1}, true, NULL},
    {"status", "status_code", {"STATUS", HL_CLI_PLAIN, 6}, true, NULL},
    {"created", "created_at", {"CREATED", HL_CLI_TIME, 0}, true, NULL},
    {"started", "started_at", {"STARTED", HL_CLI_TIME, 0}, false, NULL},
    {"finished", "finished_at", {"FINISHED", HL_CLI_TIME, 10}, true, NULL},
    {"queued_ms", "queued_ms", {"QUEUED_MS", HL_CLI_PLAIN, 0}, false, NULL},
    {"run_ms", "run_ms", {"RUN_MS", HL_CLI_PLAIN, 0}, false, NULL},
    {"priority", "priority", {"PRIORITY", HL_CLI_PLAIN, 0}, false, NULL},
    {"attempts", "attempts", {"ATTEMPTS", HL_CLI_PLAIN, 0}, false, NULL},
    {"rerun_of", "rerun_of", {"RERUN_OF", HL_CLI_RUN_ID, 0}, false, NULL},
    {"replica", "replica", {"REPLICA", HL_CLI_PLAIN, 0}, false, NULL},
    {"tags", NULL, {"TAGS", HL_CLI_TEXT, 0}, false, hl_cli_run_tags},
    {"webhook", NULL, {"WEBHOOK", HL_CLI_PLAIN, 5}, true, webhook_of},
    {"error", "error", {"ERROR", HL_CLI_ERROR, 4}, true, NULL},
};

_Static_assert(HL_ARRAY_LEN(all) <= HL_CLI_COLUMNS_MAX, "all may be asked for");
_Static_assert(HL_TAGS_TEXT >= HL_CLI_MEMBER_TEXT, "either fits");

static void append(struct hl_cli_run_columns *columns, size_t i, bool is_usual)
{
    columns->which[columns->n] = (uint8_t)i;
    columns->each[columns->n] = all[i].column;
    if (!is_usual)
        columns->each[columns->n].rank = 0;
    columns->n++;
}

static int refuse(const struct hl_cli *cli, struct hl_str name)
{
    char known[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < HL_ARRAY_LEN(all); i++)
        n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n > 0 ? ", " : "", all[i].name);
    return hl_cli_usage_error(
        cli, "--columns has no \"%.*s\"; it takes %s", HL_STR_ARG(name), known);
}

static int take(struct hl_cli_run_columns *columns, const struct hl_cli *cli, struct hl_str name)
{
    for (size_t i = 0; i < columns->n; i++)
        if (hl_str_eq(name, hl_str_from(all[columns->which[i]].name)))
            return hl_cli_usage_error(cli, "--columns has \"%.*s\" twice", HL_STR_ARG(name));
    for (size_t i = 0; i < HL_ARRAY_LEN(all); i++)
        if (hl_str_eq(name, hl_str_from(all[i].name))) {
            append(columns, i, false);
            return HL_CLI_OK;
        }
    return refuse(cli, name);
}

int hl_cli_run_columns_read(
    struct hl_cli_run_columns *columns, const struct hl_cli *cli, const char *names)
{
    columns->n = 0;
    for (size_t i = 0; !names && i < HL_ARRAY_LEN(all); i++)
        if (all[i].is_usual)
            append(columns, i, true);
    int status = HL_CLI_OK;
    while (names && status == HL_CLI_OK) {
        size_t n = strcspn(names, ",");
        status = take(columns, cli, hl_str_trim((struct hl_str){names, n}));
        names = names[n] ? names + n + 1 : NULL;
    }
    return status;
}

void hl_cli_run_columns_add(
    const struct hl_cli_run_columns *columns, struct hl_cli_table *table, const json_t *run)
{
    char text[HL_TAGS_TEXT + 1];
    for (size_t i = 0; i < columns->n; i++) {
        size_t which = columns->which[i];
        const char *member = all[which].member;
        hl_cli_table_add(table,
            member ? hl_cli_member(run, member, text, sizeof(text)) : all[which].made(run, text));
    }
}
