/* book.h - which alerts were told and have not ended: the text that the store keeps (store/alert.h), for later
 * processes and all who share it. The control thread's.
 *
 *   {"told":[{"kind":"…","subject":"…","since":ms,"at":ms,"id":"…"},…]} */
#ifndef HL_ALERT_BOOK_H
#define HL_ALERT_BOOK_H

#include <jansson.h>

#include "alert/alert.h"
#include "base/buf.h"

/* Beyond it one of a destination is told without a note of it. */
#define HL_BOOK_MAX 500

struct hl_book {
    json_t *told;       /* owned */
    struct hl_buf text; /* as the store has it; empty: it has none */
};

struct hl_book_entry {
    enum hl_alert_kind kind;
    const char *subject;
    int64_t since_ms, at_ms; /* at: when it was told */
    struct hl_id id;
};

/* What the store has said; what cannot be read is as if there were nothing. HL_ERR_NOMEM: it is as it was. */
HL_MUST_CHECK enum hl_err hl_book_read(struct hl_book *book, struct hl_str text);
void hl_book_fini(struct hl_book *book);

/* Of the i-th; false: there is none, or it is not of ours. */
bool hl_book_at(const struct hl_book *book, size_t i, struct hl_book_entry *out);
size_t hl_book_count(const struct hl_book *book);
bool hl_book_find(const struct hl_book *book, enum hl_alert_kind kind, const char *subject,
    struct hl_book_entry *out);

/* The text after it was told, or with `is_end` has ended; what is only noted for a while, and is past that, goes.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_book_write(const struct hl_book *book, const struct hl_alert *a,
    bool is_end, int64_t now_ms, struct hl_buf *out);

#endif
