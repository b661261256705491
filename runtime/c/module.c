/* module.c - loads a shared object with functions and looks whether it can be served.
 * Thread: main, before others. */
#include "c/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c/takes.h"
#include "core/server.h"
#include "hookline/function.h"

/* A name without a slash would be looked for where libraries are; what is meant is the file. */
static void *open_object(const char *path)
{
    char local[4096];
    if (strchr(path, '/'))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int n = snprintf(local, sizeof(local), "./%s", path);
    return n < (int)sizeof(local) ? dlopen(local, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static enum hl_err refuse(char *why, const char *path, const char *fault)
{
    snprintf(why, HL_SETTINGS_WHY, "%.200s: %s", path, fault);
    return HL_ERR_INVALID;
}

static enum hl_err check_version(const struct hl_fn_module *face, const char *path, char *why)
{
    char fault[160];
    if (face->version >= 1 && face->version <= HL_FN_VERSION)
        return HL_OK;
    snprintf(fault, sizeof(fault),
        "was built for version %u of hookline/function.h, and this hookline-function knows 1 to "
        "%u: build it with the header that came with it",
        face->version, HL_FN_VERSION);
    return refuse(why, path, fault);
}

static enum hl_err list_functions(struct hl_module *module, const char *path, char *why)
{
    const struct hl_fn_function *functions = module->face->functions;
    while (functions && functions[module->count].name) {
        if (!functions[module->count].run)
            return refuse(why, path, "has a function without code");
        module->count++;
    }
    if (module->count == 0)
        return refuse(why, path, "has no functions");
    module->callees = calloc(module->count, sizeof(module->callees[0]));
    if (!module->callees) {
        snprintf(why, HL_SETTINGS_WHY, "out of memory");
        return HL_ERR_NOMEM;
    }
    for (size_t i = 0; i < module->count; i++) {
        module->callees[i].name = functions[i].name;
        if (functions[i].parameters)
            module->callees[i].input = hl_takes_write(functions[i].parameters);
    }
    return HL_OK;
}

/* What serves a file of another language, by what its name ends in; NULL: no other one does. */
static const char *other_host(const char *path)
{
    static const struct {
        const char *ending, *host;
    } others[] = {{".py", "python3 -m hookline_runtime"}, {".mjs", "hookline-functions"},
        {".cjs", "hookline-functions"}, {".js", "hookline-functions"},
        {".ts", "hookline-functions"}, {".mts", "hookline-functions"}};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < HL_ARRAY_LEN(others); i++)
        if (strcmp(ending, others[i].ending) == 0)
            return others[i].host;
    return NULL;
}

static enum hl_err refuse_object(const char *path, char why[HL_SETTINGS_WHY])
{
    const char *host = other_host(path);
    if (host)
        snprintf(why, HL_SETTINGS_WHY,
            "%.300s is no shared object; files of its kind are served by %s", path, host);
    else
        snprintf(why, HL_SETTINGS_WHY, "cannot load %.400s", dlerror());
    return HL_ERR_INVALID;
}

enum hl_err hl_module_load(struct hl_module *module, const char *path, char why[HL_SETTINGS_WHY])
{
    *module = (struct hl_module){.handle = open_object(path)};
    if (!module->handle)
        return refuse_object(path, why);
    module->face = dlsym(module->handle, HL_FN_SYMBOL);
    if (!module->face)
        return refuse(why, path, "has no functions for hookline: it lacks HL_FN_MODULE");
    enum hl_err err = check_version(module->face, path, why);
    return err ? err : list_functions(module, path, why);
}

void hl_module_fini(struct hl_module *module)
{
    for (size_t i = 0; module->callees && i < module->count; i++)
        free((char *)(uintptr_t)module->callees[i].input);
    free(module->callees);
    module->callees = NULL;
}
