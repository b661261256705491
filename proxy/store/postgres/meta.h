/* meta.h - what all replicas have in common, in the table `meta`: the key, the lifetime of a replica, the
 * signing key. Blocking; errors as in session.h. */
#ifndef HL_STORE_POSTGRES_META_H
#define HL_STORE_POSTGRES_META_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_old_key;
struct hl_pg_session;
struct hl_pg_store;
struct hl_sealer;
struct hl_str;

/* Is the sealer's key the one that this schema was made with, is the lifetime that of the others (0: that
 * does not matter), does the signing key open? Changes nothing. */
HL_MUST_CHECK enum hl_err hl_pg_meta_look(struct hl_pg_session *session, struct hl_sealer *sealer,
    uint64_t ttl_ms, char *why, size_t why_len);

/* The same for a store that opens: what nobody has said yet it says for all, except, as a guest, the
 * lifetime. Reads the signing key. */
HL_MUST_CHECK enum hl_err hl_pg_meta_share(
    struct hl_pg_store *s, struct hl_pg_session *session, char *why, size_t why_len);

/* The key's part of it, kept if nobody has said it yet. */
HL_MUST_CHECK enum hl_err hl_pg_meta_keep_key(
    struct hl_pg_session *session, const struct hl_sealer *sealer, char *why, size_t why_len);

/* What a sealed value of the table is sealed for. */
const char *hl_pg_meta_place(struct hl_str name);

/* One that only verifies, as it stands in the database. CORRUPT: as below. */
HL_MUST_CHECK enum hl_err hl_pg_open_old_key(
    struct hl_pg_store *s, struct hl_str sealed, struct hl_old_key *out);

/* The signing key as it stands in the database. CORRUPT: it is not sealed with our key. */
HL_MUST_CHECK enum hl_err hl_pg_keep_signing_key(struct hl_pg_store *s, struct hl_str sealed);

#endif
