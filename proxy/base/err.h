/* err.h - the one set of error codes. Foreign codes (uv, curl, mbedtls, sqlite, errno) are mapped
 * to these where the library is called. */
#ifndef HL_BASE_ERR_H
#define HL_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

#define HL_ERR_MAP(X)                                                                              \
    X(OK, "ok")                                                                                    \
    X(NOMEM, "out of memory")                                                                      \
    X(INVALID, "not valid")                                                                        \
    X(TOO_LARGE, "larger than allowed")                                                            \
    X(FULL, "no space left")                                                                       \
    X(EXHAUSTED, "out of file descriptors")                                                        \
    X(BUSY, "too much is waiting already")                                                         \
    X(UNAVAILABLE, "not available")                                                                \
    X(NOT_FOUND, "not found")                                                                      \
    X(NO_FILE, "not a regular file")                                                               \
    X(EXISTS, "exists already")                                                                    \
    X(CONFLICT, "conflicts with what exists")                                                      \
    X(STALE, "superseded")                                                                         \
    X(CORRUPT, "corrupt")                                                                          \
    X(IO, "input or output error")                                                                 \
    X(TIMEOUT, "timed out")                                                                        \
    X(CANCELLED, "cancelled")                                                                      \
    X(DENIED, "not permitted")

enum hl_err {
#define X(name, text) HL_ERR_##name,
    HL_ERR_MAP(X)
#undef X
};

#define HL_OK HL_ERR_OK

/* The text of a code, for logs. Never NULL. */
const char *hl_err_text(enum hl_err err);

/* Maps an errno value (positive). */
enum hl_err hl_err_from_errno(int err);

/* ---- memory for a library that goes on without what it had none for: jansson reads a string without the
 * byte that did not fit. Each thread notes for itself that there was none ---- */

/* malloc; what it cannot give is noted. */
void *hl_noted_malloc(size_t n);
/* Since the last time that this was asked on this thread. */
bool hl_noted_failure(void);

#endif
