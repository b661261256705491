#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "loop/mailbox.h"
#include "loop/thread.h"

#define POSTERS 4
#define EACH    20000

struct numbered {
    struct hl_msg msg;
    uint32_t poster, number;
};

struct poster {
    struct hl_thread thread;
    struct hl_mailbox *box;
    struct numbered *messages;
};

static void post_all(void *arg)
{
    struct poster *p = arg;
    for (uint32_t i = 0; i < EACH; i++)
        hl_mailbox_post(p->box, &p->messages[i].msg);
}

static void start_posters(struct poster *posters, struct hl_mailbox *box)
{
    for (uint32_t i = 0; i < POSTERS; i++) {
        posters[i].box = box;
        posters[i].messages = calloc(EACH, sizeof(struct numbered));
        for (uint32_t j = 0; j < EACH; j++)
            posters[i].messages[j] = (struct numbered){.poster = i, .number = j};
        cr_assert_eq(hl_thread_start(&posters[i].thread, "poster", post_all, &posters[i]), 0);
    }
}

static void join_posters(struct poster *posters)
{
    for (uint32_t i = 0; i < POSTERS; i++) {
        hl_thread_join(&posters[i].thread);
        free(posters[i].messages);
    }
}

static void count_wake(void *arg)
{
    ++*(int *)arg;
}

Test(mailbox, keeps_order_and_wakes_only_from_empty)
{
    struct hl_mailbox box;
    struct hl_msg m[3] = {{.type = 0}, {.type = 1}, {.type = 2}};
    int wakes = 0;
    hl_mailbox_init(&box, count_wake, &wakes);
    cr_assert_null(hl_mailbox_take(&box));
    for (int i = 0; i < 3; i++)
        hl_mailbox_post(&box, &m[i]);
    cr_assert_eq(wakes, 1);
    struct hl_msg *msg = hl_mailbox_take(&box);
    for (int i = 0; i < 3; i++, msg = msg->next)
        cr_assert_eq(msg, &m[i]);
    cr_assert_null(msg);
    hl_mailbox_post(&box, &m[1]);
    cr_assert_eq(wakes, 2);
    cr_assert_eq(hl_mailbox_take(&box), &m[1]);
}

static void wake_semaphore(void *arg)
{
    sem_post(arg);
}

Test(mailbox, loses_nothing_of_four_posting_threads, .timeout = 180)
{
    struct hl_mailbox box;
    struct poster posters[POSTERS];
    uint32_t expected[POSTERS] = {0}, received = 0;
    sem_t sem;
    sem_init(&sem, 0, 0);
    hl_mailbox_init(&box, wake_semaphore, &sem);
    start_posters(posters, &box);
    while (received < POSTERS * EACH) {
        sem_wait(&sem);
        for (struct hl_msg *msg = hl_mailbox_take(&box), *next; msg; msg = next) {
            next = msg->next;
            struct numbered *n = HL_CONTAINER_OF(msg, struct numbered, msg);
            cr_assert_eq(n->number, expected[n->poster]);
            expected[n->poster]++;
            received++;
        }
    }
    join_posters(posters);
    cr_assert_null(hl_mailbox_take(&box));
}

struct reader {
    struct hl_uv_mailbox mailbox;
    uint32_t received;
};

static void on_message(void *self, struct hl_msg *msg)
{
    struct reader *reader = self;
    (void)msg;
    if (++reader->received == POSTERS * EACH)
        uv_stop(reader->mailbox.async.loop);
}

static void on_idle(uv_timer_t *timer)
{
    (void)timer;
}

Test(mailbox, feeds_a_loop_from_four_threads, .timeout = 180)
{
    uv_loop_t loop;
    uv_timer_t keep_alive;
    struct reader reader = {.received = 0};
    struct poster posters[POSTERS];
    uv_loop_init(&loop);
    uv_timer_init(&loop, &keep_alive);
    uv_timer_start(&keep_alive, on_idle, 1000, 1000);
    cr_assert_eq(hl_uv_mailbox_init(&reader.mailbox, &loop, on_message, &reader), 0);
    start_posters(posters, &reader.mailbox.box);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(reader.received, POSTERS * EACH);
    join_posters(posters);
    hl_uv_mailbox_close(&reader.mailbox);
    uv_close((uv_handle_t *)&keep_alive, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

Test(mailbox, does_not_keep_a_loop_alive, .timeout = 180)
{
    uv_loop_t loop;
    struct reader reader = {.received = 0};
    uv_loop_init(&loop);
    cr_assert_eq(hl_uv_mailbox_init(&reader.mailbox, &loop, on_message, &reader), 0);
    cr_assert_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    hl_uv_mailbox_close(&reader.mailbox);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}
