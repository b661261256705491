/* fuzz_config.c - the settings, from random environments.
 * Input: lines of NAME=value. What is given for a …_FILE variable is the file's content.
 * Claims: an environment is taken or refused with a line for each fault; lines are plain text on one
 * line each, and never hold a secret; what is taken lies within its bounds, and what `config show`
 * says of it is taken again and says the same. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/option.h"
#include "config/option_value.h"
#include "fuzz.h"

#define MAX_ENTRIES 250        /* more than there are settings */
#define MARK        "Xs3cr3tX" /* a value with this in it is told apart wherever it appears */

struct environment {
    char *entries[MAX_ENTRIES + 1];
    size_t n;
};

static void add(struct environment *env, const char *name, int name_n, const char *value)
{
    if (env->n < MAX_ENTRIES &&
        asprintf(&env->entries[env->n++], "%.*s=%s", name_n, name, value) < 0)
        abort();
}

static void environment_fini(struct environment *env)
{
    for (size_t i = 0; i < env->n; i++)
        free(env->entries[i]);
}

/* The path of a file with that content: the same file each time. */
static const char *file_with(const char *content)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0)
        fd = memfd_create("secret", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool is_written = ftruncate(fd, 0) == 0 &&
                      pwrite(fd, content, strlen(content), 0) == (ssize_t)strlen(content);
    FUZZ_CHECK(is_written, "the test's own file");
    return path;
}

static void take_line(struct environment *env, struct hl_str line)
{
    char *entry = hl_str_dup(line), *equals;
    if (!entry)
        abort();
    equals = strchr(entry, '=');
    size_t name_n = equals ? (size_t)(equals - entry) : 0;
    bool is_file = name_n > 5 && memcmp(equals - 5, "_FILE", 5) == 0 && equals[1] != '\0' &&
                   !strstr(entry, "CA_FILE") && !strstr(entry, "HOOKLINE_KEY_FILE");
    if (equals)
        add(env, entry, (int)name_n, is_file ? file_with(equals + 1) : equals + 1);
    free(entry);
}

/* Each line begins with a variable's name, which may not be in capitals, and is text. */
static void check_lines(const struct hl_buf *lines)
{
    bool is_start = true;
    for (size_t i = 0; i < lines->n; i++) {
        unsigned char c = (unsigned char)lines->p[i];
        struct hl_str rest = {lines->p + i, lines->n - i};
        bool is_named = rest.n >= 9 && strncasecmp(rest.p, "HOOKLINE_", 9) == 0;
        FUZZ_CHECK(!is_start || is_named, "a line of what?");
        FUZZ_CHECK(c == '\n' || (c >= ' ' && c != 0x7f), "a control in a report");
        is_start = c == '\n';
    }
    FUZZ_CHECK(is_start, "a line without end");
}

static bool is_of_secret(const char *entry)
{
    const struct hl_option *option = hl_option_find((struct hl_str){entry, strcspn(entry, "=")});
    return option && option->is_secret;
}

/* Where the mark is in one value only, and that is a secret, nothing that is shown has it. */
static void check_secret(const struct environment *env, const struct hl_buf *shown)
{
    size_t marked = 0, secret = 0;
    for (size_t i = 0; i < env->n; i++) {
        bool has_mark = strstr(env->entries[i], MARK);
        marked += has_mark;
        secret += has_mark && is_of_secret(env->entries[i]);
    }
    if (marked == 1 && secret == 1 && shown->n > 0)
        FUZZ_CHECK(!memmem(shown->p, shown->n, MARK, sizeof MARK - 1), "a secret is shown");
}

