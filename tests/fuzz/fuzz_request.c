/* fuzz_request.c - a caller's head, to the head that the app gets.
 * Input: a byte of switches, a byte for the configuration, the head's bytes.
 * Claims: a head that is passed on is one by the independent reader, too; what goes on is one
 * strict head that says the same; the end of a head is found at the same place however it arrives;
 * what is kept of a run's tags is tags as they are kept.
 */
#include <stdlib.h>

#include "base/id.h"
#include "base/tag.h"
#include "expect.h"
#include "fuzz.h"
#include "http/edit.h"
#include "http/message.h"
#include "preset.h"
#include "route/plan.h"
#include "strict_http.h"

enum {
    TRUSTS_PEER = 1,
    WANTS_IDENTITY = 2,
    DROPS_EXPECT = 4,
    KEEPS_AUTHORIZATION = 8,
    IS_STORED = 16,
    MAKES_TRACE = 32,
    PEER_IS_V6 = 64,
    PEER_IS_UNKNOWN = 128,
};

#define OUT_MAX    (1 << 17)
#define MADE_TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct hl_head head;
static struct hl_plan_scratch scratch;
static struct strict_message in, out;
static char target_space[OUT_MAX], expected_space[OUT_MAX], out_space[OUT_MAX];

/* The first head of p[0..n), in `head`, as it comes when only the first `given` bytes are there, and
 * then one more each time. `*head_len`: its length, whether it was taken or refused. */
static enum hl_message_event read_head(
    const char *p, size_t n, size_t given, size_t *head_len, struct hl_refusal *fault)
{
    static const struct hl_message_rules rules = {.max_head = SIZE_MAX,
        .no_head = &hl_refusals[HL_REFUSAL_NO_HEAD],
        .head_too_large = &hl_refusals[HL_REFUSAL_HEAD_TOO_LARGE]};
    struct hl_message_reader reader;
    hl_message_reader_init(&reader, &rules);
    enum hl_message_event event = HL_MESSAGE_MORE;
    for (; event == HL_MESSAGE_MORE && given <= n; given++) {
        struct hl_str bytes = {p, given};
        event = hl_message_read_request(&reader, &bytes, &head, fault);
        FUZZ_CHECK(bytes.p == p + (event == HL_MESSAGE_HEAD ? reader.head_n : 0), "bytes are lost");
        FUZZ_CHECK(event != HL_MESSAGE_HEAD || given == n || given == reader.head_n,
            "a head that comes byte by byte ends elsewhere");
    }
    *head_len = reader.head_n;
    hl_message_reader_fini(&reader);
    return event;
}

/* As it would be read when the bytes come one after the other. */
static void check_piecewise(const char *p, size_t n, enum hl_message_event whole, size_t head_len)
{
    struct hl_refusal fault = {0};
    size_t len = 0;
    enum hl_message_event event = read_head(p, n, 0, &len, &fault);
    FUZZ_CHECK(event == whole, "a head that comes byte by byte ends otherwise");
    FUZZ_CHECK(event != HL_MESSAGE_HEAD || len == head_len,
        "a head that comes byte by byte ends elsewhere");
}

static struct hl_str peer_of(uint8_t switches)
{
    if (switches & PEER_IS_UNKNOWN)
        return HL_STR("");
    return switches & PEER_IS_V6 ? HL_STR("2001:db8::17") : HL_STR("192.0.2.17");
}

static struct hl_str write_head(const struct hl_plan *plan, uint8_t switches)
{
    static const struct hl_id run_id = {{1, 2, 3}};
    struct hl_request_edit edit = {
        .via = HL_STR("hookline"),
        .target = plan->target,
        .run_id = &run_id,
        .peer = peer_of(switches),
        .is_peer_trusted = switches & TRUSTS_PEER,
        .traceparent = switches & MAKES_TRACE ? HL_STR(MADE_TRACE) : HL_STR(""),
        .wants_identity = switches & WANTS_IDENTITY,
        .drops_expect = switches & DROPS_EXPECT,
        .keeps_authorization = switches & KEEPS_AUTHORIZATION,
        .is_stored = switches & IS_STORED,
        .framing = head.framing,
        .content_length = head.content_length,
    };
    size_t n = hl_edit_request(out_space, OUT_MAX, &head, &edit);
    if (n > 0 && (switches & IS_STORED))
        n += hl_edit_finish_stored(out_space + n, OUT_MAX - n,
            &(struct hl_stored_end){1, false, head.framing != HL_FRAMING_NONE, 7}, &(size_t){0});
    FUZZ_CHECK(n > 0, "there was room for the head");
    return (struct hl_str){out_space, n};
}

