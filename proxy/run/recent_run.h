/* recent_run.h - the synchronous runs that a worker has seen lately, from memory: what the run list says
 * of calls that cost the disk nothing (contract 4).
 *
 * An entry is made when a call begins and says what became of it when it ends. All workers together
 * keep HL_RECENT_MAX: beyond that a new one takes the place of the worker's own oldest that has
 * ended. Runs that are still going on are never forgotten, so that each can be cancelled. */
#ifndef HL_RUN_RECENT_RUN_H
#define HL_RUN_RECENT_RUN_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/list.h"
#include "base/slab.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "route/plan.h"
#include "store/run_curve.h"
#include "store/record.h"
#include "store/search.h"

#define HL_RECENT_MAX  10000
#define HL_RECENT_TEXT 272 /* project, app and path, cut to what fits */

#define HL_RECENT_SUBJECT 128 /* cut to that */

#define HL_RECENT_UNKNOWN UINT64_MAX /* a size that nobody announced */

enum hl_recent_mode { HL_RECENT_SYNC, HL_RECENT_STREAM, HL_RECENT_WEBSOCKET };

/* A run as a value. */
struct hl_recent_run {
    struct hl_id id;
    enum hl_run_state state; /* RUNNING also while it waits for a slot of the app */
    enum hl_run_reason reason;
    enum hl_recent_mode mode;
    enum hl_priority priority;
    uint16_t http_status; /* 0: no answer yet */
    int64_t created_ms, finished_ms;
    /* how long it waited for a slot of the app; -1: it does, or did until its end */
    int64_t queued_ms;
    struct hl_call_parts parts; /* when it has ended */
    uint64_t request_size, response_size;
    uint64_t owner; /* a hash of whose run it is, of this process; 0: nobody was asked */
    char method[16];
    uint8_t subject_n;
    char subject[HL_RECENT_SUBJECT]; /* of the owner's token */
    char *tags;                      /* NULL: none, or no memory; owned, of a row too */
    uint16_t project_n, app_n, path_n;
    char text[HL_RECENT_TEXT];
};

struct hl_str hl_recent_project(const struct hl_recent_run *run);
struct hl_str hl_recent_app(const struct hl_recent_run *run);
struct hl_str hl_recent_path(const struct hl_recent_run *run);
struct hl_str hl_recent_subject(const struct hl_recent_run *run);

struct hl_run;
struct hl_recent;

/* What one worker remembers. */
struct hl_recent_list {
    struct hl_slab entries;
    struct hl_list all;      /* in the order in which they came */
    bool is_mixed;           /* the clock was set back since: that is not the order of their ids */
    struct hl_list ended;    /* in the order in which they ended */
    _Atomic uint32_t *total; /* over all workers */
};

void hl_recent_init(struct hl_recent_list *list, _Atomic uint32_t *total);
void hl_recent_fini(struct hl_recent_list *list);

struct hl_head;

/* A synchronous call of the app begins. Without memory it is simply not remembered. */
void hl_recent_begin(struct hl_run *run, const struct hl_plan *plan, const struct hl_head *head);
/* Whose it is: a hash of the whole identity, and the subject to show. Likewise. */
void hl_recent_set_owner(struct hl_run *run, uint64_t hash, struct hl_str subject);
/* It waits for a slot of the app; it has one, `queued_ms` after it began. Nothing happens for a run
 * that has no entry. */
void hl_recent_wait(struct hl_run *run);
void hl_recent_admit(struct hl_run *run, int64_t queued_ms);
/* It ended after `ms`. Nothing happens for a run that has no entry. */
void hl_recent_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, int64_t ms);
/* What is remembered of a run that goes on; NULL: nothing. */
const struct hl_recent_run *hl_recent_of(const struct hl_run *run);
/* The run goes on, and another list has it. Nothing happens for a run that has no entry. */
void hl_recent_forget(struct hl_run *run);

/* What the control thread asks of a worker, and the same memory back. */
enum hl_recent_question {
    HL_RECENT_LIST,   /* rows that match, newest first */
    HL_RECENT_COUNT,  /* those that match, in `curve` */
    HL_RECENT_GET,    /* the one with `id`: one row, or NOT_FOUND */
    HL_RECENT_CANCEL, /* the same, ended now: OK, NOT_FOUND, or CONFLICT: it has ended already */
};

struct hl_recent_ask {
    struct hl_msg msg; /* HL_WORKER_RECENT */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from; /* the asker's object */
    uint32_t worker;          /* index */
    enum hl_recent_question question;
    char project[HL_NAME_MAX + 1], app[HL_NAME_MAX + 1]; /* empty: any */
    struct hl_id id;             /* LIST: only older ones than this; nil: from the newest on */
    int state;                   /* LIST: enum hl_run_state, or -1: any */
    int64_t since_ms, until_ms;  /* LIST: created then or later, before; 0: unbounded */
    struct hl_run_search search; /* LIST */
    uint32_t limit;
    struct hl_run_curve curve; /* COUNT, which takes what LIST does; its span as asked */

    enum hl_err rc;
    struct hl_recent_run *rows; /* owned, malloc */
    uint32_t count;
    bool has_more;
};
void hl_recent_ask_free(struct hl_recent_ask *ask); /* NULL-safe */

/* On the worker's thread: fills the answer, which is sent back by whoever asks for it here. Returns the
 * run that is to be cancelled before that, if any. */
struct hl_run *hl_recent_answer(const struct hl_recent_list *recent, struct hl_recent_ask *ask);

#endif