static void check_bounds(const struct hl_config *config)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        const struct hl_option *option = &hl_options[i];
        const char *field = (const char *)config + option->offset;
        uint64_t v = 0;
        if (option->type == HL_OPTION_COUNT)
            v = *(const uint32_t *)(const void *)field;
        else if (option->type == HL_OPTION_DURATION || option->type == HL_OPTION_SIZE)
            v = *(const uint64_t *)(const void *)field;
        else
            continue;
        fuzz_note("option", hl_str_from(option->name));
        bool is_zero = v == 0 && option->has_zero;
        FUZZ_CHECK(is_zero || (v >= option->min && v <= option->max), "out of its bounds");
    }
    FUZZ_CHECK(config->listen.n > 0 && config->workers > 0 && config->max_connections > 0 &&
                   config->drain_timeout_ms > 0 && config->app_head_timeout_ms > 0 &&
                   config->data_dir.n > 0 && config->replica.n > 0,
        "something is left open");
}

/* What is shown, and the secrets as they are, as an environment; `all` gets what is shown, for
 * comparing. */
static void show(const struct hl_config *config, struct environment *env, struct hl_buf *all)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        const struct hl_option *option = &hl_options[i];
        struct hl_buf text;
        hl_buf_init(&text, 0);
        FUZZ_CHECK(hl_option_show(option, config, &text) == HL_OK &&
                       hl_buf_append(&text, "", 1) == HL_OK &&
                       hl_buf_printf(all, "%s=%s\n", option->name, text.p) == HL_OK,
            "out of memory");
        bool is_escaped = strchr(text.p, '\\'); /* then it is for reading only */
        const struct hl_str *field = (const void *)((const char *)config + option->offset);
        add(env, option->name, (int)strlen(option->name),
            option->is_secret ? field->p
            : is_escaped      ? config->sources[i].text
                              : text.p);
        hl_buf_fini(&text);
    }
}

static void check_again(const struct hl_config *config, const struct environment *first)
{
    struct environment env = {.n = 0}, ignored = {.n = 0};
    struct hl_buf shown, again, problems, warnings;
    struct hl_config *second;
    hl_buf_init(&shown, 0);
    hl_buf_init(&again, 0);
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    show(config, &env, &shown);
    check_secret(first, &shown);
    fuzz_note("shown", hl_buf_str(&shown));
    enum hl_err err = hl_config_load(&second, env.entries, &problems, &warnings);
    fuzz_note("problems", hl_buf_str(&problems));
    FUZZ_CHECK(err == HL_OK && warnings.n == 0, "what is shown is not taken");
    show(second, &ignored, &again);
    fuzz_note("again", hl_buf_str(&again));
    FUZZ_CHECK(hl_str_eq(hl_buf_str(&shown), hl_buf_str(&again)),
        "what is shown does not show itself again");
    hl_config_free(second);
    hl_buf_fini(&shown);
    hl_buf_fini(&again);
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
    environment_fini(&env);
    environment_fini(&ignored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    struct environment env = {.n = 0};
    struct hl_buf problems, warnings;
    struct hl_config *config;
    fuzz_forget();
    fuzz_note("environment", (struct hl_str){input.p, input.n});
    while (input.n > 0)
        take_line(&env, fuzz_take_until(&input, '\n'));
    take_line(
        &env, HL_STR("HOOKLINE_WORKERS=2")); /* the first one counts; counting cores is slow */
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    enum hl_err err = hl_config_load(&config, env.entries, &problems, &warnings);
    fuzz_note("problems", hl_buf_str(&problems));
    fuzz_note("warnings", hl_buf_str(&warnings));
    check_lines(&problems);
    check_lines(&warnings);
    check_secret(&env, &problems);
    check_secret(&env, &warnings);
    FUZZ_CHECK(err == HL_OK || err == HL_ERR_INVALID, "another error");
    FUZZ_CHECK((err == HL_OK) == (problems.n == 0), "refused without a reason, or taken with one");
    FUZZ_CHECK((err == HL_OK) == (config != NULL), "taken and not there");
    if (config) {
        check_bounds(config);
        check_again(config, &env);
    }
    hl_config_free(config);
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
    environment_fini(&env);
    return 0;
}
