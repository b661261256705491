/* cli.c - one call of a command: its arguments, options from a table and words, and how it says that it was called
 * wrongly or could not do it. Every fault is said, not only the first. Runs on the main thread. */
#include "cli/cli.h"

#include <stdarg.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/screen.h"
#include "cli/synopsis.h"
#include "config/value.h"

/* What was asked may answer anything. */
#define MESSAGE_MAX 4096

static void say(const struct hl_cli *cli, const char *fmt, va_list args)
{
    fprintf(cli->err, "hookline%s%s: ", cli->command ? " " : "",
        cli->command ? cli->command->words : "");
    char text[MESSAGE_MAX];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    hl_cli_print(cli->err, text);
    fputs(n >= (int)sizeof(text) ? "…\n" : "\n", cli->err);
}

int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(cli, fmt, args);
    va_end(args);
    if (cli->faults)
        ++*cli->faults;
    return HL_CLI_USAGE;
}

int hl_cli_fail(const struct hl_cli *cli, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(cli, fmt, args);
    va_end(args);
    return HL_CLI_FAILED;
}

/* ---- arguments ---- */

#define ALIKE 2 /* letters that a mistyped name differs in */

/* All that may be given: the command's own, and those of --url. */
struct reading {
    const struct hl_cli *cli;
    const struct hl_cli_option *own, *remote;
    size_t own_count, remote_count;
    bool has_unknown; /* what follows may be its value: no word is one too many */
    int status;
};

static const struct hl_cli_option *option_at(const struct reading *r, size_t i)
{
    return i < r->own_count ? &r->own[i] : &r->remote[i - r->own_count];
}

static const struct hl_cli_option *find(const struct reading *r, struct hl_str name)
{
    for (size_t i = 0; i < r->own_count + r->remote_count; i++)
        if (hl_str_eq(name, hl_str_from(option_at(r, i)->name)))
            return option_at(r, i);
    return NULL;
}

/* The one that was meant, perhaps: NULL if none is like it. */
static const char *find_alike(const struct reading *r, struct hl_str name)
{
    const char *alike = NULL;
    unsigned least = ALIKE + 1;
    for (size_t i = 0; i < r->own_count + r->remote_count; i++) {
        const char *there = option_at(r, i)->name;
        bool is_beginning = name.n > 3 && hl_str_starts_with(hl_str_from(there), name);
        unsigned d = is_beginning ? 1 : hl_distance(name, hl_str_from(there));
        if (d < least) {
            least = d;
            alike = there;
        }
    }
    return alike;
}

static bool is_given(const struct hl_cli *cli, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < cli->argc; i++)
        if (strncmp(cli->argv[i], name, n) == 0 &&
            (cli->argv[i][n] == '\0' || cli->argv[i][n] == '='))
            return true;
    return false;
}

/* A command that is about one thing or, with --all, about many has options that are for one of the two: of what
 * stands here the other is known, or that it is missing. False: the command has no such option at all. `*at` goes on
 * to its value, which is no word. */
static bool refuse_misplaced(struct reading *r, struct hl_str name, bool has_value, int *at)
{
    static const char *const modes[] = {"--to", "--all"};
    struct hl_cli_synopsis_option known, all;
    char text[32];
    snprintf(text, sizeof(text), "%.*s", HL_STR_ARG(name));
    if (!r->cli->command || !hl_cli_synopsis_find(r->cli->command, text, &known) ||
        !hl_cli_synopsis_find(r->cli->command, "--all", &all))
        return false;
    if (known.value.n > 0 && !has_value && *at + 1 < r->cli->argc)
        ++*at;
    for (size_t i = 0; i < HL_ARRAY_LEN(modes); i++)
        if (is_given(r->cli, modes[i]) && strcmp(text, modes[i]) != 0) {
            r->status = hl_cli_usage_error(r->cli, "%s does not go with %s", text, modes[i]);
            return true;
        }
    bool is_of_one = strcmp(text, "--secret-file") == 0;
    r->status = hl_cli_usage_error(
        r->cli, "%s needs %s, which is missing", text, is_of_one ? "--to" : "--all");
    return true;
}

static void refuse_unknown(struct reading *r, struct hl_str name)
{
    const char *alike = find_alike(r, name);
    r->has_unknown = true;
    if (alike)
        r->status = hl_cli_usage_error(
            r->cli, "there is no option \"%.*s\"; did you mean %s?", HL_STR_ARG(name), alike);
    else
        r->status =
            hl_cli_usage_error(r->cli, "there is no option \"%.*s\" here", HL_STR_ARG(name));
}

/* "queued, running or success", of the words that the option takes. False: `value` is none of them. */
static bool read_choices(
    const struct hl_cli_synopsis_option *option, const char *value, char *said, size_t cap)
{
    struct hl_str one, next;
    size_t at = 0, n = 0;
    bool is_one = false, is_there = hl_cli_synopsis_word(option, &at, &one);
    while (is_there) {
        is_there = hl_cli_synopsis_word(option, &at, &next);
        is_one = is_one || hl_str_eq(one, hl_str_from(value));
        const char *before = n == 0 ? "" : is_there ? ", " : " or ";
        if (n < cap)
            n += (size_t)snprintf(said + n, cap - n, "%s%.*s", before, HL_STR_ARG(one));
        one = next;
    }
    return is_one;
}

