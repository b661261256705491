/* test_reply.c - an answer of the REST interface, as it is written. */
#include "http/refusal.h"
#include "worker/reply.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hl_reply reply;
static struct hl_buf out;
static const struct hl_id request_id = {{0x01}}, run_id = {{0x02}};

#define REQUEST "01000000-0000-0000-0000-000000000000"
#define RUN     "02000000-0000-0000-0000-000000000000"

static void begin(void)
{
    hl_buf_init(&out, 0);
    hl_buf_init(&reply.fields, 0);
    hl_buf_init(&reply.body, 0);
    reply.file = (struct hl_body){.where = HL_BODY_NONE};
}

static void end(void)
{
    hl_reply_fini(&reply);
    hl_buf_fini(&out);
}

TestSuite(reply, .init = begin, .fini = end);

static void set_body(const char *text)
{
    reply.status = 200;
    strcpy(reply.content_type, "application/json");
    cr_assert_eq(hl_buf_append(&reply.body, text, strlen(text)), HL_OK);
}

static const char *written(struct hl_reply_writing how)
{
    how.caller_minor = 1;
    cr_assert_eq(hl_reply_write(&reply, &how, &out), HL_OK);
    cr_assert_eq(hl_buf_append(&out, "", 1), HL_OK);
    return out.p;
}

static bool has(const char *part)
{
    return strstr(out.p, part) != NULL;
}

Test(reply, has_the_request_s_id_where_it_is_about_no_run)
{
    set_body("{}");
    written((struct hl_reply_writing){.request_id = &request_id});
    cr_assert_eq(strncmp(out.p, "HTTP/1.1 200 OK\r\n", 17), 0);
    cr_assert(has("\r\nX-Request-Id: " REQUEST "\r\n"));
    cr_assert(has("\r\nContent-Type: application/json\r\n"));
    cr_assert(has("\r\nContent-Length: 2\r\n"));
    cr_assert(has("\r\n\r\n{}"));
    cr_assert_not(has("Connection:"));
}

Test(reply, has_the_run_s_id_where_it_is_about_one)
{
    set_body("{}");
    reply.run_id = run_id;
    written((struct hl_reply_writing){.request_id = &request_id});
    cr_assert(has("\r\nX-Request-Id: " RUN "\r\n"));
    cr_assert_not(has(REQUEST));
}

Test(reply, has_the_fields_that_were_added_and_says_that_it_closes)
{
    set_body("{}");
    cr_assert_eq(hl_buf_append_str(&reply.fields, HL_STR("X-Run-Status-Code: 404\r\n")), HL_OK);
    written((struct hl_reply_writing){.request_id = &request_id, .closes = true});
    cr_assert(has("\r\nX-Run-Status-Code: 404\r\n"));
    cr_assert(has("\r\nConnection: close\r\n"));
}

Test(reply, becomes_a_problem_and_nothing_of_the_answer_is_left)
{
    set_body("{\"secret\":1}");
    reply.file = (struct hl_body){.where = HL_BODY_FILE, .size = 9};
    hl_reply_refuse(&reply, &(struct hl_refusal){.status = 404, .detail = "There is no run 7."});
    written((struct hl_reply_writing){.request_id = &request_id});
    cr_assert_eq(strncmp(out.p, "HTTP/1.1 404 Not Found\r\n", 24), 0);
    cr_assert(has("\r\nContent-Type: application/problem+json\r\n"));
    cr_assert(has("\"detail\":\"There is no run 7.\""));
    cr_assert_not(has("secret"));
    cr_assert_not(hl_reply_has_file(&reply));
}

Test(reply, cuts_a_detail_that_is_too_long)
{
    char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hl_reply_refuse(&reply, &(struct hl_refusal){.status = 400, .detail = text});
    cr_assert_eq(strlen(reply.detail), HL_REPLY_DETAIL_MAX);
    written((struct hl_reply_writing){.request_id = &request_id});
}

Test(reply, has_no_content_for_a_head_request)
{
    set_body("{}");
    written((struct hl_reply_writing){.request_id = &request_id, .is_head_request = true});
    cr_assert(has("\r\nContent-Length: 2\r\n"));
    cr_assert_not(has("{}"));
}

Test(reply, says_how_long_the_file_is_whose_bytes_follow)
{
    set_body("");
    reply.file = (struct hl_body){.where = HL_BODY_FILE, .size = 300000};
    cr_assert(hl_reply_has_file(&reply));
    written((struct hl_reply_writing){.request_id = &request_id});
    cr_assert(has("\r\nContent-Length: 300000\r\n"));
    const char *end_of_head = strstr(out.p, "\r\n\r\n");
    cr_assert_eq(strlen(end_of_head), 4);
}

Test(reply, stands_behind_what_is_in_the_buffer_already)
{
    cr_assert_eq(hl_buf_append_str(&out, HL_STR("before")), HL_OK);
    set_body("{}");
    written((struct hl_reply_writing){.request_id = &request_id});
    cr_assert_eq(strncmp(out.p, "beforeHTTP/1.1 200 OK\r\n", 23), 0);
}
