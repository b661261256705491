/* command.h - what hookline runs the app as: HOOKLINE_APP_COMMAND as words, HOOKLINE_APP_USER as numbers. */
#ifndef HL_CONFIG_COMMAND_H
#define HL_CONFIG_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_str;

/* ---- HOOKLINE_APP_COMMAND as words, by the two forms of CMD in a Dockerfile: a line for the shell (as in a
 * Procfile: $PORT is expanded, && works), or a JSON array of words that is run as it stands, for images without a
 * shell. A line that runs just one program has the shell make way for it (exec), so that signals reach the program ---- */

struct hl_command {
    char **argv;   /* owned; ends with NULL, has at least one word */
    bool is_shell; /* argv is /bin/sh -c LINE */
    /* What is run in the end: a path, or a name to look for in PATH; NULL: only the shell knows. In
     * the same allocation. */
    char *program;
};

/* HL_ERR_INVALID: it begins with [ and is not a JSON array of one or more strings without NUL, the
 * first of them not empty. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_command_parse(struct hl_str text, struct hl_command *out);
void hl_command_fini(struct hl_command *command); /* leaves it empty */

/* ---- HOOKLINE_APP_USER: a name, or uid[:gid], as numbers for setuid and its kin ---- */

#define HL_USER_GROUPS 64
#define HL_USER_TEXT   256

struct hl_user {
    uid_t uid;
    gid_t gid;
    gid_t groups[HL_USER_GROUPS]; /* supplementary, `gid` among them */
    int group_count;
    char name[HL_USER_TEXT], home[HL_USER_TEXT]; /* empty: the number is in no passwd */
};

/* `name`, `name:group`, `uid` or `uid:gid`. Without a group: the user's own groups; of a number that
 * no user has, the group of the same number. Reads passwd and group: before threads start.
 * HL_ERR_INVALID: there is none; `why` says what is missing. */
HL_MUST_CHECK enum hl_err hl_user_find(
    struct hl_str text, struct hl_user *out, char *why, size_t why_len);

#endif
