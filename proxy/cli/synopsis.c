/* synopsis.c - the options of a command, from its synopsis: help, completion and the man page say what
 * is there once. */
#include "cli/synopsis.h"

#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "store/audit.h"
#include "store/record.h"

static const char remote_options[] = "[--url URL] [--token-file FILE]";

/* One name, with one kind of value, means one thing in every command but those that are named. */
static const struct {
    const char *name, *value, *help; /* value NULL: whatever it takes */
    const char *words;               /* of this command; NULL: of any */
} meanings[] = {
    {"--async", NULL, "the answer is its id, at once, and it goes on by itself", "call"},
    {"--project", NULL, "whose token it is; without it the project in the path", "call"},
    {"--columns", NULL, "these, such as delivery,receiver,error; a wrong one lists them all",
        "deliveries list"},
    {"--level", NULL, "only lines of this level, and worse ones", NULL},
    {"--limit", NULL, "at most this many (all)", "deliveries destinations"},
    {"--since", NULL, "from this time on (1h): back from now, or 2026-11-22T08:00:00Z",
        "runs errors"},
    {"--state", NULL, "only in this state (dead)", "deliveries redeliver"},
    {"--state", NULL, "only in this state (dead)", "runs redeliver"},
    {"--wait", NULL, "wait for its end, and print the response", "runs send"},
    {"--wait", NULL, "until nothing is left inside but deliveries, which stay in the store",
        "drain"},
    {"--webhook", NULL, "where the response goes as well", "call"},
    {"--webhook", NULL, "where the response goes", "runs send"},
    {"--action", NULL, "only such changes: account_made, account_revoked, run_cancelled, …", NULL},
    {"--after", NULL, "go on after that one, where an earlier call stopped", NULL},
    {"--all", NULL, "all that these filters name, as a job that goes on by itself", NULL},
    {"--app", NULL, "only of this app", NULL},
    {"--async", NULL, "only asynchronous ones", NULL},
    {"--cancel", NULL, "take it back: it is ready again", NULL},
    {"--columns", NULL, "these, such as run,error,created; a wrong one lists them all", NULL},
    {"--data", NULL, "the request's body: a text, or the file @FILE; @- is stdin", NULL},
    {"--destination", NULL, "only to this scheme, host and port", NULL},
    {"--dry-run", NULL, "say what would be sent, and send nothing", NULL},
    {"--error", NULL, "only those that failed with exactly this", NULL},
    {"--expires", NULL, "with --read-only, until when it lasts: 30d, or 2027-01-31; 366d at most",
        "dashboard"},
    {"--expires", NULL, "when the token expires: 90d, or 2027-01-31; ten years away at most", NULL},
    {"--fail-hooks", NULL, "how the receiver answers, in turn: 500,timeout,reset", NULL},
    {"--find", NULL, "only with this in their path, error or tags", NULL},
    {"--follow", NULL, "keep printing what comes, until Ctrl-C", "logs"},
    {"--follow", NULL, "keep printing a line for each new or changed run, until Ctrl-C", NULL},
    {"--header", NULL, "a field of the request: \"X-Run-Priority: high\"", NULL},
    {"--id", NULL, "the run's id: X-Request-Id of the webhook", NULL},
    {"--json", "BODY", "the request's body, JSON: a text, or the file @FILE; @- is stdin", NULL},
    {"--json", NULL, "one line of JSON each, for scripts", NULL},
    {"--limit", NULL, "at most this many (50)", NULL},
    {"--max-priority", NULL, "the highest priority that its runs may ask for (normal)", NULL},
    {"--max-queued", NULL, "this many runs may wait", NULL},
    {"--max-running", NULL, "this many calls may be inside the app at once", NULL},
    {"--method", NULL, "another method than POST", NULL},
    {"--name", NULL, "what the account is called", NULL},
    {"--output", NULL, "write to this file instead of stdout", NULL},
    {"--pause", NULL, "of --all: between one piece of 100 and the next (100ms)", NULL},
    {"--path", NULL, "only with this in their path", NULL},
    {"--project", NULL, "of this project; where one is needed, HOOKLINE_PROJECT_ID stands for it",
        NULL},
    {"--rate", "SIZE", "read this many bytes per second (64MiB)", NULL},
    {"--rate", NULL, "this many calls per second, minute, hour or day", NULL},
    {"--read-only", NULL, "a link that sees all and changes nothing", NULL},
    {"--reason", NULL, "only those that failed for this reason: timeout, app_error, …", NULL},
    {"--role", "ROLE", "the database role that replicas connect as", NULL},
    {"--role", NULL, "what the token may do (invoke)", NULL},
    {"--run", NULL, "only of this run", NULL},
    {"--request", NULL, "what was sent: fields, attempt by attempt, and the body", NULL},
    {"--secret-file", NULL, "a file with the secret; without it HOOKLINE_WEBHOOK_SECRET", NULL},
    {"--signature", NULL, "the value of the signature's field", NULL},
    {"--since", NULL, "from this time on: 1h (back), or 2026-11-22T08:00:00Z", NULL},
    {"--state", NULL, "only in this state", NULL},
    {"--status", NULL, "only with this answer: 404, 5xx, or none", NULL},
    {"--sync", NULL, "only synchronous ones", NULL},
    {"--tag", "NAME=VALUE", "what the run is marked with; up to 8", NULL},
    {"--tag", NULL,
        "only with this tag (tier=gold), or with one of this name (tier); all of several", NULL},
    {"--timeout", NULL, "give up after this time: 90s, 10m", NULL},
    {"--timestamp", NULL, "the value of the timestamp's field, in seconds", NULL},
    {"--to", NULL, "this URL", NULL},
    {"--token-file", NULL, "a file with the token for --url", NULL},
    {"--until", NULL, "up to this time, which is after --since", NULL},
    {"--url", NULL, "ask the hookline at this address, with a token", NULL},
    {"--wait", NULL, "wait for its end", NULL},
    {"--webhook", NULL, "only with such a webhook", NULL},
    {"--yes", NULL, "do not ask for confirmation, however many", NULL},
};

