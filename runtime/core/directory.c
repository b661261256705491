/* directory.c - the functions' names. Never changes once made. Thread: any. */
#include "core/directory.h"

#include <stdio.h>
#include <string.h>

#include "core/server.h"

#define LONGEST_NAME 128
#define LONGEST_LIST 800 /* bytes of names in a detail */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_identifier(const char *name, size_t n)
{
    if (n == 0 || n > LONGEST_NAME || !is_letter(name[0]))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_letter(name[i]) && name[i] != '_' && (name[i] < '0' || name[i] > '9'))
            return false;
    return true;
}

/* "run", or "Class/run" of a method. */
static bool is_name(const char *name)
{
    const char *slash = strchr(name, '/');
    if (slash)
        return is_identifier(name, (size_t)(slash - name)) &&
               is_identifier(slash + 1, strlen(slash + 1));
    return is_identifier(name, strlen(name)) && strcmp(name, HL_DIRECTORY_HEALTH) != 0;
}

static enum hl_err check(const struct hl_directory *d, size_t i, char *why)
{
    const char *name = d->callees[i].name;
    if (!is_name(name)) {
        snprintf(why, HL_SETTINGS_WHY,
            "'%.150s' cannot be a function's name: allowed are letters, digits and '_', a letter "
            "first, at most 128 of them, and not 'healthz'; a method's is its class's, '/' and its "
            "own",
            name);
        return HL_ERR_INVALID;
    }
    for (size_t earlier = 0; earlier < i; earlier++) {
        if (strcmp(d->callees[earlier].name, name) == 0) {
            snprintf(why, HL_SETTINGS_WHY, "there are two functions named '%s'", name);
            return HL_ERR_INVALID;
        }
    }
    return HL_OK;
}

/* "There is no function of that name; available are: run, tokens." */
static enum hl_err describe(struct hl_directory *d)
{
    enum hl_err err = hl_buf_append_str(
        &d->unknown, d->count ? HL_STR("There is no function of that name; available are: ")
                              : HL_STR("There is no function of that name, or any other"));
    for (size_t i = 0; !err && i < d->count; i++) {
        if (d->unknown.n > LONGEST_LIST) {
            err = hl_buf_append_str(&d->unknown, HL_STR(", and more"));
            break;
        }
        err = hl_buf_printf(&d->unknown, "%s%s", i ? ", " : "", d->callees[i].name);
    }
    return err ? err : hl_buf_append(&d->unknown, ".", 2);
}

/* Names are identifiers and '/': nothing in them needs to be escaped. */
static enum hl_err list(struct hl_directory *d)
{
    enum hl_err err = hl_buf_append_str(&d->listing, HL_STR("{\"functions\":["));
    for (size_t i = 0; !err && i < d->count; i++) {
        const char *input = d->callees[i].input;
        err = hl_buf_printf(&d->listing, "%s{\"name\":\"%s\",\"input\":%s}", i ? "," : "",
            d->callees[i].name, input ? input : "null");
    }
    return err ? err : hl_buf_append_str(&d->listing, HL_STR("]}"));
}

enum hl_err hl_directory_init(struct hl_directory *directory, const struct hl_callee *callees,
    size_t count, char why[HL_SETTINGS_WHY])
{
    *directory = (struct hl_directory){.callees = callees, .count = count};
    hl_buf_init(&directory->unknown, 0);
    hl_buf_init(&directory->listing, 0);
    enum hl_err err = HL_OK;
    for (size_t i = 0; !err && i < count; i++)
        err = check(directory, i, why);
    if (!err && ((err = describe(directory)) != HL_OK || (err = list(directory)) != HL_OK))
        snprintf(why, HL_SETTINGS_WHY, "out of memory");
    if (err)
        hl_directory_fini(directory);
    return err;
}

void hl_directory_fini(struct hl_directory *directory)
{
    hl_buf_fini(&directory->unknown);
    hl_buf_fini(&directory->listing);
}

size_t hl_directory_find(const struct hl_directory *directory, struct hl_str path)
{
    if (path.n < 2 || path.p[0] != '/')
        return HL_DIRECTORY_NONE;
    struct hl_str name = {path.p + 1, path.n - 1};
    for (size_t i = 0; i < directory->count; i++)
        if (hl_str_eq(hl_str_from(directory->callees[i].name), name))
            return i;
    return HL_DIRECTORY_NONE;
}
