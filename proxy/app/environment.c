/* environment.c - the app's environment: ours, less what the app has no business with.
 * Thread: control, at start. */
#include "app/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "config/choice.h"
#include "config/command.h"
#include "config/config.h"
#include "config/option.h"

#define ADDED_MAX  5
#define ENTRY_ROOM (HL_USER_TEXT + 32) /* a path of a socket is shorter than a user's home */

/* libpq's variables that are a secret or name a file that has one (PostgreSQL's manual, "Environment
 * Variables"). With another store than postgres they are the app's own. */
static const char *const postgres_secrets[] = {
    "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY"};

static bool is_secret(struct hl_str name, enum hl_store_kind store)
{
    const struct hl_option *option = hl_option_find(name);
    if (option && option->is_secret)
        return true;
    for (size_t i = 0; i < HL_ARRAY_LEN(postgres_secrets) && store == HL_STORE_POSTGRES; i++) {
        if (hl_str_eq(name, hl_str_from(postgres_secrets[i])))
            return true;
    }
    return false;
}

/* Whether the app may not see the variable of that name. */
static bool is_kept_back(struct hl_str name, enum hl_store_kind store)
{
    const struct hl_str suffix = HL_STR("_FILE");
    if (is_secret(name, store))
        return true;
    if (name.n < suffix.n || memcmp(name.p + name.n - suffix.n, suffix.p, suffix.n) != 0)
        return false;
    return is_secret((struct hl_str){name.p, name.n - suffix.n}, store);
}

/* The entries that are ours to set, one behind the other in `space`. */
struct additions {
    char *entries[ADDED_MAX];
    size_t n;
    char *space;
};

static void add(struct additions *a, const char *name, const char *value)
{
    a->entries[a->n] = a->space + a->n * ENTRY_ROOM;
    snprintf(a->entries[a->n], ENTRY_ROOM, "%s=%s", name, value);
    a->n++;
}

static void add_all(struct additions *a, const struct hl_config *config, const struct hl_user *user)
{
    char port[8];
    if (config->app_url.is_unix) {
        add(a, "SOCKET", config->app_url.path);
        add(a, "HOOKLINE_FUNCTION_SOCKET", config->app_url.path);
    } else {
        snprintf(port, sizeof(port), "%u", (unsigned)config->app_url.port);
        add(a, "PORT", port);
    }
    if (user && user->name[0]) {
        add(a, "HOME", user->home);
        add(a, "USER", user->name);
        add(a, "LOGNAME", user->name);
    }
}

static bool is_replaced(const struct additions *a, const char *entry, size_t name_len)
{
    for (size_t i = 0; i < a->n; i++)
        if (strncmp(a->entries[i], entry, name_len) == 0 && a->entries[i][name_len] == '=')
            return true;
    return false;
}

char **hl_environment_for_app(
    char *const *environment, const struct hl_config *config, const struct hl_user *user)
{
    size_t count = 0, n = 0;
    while (environment[count])
        count++;
    size_t table = (count + ADDED_MAX + 1) * sizeof(char *);
    char **out = malloc(table + (size_t)ADDED_MAX * ENTRY_ROOM);
    if (!out)
        return NULL;
    struct additions additions = {.space = (char *)out + table};
    add_all(&additions, config, user);
    for (size_t i = 0; i < count; i++) {
        size_t name_len = strcspn(environment[i], "=");
        if (!is_kept_back((struct hl_str){environment[i], name_len}, config->store) &&
            !is_replaced(&additions, environment[i], name_len))
            out[n++] = environment[i];
    }
    for (size_t i = 0; i < additions.n; i++)
        out[n++] = additions.entries[i];
    out[n] = NULL;
    return out;
}
