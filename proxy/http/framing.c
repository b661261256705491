/* framing.c - Content-Length and Transfer-Encoding: one of them, once, in one spelling, or the message is
 * refused; and what a head says about its connection.
 * Thread: any; no state.
 * Promise: two readers that follow RFC 9112 cannot see two ends of a body that passed here. */
#include "http/framing.h"

#include "base/str.h"
#include "http/field.h"
#include "http/head.h"
#include "http/refusal.h"

/* ---- how the body is framed ---- */

/* One field, digits only. A list of equal numbers could be saved (RFC 9112 6.3 rule 5), but only
 * somebody who is trying something needs it. */
static bool read_content_length(struct hl_head *head, struct hl_refusal *fault)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_CONTENT_LENGTH);
    if (!field)
        return true;
    if (hl_head_field_count(head, HL_FIELD_CONTENT_LENGTH) > 1)
        return hl_refuse(fault, HL_REFUSAL_LENGTH_TWICE);
    if (!hl_str_to_u64(field->value, &head->content_length) || head->content_length > INT64_MAX)
        return hl_refuse(fault, HL_REFUSAL_LENGTH_FORM);
    head->has_content_length = true;
    head->framing = HL_FRAMING_LENGTH;
    return true;
}

static bool read_transfer_encoding(struct hl_head *head, struct hl_refusal *fault)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_TRANSFER_ENCODING);
    if (!field)
        return true;
    if (head->minor == 0)
        return hl_refuse(fault, HL_REFUSAL_CODING_VERSION);
    if (head->has_content_length)
        return hl_refuse(fault, HL_REFUSAL_CODING_AND_LENGTH);
    if (hl_head_field_count(head, HL_FIELD_TRANSFER_ENCODING) > 1)
        return hl_refuse(fault, HL_REFUSAL_CODING_TWICE);
    if (hl_str_eq_nocase(field->value, HL_STR("chunked"))) {
        head->framing = HL_FRAMING_CHUNKED;
        return true;
    }

    struct hl_str list = field->value, coding;
    bool is_well_formed = false, is_chunked_inside = false;
    while (hl_str_next_element(&list, &coding)) {
        is_well_formed = hl_str_is_token(coding);
        if (!is_well_formed || is_chunked_inside)
            return hl_refuse(fault, HL_REFUSAL_CODING_FORM);
        is_chunked_inside = hl_str_eq_nocase(coding, HL_STR("chunked"));
    }
    if (!is_well_formed)
        return hl_refuse(fault, HL_REFUSAL_CODING_EMPTY);
    return hl_refuse(fault, HL_REFUSAL_CODING_OTHER);
}

bool hl_framing_read_request(struct hl_head *head, struct hl_refusal *fault)
{
    return read_content_length(head, fault) && read_transfer_encoding(head, fault);
}

/* RFC 9112 6.3, rules 1 to 8. */
bool hl_framing_read_response(
    struct hl_head *head, enum hl_method request_method, struct hl_refusal *fault)
{
    if (!read_content_length(head, fault) || !read_transfer_encoding(head, fault))
        return false;
    bool announces_body = head->framing == HL_FRAMING_CHUNKED || head->content_length > 0;
    if (head->status < 200) {
        if (announces_body)
            return hl_refuse(fault, HL_REFUSAL_APP_INTERIM_BODY);
        head->framing = HL_FRAMING_NONE;
    } else if (head->status == 204) {
        /* An app that announces a body here may send one too, in the place of its next response. */
        head->is_persistent &= !announces_body;
        head->framing = HL_FRAMING_NONE;
    } else if (head->status == 304 || request_method == HL_METHOD_HEAD) {
        head->framing = HL_FRAMING_NONE;
    } else if (head->framing == HL_FRAMING_NONE) {
        head->framing = HL_FRAMING_UNTIL_CLOSE;
        head->is_persistent = false;
    }
    return true;
}

/* ---- what the head says about this connection ---- */

#define MAX_OPTIONS 64

#define BIT(name) (UINT64_C(1) << HL_FIELD_##name)

/* What a proxy before us adds about the caller: a caller must not be able to have it taken off
 * again. Nor what asks for something of whoever answers: its caller would wait in vain. */
static const uint64_t never_nominated =
    BIT(X_FORWARDED_FOR) | BIT(X_FORWARDED_PROTO) | BIT(X_FORWARDED_HOST) | BIT(X_FORWARDED_OTHER) |
    BIT(FORWARDED) | BIT(X_REAL_IP) | BIT(EXPECT) | BIT(MAX_FORWARDS);

struct options {
    size_t n;
    bool has_close, has_keep_alive, has_upgrade;
};

static bool read_options(struct hl_head *head, struct options *options);
static bool lists(const struct hl_head *head, enum hl_field_id id, struct hl_str wanted);

bool hl_hop_read(struct hl_head *head, struct hl_refusal *fault)
{
    struct options options = {0};
    if (!read_options(head, &options))
        return hl_refuse(fault, HL_REFUSAL_CONNECTION_FORM);

    head->is_persistent = !options.has_close && (head->minor > 0 || options.has_keep_alive);
    head->is_websocket_upgrade = options.has_upgrade && head->minor > 0 &&
                                 lists(head, HL_FIELD_UPGRADE, HL_STR("websocket"));
    /* Some name it without the option that should go with it. */
    head->wants_websocket =
        head->status == 426 && lists(head, HL_FIELD_UPGRADE, HL_STR("websocket"));
    head->accepts_trailers = lists(head, HL_FIELD_TE, HL_STR("trailers"));
    return true;
}

