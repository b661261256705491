/* config.c - from the environment to the settings of the process. Runs once, at start, before other
 * threads.
 * Owns: nothing after it returned.
 * Promise: every wrong variable is reported, not only the first.
 * Not here: what a value may be (option.c), what follows from the machine (settle.c). */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "config/option.h"
#include "config/option_value.h"
#include "config/settle.h"
#include "config/value.h"

#define PREFIX       "HOOKLINE_"
#define FILE_SUFFIX  "_FILE"
#define LARGEST_FILE 65536
#define LONGEST_NAME 64 /* of a setting */

struct load {
    struct hl_config *config;
    struct hl_buf *problems, *warnings;
};

/* Kubernetes describes a service called "hookline" to every container of its namespace by these. */
static bool is_service_link(struct hl_str name)
{
    return hl_str_eq(name, HL_STR(PREFIX "SERVICE_HOST")) ||
           hl_str_eq(name, HL_STR(PREFIX "SERVICE_PORT")) ||
           hl_str_starts_with(name, HL_STR(PREFIX "SERVICE_PORT_")) ||
           hl_str_eq(name, HL_STR(PREFIX "PORT")) ||
           hl_str_starts_with(name, HL_STR(PREFIX "PORT_"));
}

/* Settings of the function hosts (runtime/), which inherit them from a hookline that starts them. */
static bool is_for_function(struct hl_str name)
{
    return hl_str_starts_with(name, HL_STR(PREFIX "FUNCTION_"));
}

/* The secret whose …_FILE variant `name` is, or NULL. */
static const struct hl_option *find_file_variant(struct hl_str name)
{
    const struct hl_str suffix = HL_STR(FILE_SUFFIX);
    if (name.n < suffix.n || memcmp(name.p + name.n - suffix.n, suffix.p, suffix.n) != 0)
        return NULL;
    const struct hl_option *option = hl_option_find((struct hl_str){name.p, name.n - suffix.n});
    return option && option->is_secret ? option : NULL;
}

static enum hl_err note(char **slot, struct hl_str value, bool has_empty)
{
    if (*slot || (value.n == 0 && !has_empty))
        return HL_OK;
    *slot = hl_str_dup(value);
    return *slot ? HL_OK : HL_ERR_NOMEM;
}

static enum hl_err warn_of_unknown(struct load *load, struct hl_str name)
{
    enum hl_err err = hl_value_append_readable(load->warnings, name);
    return err ? err
               : hl_buf_printf(load->warnings,
                     " is unknown and has no effect; the nearest name is %s\n",
                     hl_nearest_option(name)->name);
}

static enum hl_err take_variable(struct load *load, struct hl_str name, struct hl_str value)
{
    struct hl_config_source *sources = load->config->sources;
    const struct hl_option *option = hl_option_find(name);
    if (option)
        return note(&sources[option - hl_options].text, value, option->has_empty);
    option = find_file_variant(name);
    if (option)
        return note(&sources[option - hl_options].file, value, false);
    if (is_service_link(name) || is_for_function(name))
        return HL_OK;
    return warn_of_unknown(load, name);
}

/* A setting whose name is not in capitals. Other names that begin so are anybody's. */
static enum hl_err judge_case(struct load *load, struct hl_str name)
{
    char capitals[sizeof(PREFIX) + LONGEST_NAME];
    if (name.n >= sizeof(capitals) || strncasecmp(name.p, PREFIX, sizeof(PREFIX) - 1) != 0)
        return HL_OK;
    for (size_t i = 0; i < name.n; i++)
        capitals[i] = name.p[i] >= 'a' && name.p[i] <= 'z' ? (char)(name.p[i] & ~0x20) : name.p[i];
    struct hl_str meant = {capitals, name.n};
    if (!hl_option_find(meant) && !find_file_variant(meant))
        return HL_OK;
    return hl_buf_printf(load->warnings,
        "%.*s has no effect: settings are written in capitals, %.*s\n", HL_STR_ARG(name),
        HL_STR_ARG(meant));
}

static enum hl_err take_environment(struct load *load, char *const *variables)
{
    enum hl_err err = HL_OK;
    for (; *variables && !err; variables++) {
        struct hl_str entry = hl_str_from(*variables);
        const char *equals = strchr(*variables, '=');
        if (!equals)
            continue;
        struct hl_str name = {*variables, (size_t)(equals - *variables)};
        if (hl_str_starts_with(entry, HL_STR(PREFIX)))
            err = take_variable(load, name, hl_str_from(equals + 1));
        else
            err = judge_case(load, name);
    }
    return err;
}

