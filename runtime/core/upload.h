/* upload.h - a request's body that is a form (multipart/form-data): in a file, for it may be long. */
#ifndef HL_RUNTIME_UPLOAD_H
#define HL_RUNTIME_UPLOAD_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_call;
struct hl_head;

#define HL_UPLOAD_NONE (-1)

/* Whether the request's content type says so. */
bool hl_upload_is_form(const struct hl_head *head);

/* From here on the call's body is in a file that has no name: nothing of it is left when the call is freed. HL_ERR_IO:
 * there is nowhere to make one. */
HL_MUST_CHECK enum hl_err hl_upload_open(struct hl_call *call);
/* HL_ERR_TOO_LARGE: it is longer than settings.max_upload. HL_ERR_IO: the disk takes no more. */
HL_MUST_CHECK enum hl_err hl_upload_append(struct hl_call *call, struct hl_str bytes);
/* Harmless without one. */
void hl_upload_close(struct hl_call *call);

#endif
