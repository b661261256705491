/* run_column.c - the columns that a list of runs may have.
 * Not here: which of them it has (list_column.c). */
#include "cli/run_column.h"

#include <stdio.h>

#include "base/compiler.h"

/* "delivered", "dead", "pending", or nothing: a run has one webhook at most. */
static const char *webhook_of(const json_t *run, char out[HL_CLI_CELL_TEXT])
{
    static const char *const states[] = {"dead", "pending", "delivered"};
    (void)out;
    const json_t *counts = json_object_get(run, "deliveries");
    for (size_t i = 0; i < HL_ARRAY_LEN(states); i++)
        if (json_integer_value(json_object_get(counts, states[i])) > 0)
            return states[i];
    return NULL;
}

const char *hl_cli_run_tags(const json_t *run, char out[HL_CLI_CELL_TEXT])
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(json_object_get(run, "tags"), name, value)
    {
        const char *text = json_string_value(value);
        int added = snprintf(
            out + n, HL_CLI_CELL_TEXT - n, "%s%s=%s", n > 0 ? "," : "", name, text ? text : "");
        if (added < 0 || n + (size_t)added >= HL_CLI_CELL_TEXT)
            break; /* no hookline says so */
        n += (size_t)added;
    }
    out[n] = '\0';
    return out;
}

/* At 80 characters: which run of which app, why it failed and when. */
static const struct hl_cli_list_column all[] = {
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

const struct hl_cli_list_columns hl_cli_run_columns = {all, HL_ARRAY_LEN(all)};
