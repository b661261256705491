/* argument.c - the arguments of one command. */
#include "cli/argument.h"

#include "base/clock.h"
#include "config/value.h"

static const struct hl_cli_option *find(
    const struct hl_cli_option *options, size_t n, struct hl_str name)
{
    for (size_t i = 0; i < n; i++)
        if (hl_str_eq(name, hl_str_from(options[i].name)))
            return &options[i];
    return NULL;
}

/* One argument that begins with "-". `*at` goes on to the last one it used. */
static int read_option(
    const struct hl_cli *cli, const struct hl_cli_option *options, size_t n, int *at)
{
    const char *given = cli->argv[*at], *equals = strchr(given, '=');
    struct hl_str name = {given, equals ? (size_t)(equals - given) : strlen(given)};
    const struct hl_cli_option *option = find(options, n, name);
    if (!option)
        return hl_cli_usage_error(cli, "there is no option \"%.*s\" here", HL_STR_ARG(name));
    if (option->is_given && equals)
        return hl_cli_usage_error(cli, "the option %s takes no value", option->name);
    if (option->is_given) {
        *option->is_given = true;
        return HL_CLI_OK;
    }
    if (*option->text)
        return hl_cli_usage_error(cli, "the option %s is given more than once", option->name);
    if (!equals && ++*at == cli->argc)
        return hl_cli_usage_error(cli, "the option %s needs a value", option->name);
    *option->text = equals ? equals + 1 : cli->argv[*at];
    return HL_CLI_OK;
}

int hl_cli_read_arguments(const struct hl_cli *cli, const struct hl_cli_option *options,
    size_t option_count, const char **words, size_t max_words, size_t *count)
{
    bool has_options = true;
    *count = 0;
    for (int i = 0; i < cli->argc; i++) {
        const char *arg = cli->argv[i];
        if (has_options && strcmp(arg, "--") == 0) {
            has_options = false;
        } else if (has_options && arg[0] == '-' && arg[1] != '\0') {
            int status = read_option(cli, options, option_count, &i);
            if (status != HL_CLI_OK)
                return status;
        } else if (*count == max_words) {
            return hl_cli_usage_error(cli, "\"%s\" is one word too many", arg);
        } else {
            words[(*count)++] = arg;
        }
    }
    return HL_CLI_OK;
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
