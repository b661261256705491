/* test_recall.c - a database that has turned is told, also where there is no memory for it at first. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "store/postgres/diary.h"
#include "store/postgres/thread.h"

static _Thread_local bool is_scarce;

/* The linker puts it before each call (--wrap). */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return is_scarce ? NULL : __real_calloc(n, size);
}

static struct hl_pg_store *s;
static bool is_told, is_put_off;

static void init(void)
{
    s = calloc(1, sizeof(*s));
    hl_pg_diary_init(s);
    s->member.id = (struct hl_id){.b = {9}};
    s->recall.state = HL_PG_UNTOLD;
    is_told = is_put_off = false;
}

static void fini(void)
{
    hl_pg_diary_fini(s);
    free(s);
}

TestSuite(recall, .init = init, .fini = fini);

static void on_told(struct hl_pg_store *store, bool is)
{
    (void)store;
    is_told |= is;
    is_put_off |= !is;
}

static void tell_without_memory(void)
{
    is_scarce = true;
    hl_pg_recall_tell(s, on_told);
    is_scarce = false;
    cr_assert_not(is_told);
    cr_assert(is_put_off, "it is told once more");
}

Test(recall, what_goes_on_is_told_once_more_where_there_was_no_memory)
{
    tell_without_memory();
}

Test(recall, what_has_ended_is_told_once_more_where_there_was_no_memory)
{
    struct hl_finish f = {.run_id = {{1}}, .epoch = 1, .outcome = {.state = HL_RUN_SUCCESS}};
    struct hl_pg_op op = {.how = &hl_pg_op_finish, .m = &f.m, .rc = HL_OK};
    hl_pg_diary_note(s, &op);
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
