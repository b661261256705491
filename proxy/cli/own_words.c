/* own_words.c - see own_words.h. */
#include "cli/own_words.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/synopsis.h"

#define OPTION_MAX 32

/* The others are called as their options are: max_queued is --max-queued. */
static const struct {
    const char *member, *option;
} renamed[] = {{"url", "--to"}, {"secret", "--secret-file"}, {"expires_at", "--expires"},
    {"pause_ms", "--pause"}, {"run_id", "--run"}};

/* False: the command has no option for it. */
static bool option_of(const struct hl_cli *cli, struct hl_str member, char option[OPTION_MAX])
{
    struct hl_cli_synopsis_option known;
    snprintf(option, OPTION_MAX, "--%.*s", HL_STR_ARG(member));
    for (char *c = option; *c; c++)
        if (*c == '_')
            *c = '-';
    for (size_t i = 0; i < HL_ARRAY_LEN(renamed); i++)
        if (hl_str_eq(member, hl_str_from(renamed[i].member)))
            snprintf(option, OPTION_MAX, "%s", renamed[i].option);
    return cli->command && hl_cli_synopsis_find(cli->command, option, &known);
}

/* The next name, and before it `*words` of its sentence that an option stands for, too; NULL: there is none. */
static const char *next_name(const char *at, const char **words)
{
    static const char *const marks[] = {
        "he member ", "he query parameter "}; /* of any sentence's part */
    const char *name = NULL;
    for (size_t i = 0; i < HL_ARRAY_LEN(marks); i++) {
        const char *found = strstr(at, marks[i]);
        if (found && (!name || found < *words)) {
            *words = found;
            name = found + strlen(marks[i]);
        }
    }
    return name;
}

const char *hl_cli_own_words(const struct hl_cli *cli, const char *detail, struct hl_buf *room)
{
    char option[OPTION_MAX];
    const char *at = detail, *found, *name;
    enum hl_err err = HL_OK;
    while (!err && (name = next_name(at, &found))) {
        struct hl_str member = {name, strspn(name, "abcdefghijklmnopqrstuvwxyz_")};
        if (found > at && (found[-1] == 'T' || found[-1] == 't') &&
            option_of(cli, member, option)) {
            err = hl_buf_printf(room, "%.*s%s", (int)(found - 1 - at), at, option);
            at = name + member.n;
        } else {
            err = hl_buf_append(room, at, (size_t)(name - at));
            at = name;
        }
    }
    if (!err)
        err = hl_buf_append(room, at, strlen(at) + 1);
    return err ? detail : room->p;
}
