/* own_keys.h - the keys that tokens of hookline's own are checked with: that which signs, and those of
 * embedded stores that were moved into a shared one. */
#ifndef HL_AUTH_OWN_KEYS_H
#define HL_AUTH_OWN_KEYS_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_issuer;
struct hl_registry;
struct hl_store;

/* Reads what the store has just now, into the registry. After an error those stay that were there. Any
 * thread that may block. */
HL_MUST_CHECK enum hl_err hl_own_keys_read(
    struct hl_registry *registry, const struct hl_issuer *issuer, struct hl_store *store);

#endif
