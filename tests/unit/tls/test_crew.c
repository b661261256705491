/* test_crew.c - the threads of handshakes: whose turn it is, and how many may wait. */
#include "tls/crew.h"

#include <criterion/criterion.h>
#include <semaphore.h>
#include <string.h>

#include "base/compiler.h"

struct job {
    struct hl_tls_step step;
    char name;
};

static struct hl_tls_crew crew;
static sem_t gate, held, done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char order[16];
static unsigned late;

static void on_tick(void *arg)
{
    (void)arg;
}

static void hold(struct hl_tls_step *step, bool is_late)
{
    (void)step;
    (void)is_late;
    sem_post(&held);
    sem_wait(&gate);
}

static void note(struct hl_tls_step *step, bool is_late)
{
    pthread_mutex_lock(&lock);
    late += is_late;
    if (strlen(order) + 1 < sizeof(order))
        order[strlen(order)] = HL_CONTAINER_OF(step, struct job, step)->name;
    pthread_mutex_unlock(&lock);
    sem_post(&done);
}

static struct hl_tls_step holds[HL_TLS_CREW_THREADS];

/* All threads are busy. */
static void begin(void)
{
    sem_init(&gate, 0, 0);
    sem_init(&held, 0, 0);
    sem_init(&done, 0, 0);
    crew.on_tick = on_tick;
    cr_assert_eq(hl_tls_crew_start(&crew), 0);
    for (unsigned i = 0; i < HL_TLS_CREW_THREADS; i++) {
        holds[i].run = hold;
        cr_assert(hl_tls_crew_take(&crew, &holds[i], true));
    }
    for (unsigned i = 0; i < HL_TLS_CREW_THREADS; i++)
        sem_wait(&held);
}

TestSuite(tls_crew, .init = begin, .timeout = 60);

Test(tls_crew, ends_what_was_begun_first)
{
    struct job jobs[] = {{{.run = note}, 'a'}, {{.run = note}, 'b'}, {{.run = note}, 'c'}};
    cr_assert(hl_tls_crew_take(&crew, &jobs[0].step, true));
    cr_assert(hl_tls_crew_take(&crew, &jobs[1].step, true));
    cr_assert(hl_tls_crew_take(&crew, &jobs[2].step, false));
    sem_post(&gate); /* one thread goes on */
    for (int i = 0; i < 3; i++)
        sem_wait(&done);
    cr_assert_str_eq(order, "cab");
    sem_post(&gate);
    hl_tls_crew_stop(&crew);
    cr_assert_eq(late, 0);
}

Test(tls_crew, takes_no_more_new_ones_than_may_wait_and_gives_all_back)
{
    static struct job jobs[HL_TLS_CREW_WAITING_MAX + 2];
    for (unsigned i = 0; i < HL_ARRAY_LEN(jobs); i++)
        jobs[i] = (struct job){{.run = note}, 'x'};
    for (unsigned i = 0; i < HL_TLS_CREW_WAITING_MAX; i++)
        cr_assert(hl_tls_crew_take(&crew, &jobs[i].step, true));
    cr_assert_not(hl_tls_crew_take(&crew, &jobs[HL_TLS_CREW_WAITING_MAX].step, true));
    cr_assert(hl_tls_crew_take(&crew, &jobs[HL_TLS_CREW_WAITING_MAX + 1].step, false));
    for (unsigned i = 0; i < HL_TLS_CREW_THREADS; i++)
        sem_post(&gate);
    hl_tls_crew_stop(&crew);
    int n;
    sem_getvalue(&done, &n);
    cr_assert_eq(n, HL_TLS_CREW_WAITING_MAX + 1);
}
