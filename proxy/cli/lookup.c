/* lookup.c - ids by their beginning. Ids are ordered by time, and so are lists: the page below the last
 * id that has the beginning starts with those that have it. Runs are also found by the last characters of their
 * ids, which are what tables and pages show of them. */
#include "cli/lookup.h"

#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/synopsis.h"
#include "cli/table.h"

#define DIGITS    32
#define LEAST     4 /* less would be everybody's */
#define SHOWN_MAX 5

static const struct {
    const char *path, *member, *id, *word;
} things[] = {
    [HL_CLI_RUN] = {"/v2/runs", "runs", "run_id", "run"},
    [HL_CLI_DELIVERY] = {"/v2/deliveries", "deliveries", "delivery_id", "delivery"},
    [HL_CLI_ACCOUNT] = {"/v2/service-accounts", "service_accounts", "id", "service account"},
    [HL_CLI_JOB] = {"/v2/jobs", "jobs", "job_id", "job"},
};

/* ---- what is typed ---- */

/* The hex digits of `typed`, lower case. False: it has other characters, or more digits than an id. */
static bool read_digits(const char *typed, char digits[DIGITS + 1])
{
    size_t n = 0;
    for (; *typed; typed++) {
        if (*typed == '-')
            continue;
        if (!isxdigit((unsigned char)*typed) || n == DIGITS)
            return false;
        digits[n++] = (char)tolower((unsigned char)*typed);
    }
    digits[n] = '\0';
    return true;
}

/* Of a run the end is enough, too. */
static int refuse_short(const struct hl_cli *cli, enum hl_cli_thing thing, const char *typed)
{
    char end[32] = "";
    if (thing == HL_CLI_RUN)
        snprintf(end, sizeof(end), ", or the last %d", HL_CLI_TAIL);
    return hl_cli_usage_error(cli,
        "\"%s\" is too short: at least the first %d characters of a %s's id are needed%s", typed,
        LEAST, things[thing].word, end);
}

/* What is typed may be a token: the whole of it is not said. */
static int read_typed(
    const struct hl_cli *cli, enum hl_cli_thing thing, const char *typed, char digits[DIGITS + 1])
{
    if (!read_digits(typed, digits))
        return hl_cli_usage_error(cli,
            "\"%.20s%s\" is not a %s's id or the beginning of one: those are hex digits, such as "
            "01a201a0-7ddc",
            typed, strlen(typed) > 20 ? "…" : "", things[thing].word);
    return strlen(digits) < LEAST ? refuse_short(cli, thing, typed) : HL_CLI_OK;
}

int hl_cli_read_id(const struct hl_cli *cli, const struct hl_cli_option *options,
    size_t option_count, enum hl_cli_thing thing, const char **typed)
{
    char what[96], digits[DIGITS + 1];
    struct hl_cli_synopsis_option all;
    bool may_be_many =
        thing == HL_CLI_RUN && cli->command && hl_cli_synopsis_find(cli->command, "--all", &all);
    snprintf(what, sizeof(what), "a %s's id, or the beginning of one%s", things[thing].word,
        thing == HL_CLI_ACCOUNT ? ", as \"token list\" shows it; not the token"
        : may_be_many           ? "; or --all and filters"
                                : "");
    int status = hl_cli_read_word(cli, options, option_count, typed, what);
    return *typed && read_typed(cli, thing, *typed, digits) != HL_CLI_OK ? HL_CLI_USAGE : status;
}

/* The last id that begins so: itself, if that is all of it. */
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

static bool ends_so(const char *id, const char *digits, size_t n)
{
    size_t length = strlen(id);
    return length >= n && strcmp(id + length - n, digits) == 0;
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

/* ---- what is there ---- */

/* Those of which the ids are like that. */
struct matches {
    size_t n;
    char id[HL_CLI_ID_MAX];                         /* the first */
    char several[SHOWN_MAX * (HL_ID_TEXT + 2) + 1]; /* the first few */
    size_t several_n;
};

static void add_matches(struct matches *m, enum hl_cli_thing thing, const json_t *rows,
    const char *digits, bool (*is_like)(const char *id, const char *digits, size_t n))
{
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *text = json_string_value(json_object_get(row, things[thing].id));
        if (!text || strlen(text) > HL_ID_TEXT || !is_like(text, digits, strlen(digits)))
            continue;
        if (m->n++ == 0)
            snprintf(m->id, sizeof(m->id), "%s", text);
        if (m->n <= SHOWN_MAX)
            m->several_n += (size_t)snprintf(m->several + m->several_n,
                sizeof(m->several) - m->several_n, "%s%s", m->n > 1 ? ", " : "", text);
    }
}

