/* book.c - see book.h. */
#include "alert/book.h"

#include <string.h>

#include "api/json.h"
#include "auth/json_load.h"

/* Of replicas that never came back; dead letters are of interest for one window. */
#define FORGOTTEN_MS (7 * 24 * 3600 * 1000ll)

enum hl_err hl_book_read(struct hl_book *book, struct hl_str text)
{
    struct hl_buf kept = {0};
    enum hl_err err = hl_buf_append_str(&kept, text);
    if (err)
        return err;
    json_t *whole = text.n > 0 ? hl_json_load(text, 0, NULL) : NULL;
    json_t *told = json_incref(json_object_get(whole, "told"));
    json_decref(whole);
    hl_book_fini(book);
    book->told = json_is_array(told) ? told : NULL;
    if (!book->told)
        json_decref(told);
    book->text = kept;
    return HL_OK;
}

void hl_book_fini(struct hl_book *book)
{
    json_decref(book->told);
    hl_buf_fini(&book->text);
    *book = (struct hl_book){0};
}

size_t hl_book_count(const struct hl_book *book)
{
    return json_array_size(book->told);
}

static bool read_entry(const json_t *json, struct hl_book_entry *out)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const char *id = json_string_value(json_object_get(json, "id"));
    out->subject = json_string_value(json_object_get(json, "subject"));
    out->since_ms = json_integer_value(json_object_get(json, "since"));
    out->at_ms = json_integer_value(json_object_get(json, "at"));
    return kind && id && out->subject && hl_alert_kind_parse(kind, &out->kind) &&
           hl_id_parse(hl_str_from(id), &out->id);
}

bool hl_book_at(const struct hl_book *book, size_t i, struct hl_book_entry *out)
{
    return read_entry(json_array_get(book->told, i), out);
}

bool hl_book_find(const struct hl_book *book, enum hl_alert_kind kind, const char *subject,
    struct hl_book_entry *out)
{
    for (size_t i = 0; i < hl_book_count(book); i++)
        if (hl_book_at(book, i, out) && out->kind == kind && strcmp(out->subject, subject) == 0)
            return true;
    return false;
}

/* A clock that was set back makes nothing last. */
static bool is_kept(const struct hl_book_entry *e, const struct hl_alert *a, int64_t now_ms)
{
    int64_t age_ms = now_ms > e->at_ms ? now_ms - e->at_ms : e->at_ms - now_ms;
    int64_t keep_ms = e->kind == HL_ALERT_DEAD_LETTERS ? HL_ALERT_WINDOW_MS : FORGOTTEN_MS;
    bool is_this = e->kind == a->kind && strcmp(e->subject, a->subject) == 0;
    return !is_this && age_ms < keep_ms;
}

static json_t *entry_json(const struct hl_alert *a, int64_t now_ms)
{
    return HL_JSON_OBJECT({"kind", json_string(hl_alert_kind_text(a->kind))},
        {"subject", hl_json_text(hl_str_from(a->subject))}, {"since", json_integer(a->since_ms)},
        {"at", json_integer(now_ms)}, {"id", hl_json_id(&a->id)});
}

enum hl_err hl_book_write(const struct hl_book *book, const struct hl_alert *a, bool is_end,
    int64_t now_ms, struct hl_buf *out)
{
    json_t *told = json_array();
    struct hl_book_entry e;
    bool is_whole = told;
    for (size_t i = 0; i < hl_book_count(book) && is_whole; i++)
        if (hl_book_at(book, i, &e) && is_kept(&e, a, now_ms))
            is_whole = json_array_append(told, json_array_get(book->told, i)) == 0;
    bool has_room = json_array_size(told) < HL_BOOK_MAX || !hl_alert_is_of_many(a->kind);
    if (is_whole && !is_end && has_room)
        is_whole = hl_json_push(told, entry_json(a, now_ms));
    if (!is_whole) {
        json_decref(told);
        return HL_ERR_NOMEM;
    }
    return hl_json_write(HL_JSON_OBJECT({"told", told}), out);
}
