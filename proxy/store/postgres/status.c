/* status.c - see status.h: one statement, whose answer is the JSON. */
#include "store/postgres/status.h"

#include <string.h>

#include "base/buf.h"
#include "store/postgres/check.h"
#include "store/postgres/once.h"
#include "store/postgres/session.h"

static enum hl_err ask(struct hl_pg_session *s, struct hl_buf *json, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_look(s, NULL, true, why, why_len);
    if (!err)
        err = hl_pg_session_ask(
            s, hl_pg_once_statements[HL_PG_ONCE_STATUS].text, &result, why, why_len);
    if (err)
        return err;
    const char *text = PQgetvalue(result, 0, 0);
    err = hl_buf_append(json, text, strlen(text));
    PQclear(result);
    return err;
}

enum hl_err hl_pg_status(
    const struct hl_config *config, struct hl_buf *json, char *why, size_t why_len)
{
    struct hl_pg_settings settings;
    struct hl_pg_session session;
    hl_pg_settings_init(&settings, config);
    enum hl_err err = hl_pg_session_open(&session, &settings, NULL, why, why_len);
    if (!err) {
        err = ask(&session, json, why, why_len);
        hl_pg_session_close(&session);
    }
    hl_pg_session_name_setting(err, why, why_len);
    return err;
}
