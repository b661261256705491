/* state.h - what the store's thread has: one struct, which the files of this folder share. */
#ifndef HL_STORE_POSTGRES_STATE_H
#define HL_STORE_POSTGRES_STATE_H

#include <semaphore.h>

#include "loop/thread.h"
#include "store/account.h"
#include "store/backend.h"
#include "store/credit.h"
#include "store/data_dir.h"
#include "base/id_map.h"
#include "store/gauges.h"
#include "store/intake.h"
#include "store/key.h"
#include "store/lender.h"
#include "store/postgres/columns.h"
#include "store/postgres/link.h"
#include "store/postgres/run_map.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/session.h"
#include "store/secret.h"
#include "store/watch.h"

#define HL_PG_FLUSH_OPS    256
#define HL_PG_FLUSH_WEIGHT (4u << 20)
#define HL_PG_FLUSHES      2  /* under way at once */
#define HL_PG_HAND_OUT     64 /* runs, or deliveries, with one flush */

/* One transaction: operations, and what is handed out. */
struct hl_pg_flush {
    struct hl_pg_flight flight;
    unsigned waiting; /* classes, when runs were asked for */
    struct hl_pg_store *store;
    struct hl_list ops; /* in the order in which they are answered */
    size_t n_ops, weight;
    bool is_used;
    bool is_alone;      /* with one operation, to see whether it is what PostgreSQL refuses */
    struct hl_pg_part { /* a query of the flight, and whose it is */
        struct hl_pg_op **ops;
        size_t n;
    } parts[HL_PG_FLIGHT_MAX];
    struct hl_pg_op *sorted[HL_PG_FLUSH_OPS];               /* by statement */
    int claim_at, held_back_at, wake_at, lease_at, peek_at; /* which query that is; -1: none */
    uint32_t n_claims, n_leases; /* asked for: credit that is set aside */
    struct hl_credit_note claims[HL_PG_HAND_OUT], leases[HL_PG_HAND_OUT];
};

/* Runs that are to be taken back (uncertain_accept.c). While there are any nothing new is sent, so that they are no
 * more than two losses of all that may be under way. */
#define HL_PG_UNCERTAIN_MAX (2 * HL_PG_FLUSHES * HL_PG_FLUSH_OPS)
struct hl_pg_uncertain {
    struct hl_id ids[HL_PG_UNCERTAIN_MAX];
    size_t n, n_sent;  /* the first `n_sent` are in a transaction that is under way */
    uint64_t again_ms; /* CLOCK_MONOTONIC: it was refused, and is not tried before */
};

/* What the server refuses (refusal.c). Times are CLOCK_MONOTONIC ms. */
struct hl_pg_refusals {
    struct hl_pg_kind { /* the operations of a statement */
        /* one of them was refused, and none was committed since: one at a time is tried */
        bool is_closed;
        bool wants_probe;
        struct hl_pg_op *probe;     /* that one, until it has ended; NULL: none is chosen */
        uint64_t again_ms, wait_ms; /* when the next may be tried, and how long after that */
        uint64_t commits;
    } kinds[HL_PG_SQL_COUNT];
    size_t n_closed;
    /* operations that are refused while others of their kind are not, and bodies of ends */
    size_t n_own;
    bool is_said; /* since the last time that all kinds were open */
};

/* Refusals as the log has them (complaint.c). */
#define HL_PG_COMPLAINTS_MAX 16 /* kinds in a minute; of what is beyond only the number is said */
struct hl_pg_complaints {
    struct hl_pg_complaint {
        const char *what; /* static; and as in the flight that was refused: */
        char sqlstate[6], message[200];
        uint64_t left_out;
    } kinds[HL_PG_COMPLAINTS_MAX];
    size_t n;
    uint64_t left_out; /* of kinds that have no place */
    uint64_t until_ms; /* CLOCK_MONOTONIC: then the counts are said; while there are any */
};

/* What waits and cannot be refused, in bytes (queue_memory.c). */
struct hl_pg_queue_memory {
    uint64_t memory, files;
    uint64_t freed; /* and perhaps not given back to the system */
};

/* A transaction of the store's own that is made again and again. */
struct hl_pg_repeat {
    uint64_t due_ms; /* CLOCK_MONOTONIC */
    bool is_under_way;
};

/* What is under way is not due: its answer wakes the thread. */
static inline uint64_t hl_pg_repeat_due_ms(const struct hl_pg_repeat *r)
{
    return r->is_under_way ? UINT64_MAX : r->due_ms;
}

/* Whether each accept is refused (empty_accept.c). */
struct hl_pg_empty_accept {
    struct hl_pg_flight flight;
    struct hl_pg_repeat trial; /* UINT64_MAX: no accept was refused since the last one passed */
    bool is_refused;           /* the last one */
};

