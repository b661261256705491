#include <criterion/criterion.h>

#include "trace/context.h"

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "00-" TRACE "-b7ad6b7169203331-"

static struct hl_trace_context read(const char *text)
{
    struct hl_trace_context context;
    cr_assert(hl_trace_context_read(hl_str_from(text), &context), "%s", text);
    return context;
}

Test(context, is_written_as_it_was_read)
{
    char out[HL_TRACEPARENT];
    struct hl_trace_context context = read(PARENT "01");
    cr_assert(hl_trace_is_sampled(&context));
    cr_assert_eq(context.trace_id.b[0], 0x0a);
    cr_assert_eq(context.span_id[7], 0x31);
    hl_trace_context_write(&context, out);
    cr_assert(hl_str_eq((struct hl_str){out, sizeof(out)}, HL_STR(PARENT "01")));
}

Test(context, keeps_no_flag_and_no_field_that_only_a_later_version_knows)
{
    char out[HL_TRACEPARENT];
    struct hl_trace_context context = read("cc-" TRACE "-b7ad6b7169203331-ff-more");
    hl_trace_context_write(&context, out);
    cr_assert(hl_str_eq((struct hl_str){out, sizeof(out)}, HL_STR(PARENT "03")));
    cr_assert_not(hl_trace_context_read(HL_STR("00-" TRACE "-0000000000000000-01"), &context));
    cr_assert_not(hl_trace_context_read(HL_STR(""), &context));
}

Test(context, can_be_given_another_span_where_it_stands)
{
    char text[] = "cc-" TRACE "-b7ad6b7169203331-00-more";
    struct hl_trace_context span = read("00-" TRACE "-00f067aa0ba902b7-01");
    cr_assert_not(hl_traceparent_is_sampled(hl_str_from(text)));
    hl_traceparent_set_span(text, &span);
    cr_assert_str_eq(text, "cc-" TRACE "-00f067aa0ba902b7-01-more");
    cr_assert(hl_traceparent_is_sampled(hl_str_from(text)));
}

static const struct hl_id zeros, ones = {.b = {[8] = 0xbf, 255, 255, 255, 255, 255, 255, 255}};

Test(sampler, follows_its_parent_where_it_is_based_on_it)
{
    struct hl_sampler on = {.is_parent_based = true}, off = {true, HL_SAMPLER_NONE};
    cr_assert(hl_sampler_takes(&on, HL_STR(PARENT "01"), &zeros));
    cr_assert_not(hl_sampler_takes(&on, HL_STR(PARENT "00"), &zeros));
    cr_assert_not(hl_sampler_takes(&on, HL_STR(PARENT "02"), &zeros));
    cr_assert(hl_sampler_takes(&on, HL_STR(""), &zeros));
    cr_assert(hl_sampler_takes(&off, HL_STR(PARENT "01"), &zeros));
    cr_assert_not(hl_sampler_takes(&off, HL_STR(""), &ones));
}

Test(sampler, takes_a_share_by_the_random_bytes_of_the_trace)
{
    struct hl_sampler half = {false, hl_sampler_least(0.5)};
    cr_assert_eq(hl_sampler_least(1), 0);
    cr_assert_eq(hl_sampler_least(0), HL_SAMPLER_NONE);
    cr_assert_not(hl_sampler_takes(&half, HL_STR(""), &zeros));
    cr_assert(hl_sampler_takes(&half, HL_STR(""), &ones));
    /* the parent's flag says nothing, its trace does */
    cr_assert(hl_sampler_takes(
        &half, HL_STR("00-0af7651916cd43dd0080eb211c80319c-b7ad6b7169203331-00"), &zeros));
    cr_assert_not(hl_sampler_takes(
        &half, HL_STR("00-0af7651916cd43ddff7feb211c80319c-b7ad6b7169203331-01"), &ones));
}
