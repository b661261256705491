/* certificate.h - the client certificate that webhooks to trusted hosts show (contract 5): a pair of PEM
 * files, read again when they change. */
#ifndef HL_WEBHOOK_CERTIFICATE_H
#define HL_WEBHOOK_CERTIFICATE_H

#include <curl/curl.h>

#include "base/buf.h"

struct hl_certificate {
    const char *cert_file, *key_file; /* NULL: there is none */
    struct hl_buf cert, key;          /* the pair in use */

    /* private */
    char version[192];     /* of the two files, as they were looked at last */
    uint64_t next_look_ms; /* monotonic */
};

/* Paths are borrowed, both may be empty. On failure (unreadable, no PEM, not of each other) `why` is one
 * line with the option's name, and there is nothing to end. After curl_global_init. */
HL_MUST_CHECK enum hl_err hl_certificate_init(struct hl_certificate *c, struct hl_str cert_file,
    struct hl_str key_file, char *why, size_t why_len);
/* Looks at the files, at most once a second. A pair that cannot be used is an error in the log, and the
 * former one stays. */
void hl_certificate_refresh(struct hl_certificate *c);
/* The transfer shows the pair in use from now on; NULL: none. libcurl copies it, and never uses a
 * connection that showed another one. NOMEM. */
HL_MUST_CHECK enum hl_err hl_certificate_show(const struct hl_certificate *c, CURL *easy);
void hl_certificate_fini(struct hl_certificate *c);

#endif
