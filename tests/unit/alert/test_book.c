/* test_book.c - what is kept of alerts is read back as it was written, whatever stood there before. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "alert/book.h"
#include "alert/event.h"
#include "auth/json_load.h"
#include "base/str.h"

#define NOW INT64_C(1800000000000)

static struct hl_alert *make(enum hl_alert_kind kind, const char *subject)
{
    struct hl_alert *a = hl_alert_new(kind, subject);
    struct hl_id_source ids;
    hl_id_source_init(&ids);
    a->id = a->event = hl_id_next(&ids, NOW);
    a->since_ms = NOW - 5;
    return a;
}

/* It is told, or has ended, and the book is read back. */
static void turn_page(struct hl_book *book, const struct hl_alert *a, bool is_end, int64_t now_ms)
{
    struct hl_buf text = {0};
    cr_assert_eq(hl_book_write(book, a, is_end, now_ms, &text), HL_OK);
    cr_assert_eq(hl_book_read(book, hl_buf_str(&text)), HL_OK);
    hl_buf_fini(&text);
}

Test(book, has_what_was_told_until_it_has_ended)
{
    struct hl_book book = {0};
    struct hl_book_entry e;
    struct hl_alert *a = make(HL_ALERT_DESTINATION_FAILING, "https://\"a\".example");
    struct hl_alert *b = make(HL_ALERT_QUEUE_AGE, "");
    turn_page(&book, a, false, NOW);
    turn_page(&book, b, false, NOW);
    turn_page(&book, a, false, NOW + 1);
    cr_assert_eq(hl_book_count(&book), 2);
    cr_assert(hl_book_find(&book, a->kind, a->subject, &e));
    cr_assert(hl_id_eq(&e.id, &a->id));
    cr_assert_eq(e.since_ms, NOW - 5);
    cr_assert_eq(e.at_ms, NOW + 1);
    turn_page(&book, a, true, NOW);
    cr_assert_not(hl_book_find(&book, a->kind, a->subject, &e));
    cr_assert(hl_book_find(&book, b->kind, "", &e));
    hl_book_fini(&book);
    free(a);
    free(b);
}

Test(book, forgets_dead_letters_after_their_window_also_by_a_clock_that_was_set_back)
{
    struct hl_book book = {0};
    struct hl_book_entry e;
    struct hl_alert *letters = make(HL_ALERT_DEAD_LETTERS, "https://a.example");
    struct hl_alert *other = make(HL_ALERT_STORE_FULL, "");
    turn_page(&book, letters, false, NOW);
    turn_page(&book, other, false, NOW + HL_ALERT_WINDOW_MS - 1);
    cr_assert(hl_book_find(&book, letters->kind, letters->subject, &e));
    turn_page(&book, other, true, NOW - HL_ALERT_WINDOW_MS);
    cr_assert_eq(hl_book_count(&book), 0);
    hl_book_fini(&book);
    free(letters);
    free(other);
}

Test(book, is_empty_where_something_else_stands_there)
{
    static const char *const texts[] = {"", "x", "[]", "{}", "{\"told\":1}",
        "{\"told\":[1,{},null]}", "{\"told\":[{\"kind\":\"none\",\"subject\":\"\",\"id\":\"\"}]}"};
    struct hl_book_entry e;
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++) {
        struct hl_book book = {0};
        cr_assert_eq(hl_book_read(&book, hl_str_from(texts[i])), HL_OK);
        cr_assert_not(hl_book_find(&book, HL_ALERT_QUEUE_AGE, "", &e));
        cr_assert(hl_str_eq(hl_buf_str(&book.text), hl_str_from(texts[i])),
            "whoever changes it says that");
        struct hl_alert *a = make(HL_ALERT_QUEUE_AGE, "");
        turn_page(&book, a, false, NOW);
        cr_assert_eq(hl_book_count(&book), 1);
        hl_book_fini(&book);
        free(a);
    }
}

Test(book, stays_within_its_bound)
{
    struct hl_book book = {0};
    for (int i = 0; i < HL_BOOK_MAX + 3; i++) {
        char subject[32];
        snprintf(subject, sizeof(subject), "https://%d.example", i);
        struct hl_alert *a = make(HL_ALERT_DESTINATION_FAILING, subject);
        turn_page(&book, a, false, NOW);
        free(a);
    }
    cr_assert_eq(hl_book_count(&book), HL_BOOK_MAX);
    struct hl_alert *other = make(HL_ALERT_STORE_FULL, "");
    turn_page(&book, other, false, NOW);
    cr_assert_eq(hl_book_count(&book), HL_BOOK_MAX + 1, "destinations leave room for others");
    free(other);
    hl_book_fini(&book);
}

Test(event, says_of_each_kind_what_it_is_about_and_whether_it_goes_on)
{
    for (int kind = 0; kind < HL_ALERT_KINDS; kind++) {
        struct hl_alert *a = make((enum hl_alert_kind)kind, "a \"subject\"");
        struct hl_buf text = {0};
        for (int is_end = 0; is_end < 2; is_end++) {
            a->state = is_end ? HL_ALERT_ENDING : HL_ALERT_TELLING;
            text.n = 0;
            cr_assert_eq(hl_event_write(a, HL_STR("r"), NOW, &text), HL_OK);
            json_t *event = hl_json_load(hl_buf_str(&text), 0, NULL);
            cr_assert_not_null(event);
            cr_assert_str_eq(json_string_value(json_object_get(event, "status")),
                is_end ? "resolved" : "firing");
            cr_assert(json_is_object(json_object_get(event, "details")));
            cr_assert_str_eq(json_string_value(json_object_get(event, "replica")), "r");
            json_decref(event);
        }
        hl_buf_fini(&text);
        free(a);
    }
}