#define HL_PG_DATABASE_MAX 80 /* the name of a database, {database} of sql/parts.sql */

/* Which database the writer's is. */
struct hl_pg_database {
    char name[HL_PG_DATABASE_MAX]; /* "": none was seen yet */
    int64_t beat_ms; /* the server's clock at the last beat that was acknowledged; 0: none was */
};

/* What other replicas tell this one (outbox.c). */
struct hl_pg_outbox {
    struct hl_pg_flight reading;
    bool is_reading;  /* under way */
    bool is_asked;    /* there may be something new */
    bool has_missed;  /* events may be gone that were not read */
    bool begins_anew; /* what was read came by another connection, or from another database */
    bool overrules;   /* from another one: what it says of accounts counts whatever was known */
    char database[HL_PG_DATABASE_MAX]; /* which database that was; "": none was read yet */
    int64_t mark;                      /* what is up to here is not read again */
    int64_t *seen;                     /* events above it that were; owned */
    size_t seen_n, seen_cap;
    int64_t read_at_ms;         /* the server's clock, at the last reading; 0: there was none */
    uint64_t read_ms;           /* CLOCK_MONOTONIC: the last reading */
    hl_account_watch_fn *watch; /* struct hl_watch_accounts; NULL: nobody asked */
    void *watcher;
};

/* Who this process was among the replicas when it was last, or the one before it, and what that had seen of which
 * database. */
struct hl_pg_self {
    struct hl_id id; /* nil: it never was */
    struct hl_pg_database database;
};

/* Whether this replica is among the others (membership.c). */
enum hl_pg_member_state {
    HL_PG_AWAY,    /* the writer has no connection */
    HL_PG_LOOKING, /* which database it is, is asked */
    HL_PG_TELLING, /* what it may lack is told (recall.c) */
    HL_PG_JOINING, /* its row is made, and what it was given unheard goes back */
    /* Its row is there, over this connection: what waits is sent. A guest has no row, and is here at once. */
    HL_PG_JOINED,
    HL_PG_LEAVING, /* the same, and its row goes */
    HL_PG_LEFT,    /* it has gone, or nobody knows */
};

/* Times are CLOCK_MONOTONIC ms. */
struct hl_pg_member {
    enum hl_pg_member_state state; /* its mover: membership.c */
    uint64_t due_ms; /* when LOOKING or JOINING is sent; UINT64_MAX: it is under way */
    struct hl_id id;
    struct hl_id session; /* of its writer's connection: what an earlier one brings late is void */
    char name[132];
    char address[HL_REPLICA_URL_MAX + 1]; /* where others follow what is here; may be empty */
    struct hl_pg_database database;
    bool has_strays, has_stray_leases; /* perhaps: claims that no worker has go back */
    bool has_dead;                     /* perhaps: a replica is to be buried */
    bool is_clock_wrong;               /* the machine's, and that was said */
    struct hl_pg_repeat beat, burial;
    int said_presence;                   /* of the app, with the last beat */
    uint64_t beat_sent_ms, last_beat_ms; /* the last one, and the last that succeeded */
    bool is_beat_refused;                /* the last one, by a server that is there */
    uint64_t beats_since_ms; /* since when they have succeeded without a gap; 0: they have not */
};

/* What a database knows of what was done here. */
enum hl_pg_recall_state {
    HL_PG_KNOWN,  /* all, as far as can be told */
    HL_PG_UNTOLD, /* perhaps not the last of it: it is told before this replica joins */
    /* That; nothing is claimed or leased before the others have told what they know. */
    HL_PG_UNHEARD,
};

/* What a database that lacks the last commits is told (diary.c, recall.c). Times are CLOCK_MONOTONIC ms, unless said. */
struct hl_pg_recall {
    struct hl_pg_diary_file *diary; /* NULL: a guest's */
    struct hl_pg_self self;
    struct hl_id_map begun; /* run → struct hl_pg_begun: what workers have */
    struct hl_list past;    /* struct hl_pg_begun: what workers of an earlier process had */
    size_t n_past;
    /* that have ended here, and what was said of others' runs and of accounts; the first to be forgotten first */
    struct hl_list runs, deliveries, words;
    size_t n_runs, n_deliveries, n_words;
    uint64_t bytes;
    enum hl_pg_recall_state state; /* its mover: recall.c */
    int64_t since_ms;              /* the database's clock when it was found to be another one */
    uint64_t until_ms;             /* nobody is waited for any longer */
    uint64_t calm_ms;              /* since when nobody is missing; 0: somebody is */
    struct hl_pg_repeat look;      /* whether they have told */
    struct hl_list *at;            /* the next to be told, of `runs`, then of `past` */
    uint64_t ended, running, cut, lost, elsewhere; /* what came of it, so far */
    void (*then)(struct hl_pg_store *s, bool is_told);
};

