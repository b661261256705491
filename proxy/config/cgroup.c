/* cgroup.c - the limits of this process's cgroup, and of those above it (version 2 or 1).
 * In a container the cgroup's own directory is often mounted as the root of /sys/fs/cgroup while
 * /proc still names the host's path, so a path that is not there is shortened until it is. Runs at
 * start. */
#include "config/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool hl_cgroup_read_line(const char *directory, const char *name, char out[HL_CGROUP_LINE])
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool is_read = fgets(out, HL_CGROUP_LINE, file) != NULL;
    fclose(file);
    if (is_read)
        out[strcspn(out, "\n")] = '\0';
    return is_read;
}

int64_t hl_cgroup_read_number(const char *directory, const char *name)
{
    char line[HL_CGROUP_LINE];
    int64_t v;
    return hl_cgroup_read_line(directory, name, line) && sscanf(line, "%" SCNd64, &v) == 1 ? v : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least limit of `path` below `mount` and of all that is above it: a parent's binds its
 * children. */
static uint64_t least_of(const char *mount, const char *path, uint64_t (*read)(const char *))
{
    char directory[PATH_MAX];
    size_t root = strlen(mount);
    uint64_t least = 0;
    if (snprintf(directory, sizeof(directory), "%s%s", mount, path) >= (int)sizeof(directory))
        return read(mount);
    for (;;) {
        least = lesser(least, read(directory));
        char *slash = strrchr(directory + root, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

static bool has_name(char *controllers, const char *wanted)
{
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* A line of /proc/self/cgroup: id, controllers, path, with colons between. */
static uint64_t limit_of_line(const char *root, char *line, const struct hl_cgroup_limit *limit)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return 0;
    *controllers++ = '\0';
    *path++ = '\0';
    if (strcmp(line, "0") == 0 && *controllers == '\0') {
        snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
        return least_of(mount, path, limit->read_v2);
    }
    snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root, limit->controller);
    return has_name(controllers, limit->controller) ? least_of(mount, path, limit->read_v1) : 0;
}

uint64_t hl_cgroup_least(const char *root, const struct hl_cgroup_limit *limit)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint64_t least = 0;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        least = lesser(least, limit_of_line(root, line, limit));
    }
    fclose(file);
    return least;
}
