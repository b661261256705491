/* op.h - the store's requests as PostgreSQL is told them: a constant row for each, and what goes along
 * with one until it is answered. The store's thread. */
#ifndef HL_STORE_POSTGRES_OP_H
#define HL_STORE_POSTGRES_OP_H

#include "base/err.h"
#include "base/id.h"
#include "base/list.h"
#include "store/postgres/statement.h"

struct hl_pg_columns;
struct hl_pg_params;
struct hl_pg_row;
struct hl_store_msg;

struct hl_pg_store;

struct hl_pg_op {
    struct hl_list node; /* in the store's queue or in a flush */
    struct hl_pg_store *store;
    struct hl_store_msg *m;
    const struct hl_pg_operation *how;
    size_t weight;
    uint64_t own_memory, own_file; /* its share of the store's `queue_memory` */
    uint64_t posted_ms;            /* CLOCK_MONOTONIC */
    int64_t posted_ahead_ms;       /* the wall clock then: hl_clock_ahead_ms */
    struct hl_id subject,
        key;          /* no two operations on the same one are under way at once; nil: none */
    bool is_in_doubt; /* it was sent, and nobody knows whether it was committed */
    bool is_busy;     /* too much waits for a new run; one with a known key is answered */
    bool is_alone;    /* a flush with others failed: it has one of its own */
    bool is_held;     /* it waits, and what follows on the same subject waits behind it */
    struct hl_pg_refused {
        uint32_t n;       /* times that it was refused alone, */
        uint32_t n_own;   /* of those when others of its kind were not */
        uint64_t commits; /* of its kind, at the last one */
        uint64_t again_ms;
        bool is_stripped;
    } refused;       /* refusal.c */
    struct hl_id as; /* a record: the session that it was sent in */
    /* and that was not the replica's, or it counts as dead: it is sent again in another one */
    bool was_dead;
    /* of the delivery that its end begins: the same each time it is sent */
    struct hl_id delivery_id;

    enum hl_err rc; /* below: what the answer said, told the asker after the commit */
    bool asks_again;
    struct hl_id other; /* the earlier run; who has the run */
    struct hl_leased *leased;
    int64_t number; /* a count, a time, a state */
    bool has_more;
    struct hl_id mark;
};

struct hl_pg_operation {
    enum hl_pg_sql query;
    bool is_single;       /* the statement is for one operation */
    bool is_audited;      /* with {audited} of sql/parts.sql: a single one */
    enum hl_err repeated; /* what it says where it is so already and this is no repetition */
    /* What two of must not be under way together: where in the message its id is; or the function says. Neither: nothing. */
    size_t subject_at;
    void (*subject)(struct hl_pg_op *op);
    /* An operation's items of the parameters that are arrays; NULL: there are none. */
    void (*add_row)(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op);
    /* The other parameters; `op` is the single one, or the first. May be NULL. */
    void (*bind)(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op);
    /* What the answer's row says beside ord and code. May be NULL. */
    void (*read)(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row);
    /* After the commit, if it is OK: who has what now; what the reply carries. May be NULL. */
    void (*note)(struct hl_pg_store *s, struct hl_pg_op *op);
};

/* NULL: not a request that changes anything. */
const struct hl_pg_operation *hl_pg_operation_of(const struct hl_store_msg *m);

/* The subject and the key of one that has come. */
void hl_pg_op_name_subject(struct hl_pg_op *op);
/* The parameters for `n` operations of a kind, at s->params. */
void hl_pg_op_bind(struct hl_pg_store *s, struct hl_pg_op *const ops[], size_t n);

/* What every request gets, once. Takes the message, whose weight was counted when it came; what it brings is dropped
 * unless OK. */
void hl_pg_reply(struct hl_pg_store *s, struct hl_store_msg *m, size_t weight, enum hl_err rc);

/* Subjects of operations that are under way, or that others have to wait behind: the store's `busy`, where room
 * was reserved. Whether another operation has one of its own. */
bool hl_pg_op_is_busy(const struct hl_pg_store *s, const struct hl_pg_op *op);
void hl_pg_op_set_busy(struct hl_pg_store *s, struct hl_pg_op *op);
void hl_pg_op_clear_busy(struct hl_pg_store *s, struct hl_pg_op *op);

/* A value that is sealed, for the row of that id; the head of an answer, or null. */
void hl_pg_add_sealed(struct hl_pg_store *s, struct hl_pg_columns *c, unsigned param,
    const char *place, const struct hl_id *row, struct hl_str plain);
void hl_pg_add_answer_head(
    struct hl_pg_store *s, struct hl_pg_columns *c, const struct hl_id *run_id, struct hl_str head);

/* What several have (op_common.c). This replica; the number that the answer has; after it the others are told at once. */
void hl_pg_bind_me(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op);
void hl_pg_read_number(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row);
void hl_pg_note_for_all(struct hl_pg_store *s, struct hl_pg_op *op);

/* The row of who made the change (store/audit.h), if the request has one: {audited} of sql/parts.sql, and as items of
 * arrays. */
void hl_pg_audit_bind(struct hl_pg_params *p, const struct hl_store_msg *m);
void hl_pg_audit_add_row(struct hl_pg_columns *c, const struct hl_store_msg *m);
/* Of ACCEPTs, at s->params, for AUDIT_ACCEPTED. False: none of them has one. */
bool hl_pg_audit_bind_accepted(struct hl_pg_store *s, struct hl_pg_op *const ops[], size_t n);

/* The rows, by what they are about. */
extern const struct hl_pg_operation hl_pg_op_add, hl_pg_op_finish, hl_pg_op_release,
    hl_pg_op_cancel, hl_pg_op_attempt, hl_pg_op_outcome, hl_pg_op_redeliver_one,
    hl_pg_op_redeliver_many, hl_pg_op_resend, hl_pg_op_account_add, hl_pg_op_account_revoke,
    hl_pg_op_account_limit, hl_pg_op_account_touch, hl_pg_op_audit, hl_pg_op_settings_keep,
    hl_pg_op_key_keep, hl_pg_op_keep_stream, hl_pg_op_say_progress, hl_pg_op_tally, hl_pg_op_alert,
    hl_pg_op_job_add, hl_pg_op_job_keep, hl_pg_op_job_stop;

#endif
