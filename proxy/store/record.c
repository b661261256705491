/* record.c - the text names of what the store keeps; bodies in memory. Any thread. */
#include "store/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* The numbers are on disk, and in the statements of both databases. */
_Static_assert(HL_RUN_QUEUED == 0 && HL_RUN_RUNNING == 1 && HL_RUN_SUCCESS == 2 &&
                   HL_RUN_FAILURE == 3 && HL_RUN_CANCELLED == 4,
    "run states are stored");
_Static_assert(
    HL_REASON_NONE == 0 && HL_REASON_EXPIRED == 7 && HL_REASON_LAST == 8, "reasons are stored");
_Static_assert(HL_BODY_NONE == 0 && HL_BODY_INLINE == 1 && HL_BODY_FILE == 2 &&
                   HL_BODY_DROPPED == 3 && HL_BODY_UNKEPT == 4,
    "places of bodies are stored");
_Static_assert(HL_ENCODING_JSON == 0 && HL_ENCODING_NONE == 3, "encodings are stored");
_Static_assert(HL_DELIVERY_PENDING == 0 && HL_DELIVERY_OK == 1 && HL_DELIVERY_DEAD == 2,
    "delivery states are stored");
_Static_assert(HL_ATTEMPT_OK == 0 && HL_ATTEMPT_RETRY == 1 && HL_ATTEMPT_DEAD == 2 &&
                   HL_ATTEMPT_ABANDONED == 3 && HL_ATTEMPT_UNKNOWN == 4,
    "verdicts are stored");
_Static_assert(
    HL_ROLE_INVOKE == 0 && HL_ROLE_ADMIN == 1 && HL_ROLE_VIEWER == 2, "roles are stored");

static const char *const state_texts[] = {
#define X(name, text) [HL_RUN_##name] = (text),
    HL_RUN_STATE_MAP(X)
#undef X
};

static const char *const reason_texts[] = {
#define X(name, text) [HL_REASON_##name] = (text),
    HL_RUN_REASON_MAP(X)
#undef X
};

static const char *const encoding_texts[] = {
    [HL_ENCODING_JSON] = "json",
    [HL_ENCODING_TEXT] = "text",
    [HL_ENCODING_BASE64] = "base64",
    [HL_ENCODING_NONE] = "none",
};

static const char *const role_texts[] = {
#define X(name, text) [HL_ROLE_##name] = (text),
    HL_ROLE_MAP(X)
#undef X
};

static const char *const delivery_texts[] = {
#define X(name, text) [HL_DELIVERY_##name] = (text),
    HL_DELIVERY_STATE_MAP(X)
#undef X
};

static const char *const verdict_texts[] = {
#define X(name, text) [HL_ATTEMPT_##name] = (text),
    HL_ATTEMPT_VERDICT_MAP(X)
#undef X
};

static const struct hl_column outcome_columns[] = {
    HL_COLUMN(struct hl_outcome, finished_ms, INT),
    HL_COLUMN(struct hl_outcome, reason, INT),
    HL_COLUMN(struct hl_outcome, http_status, INT),
    HL_COLUMN(struct hl_outcome, content_type, RAW),
    HL_COLUMN(struct hl_outcome, content_encoding, RAW),
    HL_COLUMN(struct hl_outcome, encoding, INT),
    HL_COLUMN(struct hl_outcome, escaped_size, INT),
    HL_COLUMN_OR_NULL(struct hl_outcome, error, RAW),
    HL_COLUMN_OR_NULL(struct hl_outcome, parts.gate_us, INT),
    HL_COLUMN_OR_NULL(struct hl_outcome, parts.connect_us, INT),
    HL_COLUMN_OR_NULL(struct hl_outcome, parts.first_byte_us, INT),
};
const struct hl_columns hl_outcome_columns = HL_COLUMNS(outcome_columns);