/* How replicas wake each other (notify.c). Times are CLOCK_MONOTONIC ms. */
struct hl_pg_notify {
    struct hl_pg_flight flight;
    bool is_sending;
    bool hears; /* its own notification came back */
    bool owes_all, owes_work, owes_answer;
    bool is_deaf; /* this connection hears nothing */
    bool is_deafness_said;
    uint64_t owed_ms;  /* work is notified then, unless it has gone by itself */
    uint64_t sent_ms;  /* the last one */
    uint64_t trial_ms; /* its own must have come back; 0: it has, or never will */
    uint64_t probe_ms; /* the connection is tried */
    uint64_t looked_ms;
};

/* Destinations that have many deliveries, all replicas' (full_destination.c). */
#define HL_PG_FULL_MAX 8
struct hl_pg_full_destinations {
    _Atomic uint64_t
        full[HL_PG_FULL_MAX]; /* lanes that have what one may have; 0: none. Any thread */
    struct hl_id_map lanes; /* key of a lane → struct hl_pg_pending_lane, as far as it is known */
    uint64_t half;          /* what one may have */
    uint64_t total;         /* of all lanes, when they were counted last */
    uint64_t since;         /* accepted here since then */
    struct hl_pg_repeat count;
};

/* How old the oldest snapshot or transaction of others is (gauging.c). All zero at first. */
struct hl_pg_snapshot_age {
    uint32_t xid;      /* the oldest that was kept at the last look; 0: none */
    uint64_t since_ms; /* CLOCK_MONOTONIC: when it was seen first */
    uint64_t said_ms;  /* the last line; 0: there was none */
};

/* What gauges say of all replicas and of the server (gauging.c). */
struct hl_pg_gauging {
    struct hl_pg_repeat count, measure, trim;
    struct hl_pg_snapshot_age snapshots;
};

/* Long bodies on their way between the database and files (bodies.c). */
struct hl_pg_bodies {
    struct hl_list transfers;
    size_t n_transfers, n_puts;
    uint64_t chunk_ms;      /* CLOCK_MONOTONIC: the last part of a body that came through */
    struct hl_id_map files; /* owner → its file in the scratch directory */
    struct hl_list views;   /* those that go by themselves, the first to go first */
};

/* What is asked for and handed out (dispatch.c, handout.c). */
struct hl_pg_dispatch {
    struct hl_credit_book workers, senders;
    /* The last claim brought as many as it asked for, or something was accepted; the same of leases. */
    bool claims_more, leases_more;
    bool is_claiming, is_leasing; /* with a flush that is under way */
    /* Flushes with nothing but what is handed out that were refused, since the last of each that was committed. */
    uint32_t refused_claims, refused_leases;
    struct hl_msg *withdrawals;   /* to be answered when no claim is under way */
    struct hl_priority_rule rule; /* of claims for which no class is wished */
    int64_t turns[HL_PRIORITIES]; /* of each class, the highest that was claimed here */
    int64_t lane_at;              /* the last lane that was leased from */
    uint64_t wake_ms;             /* CLOCK_MONOTONIC: deliveries that were put off are due */
    /* When others' work is looked for next (CLOCK_MONOTONIC), and how long after that. */
    uint64_t poll_ms, poll_wait_ms;
};

/* What is borrowed of rates that replicas share (lending.c). Times are CLOCK_MONOTONIC ms. */
#define HL_PG_LENDING_MAX 256 /* in one question */
struct hl_pg_lending {
    struct hl_list all;                        /* of quotas that have ever asked */
    struct hl_list asking;                     /* of those that are to be in the next question */
    struct hl_quota *asked[HL_PG_LENDING_MAX]; /* in the one that is under way */
    size_t n_asked;
    bool is_under_way;
    uint64_t due_ms;   /* the next question is not sent before */
    uint64_t since_ms; /* since when somebody has waited, or the last answer */
    uint64_t look_ms;  /* the next look for what is left alone; UINT64_MAX: nothing is lent */
};

/* What this replica holds of max_running that replicas share (permits.c). Times are CLOCK_MONOTONIC ms. */
#define HL_PG_PERMITS_MAX 256 /* quotas in one message */
struct hl_pg_permits {
    struct hl_list all;                       /* of quotas that have ever asked */
    struct hl_list due;                       /* of those that are in the next message */
    struct hl_list waiting;                   /* for what others may give back */
    struct hl_quota *told[HL_PG_PERMITS_MAX]; /* in the one that is under way */
    size_t n_told;
    bool is_under_way;
    uint64_t due_ms;   /* the next message is not sent before */
    uint64_t since_ms; /* since when somebody has waited, or the last answer */
    uint64_t retry_ms; /* those that wait speak again */
    uint64_t look_ms;  /* the next look for what has changed; UINT64_MAX: none is held */
};

