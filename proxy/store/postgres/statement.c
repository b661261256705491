/* statement.c - see statement.h. */
#include "store/postgres/statement.h"

#include <stdlib.h>

#include "base/buf.h"
#include "store/postgres/session.h"

/* C promises 4,095 bytes of a text; gcc and clang take any. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

static const char *const texts_of[] = {
#define X(name, text) text,
    HL_PG_MAP(X) HL_PG_OUTBOX_MAP(X)
#undef X
};

static const char *const names[] = {
#define X(name, text) "hl_" #name,
    HL_PG_MAP(X) HL_PG_OUTBOX_MAP(X)
#undef X
};

enum hl_err hl_pg_texts_init(struct hl_pg_texts *texts, const struct hl_pg_settings *settings)
{
    *texts = (struct hl_pg_texts){0};
    for (size_t i = 0; i < HL_PG_SQL_COUNT; i++) {
        struct hl_buf text = {0};
        enum hl_err err = hl_pg_qualify(settings, texts_of[i], &text);
        texts->text[i] = text.p;
        if (err)
            return err;
    }
    return HL_OK;
}

void hl_pg_texts_fini(struct hl_pg_texts *texts)
{
    for (size_t i = 0; i < HL_PG_SQL_COUNT; i++)
        free(texts->text[i]);
}

const char *hl_pg_statement_name(enum hl_pg_sql which)
{
    return names[which];
}
