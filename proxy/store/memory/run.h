/* run.h - runs in memory: how they begin, are claimed and end. The store's thread. */
#ifndef HL_STORE_MEMORY_RUN_H
#define HL_STORE_MEMORY_RUN_H

#include "base/err.h"
#include "base/priority.h"

struct hl_accept;
struct hl_claimed;
struct hl_driver;
struct hl_finish;
struct hl_id;
struct hl_memory;
struct hl_memory_key;
struct hl_memory_run;
struct hl_release;
struct hl_run_ref;

void hl_memory_run_free(struct hl_memory *m, struct hl_memory_run *run);
/* Of a run whose result has a body. */
void hl_memory_run_drop_result(struct hl_memory *m, struct hl_memory_run *run);
/* Of an asynchronous run: it is not kept any more. */
void hl_memory_run_drop_request(struct hl_memory *m, struct hl_memory_run *run);
void hl_memory_key_free(struct hl_memory *m, struct hl_memory_key *key);
enum hl_err hl_memory_run_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing);
enum hl_err hl_memory_run_record(struct hl_driver *d, struct hl_accept *a);
enum hl_err hl_memory_run_claim(
    struct hl_driver *d, enum hl_priority class, int64_t now_ms, struct hl_claimed **out);
enum hl_err hl_memory_run_finish(struct hl_driver *d, struct hl_finish *f);
enum hl_err hl_memory_run_expire(
    struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
enum hl_err hl_memory_run_release(struct hl_driver *d, struct hl_release *r, int64_t now_ms);
enum hl_err hl_memory_run_cancel(
    struct hl_driver *d, const struct hl_run_ref *ref, int64_t now_ms, bool *is_running);
/* The run, if it is that project's and app's (empty: any). */
struct hl_memory_run *hl_memory_run_find(
    const struct hl_memory *m, const struct hl_id *id, const char *project, const char *app);

#endif
