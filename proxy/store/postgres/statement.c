/* statement.c - see statement.h. */
#include "store/postgres/statement.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/postgres/session.h"

enum hl_err hl_pg_texts_init(struct hl_pg_texts *texts, const struct hl_pg_settings *settings)
{
    *texts = (struct hl_pg_texts){0};
    for (size_t i = 0; i < HL_PG_SQL_COUNT; i++) {
        struct hl_buf text = {0};
        enum hl_err err = hl_pg_qualify(settings, hl_pg_sql_statements[i].text, &text);
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

bool hl_pg_statement_goes(enum hl_pg_sql which, enum hl_pg_way way)
{
    const char *file = hl_pg_sql_statements[which].file;
    if (strcmp(file, "setup.sql") == 0)
        return true;
    if (strcmp(file, "ask.sql") == 0)
        return way == HL_PG_READER;
    if (strcmp(file, "listen.sql") == 0)
        return way == HL_PG_LISTENER;
    return way == HL_PG_WRITER;
}