static const char *meaning_of(
    const struct hl_cli_command *command, const struct hl_cli_synopsis_option *option)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(meanings); i++) {
        const char *value = meanings[i].value, *words = meanings[i].words;
        if (hl_str_eq(option->name, hl_str_from(meanings[i].name)) &&
            (!value || hl_str_eq(option->value, hl_str_from(value))) &&
            (!words || (command->words && strcmp(words, command->words) == 0)))
            return meanings[i].help;
    }
    return NULL;
}

static struct hl_str take_name(const char **at)
{
    const char *begin = *at;
    while (**at == '-' || isalnum((unsigned char)**at))
        ++*at;
    return (struct hl_str){begin, (size_t)(*at - begin)};
}

/* What stands behind the name, unless that is the next thing. */
static struct hl_str take_value(const char **at)
{
    const char *begin = *at + 1;
    if (**at != ' ' || *begin == '[' || *begin == '-' || *begin == '|' || *begin == '\0')
        return (struct hl_str){begin, 0};
    *at = begin + strcspn(begin, " ]");
    return (struct hl_str){begin, (size_t)(*at - begin)};
}

/* "--" alone ends the options, and is none. */
static const char *find_option(const char *text)
{
    const char *found = strstr(text, "--");
    while (found && found[2] == ' ')
        found = strstr(found + 2, "--");
    return found;
}

bool hl_cli_synopsis_next(
    const struct hl_cli_command *command, const char **at, struct hl_cli_synopsis_option *option)
{
    const char *own = command->arguments ? command->arguments : "";
    bool is_own = !*at || (*at >= own && *at <= own + strlen(own));
    const char *found = find_option(*at ? *at : own);
    if (!found && is_own && command->is_remote)
        found = strstr(remote_options, "--");
    if (!found)
        return false;
    *at = found;
    option->name = take_name(at);
    option->value = take_value(at);
    option->help = meaning_of(command, option);
    return true;
}

bool hl_cli_synopsis_find(
    const struct hl_cli_command *command, const char *name, struct hl_cli_synopsis_option *option)
{
    const char *at = NULL;
    while (hl_cli_synopsis_next(command, &at, option))
        if (hl_str_eq(option->name, hl_str_from(name)))
            return true;
    return false;
}

/* ---- the words that an option takes ---- */

static bool next_reason(size_t *at, struct hl_str *word)
{
    size_t reason = ++*at; /* the first is none */
    if (reason > HL_REASON_LAST)
        return false;
    *word = hl_str_from(hl_run_reason_text((enum hl_run_reason)reason));
    return true;
}

static bool next_action(size_t *at, struct hl_str *word)
{
    if (*at >= HL_AUDIT_ACTIONS)
        return false;
    *word = hl_str_from(hl_audit_action_text((enum hl_audit_action)(*at)++));
    return true;
}

/* Words that stand in a table elsewhere: what takes the next of them. */
static const struct table {
    const char *value;
    bool (*next)(size_t *at, struct hl_str *word);
} tables[] = {{"REASON", next_reason}, {"ACTION", next_action}};

static const struct table *table_of(const struct hl_cli_synopsis_option *option)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(tables); i++)
        if (hl_str_eq(option->value, hl_str_from(tables[i].value)))
            return &tables[i];
    return NULL;
}

/* "dead|delivered", "CODE|CLASS|none"; not "100/s|m|h|d", where digits stand for more than is there. */
static bool is_list(struct hl_str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] != '|' && value.p[i] != '-' && !isalpha((unsigned char)value.p[i]))
            return false;
    return value.n > 0 && memchr(value.p, '|', value.n);
}

/* Capitals stand for more than is there. */
static bool has_capital(struct hl_str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (isupper((unsigned char)value.p[i]))
            return true;
    return false;
}

bool hl_cli_synopsis_has_choices(const struct hl_cli_synopsis_option *option)
{
    return table_of(option) || (is_list(option->value) && !has_capital(option->value));
}

bool hl_cli_synopsis_word(
    const struct hl_cli_synopsis_option *option, size_t *at, struct hl_str *word)
{
    struct hl_str value = option->value;
    const struct table *table = table_of(option);
    if (table)
        return table->next(at, word);
    while (is_list(value) && *at < value.n) {
        const char *begin = value.p + *at, *bar = memchr(begin, '|', value.n - *at);
        *word = (struct hl_str){begin, bar ? (size_t)(bar - begin) : value.n - *at};
        *at += word->n + 1;
        if (!has_capital(*word))
            return true;
    }
    return false;
}