static void nominate(struct hl_head *head, struct hl_str name, enum hl_field_id id)
{
    if (never_nominated >> id & 1)
        return;
    head->nominates_fields |= id != HL_FIELD_TE; /* which is never in a trailer section */
    for (size_t i = 0; i < head->field_count; i++) {
        struct hl_field *field = &head->fields[i];
        if (field->id == id &&
            ((id != HL_FIELD_OTHER && id != HL_FIELD_X_RUN && id != HL_FIELD_X_FORWARDED_OTHER &&
                 id != HL_FIELD_UNDERSCORE) ||
                hl_str_eq_nocase(field->name, name)))
            field->is_hop = true;
    }
}

static bool read_option(struct hl_head *head, struct hl_str option, struct options *options)
{
    if (++options->n > MAX_OPTIONS || !hl_str_is_token(option))
        return false;
    enum hl_field_id id = hl_field_lookup(option);
    if (id == HL_FIELD_KEEP_ALIVE)
        options->has_keep_alive = true;
    else if (id == HL_FIELD_UPGRADE)
        options->has_upgrade = true;
    else if (id == HL_FIELD_OTHER && hl_str_eq_nocase(option, HL_STR("close")))
        options->has_close = true;
    else
        nominate(head, option, id);
    return true;
}

/* The next field of that name at or after index `*i`, or NULL. */
static const struct hl_field *next_field(const struct hl_head *head, enum hl_field_id id, size_t *i)
{
    while (*i < head->field_count)
        if (head->fields[(*i)++].id == id)
            return &head->fields[*i - 1];
    return NULL;
}

static bool read_options(struct hl_head *head, struct options *options)
{
    if (head->first[HL_FIELD_CONNECTION] < 0)
        return true;
    size_t i = (size_t)head->first[HL_FIELD_CONNECTION];
    for (const struct hl_field *field; (field = next_field(head, HL_FIELD_CONNECTION, &i));) {
        struct hl_str list = field->value, option;
        if (hl_str_eq(list, HL_STR("keep-alive"))) { /* nearly always */
            options->has_keep_alive = true;
            continue;
        }
        while (hl_str_next_element(&list, &option))
            if (!read_option(head, option, options))
                return false;
    }
    return true;
}

/* Whether an element of the lists under that name is `wanted`, without regard to case. */
static bool lists(const struct hl_head *head, enum hl_field_id id, struct hl_str wanted)
{
    if (head->first[id] < 0)
        return false;
    size_t i = (size_t)head->first[id];
    for (const struct hl_field *field; (field = next_field(head, id, &i));) {
        struct hl_str list = field->value, element;
        while (hl_str_next_element(&list, &element))
            if (hl_str_eq_nocase(element, wanted))
                return true;
    }
    return false;
}

/* Other methods may go on whatever it says, and TRACE is not served. */
bool hl_hop_read_max_forwards(struct hl_head *head, struct hl_refusal *fault)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_MAX_FORWARDS);
    uint64_t count;
    head->max_forwards = -1;
    if (head->method_id != HL_METHOD_OPTIONS || !field)
        return true;
    if (hl_head_field_count(head, HL_FIELD_MAX_FORWARDS) > 1 ||
        !hl_str_to_u64(field->value, &count))
        return hl_refuse(fault, HL_REFUSAL_MAX_FORWARDS_FORM);
    head->max_forwards = count < UINT32_MAX ? (int64_t)count : UINT32_MAX;
    return true;
}

bool hl_hop_read_expect(struct hl_head *head, struct hl_refusal *fault)
{
    if (head->first[HL_FIELD_EXPECT] < 0)
        return true;
    size_t i = (size_t)head->first[HL_FIELD_EXPECT];
    for (const struct hl_field *field; (field = next_field(head, HL_FIELD_EXPECT, &i));)
        if (!hl_str_eq_nocase(field->value, HL_STR("100-continue")))
            return hl_refuse(fault, HL_REFUSAL_EXPECTATION);
    /* Without a body there is nothing to continue with; HTTP/1.0 knows no interim responses (RFC
     * 9110 10.1.1). */
    bool has_body = head->framing == HL_FRAMING_CHUNKED || head->content_length > 0;
    head->expects_continue = head->minor > 0 && has_body;
    return true;
}

/* `name` with nothing of a longer one beside it. */
static bool has_name(struct hl_str value, struct hl_str name)
{
    const char *p = value.p, *end = value.p + value.n, *at;
    while (p < end && (at = memmem(p, (size_t)(end - p), name.p, name.n)) != NULL) {
        const char *behind = at + name.n;
        bool begins = at == value.p || at[-1] == ' ' || at[-1] == '\t';
        if (begins && (behind == end || *behind == ' ' || *behind == '\t' || *behind == ','))
            return true;
        p = behind;
    }
    return false;
}

bool hl_hop_came_through(const struct hl_head *head, struct hl_str name)
{
    size_t i = 0;
    for (const struct hl_field *field; (field = next_field(head, HL_FIELD_VIA, &i));)
        if (has_name(field->value, name))
            return true;
    return false;
}