/* What goes in time, and partitions for what comes (upkeep.c). */
struct hl_pg_upkeep {
    struct hl_pg_job *job; /* NULL: nothing is under way */
    struct hl_id as;       /* which replica does it: another one may follow meanwhile */
    uv_async_t done;
    uint64_t due_ms;      /* CLOCK_MONOTONIC: the next one */
    bool lacks_partition; /* a statement found none for its row's time: they are made at once */
    struct hl_pg_repeat partition;
};

/* The first time that the server is reached (opening.c). */
struct hl_pg_opening {
    sem_t decided;      /* a try has ended, the writer's without success or the reader's */
    atomic_bool is_met; /* the server has let us in */
    enum hl_err err;    /* HL_STORE_REFUSED: why, in one line; else HL_OK */
    char why[HL_PG_WHY_MAX];
};

struct hl_pg_store {
    struct hl_store base;
    struct hl_thread thread;
    uv_loop_t loop;
    struct hl_uv_mailbox mail;
    uv_prepare_t turn; /* after each turn of the loop: what has come goes out */
    uv_timer_t timer;
    atomic_bool is_stopping;
    uint64_t stopping_ms; /* CLOCK_MONOTONIC, since when */
    struct hl_pg_opening opening;
    atomic_bool is_settled; /* its directory is there, and what an earlier process remembered */

    struct hl_pg_settings settings;
    struct hl_pg_texts texts;
    char *url;
    struct hl_shared_keys keys;
    struct hl_sealer sealer;
    struct hl_id_source ids;
    enum hl_replica_role role;
    uint64_t retention_ms, stream_retention_ms, idem_ms;
    struct hl_store_limit store_max;
    enum hl_keep_requests keep_requests;
    uint32_t run_attempts, webhook_attempts, max_queued_runs, max_pending;
    uint32_t n_renewing; /* requests to send one of many again that are not answered */
    bool retries_interrupted;
    uint8_t signing_key[HL_SIGNING_KEY_MAX];

    struct hl_intake intake;
    struct hl_store_gauges gauges;
    struct hl_pg_link writer, reader, listener;
    struct hl_pg_outbox outbox;
    struct hl_pg_notify notify;
    struct hl_pg_params params;   /* of the statement that is being sent */
    struct hl_pg_columns columns; /* and of its arrays */

    struct hl_pg_upkeep upkeep;

    struct hl_data_dir scratch;
    struct hl_pg_bodies bodies;

    struct hl_list questions; /* that wait for the reader's connection */
    size_t n_asking;          /* questions that are not answered */
    struct hl_list queue;     /* operations that wait for a flush, in order */
    uint64_t queue_due_ms;    /* CLOCK_MONOTONIC: the first of them has waited for too long */
    struct hl_id_map busy;    /* subjects that are under way */
    struct hl_pg_uncertain uncertain;
    struct hl_pg_queue_memory queue_memory;
    struct hl_pg_refusals refusals;
    struct hl_pg_empty_accept empty_accept;
    struct hl_pg_complaints complaints;
    struct hl_pg_flush flushes[HL_PG_FLUSHES];
    /* CLOCK_MONOTONIC: nothing is sent before, the server is short of something */
    uint64_t pause_ms;
    uint64_t full_until_ms; /* likewise: the server's disk was full of late */

    struct hl_lender lender;
    struct hl_pg_lending lending;
    struct hl_pg_permits permits;

    struct hl_pg_dispatch dispatch;
    struct hl_pg_run_map runs;
    struct hl_pg_places places;
    uint32_t all_places; /* HOOKLINE_WEBHOOK_CONCURRENCY */
    struct hl_pg_full_destinations full_destinations;

    /* It asks and has no row among the replicas: it claims, leases and buries nothing. */
    bool is_guest;
    struct hl_pg_member member;
    struct hl_pg_recall recall;

    struct hl_pg_gauging gauging;
    struct hl_watchers watchers;
    struct hl_pg_repeat look;   /* whether runs have ended that others have */
    struct hl_pg_repeat expiry; /* of queued runs whose time to start is over */
};

static inline bool hl_pg_is_joined(const struct hl_pg_store *s)
{
    return s->member.state >= HL_PG_JOINED;
}

/* Nothing is claimed or leased: others may know that it has begun, or ended. */
static inline bool hl_pg_recall_waits(const struct hl_pg_store *s)
{
    return s->recall.state != HL_PG_KNOWN;
}

/* One of its connections has been made. */
static inline void hl_pg_hurry(struct hl_pg_store *s)
{
    hl_pg_link_hurry(&s->writer);
    hl_pg_link_hurry(&s->reader);
    hl_pg_link_hurry(&s->listener);
}

#endif
