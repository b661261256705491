/* stub_store.h - a store for tests of connections: answers every request on the spot, on the same
 * thread, from memory; keeps what it was told for whoever judges. It takes the place of
 * store/store.c: same functions, same messages. */
#ifndef HL_FUZZ_STUB_STORE_H
#define HL_FUZZ_STUB_STORE_H

#include "base/err.h"
#include "base/id.h"
#include "store/record.h"

struct hl_store;

#define STUB_MAX_RUNS 128

/* A run that was accepted or recorded. */
struct stub_run {
    struct hl_id id;
    bool is_async;
    unsigned claims, releases, finishes;
    struct hl_outcome outcome; /* of the last FINISH; its body is owned here */
};

/* The run that HL_ERR_EXISTS names. */
extern const struct hl_id stub_earlier_run;

/* Never freed. */
struct hl_store *stub_new(void);

/* What ACCEPT is answered with from now on. */
void stub_answer_with(struct hl_store *store, enum hl_err rc);
/* FINISH fails so often before it succeeds. */
void stub_fail_finishes(struct hl_store *store, unsigned n);
/* Answers wait for stub_release. */
void stub_hold(struct hl_store *store);
void stub_release(struct hl_store *store);

/* Forgets all runs and settings, but not the credit that it was given. */
void stub_reset(struct hl_store *store);
/* Something is accepted and not claimed, or held. */
bool stub_has_work(const struct hl_store *store);

size_t stub_run_count(const struct hl_store *store);
const struct stub_run *stub_run_at(const struct hl_store *store, size_t i);
/* NULL: there is none. */
const struct stub_run *stub_find(const struct hl_store *store, const struct hl_id *id);

#endif
