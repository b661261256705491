/* audit.c - `hookline audit`: who changed what.
 * Not here: filters and pages (filter.c). */
#include <stdlib.h>

#include "base/compiler.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"

static const struct hl_cli_column columns[] = {{"AT", HL_CLI_TIME, 0}, {"ACTION", HL_CLI_PLAIN, 0},
    {"WHO", HL_CLI_TEXT, 0}, {"FROM", HL_CLI_TEXT, 3}, {"PROJECT", HL_CLI_PLAIN, 4},
    {"TARGET", HL_CLI_TEXT, 0}, {"COUNT", HL_CLI_PLAIN, 2}, {"DETAIL", HL_CLI_TEXT, 1}};

/* An account's name and id, the subject, or the uid; "-": it was not asked. */
static void add_who(struct hl_cli_table *table, const json_t *who)
{
    const char *name = json_string_value(json_object_get(who, "account_name"));
    const char *id = json_string_value(json_object_get(who, "account_id"));
    const char *subject = json_string_value(json_object_get(who, "subject"));
    const json_t *uid = json_object_get(who, "uid");
    char text[2 * HL_CLI_MEMBER_TEXT] = "";
    if (id)
        snprintf(text, sizeof(text), "%s%s%s", name ? name : "", name ? " " : "", id);
    else if (subject)
        snprintf(text, sizeof(text), "%s", subject);
    else if (json_is_integer(uid))
        snprintf(text, sizeof(text), "uid %lld", (long long)json_integer_value(uid));
    hl_cli_table_add(table, text);
}

/* What it is, by its name, or its id. */
static void add_target(struct hl_cli_table *table, const json_t *target)
{
    char kind[HL_CLI_MEMBER_TEXT], name[HL_CLI_MEMBER_TEXT], id[HL_CLI_MEMBER_TEXT];
    char text[3 * HL_CLI_MEMBER_TEXT] = "";
    if (json_is_object(target))
        snprintf(text, sizeof(text), "%s %s %s", hl_cli_member(target, "kind", kind, sizeof(kind)),
            hl_cli_member(target, "name", name, sizeof(name)),
            hl_cli_member(target, "id", id, sizeof(id)));
    hl_cli_table_add(table, text);
}

static void add_row(void *owner, json_t *row)
{
    struct hl_cli_table *table = owner;
    char text[HL_CLI_MEMBER_TEXT];
    const json_t *detail = json_object_get(row, "detail");
    char *more = json_is_object(detail) ? json_dumps(detail, JSON_COMPACT) : NULL;
    const char *from = json_string_value(json_object_get(row, "from"));
    hl_cli_table_add(table, hl_cli_member(row, "at", text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(row, "action", text, sizeof(text)));
    add_who(table, json_object_get(row, "who"));
    hl_cli_table_add(table, from ? from : hl_cli_member(row, "via", text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(row, "project_id", text, sizeof(text)));
    add_target(table, json_object_get(row, "target"));
    hl_cli_table_add(table, hl_cli_member(row, "count", text, sizeof(text)));
    hl_cli_table_add(table, more);
    free(more);
}

int hl_cli_audit(const struct hl_cli *cli)
{
    static const struct hl_cli_list all = {"/audit", "audit", add_row};
    struct hl_cli_filter filter = {.project = NULL};
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--action", .text = &filter.action}, {.name = "--since", .text = &filter.since},
        {.name = "--until", .text = &filter.until}, {.name = "--limit", .text = &filter.limit},
        {.name = "--json", .is_given = &filter.is_json}};
    struct hl_cli_session *session;
    struct hl_cli_table table;
    int status = hl_cli_filter_open(cli, options, HL_ARRAY_LEN(options), &filter, &session);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_filter_settle_project(&filter, session);
    hl_cli_table_init_for(&table, cli->out, columns, HL_ARRAY_LEN(columns));
    status = hl_cli_filter_list(session, cli, &filter, &all, &table);
    hl_cli_session_close(session);
    return status;
}
