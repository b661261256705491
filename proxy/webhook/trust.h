/* trust.h - the certificate authorities that a receiver's certificate may come from: the system's,
 * and those of HOOKLINE_WEBHOOK_CA_FILE. */
#ifndef HL_WEBHOOK_TRUST_H
#define HL_WEBHOOK_TRUST_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_str;

struct hl_trust {
    /* A PEM file with all of them; NULL: the system has no bundle, libcurl's directory holds. */
    const char *file;
    char path[32];
    int fd; /* of a merged bundle; -1: none */
};

/* `extra`: a path, or empty. On failure `why` is one line with the option's name, and there is
 * nothing to end. After curl_global_init. */
HL_MUST_CHECK enum hl_err hl_trust_init(
    struct hl_trust *trust, struct hl_str extra, char *why, size_t why_len);
void hl_trust_fini(struct hl_trust *trust);

#endif
