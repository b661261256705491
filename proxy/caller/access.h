/* access.h - the outcome of each request: counted once, at its end, and logged in one line with
 * HOOKLINE_ACCESS_LOG.
 * Thread: the worker's, but for the line. */
#ifndef HL_CALLER_ACCESS_H
#define HL_CALLER_ACCESS_H

#include "auth/claims.h"
#include "base/clock.h"
#include "base/id.h"
#include "caller/callers.h"
#include "caller/client.h"
#include "caller/metrics.h"
#include "net/address.h"

struct hl_head;
struct hl_principal;

/* ---- a line of the log, from its call's head to its end. Any thread ---- */

#define HL_ACCESS_METHOD 32   /* bytes of it; known methods are shorter */
#define HL_ACCESS_PATH   4096 /* a log line has no room for more */

struct hl_access_line {
    char client[HL_IP_TEXT];
    char method[HL_ACCESS_METHOD + 1];
    char subject[HL_SUBJECT_MAX + 1]; /* empty: nobody was asked, or the token is not good */
    struct hl_id run_id;
    const char *cause; /* of the refusal that it was answered with; NULL: it was not */
    uint64_t bytes;    /* of the response's body that were written for the caller */
    char *tags;        /* of the run; NULL: none; owned */
    size_t path_n;
    char path[];
};

/* `head` NULL: there is none that could be read. Copies; NULL when out of memory. */
struct hl_access_line *hl_access_line_new(
    const char *peer, const struct hl_head *head, const struct hl_cidr_list *trusted);

/* `client` is the peer's address: if that is trusted, and `head` names who is before it, it becomes theirs. */
void hl_access_find_client(
    char client[HL_IP_TEXT], const struct hl_head *head, const struct hl_cidr_list *trusted);

void hl_access_line_free(struct hl_access_line *line); /* NULL-safe */

/* What only the end tells. */
struct hl_access_outcome {
    uint16_t status; /* 0: none was sent */
    const char *mode;
    const char *end; /* NULL: the response was whole */
    uint64_t us;
    const struct hl_id *trace_id; /* NULL: the call is not sampled */
    uint64_t unsent;              /* of `bytes`, what the caller's socket never took */
};
/* Whatever HOOKLINE_LOG_LEVEL is. */
void hl_access_line_write(
    const struct hl_access_line *line, const struct hl_access_outcome *outcome);

/* ---- a request ---- */

enum hl_access_end {
    HL_ACCESS_WHOLE, /* the caller was given a whole response, or an answer of ours */
    HL_ACCESS_CUT,   /* its response was broken off, not by the caller */
    HL_ACCESS_LEFT,  /* the caller left before */
};

void hl_access_open_line(struct hl_client *c, const struct hl_head *head);

/* A request's head is there; NULL: one that cannot be read. `c->status` and `c->mode` are set as
 * more is known. A second call before the end changes nothing. */
static inline void hl_access_begin(struct hl_client *c, const struct hl_head *head)
{
    if (c->begun_us != 0)
        return;
    c->begun_us = hl_clock_mono_us();
    c->status = 0;
    c->mode = HL_MODE_OTHER;
    if (c->callers->has_access_log)
        hl_access_open_line(c, head);
}
/* One that is refused, of whose head this is there: it may say what was asked for, if its first line is
 * good. */
void hl_access_begin_unread(struct hl_client *c, struct hl_str head);
/* Nothing happens between requests. */
void hl_access_end(struct hl_client *c, enum hl_access_end how);

/* There is a line: who calls; NULL: nobody was asked. */
void hl_access_set_caller(struct hl_client *c, const struct hl_principal *who);

/* What it will say. All are harmless when there is none. */

/* The id of its run, or that an answer of ours names. */
static inline void hl_access_set_run(struct hl_client *c, const struct hl_id *id)
{
    if (c->line)
        c->line->run_id = *id;
}
/* Its run's tags; copied. */
void hl_access_set_tags(struct hl_client *c, struct hl_str tags);
/* It was refused, for a cause of http/refusal.h. */
static inline void hl_access_set_cause(struct hl_client *c, const char *cause)
{
    if (c->line)
        c->line->cause = cause;
}
/* An answer of ours, head and body. */
void hl_access_add_answer(struct hl_client *c, struct hl_str answer);
/* No line for this one. */
void hl_access_drop_line(struct hl_client *c);

/* Bytes of the response's body are on their way to the caller. */
static inline void hl_access_add(struct hl_client *c, size_t n)
{
    if (c->line)
        c->line->bytes += n;
}

/* As metrics and lines call it. */
const char *hl_mode_text(enum hl_mode mode);

#endif
