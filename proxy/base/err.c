/* err.c - texts of the error codes, and the codes that errno values stand for. Any thread. */
#include "base/err.h"

#include <errno.h>

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