static const struct hl_column account_columns[] = {
    HL_COLUMN(struct hl_account, project, TEXT),
    HL_COLUMN(struct hl_account, name, RAW),
    HL_COLUMN(struct hl_account, role, INT),
    HL_COLUMN(struct hl_account, created_ms, INT),
    HL_COLUMN(struct hl_account, expires_ms, INT),
    HL_COLUMN(struct hl_account, revoked_ms, INT),
    HL_COLUMN(struct hl_account, last_used_ms, INT),
};
const struct hl_columns hl_account_columns = HL_COLUMNS(account_columns);

static const char *text_at(const char *const *texts, size_t n, unsigned i)
{
    return i < n ? texts[i] : "unknown";
}

const char *hl_run_state_text(enum hl_run_state state)
{
    return text_at(state_texts, HL_ARRAY_LEN(state_texts), (unsigned)state);
}

const char *hl_run_reason_text(enum hl_run_reason reason)
{
    return text_at(reason_texts, HL_ARRAY_LEN(reason_texts), (unsigned)reason);
}

bool hl_run_reason_parse(struct hl_str text, enum hl_run_reason *out)
{
    for (size_t i = HL_REASON_NONE + 1; i < HL_ARRAY_LEN(reason_texts); i++) {
        if (hl_str_eq(text, hl_str_from(reason_texts[i]))) {
            *out = (enum hl_run_reason)i;
            return true;
        }
    }
    return false;
}

const char *hl_encoding_text(enum hl_encoding encoding)
{
    return text_at(encoding_texts, HL_ARRAY_LEN(encoding_texts), (unsigned)encoding);
}

const char *hl_role_text(enum hl_role role)
{
    return text_at(role_texts, HL_ARRAY_LEN(role_texts), (unsigned)role);
}

bool hl_role_parse(struct hl_str text, enum hl_role *out)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(role_texts); i++) {
        if (hl_str_eq(text, hl_str_from(role_texts[i]))) {
            *out = (enum hl_role)i;
            return true;
        }
    }
    return false;
}

const char *hl_delivery_state_text(enum hl_delivery_state state)
{
    return text_at(delivery_texts, HL_ARRAY_LEN(delivery_texts), (unsigned)state);
}

const char *hl_attempt_verdict_text(enum hl_attempt_verdict verdict)
{
    return text_at(verdict_texts, HL_ARRAY_LEN(verdict_texts), (unsigned)verdict);
}

bool hl_body_is_intact(const struct hl_body *body)
{
    return hl_digest_fits(body->digest, (struct hl_str){body->bytes, (size_t)body->size});
}

enum hl_err hl_body_copy(struct hl_body *body, struct hl_str bytes)
{
    if (body->where != HL_BODY_INLINE)
        return HL_OK;
    body->bytes = malloc(bytes.n ? bytes.n : 1);
    if (!body->bytes)
        return HL_ERR_NOMEM;
    if (bytes.n > 0)
        memcpy(body->bytes, bytes.p, bytes.n);
    body->size = bytes.n;
    return HL_OK;
}

void hl_body_fini(struct hl_body *body)
{
    free(body->bytes);
    *body = (struct hl_body){.where = HL_BODY_NONE};
}

void hl_outcome_cancel(struct hl_outcome *outcome)
{
    outcome->state = HL_RUN_CANCELLED;
    outcome->reason = HL_REASON_NONE;
    outcome->error[0] = '\0';
}

void hl_run_row_end(struct hl_run_row *row, const struct hl_outcome *outcome)
{
    row->finished_ms = outcome->finished_ms;
    row->reason = outcome->reason;
    row->http_status = outcome->http_status;
    row->response_size = (int64_t)outcome->body.size;
    row->body_where = outcome->body.where;
    row->encoding = outcome->encoding;
    row->parts = outcome->parts;
}

void hl_run_row_fini(struct hl_run_row *row)
{
    free(row->strings);
    *row = (struct hl_run_row){0};
}

void hl_delivery_row_fini(struct hl_delivery_row *row)
{
    for (size_t i = 0; i < row->n_attempts; i++)
        free(row->attempts[i].report);
    free(row->strings);
    free(row->attempts);
    *row = (struct hl_delivery_row){0};
}
