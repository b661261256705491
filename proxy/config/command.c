/* command.c - a command's text as words; names and numbers of users and groups.
 * Owns: the words, in one allocation with their array. Runs at start, before other threads: passwd and group are
 * read through the C library, which may load modules for it.
 * Not here: where the program is and how it is run, becoming that user (app/child.c). */
#include "config/command.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/json_check.h"
#include "http/json_text.h"

/* ---- HOOKLINE_APP_COMMAND as words ---- */

/* Room for as many words as the text could have, and for their bytes: no escape is shorter than what
 * it stands for. */
static enum hl_err make_room(struct hl_command *out, size_t words, size_t bytes, char **space)
{
    out->argv = calloc(1, (words + 1) * sizeof(char *) + bytes);
    if (!out->argv)
        return HL_ERR_NOMEM;
    *space = (char *)(out->argv + words + 1);
    return HL_OK;
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           memchr("_./+-:,@%", c, 9) != NULL;
}

/* A word without quotes or expansions, such as a program's path; `*equals` is where it has its
 * first '=', or 0. Returns its length; 0: it is not such a word. */
static size_t read_plain_word(struct hl_str text, size_t *equals)
{
    size_t n = 0;
    *equals = 0;
    for (; n < text.n && text.p[n] != ' '; n++) {
        if (text.p[n] == '=' && *equals == 0)
            *equals = n;
        else if (text.p[n] != '=' && !is_plain(text.p[n]))
            return 0;
    }
    return n;
}

/* Where the one program's name stands in a line that runs one, behind VARIABLE=value; or text.n. A
 * shell would stay as its parent, and what is sent to the app (signals) would end with the shell. */
static size_t find_program(struct hl_str text)
{
    static const char *const of_the_shell[] = {"exec", "eval", "command", ".", "source", "cd",
        "exit", "export", "set", "unset", "ulimit", "umask", "trap", "read", "wait", ":"};
    for (size_t i = 0; i < text.n; i++)
        if (memchr(";&|<>()`\n\\", text.p[i], 9))
            return text.n;
    for (size_t at = 0; at < text.n;) {
        size_t equals, n = read_plain_word((struct hl_str){text.p + at, text.n - at}, &equals);
        struct hl_str word = {text.p + at, n};
        if (n == 0)
            return text.n;
        if (equals > 0) {
            for (at += n; at < text.n && text.p[at] == ' ';)
                at++;
            continue;
        }
        for (size_t i = 0; i < HL_ARRAY_LEN(of_the_shell); i++)
            if (hl_str_eq(word, hl_str_from(of_the_shell[i])))
                return text.n;
        return at;
    }
    return text.n;
}

static enum hl_err parse_line(struct hl_str text, struct hl_command *out)
{
    static char shell[] = "/bin/sh", option[] = "-c";
    static const char take_place[] = "exec ";
    char *space;
    size_t at = find_program(text), more = at < text.n ? sizeof(take_place) - 1 : 0;
    size_t equals, n = read_plain_word((struct hl_str){text.p + at, text.n - at}, &equals);
    enum hl_err err = make_room(out, 3, text.n + more + 1 + n + 1, &space);
    if (err)
        return err;
    memcpy(space, text.p, at);
    if (at < text.n) {
        memcpy(space + at, take_place, more);
        memcpy(space + at + more, text.p + at, text.n - at);
    }
    if (n > 0 && !memmem(text.p, at, "PATH=", 5))
        out->program = memcpy(space + text.n + more + 1, text.p + at, n);
    out->argv[0] = shell;
    out->argv[1] = option;
    out->argv[2] = space;
    out->is_shell = true;
    return HL_OK;
}

static bool is_json(struct hl_str text)
{
    struct hl_json_check check;
    hl_json_check_init(&check);
    return hl_json_check_feed(&check, text.p, text.n) && hl_json_check_end(&check);
}

