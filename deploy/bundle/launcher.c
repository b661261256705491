/* launcher.c - what is called in a bundle: starts the program of its own name, which lies in the folder's lib/, by the
 * folder's own loader and with the folder's own libraries. So nothing of the system is needed, whichever it is.
 *
 * It is linked statically, and goes before the program begins. What the user's environment says to the system's
 * loader (LD_PRELOAD, LD_LIBRARY_PATH …) is hidden from ours, and found again by the program (base/bundle.h), which
 * gives it to what it starts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bundle.h"

#define LEAST_MAJOR 5
#define LEAST_MINOR 10

#if defined(__x86_64__)
#define LOADER "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "ld-linux-aarch64.so.1"
#endif

static char self[PATH_MAX], folder[PATH_MAX], name[NAME_MAX + 1];

static int give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s%s\n", name[0] ? name : "hookline", what, why);
    return 127;
}

static int is_kernel_good(char *release, size_t release_len)
{
    struct utsname about;
    unsigned major = 0, minor = 0;
    if (uname(&about) != 0 || sscanf(about.release, "%u.%u", &major, &minor) != 2)
        return 1;
    snprintf(release, release_len, "%s", about.release);
    return major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR);
}

/* Where there is no /proc it is the path that was executed. Both may be links to it. */
static int find_self(void)
{
    const char *executed = (const char *)getauxval(AT_EXECFN);
    return realpath("/proc/self/exe", self) || (executed && realpath(executed, self));
}

static int split_self(void)
{
    const char *slash = strrchr(self, '/');
    return slash &&
           snprintf(folder, sizeof(folder), "%.*s", (int)(slash - self), self) <
               (int)sizeof(folder) &&
           snprintf(name, sizeof(name), "%s", slash + 1) < (int)sizeof(name);
}

static int is_for_loader(const char *variable)
{
    return strncmp(variable, "LD_", 3) == 0;
}

static int is_of_launcher(const char *variable)
{
    return strncmp(variable, HL_BUNDLE_PROGRAM, strlen(HL_BUNDLE_PROGRAM)) == 0 ||
           strncmp(variable, HL_BUNDLE_HIDDEN, strlen(HL_BUNDLE_HIDDEN)) == 0;
}

/* The user's environment, with what is said to the loader under other names. */
static char **make_environment(char *const *from)
{
    size_t count = 0, n = 0;
    while (from[count])
        count++;
    char **out = malloc((count + 2) * sizeof(*out));
    if (!out || asprintf(&out[n++], HL_BUNDLE_PROGRAM "%s", self) < 0)
        return NULL;
    for (; *from; from++) {
        if (is_of_launcher(*from))
            continue;
        out[n] = *from;
        if (is_for_loader(*from) && asprintf(&out[n], HL_BUNDLE_HIDDEN "%s", *from) < 0)
            return NULL;
        n++;
    }
    out[n] = NULL;
    return out;
}

/* The loader, what it has to know, and the program with its arguments. */
static char **make_arguments(int argc, char **argv, char *libraries, char *program)
{
    char *given = argc > 0 ? argv[0] : name;
    char *fixed[] = {self, "--library-path", libraries, "--argv0", given, program};
    size_t n = sizeof(fixed) / sizeof(*fixed), rest = argc > 1 ? (size_t)argc - 1 : 0;
    char **out = malloc((n + rest + 1) * sizeof(*out));
    if (!out)
        return NULL;
    memcpy(out, fixed, sizeof(fixed));
    if (rest > 0)
        memcpy(out + n, argv + 1, rest * sizeof(*out));
    out[n + rest] = NULL;
    return out;
}

int main(int argc, char **argv, char **environment)
{
    char loader[PATH_MAX + 64], libraries[PATH_MAX + 64], program[2 * PATH_MAX], release[65] = "";
    if (!find_self() || !split_self())
        return give_up("cannot find the folder that this program is in: ", strerror(errno));
    if (!is_kernel_good(release, sizeof(release)))
        return give_up("Linux 5.10 or newer is needed, and this is ", release);
    snprintf(loader, sizeof(loader), "%s/lib/" LOADER, folder);
    snprintf(libraries, sizeof(libraries), "%s/lib", folder);
    snprintf(program, sizeof(program), "%s/lib/%s", folder, name);
    if (access(loader, X_OK) != 0 || access(program, X_OK) != 0)
        return give_up(access(loader, X_OK) != 0 ? loader : program,
            ": it is missing, or cannot be executed: this program is one file of a bundle; copy "
            "the whole folder, "
            "and make a symbolic link to the program in it");
    char **arguments = make_arguments(argc, argv, libraries, program);
    char **variables = make_environment(environment);
    if (!arguments || !variables)
        return give_up("out of memory", "");
    execve(loader, arguments, variables);
    return give_up("the bundle's loader cannot be started: ", strerror(errno));
}
