/* delivery_table.c - webhooks as rows: where each goes, how it stands, what its newest attempt met. */
#include "cli/delivery_table.h"

#include "base/compiler.h"
#include "cli/table.h"

/* Why one did not arrive stands under ERROR, a status too: STATUS can go before that. */
static const struct hl_cli_column columns[] = {{"DELIVERY", HL_CLI_ID, 0},
    {"RUN", HL_CLI_RUN_ID, 7}, {"APP", HL_CLI_TEXT, 4}, {"STATE", HL_CLI_PLAIN, 0},
    {"DESTINATION", HL_CLI_ADDRESS, 1}, {"ATTEMPTS", HL_CLI_PLAIN, 6}, {"STATUS", HL_CLI_PLAIN, 5},
    {"CREATED", HL_CLI_TIME, 0}, {"ERROR", HL_CLI_ERROR, 2}};

const char *hl_cli_attempt_error(
    const json_t *attempt, const char *error, const char *status, char *into, size_t cap)
{
    json_int_t code = json_integer_value(json_object_get(attempt, status));
    if (json_is_string(json_object_get(attempt, error)) || code / 100 == 2 || code == 0)
        return hl_cli_member(attempt, error, into, cap);
    snprintf(into, cap, "status %lld", (long long)code);
    return into;
}

void hl_cli_delivery_table_init(struct hl_cli_table *table, FILE *out)
{
    hl_cli_table_init_for(table, out, columns, HL_ARRAY_LEN(columns));
}

void hl_cli_delivery_table_add(struct hl_cli_table *table, const json_t *delivery)
{
    static const char *const members[] = {
        "delivery_id", "run_id", "app_name", "state", "destination", "attempt_count"};
    const json_t *attempts = json_object_get(delivery, "attempts");
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    char text[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(delivery, members[i], text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(last, "status_code", text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(delivery, "created_at", text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_attempt_error(last, "error", "status_code", text, sizeof(text)));
}
