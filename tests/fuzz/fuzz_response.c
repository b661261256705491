/* fuzz_response.c - the app's head, to the head that the caller gets.
 * Input: a byte of switches, a byte for the request's method, the head's bytes.
 * Claims: as in fuzz_request.c. */
#include <stdlib.h>

#include "base/id.h"
#include "expect.h"
#include "fuzz.h"
#include "http/edit.h"
#include "http/message.h"
#include "strict_grammar.h"
#include "strict_http.h"

enum {
    CALLER_IS_OLD = 1, /* HTTP/1.0 */
    CLOSES = 2,
    PREFERENCE_APPLIED = 4,
    IS_WEBSOCKET = 8,
    IS_UNDATED = 16,
};

#define OUT_MAX (1 << 17)

static struct hl_head head;
static struct strict_message in, out;
static char out_space[OUT_MAX];

static const struct {
    struct hl_str name;
    enum hl_method id;
} methods[] = {
    {{"GET", 3}, HL_METHOD_GET},
    {{"HEAD", 4}, HL_METHOD_HEAD},
    {{"POST", 4}, HL_METHOD_POST},
    {{"OPTIONS", 7}, HL_METHOD_OPTIONS},
};

/* How a body is framed for the caller: as it came where its length is known, else by what the
 * caller's version has. */
static enum hl_framing framing_for(unsigned caller_minor)
{
    if (head.framing != HL_FRAMING_CHUNKED && head.framing != HL_FRAMING_UNTIL_CLOSE)
        return head.framing;
    return caller_minor == 0 ? HL_FRAMING_UNTIL_CLOSE : HL_FRAMING_CHUNKED;
}

static struct hl_str write_head(uint8_t switches, bool is_head_request)
{
    static const struct hl_id run_id = {{1, 2, 3}};
    const struct hl_field *type = hl_head_field(&head, HL_FIELD_CONTENT_TYPE);
    bool is_final = head.status >= 200;
    uint8_t minor = switches & CALLER_IS_OLD ? 0 : 1;
    enum hl_framing framing = is_final ? framing_for(minor) : HL_FRAMING_NONE;
    struct hl_response_edit edit = {
        .run_id = &run_id,
        .date = switches & IS_UNDATED ? HL_STR("") : HL_STR("Sun, 06 Nov 1994 08:49:37 GMT"),
        .caller_minor = minor,
        .closes = switches & CLOSES,
        .is_head_request = is_head_request,
        .is_event_stream = is_final && type && hl_is_event_stream(type->value),
        .preference_applied = switches & PREFERENCE_APPLIED,
        .framing = framing,
        .content_length = head.content_length,
        .wants_trailers = framing == HL_FRAMING_CHUNKED,
    };
    size_t n = hl_edit_response(out_space, OUT_MAX, &head, &edit);
    FUZZ_CHECK(n > 0, "there was room for the head");
    return (struct hl_str){out_space, n};
}

static void check_connection(uint8_t switches)
{
    struct hl_str value = strict_value(&out.fields, "connection");
    bool closes = switches & CLOSES || out.framing == STRICT_UNTIL_CLOSE;
    if (out.status < 200)
        return;
    FUZZ_CHECK(closes == strict_same(value, HL_STR("close")), "Connection says otherwise");
}

static void check_forwarding(uint8_t switches, struct hl_str method)
{
    struct expect_response expected = {
        .caller_minor = switches & CALLER_IS_OLD ? 0 : 1,
        .preference_applied = switches & PREFERENCE_APPLIED,
        .is_dated = !(switches & IS_UNDATED),
    };
    struct hl_str bytes = write_head(switches, strict_same(method, HL_STR("HEAD")));
    fuzz_note("out", bytes);
    enum strict_result result = strict_read_response(&out, bytes, false, method, STRICT_OURS);
    fuzz_note("why", hl_str_from(out.why));
    FUZZ_CHECK(result != STRICT_BAD && out.has_head, "what goes on is no strict head");
    FUZZ_CHECK(out.head_size == bytes.n, "what goes on is more than one head");
    FUZZ_EXPECT(expect_response_head(&in, &out, &expected));
    check_connection(switches);
    strict_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    uint8_t switches = fuzz_take_byte(&input), m = fuzz_take_byte(&input) % HL_ARRAY_LEN(methods);
    static const struct hl_message_rules rules = {.max_head = SIZE_MAX,
        .no_head = &hl_refusals[HL_REFUSAL_APP_NO_HEAD],
        .head_too_large = &hl_refusals[HL_REFUSAL_APP_HEAD_TOO_LARGE]};
    struct hl_message_reader reader;
    size_t n;
    char *p = fuzz_take_rest(&input, &n);
    struct hl_str bytes = {p, n};
    struct hl_refusal fault = {0};
    fuzz_forget();
    fuzz_note("in", (struct hl_str){p, n});

    hl_message_reader_init(&reader, &rules);
    if (hl_message_read_response(&reader, &bytes, methods[m].id, switches & IS_WEBSOCKET, &head,
            &fault) == HL_MESSAGE_HEAD) {
        enum strict_result result =
            strict_read_response(&in, (struct hl_str){p, n}, true, methods[m].name, STRICT_PEER);
        fuzz_note("why", hl_str_from(in.why));
        FUZZ_CHECK(result != STRICT_BAD || in.has_head, "a head is accepted that is none");
        FUZZ_CHECK(in.head_size == reader.head_n, "the head ends elsewhere");
        check_forwarding(switches, methods[m].name);
        strict_fini(&in);
    }
    hl_message_reader_fini(&reader);
    free(p);
    return 0;
}
