/* test_pooler.c - a pooler that passes on the number of the server's process is noticed by what a beat sees. */
#include <stdlib.h>

#include "loop_fixture.h"
#include "postgres_cluster.h"
#include "store/postgres/thread.h"

static struct hl_pg_store *s;
static const struct hl_pg_texts texts;

static void on_change(void *self, bool is_up)
{
    (void)self;
    (void)is_up;
}

static void begin(void)
{
    s = calloc(1, sizeof(*s));
    s->settings.ttl_ms = 3000;
    loop_begin();
    cr_assert_eq(hl_pg_link_init(&s->writer, &loop, &s->settings, &texts, on_change, NULL), 0);
    PGconn *conn = PQconnectdb(postgres_url());
    cr_assert_eq(PQsetnonblocking(conn, 1), 0);
    hl_pg_link_open(&s->writer, conn);
}

static void end(void)
{
    hl_pg_link_close(&s->writer);
    UNTIL(s->writer.handles == 0);
    loop_end();
    free(s);
}

/* Whether it is noticed. */
static bool sees(int pid_more, bool is_told)
{
    begin();
    hl_pg_pooler_watch(s, PQbackendPID(s->writer.conn) + pid_more, is_told);
    bool is_noticed = atomic_load(&s->settings.is_pooled);
    cr_assert_eq(s->writer.broken != NULL, is_noticed, "its connection is made anew");
    end();
    return is_noticed;
}

Test(postgres_pooler, another_process_or_a_session_that_was_not_told_is_a_pools)
{
    cr_assert_not(sees(0, true));
    cr_assert(sees(1, true));
    cr_assert(sees(0, false));
}
