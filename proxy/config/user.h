/* user.h - HOOKLINE_APP_USER: a name, or uid[:gid], as numbers for setuid and its kin. */
#ifndef HL_CONFIG_USER_H
#define HL_CONFIG_USER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_str;

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
