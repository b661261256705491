/* user.c - names and numbers of users and groups. Runs at start, before other threads: passwd and
 * group are read through the C library, which may load modules for it.
 * Not here: becoming that user (app/child.c). */
#include "config/user.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

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
