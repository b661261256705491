/* admin_follow.c - see admin_follow.h.
 * Owns: the follower of the connection's request. Thread: control.
 * Not here: what is read (body/follower.c). */
#include "api/admin_follow.h"

#include "api/admin_connection.h"
#include "api/admin_response.h"
#include "api/rest.h"
#include "body/follower.h"
#include "http/problem.h"
#include "worker/follow.h"

/* Both say false where the connection closes: it abandons its answer then. */
static bool write_head(
    struct hl_admin_connection *c, enum hl_follow_answer what, enum hl_run_state state)
{
    struct hl_answer answer;
    char fields[HL_FOLLOW_FIELDS], text[4096];
    hl_follow_answer_init(&answer, what, state, fields);
    c->must_close = c->must_close || (answer.is_stream && c->minor == 0);
    answer.run_id = &c->answer.followed;
    answer.caller_minor = c->minor;
    answer.closes = c->must_close;
    answer.is_head_request = c->method == HL_METHOD_HEAD;
    size_t n = hl_answer_write(text, sizeof(text), &answer);
    if (n > 0 && hl_stream_write(&c->stream, text, n) == HL_OK)
        return true;
    hl_admin_connection_close(c);
    return false;
}

static void end_answer(struct hl_admin_connection *c)
{
    hl_admin_follow_drop(c);
    hl_admin_response_end(c);
    hl_admin_connection_go_on(c);
}

static bool on_answer(void *owner, enum hl_follow_answer what, enum hl_run_state state)
{
    struct hl_admin_connection *c = owner;
    if (!write_head(c, what, state))
        return false;
    if (what == HL_FOLLOW_OK && c->method != HL_METHOD_HEAD)
        return true;
    end_answer(c);
    return false;
}

static bool is_blocked(void *owner)
{
    struct hl_admin_connection *c = owner;
    return hl_stream_is_blocked(&c->stream);
}

static bool on_write(void *owner, struct hl_str bytes)
{
    struct hl_admin_connection *c = owner;
    if (hl_stream_write(&c->stream, bytes.p, bytes.n) != HL_OK) {
        hl_admin_connection_close(c);
        return false;
    }
    if (hl_stream_is_blocked(&c->stream))
        hl_admin_connection_go_on(c); /* a deadline runs for what waits for the socket */
    return true;
}

static void on_end(void *owner, bool is_whole)
{
    struct hl_admin_connection *c = owner;
    bool is_chunked = c->minor > 0;
    bool is_good =
        is_whole && (!is_chunked || hl_stream_write(&c->stream, "0\r\n\r\n", 5) == HL_OK);
    if (is_good)
        end_answer(c);
    else
        hl_admin_connection_close(c);
}

static const struct hl_follower_events events = {
    .answer = on_answer, .is_blocked = is_blocked, .write = on_write, .end = on_end};

void hl_admin_follow_begin(struct hl_admin_connection *c, struct hl_follow *grant)
{
    c->answer.followed = grant->run_id;
    c->answer.follower =
        hl_follower_new(hl_rest_desk(c->home->view.rest), grant, c->minor > 0, &events, c);
    if (!c->answer.follower) {
        hl_follow_free(grant);
        hl_admin_connection_close(c);
        return;
    }
    hl_follower_start(c->answer.follower);
}

void hl_admin_follow_drained(struct hl_admin_connection *c)
{
    if (c->answer.follower)
        hl_follower_go_on(c->answer.follower);
}

void hl_admin_follow_drop(struct hl_admin_connection *c)
{
    hl_follower_free(c->answer.follower);
    c->answer.follower = NULL;
}
