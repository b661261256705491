/* partition.h - the partitions of what is kept by time. An id's first 48 bits are milliseconds, so a
 * partition is a span of time, and what is past its retention goes with its partition. Blocking. */
#ifndef HL_STORE_POSTGRES_PARTITION_H
#define HL_STORE_POSTGRES_PARTITION_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_id;
struct hl_pg_session;

/* Makes those that are missing from now on, for max(2 days, 4 widths). The first one of all reaches back
 * to the beginning, one after a long absence over all of that. Several replicas may do it at once; the
 * role need not own anything. Errors as in session.h. */
HL_MUST_CHECK enum hl_err hl_pg_partitions_make(
    struct hl_pg_session *s, int64_t retention_ms, char *why, size_t why_len);

/* How much time one covers: max(1 h, min(1 day, retention / 4)). */
int64_t hl_pg_partition_width_ms(int64_t retention_ms);

/* Makes room for rows with ids from `oldest` on, where the first partitions are dropped already. DENIED: that
 * takes the owner of the schema. */
HL_MUST_CHECK enum hl_err hl_pg_partitions_reach_back(
    struct hl_pg_session *s, const struct hl_id *oldest, char *why, size_t why_len);
/* For ids from that moment on there are none yet. */
HL_MUST_CHECK enum hl_err hl_pg_partitions_end(
    struct hl_pg_session *s, int64_t *end_ms, char *why, size_t why_len);

#endif
