/* trust.h - the certificate authorities that a server's certificate may come from, for libcurl: the
 * system's, and those of a setting's file. */
#ifndef HL_DNS_TRUST_H
#define HL_DNS_TRUST_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_str;

struct hl_trust {
    /* A PEM file with all of them; NULL: the system has no bundle, libcurl's directory holds. */
    const char *file;
    char path[32];
    int fd;     /* of a merged bundle; -1: none */
    int before; /* of the one that it replaced, which a transfer may have begun with; -1: none */
    struct stat seen; /* of the setting's file */
};

/* Nothing to end: as after hl_trust_fini. */
void hl_trust_none(struct hl_trust *trust);

/* The file of all the authorities that this system trusts, whether it is there or not; in a bundle (base/bundle.h)
 * the bundle's own where the system has none. Static. */
const char *hl_trust_of_system(void);

/* `extra`: a path, or empty; the value of `option`. On failure `why` is one line with the option's name, and
 * there is nothing to end. After curl_global_init. */
HL_MUST_CHECK enum hl_err hl_trust_init(
    struct hl_trust *trust, const char *option, struct hl_str extra, char *why, size_t why_len);
/* Reads the file again if it has changed. On failure, which is told once, `why` as above, and what was there
 * stays. */
HL_MUST_CHECK enum hl_err hl_trust_refresh(
    struct hl_trust *trust, const char *option, struct hl_str extra, char *why, size_t why_len);
/* The same, and a failure is an error line. */
void hl_trust_look(struct hl_trust *trust, const char *option, struct hl_str extra);
void hl_trust_fini(struct hl_trust *trust);

/* Whether libcurl's TLS library can use the files of a setting, who else would know: begins a handshake with a
 * listener of our own, which hangs up before its first answer; by then all files are loaded. The options that name
 * them are set already. False: it could not begin. After curl_global_init. */
bool hl_tls_files_check(CURL *easy);

#endif
