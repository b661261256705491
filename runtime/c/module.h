/* module.h - a shared object with functions, loaded. */
#ifndef HL_C_MODULE_H
#define HL_C_MODULE_H

#include "base/compiler.h"
#include "base/err.h"
#include "core/settings.h"

struct hl_module {
    void *handle;
    const struct hl_fn_module *face;
    struct hl_callee *callees; /* one for each function, in the same order; owned */
    size_t count;
};

/* HL_ERR_INVALID: no such file, no module, of a later version, or without functions; HL_ERR_NOMEM.
 * `why` is one line. */
HL_MUST_CHECK enum hl_err hl_module_load(
    struct hl_module *module, const char *path, char why[HL_SETTINGS_WHY]);

/* The object stays in memory: threads and handlers that it made may still be there. */
void hl_module_fini(struct hl_module *module);

#endif
