/* checker.c - the threads that look at signatures.
 * Owns: two threads, the checks that wait.
 * Promise: at most HL_CHECKER_MAX wait; the threads give way to the workers, so that a flood of bad
 * tokens takes the time that nobody else wants.
 * Not here: everything that can be told without the signature (seat.c). */
#include "auth/checker.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <syscall.h>
#include <unistd.h>

#include "auth/check.h"
#include "auth/verify.h"
#include "store/op.h"

/* A loop that leaves nothing of a core to others still gives a hundred checks a second at this
 * niceness; at 5 its p99 grew tenfold under a flood (tests/bench/proxy/run.sh flood). */
#define NICENESS 19

static void wake(void *arg)
{
    struct hl_checker_bench *bench = arg;
    sem_post(&bench->wake);
}

static bool find_signer(struct hl_check *check)
{
    for (size_t i = 0; i < check->keys_n && !check->key; i++)
        if (hl_verify(check->keys[i], &check->jwt))
            check->key = check->keys[i];
    return check->key != NULL;
}

static void check_one(struct hl_checker_bench *bench, struct hl_check *check)
{
    atomic_fetch_sub(&bench->checker->waiting, 1);
    if (atomic_load(&bench->checker->stops))
        hl_check_free(check);
    else if (!find_signer(check))
        hl_check_answer(check, HL_CHECK_BAD);
    else if (!hl_lookup_begin(&bench->lookups, check))
        hl_check_answer(check, HL_CHECK_GOOD);
}

static void check_all(struct hl_checker_bench *bench)
{
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&bench->mail); msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_STORE_LIST_ACCOUNTS)
            hl_lookup_end(&bench->lookups, msg);
        else
            check_one(bench, HL_CONTAINER_OF(msg, struct hl_check, msg));
    }
}

static void bench_main(void *arg)
{
    struct hl_checker_bench *bench = arg;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
    while (!atomic_load(&bench->checker->stops) || bench->lookups.n > 0) {
        sem_wait(&bench->wake); /* EINTR too only means another look */
        check_all(bench);
    }
}

int hl_checker_start(struct hl_checker *checker)
{
    for (unsigned i = 0; i < HL_CHECKER_THREADS; i++) {
        struct hl_checker_bench *bench = &checker->benches[i];
        char name[16] = "auth-0";
        name[5] = (char)('0' + i);
        bench->checker = checker;
        sem_init(&bench->wake, 0, 0);
        hl_mailbox_init(&bench->mail, wake, bench);
        bench->lookups = (struct hl_lookups){
            .registry = checker->registry, .store = checker->store, .mail = &bench->mail};
        bench->has_wake = true;
        int err = hl_thread_start(&bench->thread, name, bench_main, bench);
        if (err)
            return err;
        bench->is_started = true;
    }
    return 0;
}

void hl_checker_stop(struct hl_checker *checker)
{
    atomic_store(&checker->stops, true);
    for (unsigned i = 0; i < HL_CHECKER_THREADS; i++) {
        struct hl_checker_bench *bench = &checker->benches[i];
        if (!bench->is_started)
            continue;
        sem_post(&bench->wake);
        hl_thread_join(&bench->thread);
        check_all(bench);
        bench->is_started = false;
    }
}

void hl_checker_fini(struct hl_checker *checker)
{
    for (unsigned i = 0; i < HL_CHECKER_THREADS; i++)
        if (checker->benches[i].has_wake)
            sem_destroy(&checker->benches[i].wake);
}

bool hl_checker_submit(struct hl_checker *checker, struct hl_check *check)
{
    if (atomic_fetch_add(&checker->waiting, 1) >= HL_CHECKER_MAX) {
        atomic_fetch_sub(&checker->waiting, 1);
        return false;
    }
    unsigned turn = atomic_fetch_add(&checker->next, 1);
    hl_mailbox_post(&checker->benches[turn % HL_CHECKER_THREADS].mail, &check->msg);
    return true;
}
