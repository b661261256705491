/* test_recall.c - a database that has turned is told, also where there is no memory for it at first. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "store/postgres/deed.h"
#include "store/postgres/recall.h"

static _Thread_local bool is_scarce;

/* The linker puts it before each call (--wrap). */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return is_scarce ? NULL : __real_calloc(n, size);
}

static struct hl_pg_store *s;
static bool is_told;

static void init(void)
{
    s = calloc(1, sizeof(*s));
    hl_pg_deed_init(s);
    s->node_id = (struct hl_id){.b = {9}};
    s->recall.is_due = true;
    is_told = false;
}

static void fini(void)
{
    hl_pg_deed_fini(s);
    free(s);
}

TestSuite(recall, .init = init, .fini = fini);

static void on_told(struct hl_pg_store *store)
{
    (void)store;
    is_told = true;
}

static void tell_without_memory(void)
{
    is_scarce = true;
    hl_pg_recall_tell(s, on_told);
    is_scarce = false;
    cr_assert_not(is_told);
    cr_assert_gt(s->arrival_ms, 0, "it is told once more");
}

Test(recall, what_goes_on_is_told_once_more_where_there_was_no_memory)
{
    tell_without_memory();
}

Test(recall, what_has_ended_is_told_once_more_where_there_was_no_memory)
{
    struct hl_finish f = {.run_id = {{1}}, .epoch = 1, .outcome = {.state = HL_RUN_SUCCESS}};
    struct hl_pg_op op = {.how = &hl_pg_op_finish, .m = &f.m, .rc = HL_OK};
    hl_pg_deed_note(s, &op);
    tell_without_memory();
}

Test(recall, what_an_earlier_process_had_begun_is_told_once_more_where_there_was_no_memory)
{
    struct hl_pg_begun *b = calloc(1, sizeof(*b));
    b->as = (struct hl_id){.b = {8}};
    s->recall.n_past++;
    hl_list_push_back(&s->recall.past, &b->node);
    tell_without_memory();
}
