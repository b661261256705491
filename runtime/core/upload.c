/* upload.c - see upload.h. Thread: the loop's.
 * Promise: memory stays what one read holds; what a process that died leaves behind is nothing.
 * Not here: what is in the form (hookline_runtime/upload.py).
 * A write goes to the page cache; where that is full it waits for the disk, and the loop with it. */
#include "core/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/call_inside.h"
#include "core/desk.h"
#include "http/head.h"

bool hl_upload_is_form(const struct hl_head *head)
{
    const struct hl_str form = HL_STR("multipart/form-data");
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    if (!type || type->value.n < form.n ||
        !hl_str_eq_nocase((struct hl_str){type->value.p, form.n}, form))
        return false;
    return type->value.n == form.n || strchr("; \t", type->value.p[form.n]) != NULL;
}

/* A file without a name; where the file system has none of those, one whose name is taken away. */
static int open_nameless(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    int n = snprintf(path, sizeof(path), "%s/hookline-XXXXXX", directory);
    if (n < 0 || (size_t)n >= sizeof(path) || (fd = mkostemp(path, O_CLOEXEC)) < 0)
        return -1;
    unlink(path);
    return fd;
}

enum hl_err hl_upload_open(struct hl_call *call)
{
    const char *directory = getenv("TMPDIR");
    call->upload = open_nameless(directory && directory[0] ? directory : "/tmp");
    return call->upload >= 0 ? HL_OK : HL_ERR_IO;
}

enum hl_err hl_upload_append(struct hl_call *call, struct hl_str bytes)
{
    if (call->upload_n + bytes.n > call->desk->settings.max_upload)
        return HL_ERR_TOO_LARGE;
    call->upload_n += bytes.n;
    while (bytes.n > 0) {
        ssize_t n = write(call->upload, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return HL_ERR_IO;
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return HL_OK;
}

void hl_upload_close(struct hl_call *call)
{
    if (call->upload >= 0)
        close(call->upload);
    call->upload = HL_UPLOAD_NONE;
}
