/* err.c - texts of the error codes, and the codes that errno values stand for. Any thread. */
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"

static const char *const texts[] = {
#define X(name, text) [HL_ERR_##name] = (text),
    HL_ERR_MAP(X)
#undef X
};

const char *hl_err_text(enum hl_err err)
{
    if ((unsigned)err >= HL_ARRAY_LEN(texts))
        return "unknown error";
    return texts[err];
}

enum hl_err hl_err_from_errno(int err)
{
    switch (err) {
    case 0:
        return HL_OK;
    case ENOMEM:
    case ENOBUFS:
        return HL_ERR_NOMEM;
    case EINVAL:
    case ENAMETOOLONG:
        return HL_ERR_INVALID;
    case EFBIG:
    case EMSGSIZE:
        return HL_ERR_TOO_LARGE;
    case ENOSPC:
    case EDQUOT:
        return HL_ERR_FULL;
    case EMFILE:
    case ENFILE:
        return HL_ERR_EXHAUSTED;
    case EAGAIN:
    case EBUSY:
        return HL_ERR_BUSY;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EADDRNOTAVAIL:
        return HL_ERR_UNAVAILABLE;
    case ENOENT:
    case ENOTDIR:
        return HL_ERR_NOT_FOUND;
    case EEXIST:
    case EADDRINUSE:
        return HL_ERR_EXISTS;
    case ETIMEDOUT:
        return HL_ERR_TIMEOUT;
    case ECANCELED:
        return HL_ERR_CANCELLED;
    case EACCES:
    case EPERM:
    case EROFS:
        return HL_ERR_DENIED;
    default:
        return HL_ERR_IO;
    }
}

/* ---- memory for a library that goes on without what it had none for: jansson reads a string without the
 * byte that did not fit. Each thread notes for itself that there was none ---- */

static _Thread_local bool has_failed;

void *hl_noted_malloc(size_t n)
{
    void *p = malloc(n);
    if (!p && n > 0)
        has_failed = true;
    return p;
}

bool hl_noted_failure(void)
{
    bool is = has_failed;
    has_failed = false;
    return is;
}
