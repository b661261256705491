/* fixture.h - a store with a worker, a sender and an asker that wait for what it says. */
#ifndef HL_TEST_STORE_FIXTURE_H
#define HL_TEST_STORE_FIXTURE_H

#include <semaphore.h>

#include "base/err.h"
#include "base/id.h"
#include "base/priority.h"
#include "config/choice.h"
#include "loop/mailbox.h"
#include "postgres_cluster.h"
#include "store/op.h"
#include "store/record.h"

#define FIXTURE_RETENTION_MS INT64_C(3600000) /* unless it is set; PostgreSQL: days */

struct hl_config;
struct hl_get_run;
struct hl_leased;

/* A thread's side of the mailbox, read by the test. */
struct party {
    struct hl_mailbox box;
    sem_t wake;
    struct hl_msg *first; /* taken and not asked for yet, in order */
};

struct fixture {
    enum hl_store_kind kind;
    struct hl_config *config;
    struct hl_store *store;
    struct party worker, sender, asker;
    struct hl_id_source ids;
    char dir[64]; /* the data directory, removed at the end; on postgres for scratch */
    char schema[POSTGRES_SCHEMA_SIZE]; /* postgres: given back at the end, if its shape is this */
    char shape[POSTGRES_SHAPE_SIZE];
    char url[256]; /* its sessions have the schema's name */
    char why[512];
};

/* What a test says of a run; the rest is filled in. */
struct run_spec {
    const char *key, *subject, *url, *secret, *head, *body, *app, *project, *tags;
    uint8_t fingerprint; /* its first byte */
    struct hl_id id;     /* nil: a new one */
    enum hl_priority priority;
};

/* One test for each store: Test(sqlite, name), Test(memory, name) and Test(postgres, name). */
#define STORE_TEST(name, ...)                                                                      \
    static void name(struct fixture *f);                                                           \
    Test(sqlite, name, ##__VA_ARGS__)                                                              \
    {                                                                                              \
        fixture_run(HL_STORE_SQLITE, name);                                                        \
    }                                                                                              \
    Test(memory, name, ##__VA_ARGS__)                                                              \
    {                                                                                              \
        fixture_run(HL_STORE_MEMORY, name);                                                        \
    }                                                                                              \
    Test(postgres, name, ##__VA_ARGS__)                                                            \
    {                                                                                              \
        fixture_run(HL_STORE_POSTGRES, name);                                                      \
    }                                                                                              \
    static void name(struct fixture *f)

void fixture_run(enum hl_store_kind kind, void (*test)(struct fixture *f));
void fixture_init(struct fixture *f, enum hl_store_kind kind); /* not open */
void fixture_fini(struct fixture *f);                          /* closes it if it is open */
/* Not open yet. */
void fixture_set_retention(struct fixture *f, uint64_t ms);
void fixture_set_run_attempts(struct fixture *f, uint32_t n);
/* Not open yet: keeps its directory in memory where that can be, for a great many commits. */
void fixture_move_to_memory(struct fixture *f);
void fixture_open(struct fixture *f);
enum hl_err fixture_try_open(struct fixture *f);
void fixture_close(struct fixture *f);
/* On what is on disk, or in the same schema; memory: on nothing. */
void fixture_reopen(struct fixture *f);
/* Closes it, and nobody goes on with what it had: on PostgreSQL it has been buried. */
void fixture_die(struct fixture *f);

/* Frees a message of any kind, and what it owns. */
void drop_message(struct hl_msg *msg);
/* The next message of a type; fails the test after a while. The others keep their order. */
void *party_wait(struct party *p, uint32_t type);
/* A message that has come already, or NULL. */
void *party_look(struct party *p, uint32_t type);

struct hl_id new_id(struct fixture *f);
/* Bodies as a spool makes them (body/spool.c): with their digest; the file's is committed. */
struct hl_body make_inline_body(const char *text);
struct hl_body make_file_body(struct fixture *f, const char *text);
/* Posts a request as `p` and waits for its reply; returns the reply's rc. */
enum hl_err ask(struct fixture *f, struct party *p, struct hl_store_msg *m);
/* All that was posted before has been answered and its pushes have been sent. */
void settle(struct fixture *f);

struct hl_accept *make_accept(struct fixture *f, enum hl_store_op op, const struct run_spec *spec);
enum hl_err accept_run(struct fixture *f, struct run_spec spec, struct hl_id *id);
enum hl_err record_run(struct fixture *f, struct run_spec spec, struct hl_id *id);
void give_credit(struct fixture *f, struct party *p, uint32_t n, bool returns);
void give_lease_credit(struct fixture *f, uint32_t n);
struct hl_finish *make_finish(const struct hl_id *id, uint32_t epoch, const char *body);
enum hl_err finish_run(struct fixture *f, const struct hl_id *id, uint32_t epoch, const char *body);
enum hl_err cancel_run(struct fixture *f, const struct hl_id *id);
/* Free the outcome's body; the row's strings are gone. */
enum hl_err get_run(struct fixture *f, const struct hl_id *id, struct hl_get_run *out);
enum hl_run_state state_of(struct fixture *f, const struct hl_id *id);

/* One run with a webhook through to a finished one; returns its lease (attempt 1). */
struct hl_leased *lease_one(struct fixture *f, const char *url);
enum hl_err say_outcome(
    struct fixture *f, const struct hl_leased *l, uint32_t n, enum hl_attempt_verdict verdict);
enum hl_err say_attempt(struct fixture *f, const struct hl_leased *l, uint32_t n);
enum hl_err redeliver(
    struct fixture *f, const struct hl_id *delivery_id, const char *project, uint64_t *count);

/* How many rows there are, `from` being a table and a condition. */
long long fixture_count(struct fixture *f, const char *from);
/* One number out of the closed or open database (sqlite only). */
long long query(struct fixture *f, const char *sql);
/* Changes the closed or open database; on PostgreSQL a table's name is behind `~.`. */
void change(struct fixture *f, const char *sql);

#endif
