/* rekey.h - `hookline store rekey`: what is sealed with HOOKLINE_PREVIOUS_KEY is sealed anew with
 * HOOKLINE_KEY. Beside running replicas; one that was interrupted goes on when it is run again. */
#ifndef HL_STORE_POSTGRES_REKEY_H
#define HL_STORE_POSTGRES_REKEY_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_audit;
struct hl_config;

struct hl_pg_rekeyed {
    uint64_t values;     /* sealed anew */
    uint64_t unreadable; /* that neither key opens: left as they are */
};

/* On success the schema's key is HOOKLINE_KEY, and `audit` says who made it so, and counts the values. On failure `why` has one line; what was done stays done.
 * Blocks. */
HL_MUST_CHECK enum hl_err hl_pg_rekey(const struct hl_config *config, const struct hl_audit *audit,
    struct hl_pg_rekeyed *done, char *why, size_t why_len);

#endif
