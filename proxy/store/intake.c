/* intake.c - see intake.h. */
#include "store/intake.h"

#include "loop/mailbox.h"
#include "store/op.h"
#include "store/operation.h"

#define MAX_REQUESTS 4096
#define MAX_BYTES    (64u << 20)

enum hl_err hl_intake_enter(struct hl_intake *intake, const struct hl_store_msg *m, size_t weight)
{
    uint64_t n = atomic_load_explicit(&intake->requests, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&intake->bytes, memory_order_relaxed);
    bool is_too_many = m->msg.type == HL_STORE_ACCEPT && n >= MAX_REQUESTS;
    if (is_too_many || (hl_operation_of(m)->brings_work && bytes + weight > MAX_BYTES))
        return HL_ERR_BUSY;
    atomic_fetch_add_explicit(&intake->requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&intake->bytes, weight, memory_order_relaxed);
    return HL_OK;
}

void hl_intake_shrink(struct hl_intake *intake, size_t bytes)
{
    atomic_fetch_sub_explicit(&intake->bytes, bytes, memory_order_relaxed);
}

void hl_intake_leave(struct hl_intake *intake, size_t weight)
{
    atomic_fetch_sub_explicit(&intake->requests, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&intake->bytes, weight, memory_order_relaxed);
}