static enum hl_err parse_array(struct hl_str text, struct hl_command *out)
{
    size_t commas = 0, n = 0;
    char *space;
    if (!is_json(text))
        return HL_ERR_INVALID;
    for (size_t i = 0; i < text.n; i++)
        commas += text.p[i] == ',';
    enum hl_err err = make_room(out, commas + 1, text.n, &space);
    if (err)
        return err;
    const char *p = text.p + 1;
    bool is_odd = false; /* no argument can hold a NUL */
    while (p && !is_odd && *p != ']') {
        if (*p == '"') {
            out->argv[n++] = space;
            p = hl_json_string_read(p + 1, text.p + text.n, &space, &is_odd);
            *space++ = '\0';
        } else {
            p = memchr(" \t\r\n,", *p, 5) ? p + 1 : NULL; /* only strings may stand in it */
        }
    }
    out->program = out->argv[0];
    if (p && !is_odd && n > 0 && out->argv[0][0] != '\0')
        return HL_OK;
    hl_command_fini(out);
    return HL_ERR_INVALID;
}

enum hl_err hl_command_parse(struct hl_str text, struct hl_command *out)
{
    *out = (struct hl_command){0};
    text = hl_str_trim(text);
    if (text.n == 0 || memchr(text.p, '\0', text.n))
        return HL_ERR_INVALID;
    return text.p[0] == '[' ? parse_array(text, out) : parse_line(text, out);
}

void hl_command_fini(struct hl_command *command)
{
    free(command->argv);
    *command = (struct hl_command){0};
}

/* ---- HOOKLINE_APP_USER as numbers ---- */

/* The last id is what setresuid and its kin take for "leave it". */
static bool is_number(const char *text, uint32_t *out)
{
    uint64_t n;
    if (!hl_str_to_u64(hl_str_from(text), &n) || n >= UINT32_MAX)
        return false;
    *out = (uint32_t)n;
    return true;
}

static bool find_group(const char *text, gid_t *out)
{
    const struct group *group = getgrnam(text);
    if (!group)
        return is_number(text, out);
    *out = group->gr_gid;
    return true;
}

/* The groups that passwd and group give a user. */
static bool take_groups(struct hl_user *user)
{
    user->group_count = HL_USER_GROUPS;
    return getgrouplist(user->name, user->gid, user->groups, &user->group_count) >= 0;
}

static bool take_entry(struct hl_user *user, const struct passwd *entry)
{
    user->uid = entry->pw_uid;
    user->gid = entry->pw_gid;
    return (size_t)snprintf(user->name, HL_USER_TEXT, "%s", entry->pw_name) < HL_USER_TEXT &&
           (size_t)snprintf(user->home, HL_USER_TEXT, "%s", entry->pw_dir) < HL_USER_TEXT;
}

enum hl_err hl_user_find(struct hl_str text, struct hl_user *out, char *why, size_t why_len)
{
    char name[HL_USER_TEXT];
    *out = (struct hl_user){0};
    snprintf(why, why_len, "is not a user of this system");
    if (text.n == 0 || text.n >= sizeof(name))
        return HL_ERR_INVALID;
    memcpy(name, text.p, text.n);
    name[text.n] = '\0';
    char *group = strchr(name, ':');
    if (group)
        *group++ = '\0';

    uint32_t number;
    bool is_numeric = is_number(name, &number);
    const struct passwd *entry = is_numeric ? getpwuid(number) : getpwnam(name);
    if (!entry && !is_numeric)
        return HL_ERR_INVALID;
    if (entry ? !take_entry(out, entry) : false)
        return HL_ERR_INVALID;
    if (!entry)
        out->uid = out->gid = number;
    if (group && !find_group(group, &out->gid)) {
        snprintf(why, why_len, "is not a group of this system");
        return HL_ERR_INVALID;
    }
    if (entry && !group) {
        snprintf(why, why_len, "is in more than %d groups", HL_USER_GROUPS);
        return take_groups(out) ? HL_OK : HL_ERR_INVALID;
    }
    out->groups[0] = out->gid;
    out->group_count = 1;
    return HL_OK;
}
