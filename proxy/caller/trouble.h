/* trouble.h - logs calls that fail through no fault of their caller: the first of each kind per
 * second, and how many more there were. */
#ifndef HL_CALLER_TROUBLE_H
#define HL_CALLER_TROUBLE_H

#include "loop/wheel.h"

struct hl_answer;

#define HL_TROUBLE_KINDS  8   /* in one second; of what is beyond only the number is said */
#define HL_TROUBLE_DETAIL 256 /* bytes of it that tell kinds apart */

struct hl_trouble_kind {
    const char *what; /* static */
    uint16_t status;
    char detail[HL_TROUBLE_DETAIL];
    uint64_t left_out;
};

/* One worker's. */
struct hl_trouble {
    struct hl_wheel *wheel;
    struct hl_timer timer; /* armed while a second runs */
    size_t kind_count;
    struct hl_trouble_kind kinds[HL_TROUBLE_KINDS];
    uint64_t left_out; /* of kinds that have no place */
};

void hl_trouble_init(struct hl_trouble *trouble, struct hl_wheel *wheel);
/* What was counted and not said yet is said. The wheel is still open. */
void hl_trouble_fini(struct hl_trouble *trouble);

/* A call, as a line says it. */
struct hl_trouble_case {
    const char *what;             /* the line's message, a static text */
    const struct hl_id *run_id;   /* NULL: none */
    const struct hl_id *trace_id; /* NULL: it is not sampled */
    const struct hl_refusal *why; /* as its caller was told, if that could still be done */
    const char *reason;           /* NULL: none */
};
void hl_trouble_note(struct hl_trouble *trouble, const struct hl_trouble_case *one);
/* An answer of ours, if it is a failure that the operator is to hear of. */
void hl_trouble_note_answer(struct hl_trouble *trouble, const struct hl_answer *answer);

#endif
