/* identity.h - what hookline shows to trusted hosts alone: the operator's fields and the client
 * certificate (contract 5). Callers choose URLs, so all others get neither. */
#ifndef HL_WEBHOOK_IDENTITY_H
#define HL_WEBHOOK_IDENTITY_H

#include "webhook/certificate.h"

struct hl_config;

struct hl_identity {
    struct hl_str hosts;       /* borrowed */
    struct curl_slist *fields; /* "Name: value"; owned */
    struct hl_certificate certificate;
};

/* `config` is borrowed. On failure `why` is one line; hl_identity_fini is harmless then. */
HL_MUST_CHECK enum hl_err hl_identity_init(
    struct hl_identity *identity, const struct hl_config *config, char *why, size_t why_len);
bool hl_identity_trusts(const struct hl_identity *identity, struct hl_str url);
void hl_identity_fini(struct hl_identity *identity);

#endif
