/* diary_line.h - what a diary remembers as lines of its file, and back. */
#ifndef HL_STORE_POSTGRES_DIARY_LINE_H
#define HL_STORE_POSTGRES_DIARY_LINE_H

#include "base/buf.h"
#include "store/postgres/diary.h"

/* Each line begins with its kind. */
enum hl_pg_line_kind {
    HL_PG_LINE_SELF = 1, /* who wrote it, and of which database that knew */
    HL_PG_LINE_BEGUN,
    HL_PG_LINE_ENDED,
    HL_PG_LINE_SETTLED,
    HL_PG_LINE_CANCEL,
    HL_PG_LINE_REVOKED,
};

/* Appended. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_line_write_self(struct hl_buf *out, const struct hl_pg_self *self);
HL_MUST_CHECK enum hl_err hl_pg_line_write_begun(struct hl_buf *out, const struct hl_pg_begun *b);
HL_MUST_CHECK enum hl_err hl_pg_line_write_ended(struct hl_buf *out, const struct hl_pg_ended *e);
HL_MUST_CHECK enum hl_err hl_pg_line_write_settled(
    struct hl_buf *out, const struct hl_pg_settled *d);
HL_MUST_CHECK enum hl_err hl_pg_line_write_word(struct hl_buf *out, const struct hl_pg_word *w);

/* Of a whole line. */
enum hl_pg_line_kind hl_pg_line_kind(struct hl_str line);
/* Into what is zeroed; what it allocates is the struct's, also after an error. HL_ERR_CORRUPT: it is not such a line;
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_line_read_self(struct hl_str line, struct hl_pg_self *self);
HL_MUST_CHECK enum hl_err hl_pg_line_read_begun(struct hl_str line, struct hl_pg_begun *b);
HL_MUST_CHECK enum hl_err hl_pg_line_read_ended(struct hl_str line, struct hl_pg_ended *e);
HL_MUST_CHECK enum hl_err hl_pg_line_read_settled(struct hl_str line, struct hl_pg_settled *d);
HL_MUST_CHECK enum hl_err hl_pg_line_read_word(struct hl_str line, struct hl_pg_word *w);

#endif