static void check_choice(struct reading *r, const char *name, const char *value)
{
    char said[512]; /* the actions of `audit` are the most */
    struct hl_cli_synopsis_option known;
    if (r->cli->command && hl_cli_synopsis_find(r->cli->command, name, &known) &&
        hl_cli_synopsis_has_choices(&known) && !read_choices(&known, value, said, sizeof(said)))
        r->status = hl_cli_usage_error(r->cli, "%s is %s, not \"%s\"", name, said, value);
}

static void keep_value(struct reading *r, const struct hl_cli_option *option, const char *value)
{
    size_t places = option->is_given ? HL_CLI_TEXTS_MAX : 1, i = 0;
    while (i < places && option->text[i])
        i++;
    check_choice(r, option->name, value);
    if (i < places)
        option->text[i] = value;
    else if (places == 1)
        r->status =
            hl_cli_usage_error(r->cli, "the option %s is given more than once", option->name);
    else
        r->status = hl_cli_usage_error(
            r->cli, "the option %s is given more than %d times", option->name, HL_CLI_TEXTS_MAX);
}

/* One argument that begins with "-". `*at` goes on to the last one it used. */
static void read_option(struct reading *r, int *at)
{
    const struct hl_cli *cli = r->cli;
    const char *given = cli->argv[*at], *equals = strchr(given, '=');
    struct hl_str name = {given, equals ? (size_t)(equals - given) : strlen(given)};
    const struct hl_cli_option *option = find(r, name);
    if (!option) {
        if (!refuse_misplaced(r, name, equals != NULL, at))
            refuse_unknown(r, name);
    } else if (!option->text && equals)
        r->status = hl_cli_usage_error(cli, "the option %s takes no value", option->name);
    else if (!option->text)
        *option->is_given = true;
    else if (!equals && ++*at == cli->argc)
        r->status = hl_cli_usage_error(cli, "the option %s needs a value", option->name);
    else
        keep_value(r, option, equals ? equals + 1 : cli->argv[*at]);
}

static void read_all(struct reading *r, const char **words, size_t max_words, size_t *count)
{
    bool has_options = true;
    for (int i = 0; i < r->cli->argc; i++) {
        const char *arg = r->cli->argv[i];
        if (has_options && strcmp(arg, "--") == 0)
            has_options = false;
        else if (has_options && arg[0] == '-' && arg[1] != '\0')
            read_option(r, &i);
        else if (*count < max_words)
            words[(*count)++] = arg;
        else if (!r->has_unknown)
            r->status = hl_cli_usage_error(r->cli, "unexpected argument \"%s\"", arg);
    }
}

int hl_cli_read_arguments(const struct hl_cli *cli, const struct hl_cli_option *options,
    size_t option_count, const char **words, size_t max_words, size_t *count)
{
    struct hl_cli_remote none = {.url = NULL}, *remote = cli->remote ? cli->remote : &none;
    const struct hl_cli_option remote_options[] = {
        {"--url", &remote->url, NULL}, {"--token-file", &remote->token_file, NULL}};
    struct reading r = {.cli = cli,
        .own = options,
        .own_count = option_count,
        .remote = remote_options,
        .remote_count = cli->remote ? HL_ARRAY_LEN(remote_options) : 0,
        .status = HL_CLI_OK};
    *count = 0;
    read_all(&r, words, max_words, count);
    if (r.status == HL_CLI_OK && cli->remote && remote->token_file && !remote->url)
        r.status = hl_cli_usage_error(cli, "--token-file is for --url");
    return r.status;
}

int hl_cli_read_word(const struct hl_cli *cli, const struct hl_cli_option *options,
    size_t option_count, const char **word, const char *what)
{
    size_t count;
    *word = NULL;
    int status = hl_cli_read_arguments(cli, options, option_count, word, 1, &count);
    return count == 1 && **word != '\0' ? status : hl_cli_usage_error(cli, "it needs %s", what);
}

int hl_cli_need(const struct hl_cli *cli, const char *name, const char *text)
{
    struct hl_cli_synopsis_option known;
    if (text)
        return HL_CLI_OK;
    bool is_known = cli->command && hl_cli_synopsis_find(cli->command, name, &known);
    bool is_said = cli->argc > 0 && strcmp(cli->argv[cli->argc - 1], name) == 0; /* no value */
    if (is_known && known.help && !is_said)
        return hl_cli_usage_error(
            cli, "%s %.*s is needed: %s", name, HL_STR_ARG(known.value), known.help);
    return is_said ? HL_CLI_USAGE : hl_cli_usage_error(cli, "%s is needed", name);
}

bool hl_cli_read_time(const char *text, int sign, int64_t *wall_ms)
{
    char midnight[32];
    uint64_t ms;
    struct hl_str s = hl_str_from(text);
    if (hl_value_parse_duration(s, &ms) && ms < INT64_MAX / 4) {
        *wall_ms = hl_clock_wall_ms() + sign * (int64_t)ms;
        return true;
    }
    if (hl_clock_parse(s, wall_ms))
        return true;
    if (s.n != 10)
        return false;
    int n = snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
    return hl_clock_parse((struct hl_str){midnight, (size_t)n}, wall_ms);
}

int hl_cli_check_time(
    const struct hl_cli *cli, const char *name, const char *text, int64_t *wall_ms)
{
    if (!text || hl_cli_read_time(text, -1, wall_ms))
        return HL_CLI_OK;
    return hl_cli_usage_error(cli,
        "%s is a time such as 2026-11-22T08:00:00Z, or a duration before now such as 1h; \"%s\" is "
        "neither",
        name, text);
}