static int ask_for_page(struct hl_cli_session *session, enum hl_cli_thing thing,
    const char *parameter, const char *value, const char *cursor, json_t **page)
{
    struct hl_cli_target target;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, things[thing].path);
    hl_cli_target_query(&target, "limit", "10");
    hl_cli_target_query(&target, parameter, value);
    hl_cli_target_query(&target, "cursor", cursor);
    return hl_cli_ask_for(session, "GET", &target, NULL, things[thing].member, page);
}

static int find_beginning(
    struct hl_cli_session *session, enum hl_cli_thing thing, const char *digits, struct matches *m)
{
    char last[HL_ID_TEXT + 1];
    json_t *page = NULL;
    write_last(digits, strlen(digits), last);
    int status = ask_for_page(session, thing, NULL, NULL, last, &page);
    add_matches(m, thing, json_object_get(page, things[thing].member), digits, begins_so);
    json_decref(page);
    return status;
}

void hl_cli_next_page(const json_t *page, char *cursor, size_t cap)
{
    const char *next = json_string_value(json_object_get(page, "next_cursor"));
    bool goes_on = next && (!*cursor || strcmp(next, cursor) < 0);
    snprintf(cursor, cap, "%s", goes_on ? next : "");
}

/* A page may be empty although there is more. */
static int find_end(struct hl_cli_session *session, const char *digits, struct matches *m)
{
    char cursor[HL_ID_TEXT + 1] = "";
    int status;
    do {
        json_t *page = NULL;
        status =
            ask_for_page(session, HL_CLI_RUN, "id_suffix", digits, *cursor ? cursor : NULL, &page);
        add_matches(m, HL_CLI_RUN, json_object_get(page, "runs"), digits, ends_so);
        hl_cli_next_page(page, cursor, sizeof(cursor));
        json_decref(page);
    } while (status == HL_CLI_OK && *cursor && m->n <= SHOWN_MAX);
    return status;
}

int hl_cli_find(struct hl_cli_session *session, const struct hl_cli *cli, enum hl_cli_thing thing,
    const char *typed, char *id)
{
    char digits[DIGITS + 1];
    struct matches m = {.n = 0};
    int status = read_typed(cli, thing, typed, digits);
    if (status != HL_CLI_OK)
        return status;
    size_t n = strlen(digits);
    if (n == DIGITS) {
        write_last(digits, n, id);
        return HL_CLI_OK;
    }
    status = find_beginning(session, thing, digits, &m);
    bool has_end = thing == HL_CLI_RUN && strlen(typed) == HL_CLI_TAIL && n == HL_CLI_TAIL;
    if (status == HL_CLI_OK && m.n == 0 && has_end)
        status = find_end(session, digits, &m);
    if (status != HL_CLI_OK)
        return status;
    snprintf(id, HL_CLI_ID_MAX, "%s", m.id);
    if (m.n == 1)
        return HL_CLI_OK;
    const char *word = things[thing].word, *how = has_end ? "begins or ends" : "begins";
    if (m.n == 0)
        return hl_cli_fail(cli, "no %s's id %s with \"%s\"", word, how, typed);
    return hl_cli_fail(cli, "more than one %s's id %s with \"%s\": %s%s", word, how, typed,
        m.several, m.n > SHOWN_MAX ? " …" : "");
}

int hl_cli_ask_about(struct hl_cli_session *session, enum hl_cli_thing thing, const char *method,
    const char *typed, const char *after, json_t **out)
{
    char id[HL_CLI_ID_MAX];
    struct hl_cli_target target;
    *out = NULL;
    int status = hl_cli_find(session, hl_cli_session_call(session), thing, typed, id);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, things[thing].path);
    hl_cli_target_path(&target, "/");
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, after);
    bool tells_id = *method != 'D' && !strchr(after, '?'); /* not of a list of what is in it */
    return tells_id ? hl_cli_ask_for(session, method, &target, NULL, things[thing].id, out)
                    : hl_cli_ask_target(session, method, &target, NULL, out);
}
