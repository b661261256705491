/* passage.h - what one read of the app becomes: one write to the caller, then a view for the spool.
 */
#ifndef HL_RUN_PASSAGE_H
#define HL_RUN_PASSAGE_H

#include "base/compiler.h"
#include "base/str.h"
#include "http/message.h"

struct hl_run;

#define HL_PASSAGE_VIEWS 64 /* slices of one read before a write goes out in between */

struct hl_passage {
    size_t out_n;         /* bytes of ours in worker->scratch */
    struct hl_str direct; /* bytes of the read itself, to go out behind them */
    size_t view_count;
    struct hl_str views[HL_PASSAGE_VIEWS]; /* decoded body bytes, for the spool */
};

static inline void hl_passage_init(struct hl_passage *pass)
{
    pass->out_n = pass->view_count = 0;
    pass->direct = (struct hl_str){NULL, 0};
}

/* How the body of the answer with this head is framed for the caller. */
enum hl_framing hl_passage_framing(const struct hl_run *run, const struct hl_head *head);

/* All return false when the run has ended meanwhile (the caller has gone and nobody else waits). */

/* One slice of decoded body bytes joins, framed for the caller. */
HL_MUST_CHECK bool hl_passage_add(struct hl_run *run, struct hl_passage *pass, struct hl_str data);
/* The body's end, as the caller's framing says it. */
HL_MUST_CHECK bool hl_passage_add_end(
    struct hl_run *run, struct hl_passage *pass, struct hl_str trailer);
/* Writes what has gathered, then shows it to the spool. */
HL_MUST_CHECK bool hl_passage_flush(struct hl_run *run, struct hl_passage *pass);

#endif