static enum hl_err report_value(
    struct load *load, const struct hl_option *option, const char *suffix, struct hl_str value)
{
    struct hl_buf *out = load->problems;
    enum hl_err err = hl_buf_printf(out, "%s%s: ", option->name, suffix);
    if (!err)
        err =
            option->is_secret ? hl_buf_printf(out, "****") : hl_value_append_quoted_url(out, value);
    if (!err && option->tell_fault)
        err = option->tell_fault(value, out);
    if (!err)
        err = hl_buf_printf(out, " is not allowed; allowed: ");
    if (!err)
        err = hl_option_describe(option, out);
    return err ? err : hl_buf_printf(out, "\n");
}

static enum hl_err parse_value(
    struct load *load, const struct hl_option *option, const char *suffix, struct hl_str value)
{
    enum hl_err err = hl_option_parse(option, value, load->config);
    return err == HL_ERR_INVALID ? report_value(load, option, suffix, value) : err;
}

static enum hl_err report_file(
    struct load *load, const struct hl_option *option, const char *path, const char *what)
{
    enum hl_err err = hl_buf_printf(load->problems, "%s" FILE_SUFFIX ": ", option->name);
    if (!err)
        err = hl_value_append_quoted(load->problems, hl_str_from(path));
    return err ? err : hl_buf_printf(load->problems, " %s\n", what);
}

static enum hl_err parse_file(struct load *load, const struct hl_option *option, const char *path)
{
    static char content[LARGEST_FILE + 1];
    int fd;
    if (hl_file_open(path, &fd) == HL_ERR_NO_FILE)
        return report_file(load, option, path, "is not a regular file");
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file) {
        if (fd >= 0)
            close(fd);
        return report_file(load, option, path, "cannot be read");
    }
    size_t n = fread(content, 1, sizeof(content), file);
    bool is_bad = ferror(file) || n > LARGEST_FILE;
    fclose(file);

    struct hl_str value = hl_str_unframe((struct hl_str){content, n});
    enum hl_err err = is_bad ? report_file(load, option, path, "cannot be read, or is too large")
                      : value.n == 0 ? report_file(load, option, path, "is empty")
                                     : parse_value(load, option, FILE_SUFFIX, value);
    explicit_bzero(content, sizeof(content));
    return err;
}

static enum hl_err parse_option(struct load *load, size_t i)
{
    const struct hl_option *option = &hl_options[i];
    const struct hl_config_source *source = &load->config->sources[i];
    if (source->text && source->file)
        return hl_buf_printf(load->problems,
            "%s: **** and %s" FILE_SUFFIX " are both set; allowed: one of them\n", option->name,
            option->name);
    if (source->file)
        return parse_file(load, option, source->file);
    struct hl_str value =
        hl_str_from(source->text ? source->text : hl_option_initial(option, load->config));
    struct hl_str inner = option->is_secret ? hl_str_unframe(value) : value;
    if (inner.n == 0 && value.n > 0)
        return report_value(load, option, "", inner);
    return parse_value(load, option, "", inner);
}

static enum hl_err load_all(struct load *load, char *const *variables)
{
    size_t before = load->problems->n;
    enum hl_err err = take_environment(load, variables);
    for (size_t i = 0; i < hl_option_count && !err; i++)
        err = parse_option(load, i);
    if (!err)
        err = hl_config_settle(load->config, load->problems);
    if (!err && load->problems->n > before)
        err = HL_ERR_INVALID;
    return err;
}

enum hl_err hl_config_load(struct hl_config **out, char *const *variables, struct hl_buf *problems,
    struct hl_buf *warnings)
{
    struct load load = {.problems = problems, .warnings = warnings};
    enum hl_err err = HL_ERR_NOMEM;
    *out = NULL;
    load.config = calloc(1, sizeof(*load.config));
    if (load.config)
        load.config->sources = calloc(hl_option_count, sizeof(struct hl_config_source));
    if (load.config && load.config->sources)
        err = load_all(&load, variables);
    if (err)
        hl_config_free(load.config);
    else
        *out = load.config;
    return err;
}

void hl_config_free(struct hl_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < hl_option_count; i++) {
        hl_option_clear(&hl_options[i], config);
        if (config->sources) {
            free(config->sources[i].text);
            free(config->sources[i].file);
        }
    }
    free(config->sources);
    free(config);
}