static void check_head(const struct hl_plan *plan, uint8_t switches, struct hl_str expected_target)
{
    struct expect_request expected = {
        .target = expected_target,
        .peer = peer_of(switches),
        .is_peer_trusted = switches & TRUSTS_PEER,
        .wants_identity = switches & WANTS_IDENTITY,
        .drops_expect = switches & DROPS_EXPECT,
        .keeps_authorization = switches & KEEPS_AUTHORIZATION,
        .makes_trace = switches & MAKES_TRACE,
        .is_stored = switches & IS_STORED,
    };
    struct hl_str bytes = write_head(plan, switches);
    fuzz_note("out", bytes);
    enum strict_result result = strict_read_request(&out, bytes, STRICT_OURS);
    fuzz_note("why", hl_str_from(out.why));
    FUZZ_CHECK(result != STRICT_BAD && out.has_head, "what goes on is no strict head");
    FUZZ_CHECK(out.head_size == bytes.n, "what goes on is more than one head");
    FUZZ_EXPECT(expect_request_head(&in, &out, &expected));
    strict_fini(&out);
}

/* What is kept of them is tags by themselves, and means the same. */
static void check_tags(struct hl_str tags)
{
    char room[HL_TAGS_TEXT];
    struct hl_tag_list list = {.text = room};
    struct hl_str bad;
    fuzz_note("tags", tags);
    FUZZ_CHECK(tags.n == 0 || hl_tags_add(&list, tags, &bad) == HL_TAG_GOOD, "they are no tags");
    FUZZ_CHECK(hl_str_eq(tags, (struct hl_str){room, list.n}), "they were written otherwise");
}

static void check_forwarding(const struct hl_config *config, uint8_t switches)
{
    struct hl_plan plan;
    struct hl_str mapped = {"", 0};
    scratch.target = target_space;
    scratch.target_cap = OUT_MAX;
    hl_plan_make(&plan, &head, config, &scratch);
    enum expect_route route = expect_target(in.method, in.target, config, expected_space, &mapped);
    FUZZ_CHECK(plan.kind != HL_PLAN_RUN || route == EXPECT_RUN, "a run that should be none");
    FUZZ_CHECK(plan.kind != HL_PLAN_PASS || route == EXPECT_PASS, "not to be passed through");
    FUZZ_CHECK(plan.is_websocket == expect_is_websocket(&in) || plan.kind == HL_PLAN_REFUSED,
        "an upgrade came or went");
    bool is_forwarded = plan.kind == HL_PLAN_RUN || plan.kind == HL_PLAN_PASS;
    FUZZ_CHECK(!is_forwarded || !expect_is_last(&in), "one hop too many");
    FUZZ_CHECK(plan.kind != HL_PLAN_OPTIONS || expect_is_last(&in), "an app is kept from a call");
    check_tags(plan.tags);
    if (is_forwarded)
        check_head(&plan, plan.is_websocket ? switches & ~IS_STORED : switches, mapped);
}

/* ours and the independent reader's view of the head that came */
static void check_reading(const char *p, size_t n, size_t head_len)
{
    enum strict_result result = strict_read_request(&in, (struct hl_str){p, n}, STRICT_PEER);
    fuzz_note("why", hl_str_from(in.why));
    FUZZ_CHECK(result != STRICT_BAD || in.has_head, "a head is accepted that is none");
    FUZZ_CHECK(in.head_size == head_len, "the head ends elsewhere");
    FUZZ_CHECK(in.fields.n == head.field_count, "another number of fields");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    uint8_t switches = fuzz_take_byte(&input);
    const struct hl_config *config = preset(fuzz_take_byte(&input));
    size_t n, head_len = 0;
    char *p = fuzz_take_rest(&input, &n);
    struct hl_refusal fault = {0};
    fuzz_forget();
    fuzz_note("in", (struct hl_str){p, n});

    enum hl_message_event event = read_head(p, n, n, &head_len, &fault);
    check_piecewise(p, n, event, head_len);
    event = read_head(p, n, n, &head_len, &fault);
    if (event == HL_MESSAGE_HEAD) {
        check_reading(p, n, head_len);
        check_forwarding(config, switches);
        strict_fini(&in);
    } else if (event == HL_MESSAGE_FAULT) {
        FUZZ_CHECK(fault.status >= 400 && fault.detail, "a refusal without a reason");
    }
    free(p);
    return 0;
}
