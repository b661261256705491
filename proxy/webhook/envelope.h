/* envelope.h - the JSON body of a webhook (contract 5), read in slices: what stands before the
 * response is made once, the response passes through its encoding from memory or its file, so that
 * its size never matters.
 *
 * The whole length is known before the first byte is read, and every reading gives the same bytes.
 */
#ifndef HL_WEBHOOK_ENVELOPE_H
#define HL_WEBHOOK_ENVELOPE_H

#include <mbedtls/sha256.h>
#include <sys/types.h>

#include "base/buf.h"
#include "store/record.h"

struct hl_leased;

/* What of a response goes along (contract 5); borrowed. */
struct hl_payload {
    bool is_thin;             /* nothing of it */
    uint64_t max_body;        /* nothing of a longer one, bytes as kept; 0: any */
    struct hl_str public_url; /* of the run listener; in use: not empty */
};

struct hl_envelope {
    uint64_t size; /* of the whole, bytes */

    /* private */
    const struct hl_leased *leased;
    const char *data_dir;
    const struct hl_payload *payload; /* NULL: all of the response goes along */
    bool has_url;                     /* it says where the response is */
    struct hl_buf head;               /* up to the response's first byte */
    struct hl_str tail;               /* after its last */
    enum hl_encoding encoding;
    bool is_copied;              /* the response stands in the envelope as it is kept */
    uint64_t raw_size;           /* of the response as it is kept; 0 when the envelope says null */
    uint64_t encoded_size;       /* of the response inside the envelope, without quotes */
    uint64_t raw_at, encoded_at; /* the reading's place */
    size_t head_at, tail_at;
    char unit[64]; /* read, and not given out yet: who asked had little room */
    size_t unit_at, unit_n;
    int fd;                     /* of the body's file; -1: not open */
    bool is_verified;           /* the body was found to be what was stored */
    mbedtls_sha256_context sha; /* of a file */
};

/* `leased`, `data_dir` (NULL: bodies never were on a disk) and `payload` (NULL: all of the response goes
 * along) are borrowed until the fini.
 * INVALID: the record contradicts itself. On failure there is nothing to end. Opens no file. */
HL_MUST_CHECK enum hl_err hl_envelope_init(struct hl_envelope *e, const struct hl_leased *leased,
    const char *data_dir, const struct hl_payload *payload);
void hl_envelope_fini(struct hl_envelope *e);

/* Back to the first byte; before the first reading too. Opens the body's file if there is one:
 * NOT_FOUND, IO, CORRUPT (another size). */
HL_MUST_CHECK enum hl_err hl_envelope_rewind(struct hl_envelope *e);
/* Gives the descriptor back between two readings. */
void hl_envelope_rest(struct hl_envelope *e);

/* The next bytes, at most `cap`; 0 at the end, after exactly `size` bytes. Blocks on the disk. -1: the body cannot be read, or is not what was written: the first
 * whole reading checks its digest and the escaped length, so the last bytes of a corrupt body are
 * never given out. */
HL_MUST_CHECK ssize_t hl_envelope_read(struct hl_envelope *e, char *out, size_t cap);

/* What it begins with, as far as that is known from `first`, the first bytes of the response as it is kept: appended to
 * `out`. `*is_whole`: that is all of it. Reads nothing. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_envelope_preview(
    const struct hl_envelope *e, struct hl_str first, struct hl_buf *out, bool *is_whole);

#endif
