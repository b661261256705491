/* framing.c - Content-Length and Transfer-Encoding: one of them, once, in one spelling, or the
 * message is refused.
 * Thread: any; no state.
 * Promise: two readers that follow RFC 9112 cannot see two ends of a body that passed here. */
#include "http/framing.h"

#include "http/refusal.h"

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
