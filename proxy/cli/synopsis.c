/* synopsis.c - the options of a command, from its synopsis: help, completion and the man page say what
 * is there once. */
#include "cli/synopsis.h"

#include <ctype.h>
#include <string.h>

static const char remote_options[] = "[--url URL] [--token-file FILE]";

/* One name, with one kind of value, means one thing in every command. */
static const struct {
    const char *name, *value, *help; /* NULL: whatever it takes */
} meanings[] = {
    {"--app", NULL, "only of this app"},
    {"--async", NULL, "only asynchronous ones; of a call: only its id, at once"},
    {"--data", NULL, "the request's body: a text, or the file @FILE; @- is stdin"},
    {"--destination", NULL, "only to this scheme, host and port"},
    {"--dry-run", NULL, "say what would be sent, and send nothing"},
    {"--expires", NULL, "when the token ends: 90d, or 2027-01-31"},
    {"--fail-hooks", NULL, "how the receiver answers, in turn: 500,timeout,reset"},
    {"--follow", NULL, "go on: a line for each run that comes or changes, until Ctrl-C"},
    {"--header", NULL, "a field of the request: \"X-Run-Priority: high\""},
    {"--id", NULL, "the run's id: X-Request-Id of the webhook"},
    {"--json", "BODY", "the request's body, JSON: a text, or the file @FILE; @- is stdin"},
    {"--json", NULL, "one line of JSON each, for scripts"},
    {"--limit", NULL, "at most so many (50)"},
    {"--max-priority", NULL, "the most that its runs may ask for (normal)"},
    {"--max-queued", NULL, "so many runs may wait"},
    {"--max-running", NULL, "so many calls may be inside the app at once"},
    {"--method", NULL, "another method than POST"},
    {"--name", NULL, "what the account is called"},
    {"--output", NULL, "write to this file instead of stdout"},
    {"--path", NULL, "only with this in their path"},
    {"--project", NULL, "of this project; where one is needed, HOOKLINE_PROJECT_ID stands for it"},
    {"--rate", NULL, "so many calls in a second, minute, hour or day"},
    {"--reason", NULL, "only those that failed so: timeout, app_error, …"},
    {"--role", "ROLE", "the database role that replicas connect as"},
    {"--role", NULL, "what the token may do (invoke)"},
    {"--run", NULL, "only of this run"},
    {"--secret-file", NULL, "a file with the secret; without it HOOKLINE_WEBHOOK_SECRET"},
    {"--signature", NULL, "the value of the signature's field"},
    {"--since", NULL, "from then on: 1h ago, or 2026-11-22T08:00:00Z"},
    {"--state", NULL, "only in this state"},
    {"--status", NULL, "only with such an answer: 404, 5xx, or none"},
    {"--sync", NULL, "only synchronous ones"},
    {"--timeout", NULL, "give up after this time: 90s, 10m"},
    {"--timestamp", NULL, "the value of the timestamp's field, in seconds"},
    {"--token-file", NULL, "a file with the token for --url"},
    {"--until", NULL, "up to then"},
    {"--url", NULL, "ask the hookline at this address, with a token"},
    {"--wait", NULL, "wait for its end"},
    {"--webhook", "none|pending|delivered|dead", "only with such a webhook"},
    {"--webhook", NULL, "where the response goes as well"},
    {"--yes", NULL, "do not ask before many"},
};

static const char *meaning_of(const struct hl_cli_synopsis_option *option)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(meanings); i++) {
        const char *value = meanings[i].value;
        if (hl_str_eq(option->name, hl_str_from(meanings[i].name)) &&
            (!value || hl_str_eq(option->value, hl_str_from(value))))
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
    option->help = meaning_of(option);
    return true;
}
