/* files.h - bodies that are in files over here and in parts over there. They go before the runs that name
 * them, in the same transaction; those of runs that are there already do not: they may be gone with the
 * run's end. */
#ifndef HL_STORE_IMPORT_FILES_H
#define HL_STORE_IMPORT_FILES_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"

struct hl_body;
struct hl_passage;

#define HL_IMPORT_FILES_MAX 64

struct hl_import_files {
    struct hl_import_file {
        struct hl_id run_id, id;
        bool is_known; /* its run is there already */
    } all[HL_IMPORT_FILES_MAX];
    size_t n;
    char *part; /* room for one */
};

HL_MUST_CHECK enum hl_err hl_import_files_init(struct hl_import_files *files);
void hl_import_files_fini(struct hl_import_files *files);

/* Remembers the file of a body, if it has one. A run has two at most. */
void hl_import_files_note(
    struct hl_import_files *files, const struct hl_id *run_id, const struct hl_body *body);
/* There may be no room for those of another run. */
static inline bool hl_import_files_are_full(const struct hl_import_files *files)
{
    return files->n + 2 > HL_IMPORT_FILES_MAX;
}
/* Inside the transaction; forgets them. Errors as in passage.h. */
HL_MUST_CHECK enum hl_err hl_import_files_put(struct hl_passage *p, struct hl_import_files *files);

#endif
