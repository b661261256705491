/* intake.h - how much has been posted to a store and not yet answered: beyond a bound, requests
 * that bring work are refused. Any thread. */
#ifndef HL_STORE_INTAKE_H
#define HL_STORE_INTAKE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_store_msg;

struct hl_intake {
    _Atomic uint64_t requests, bytes;
};

/* Counts a request of that weight (hl_operation_weigh), or says BUSY: 64 MiB wait, and this one would
 * bring more work; or 4,096 requests do, and it could be made again. A RECORD could not: its run is inside
 * the app already. */
HL_MUST_CHECK enum hl_err hl_intake_enter(
    struct hl_intake *intake, const struct hl_store_msg *m, size_t weight);
/* What waits has become lighter by so many bytes. */
void hl_intake_shrink(struct hl_intake *intake, size_t bytes);
/* It is answered. */
void hl_intake_leave(struct hl_intake *intake, size_t weight);

#endif
