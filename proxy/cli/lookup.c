/* lookup.c - ids by their beginning. Ids are ordered by time, and so are lists: the page below the last
 * id that has the beginning starts with those that have it. */
#include "cli/lookup.h"

#include <ctype.h>
#include <string.h>

#include "cli/target.h"

#define DIGITS    32
#define LEAST     4 /* less would be everybody's */
#define SHOWN_MAX 5

static const struct {
    const char *path, *member, *id, *word;
} things[] = {
    [HL_CLI_RUN] = {"/v2/runs", "runs", "run_id", "run"},
    [HL_CLI_DELIVERY] = {"/v2/deliveries", "deliveries", "delivery_id", "delivery"},
    [HL_CLI_ACCOUNT] = {"/v2/service-accounts", "service_accounts", "id", "service account"},
};

/* The hex digits of `typed`, lower case. 0: it has other characters, or too few or too many digits. */
static size_t read_digits(const char *typed, char digits[DIGITS + 1])
{
    size_t n = 0;
    for (; *typed; typed++) {
        if (*typed == '-')
            continue;
        if (!isxdigit((unsigned char)*typed) || n == DIGITS)
            return 0;
        digits[n++] = (char)tolower((unsigned char)*typed);
    }
    digits[n] = '\0';
    return n >= LEAST && n < DIGITS ? n : 0;
}

/* The last id that begins so. */
static void write_last(const char *digits, size_t n, char out[HL_ID_TEXT + 1])
{
    char *at = out;
    for (size_t i = 0; i < DIGITS; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *at++ = '-';
        *at++ = i < n ? digits[i] : 'f';
    }
    *at = '\0';
}

static bool begins_so(const char *id, const char *digits, size_t n)
{
    for (; n > 0 && *id; id++)
        if (*id != '-') {
            if (*id != *digits)
                return false;
            digits++;
            n--;
        }
    return n == 0;
}

static int judge(const struct hl_cli *cli, enum hl_cli_thing thing, const char *typed,
    const json_t *rows, char *id)
{
    char digits[DIGITS + 1], several[SHOWN_MAX * (HL_ID_TEXT + 2) + 1] = "";
    size_t n = read_digits(typed, digits), i, found = 0, at = 0;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *text = json_string_value(json_object_get(row, things[thing].id));
        if (!text || !begins_so(text, digits, n))
            continue;
        snprintf(id, HL_CLI_ID_MAX, "%s", text);
        if (++found <= SHOWN_MAX)
            at += (size_t)snprintf(
                several + at, sizeof(several) - at, "%s%s", found > 1 ? ", " : "", text);
    }
    if (found == 1)
        return HL_CLI_OK;
    if (found == 0)
        return hl_cli_fail(cli, "no %s's id begins with \"%s\"", things[thing].word, typed);
    return hl_cli_fail(cli, "more than one %s's id begins with \"%s\": %s%s", things[thing].word,
        typed, several, found > SHOWN_MAX ? " …" : "");
}

int hl_cli_find(struct hl_cli_session *session, const struct hl_cli *cli, enum hl_cli_thing thing,
    const char *typed, char *id)
{
    char digits[DIGITS + 1], last[HL_ID_TEXT + 1];
    struct hl_cli_target target;
    json_t *page = NULL;
    size_t n = read_digits(typed, digits);
    if (n == 0) {
        int written = snprintf(id, HL_CLI_ID_MAX, "%s", typed);
        return written < HL_CLI_ID_MAX ? HL_CLI_OK
                                       : hl_cli_usage_error(cli, "\"%.20s…\" is no id", typed);
    }
    write_last(digits, n, last);
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, things[thing].path);
    hl_cli_target_query(&target, "limit", "10");
    hl_cli_target_query(&target, "cursor", last);
    const char *text = hl_cli_target_text(&target);
    int status = text ? hl_cli_ask(session, "GET", text, NULL, &page) : HL_CLI_FAILED;
    if (status == HL_CLI_OK)
        status = judge(cli, thing, typed, json_object_get(page, things[thing].member), id);
    json_decref(page);
    hl_cli_target_fini(&target);
    return status;
}

int hl_cli_ask_about(struct hl_cli_session *session, const struct hl_cli *cli,
    enum hl_cli_thing thing, const char *method, const char *typed, const char *after, json_t **out)
{
    char id[HL_CLI_ID_MAX];
    struct hl_cli_target target;
    *out = NULL;
    int status = hl_cli_find(session, cli, thing, typed, id);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, things[thing].path);
    hl_cli_target_path(&target, "/");
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, after);
    const char *text = hl_cli_target_text(&target);
    status = text ? hl_cli_ask(session, method, text, NULL, out) : HL_CLI_FAILED;
    hl_cli_target_fini(&target);
    return status;
}
