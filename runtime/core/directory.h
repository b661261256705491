/* directory.h - the functions' names: which path is whose, and what is said to those who ask for
 * none of them. */
#ifndef HL_RUNTIME_DIRECTORY_H
#define HL_RUNTIME_DIRECTORY_H

#include "base/buf.h"
#include "core/settings.h"

struct hl_callee;
struct hl_str;

#define HL_DIRECTORY_HEALTH "healthz" /* the server's own */
#define HL_DIRECTORY_NONE   SIZE_MAX
/* What the functions are and take, for whoever wants to show that: hookline's dashboard. No function
 * can be there. */
#define HL_DIRECTORY_LISTING "_hookline/functions"

struct hl_directory {
    const struct hl_callee *callees; /* borrowed */
    size_t count;
    struct hl_buf unknown; /* NUL-terminated: the detail of a 404, with the names */
    struct hl_buf listing; /* JSON: {"functions":[{"name","input"}]} */
};

/* HL_ERR_INVALID: a name that cannot be a function's, or one twice; `why` says which. */
HL_MUST_CHECK enum hl_err hl_directory_init(struct hl_directory *directory,
    const struct hl_callee *callees, size_t count, char why[HL_SETTINGS_WHY]);
void hl_directory_fini(struct hl_directory *directory);

/* The index of the function at `path`, "/name"; HL_DIRECTORY_NONE. */
size_t hl_directory_find(const struct hl_directory *directory, struct hl_str path);

#endif
