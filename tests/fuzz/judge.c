/* judge.c - compares what went into a world with what came out of it. Which request went where is
 * known by its X-Request-Id. Not here: cutting messages apart (transcript.c), what they must say
 * (expect.h). */
#include "judge.h"

#include "config/config.h"
#include "expect.h"
#include "fuzz.h"
#include "strict_grammar.h"
#include "stub_store.h"
#include "transcript.h"

#define BEAT ": keep-alive\n\n"

static const struct world *world;
static struct transcript *t;
static struct strict_message out; /* what a caller got, one at a time */

/* ---- what the callers got ---- */

/* Takes out the comments that hookline has put between events. */
static void take_out_beats(const struct strict_message *in)
{
    static char body[1 << 20];
    struct hl_str beat = HL_STR(BEAT), all = out.body;
    size_t n = 0;
    bool may_beat = !in->has_length && strict_count(&in->fields, "content-encoding") == 0;
    if (!may_beat || all.n > sizeof body)
        return;
    for (size_t i = 0; i < all.n;) {
        struct hl_str here = {all.p + i, all.n - i}, there = {in->body.p + n, in->body.n - n};
        bool is_of_app = n > in->body.n || hl_str_starts_with(there, beat);
        if (!is_of_app && hl_str_starts_with(here, beat) && expect_is_between_events(body, n)) {
            i += beat.n;
            continue;
        }
        body[n++] = all.p[i++];
    }
    out.body = (struct hl_str){body, n};
}

/* Whether callers could see the end of the answer. */
static bool has_ended_for_callers(const struct transcript_exchange *x)
{
    bool is_open = x->response.framing == STRICT_UNTIL_CLOSE && x->app->was_open_last;
    return x->result == STRICT_WHOLE && !is_open;
}

/* NULL: `out` is the app's answer in that exchange. */
static const char *compare_answer(const struct transcript_exchange *x,
    const struct transcript_request *r, enum strict_result result)
{
    struct expect_response e = {.caller_minor = r->m.minor > 0, .is_dated = true};
    if (x->result == STRICT_BAD)
        return "an answer that the app did not give";
    const char *fault = expect_response_head(&x->response, &out, &e);
    if (fault)
        return fault;
    if (result == STRICT_WHOLE && !has_ended_for_callers(x))
        return "an answer that was cut looks whole";
    if (strict_count(&out.fields, "x-accel-buffering") > 0)
        take_out_beats(&x->response);
    return expect_same_body(&x->response, &out, result == STRICT_PARTIAL);
}

static void judge_accepted(const struct transcript_request *r)
{
    struct hl_id id;
    FUZZ_CHECK(r && hl_id_parse(transcript_id(&out), &id), "a run without a request");
    const struct stub_run *run = stub_find(world->store, &id);
    FUZZ_CHECK((run && run->is_async) || hl_id_eq(&id, &stub_earlier_run),
        "202 for a run that the store has not accepted");
}

/* An answer that hookline gives itself. */
static void judge_own(const struct transcript_request *r)
{
    bool closes = strict_lists(&out.fields, "connection", HL_STR("close"));
    bool is_health =
        out.status == 200 && r && memmem(r->m.target.p, r->m.target.n, "/_hookline/", 11) != NULL;
    bool is_options = out.status == 204 && r && expect_is_last(&r->m);
    FUZZ_CHECK(strict_same(strict_value(&out.fields, "cache-control"), HL_STR("no-store")),
        "an answer of nobody");
    FUZZ_CHECK(r || (closes && out.status >= 400), "an answer to no request");
    if (out.status == 202)
        judge_accepted(r);
    else
        FUZZ_CHECK(is_health || is_options || (out.status >= 400 && out.status < 600),
            "an odd answer of ours");
}

/* The app may answer before it has got a whole head: then nothing but the answer says which call it
 * is of. */
static const char *compare_early_answer(struct transcript_request *r, enum strict_result result)
{
    const char *fault = "an answer of nobody";
    for (size_t i = 0; fault && i < t->exchange_count; i++) {
        struct transcript_exchange *x = &t->exchanges[i];
        if (x->request.has_head || x->of)
            continue;
        x->request.method = r->m.method;
        transcript_read_response(x);
        fault = compare_answer(x, r, result);
        x->of = fault ? NULL : r;
    }
    return fault;
}

static void judge_final(struct transcript_request *r, enum strict_result result)
{
    struct transcript_exchange *x = transcript_find(transcript_id(&out));
    const char *fault = "an answer to nothing";
    if (x && r) {
        x->of = r;
        fault = compare_answer(x, r, result);
    } else if (r) {
        fault = compare_early_answer(r, result);
    }
    bool is_own = strict_same(strict_value(&out.fields, "cache-control"), HL_STR("no-store"));
    if (fault && is_own)
        judge_own(r);
    else
        FUZZ_CHECK(!fault, fault);
}

/* A 1xx is the app's, or the 100 that hookline owes to a caller whose body it takes itself. */
static void judge_interim(const struct transcript_request *r)
{
    struct transcript_exchange *x = transcript_find(transcript_id(&out));
    struct expect_response e = {.caller_minor = 1};
    static struct strict_message in;
    const char *fault = "an interim response of nobody";
    FUZZ_CHECK(r && r->m.minor > 0, "an interim response to a caller that knows none");
    bool is_asked = strict_lists(&r->m.fields, "expect", HL_STR("100-continue"));
    if (out.status == 100 && out.fields.n == 0 && is_asked)
        return;
    for (size_t at = x ? x->interim_from : 0; x && fault && at < x->response_from;) {
        strict_read_response(
            &in, transcript_rest(&x->app->sent, at), false, r->m.method, STRICT_PEER);
        fault = expect_response_head(&in, &out, &e);
        at += in.size;
        strict_fini(&in);
    }
    FUZZ_CHECK(!fault, fault);
}

static void judge_tunnel(
    const struct world_wire *caller, const struct transcript_request *r, size_t at)
{
    const struct transcript_exchange *x = transcript_find(transcript_id(&out));
    struct hl_str to_caller = transcript_rest(&caller->got, at);
    struct hl_str of_app = transcript_rest(&x->app->sent, x->response_end);
    struct hl_str to_app = transcript_rest(&x->app->got, x->request_end);
    struct hl_str of_caller = transcript_rest(&caller->sent, r->end);
    FUZZ_CHECK(transcript_is_switch(x), "a tunnel that nobody asked for");
    FUZZ_CHECK(hl_str_starts_with(of_app, to_caller), "a tunnel changed what the app sent");
    FUZZ_CHECK(hl_str_starts_with(of_caller, to_app), "a tunnel changed what the caller sent");
}

/* `at`: behind the response. False: none may follow. */
static bool may_follow(
    const struct world_wire *caller, const struct transcript_request *r, size_t at)
{
    bool closes = out.framing == STRICT_UNTIL_CLOSE ||
                  strict_lists(&out.fields, "connection", HL_STR("close"));
    bool is_last = r && strict_lists(&r->m.fields, "connection", HL_STR("close"));
    FUZZ_CHECK(!closes || at == caller->got.n, "bytes after a response that closes");
    FUZZ_CHECK(!is_last || closes, "a response that does not close although the request did");
    return !closes;
}

/* Requests behind one that ended the connection are no requests: returns how many are. */
static size_t judge_caller(
    const struct world_wire *caller, struct transcript_request *own, size_t n)
{
    bool is_end = caller->got_end && !caller->socket.was_reset;
    size_t i = 0;
    for (size_t at = 0; at < caller->got.n;) {
        struct transcript_request *r = i < n ? &own[i] : NULL;
        struct hl_str bytes = transcript_rest(&caller->got, at);
        fuzz_note("the caller got", bytes);
        fuzz_note("for", r ? r->m.target : HL_STR("no request"));
        enum strict_result result =
            strict_read_response(&out, bytes, is_end, r ? r->m.method : HL_STR("GET"), STRICT_OURS);
        fuzz_note("why", hl_str_from(out.why));
        FUZZ_CHECK(result != STRICT_BAD, "the caller got no strict response");
        if (!out.has_head)
            return n;
        at += out.size;
        bool is_interim = out.status < 200 && out.status != 101;
        if (is_interim) {
            judge_interim(r);
            continue;
        }
        judge_final(r, result);
        i++;
        bool is_tunnel = out.status == 101;
        if (is_tunnel)
            judge_tunnel(caller, r, at);
        bool goes_on = !is_tunnel && may_follow(caller, r, at);
        strict_fini(&out);
        if (!goes_on)
            return i < n ? i : n;
        if (result == STRICT_PARTIAL)
            return n;
    }
    return n;
}

/* ---- what the app got ---- */

static const char *compare_request(
    const struct transcript_exchange *x, const struct transcript_request *r)
{
    static char mapped_space[1 << 17];
    struct hl_str mapped, hook;
    enum expect_route route =
        expect_target(r->m.method, r->m.target, world->config, mapped_space, &mapped);
    if (route == EXPECT_REFUSED || expect_is_last(&r->m))
        return "a request that is to be refused went on";
    const char *mark = memchr(r->m.target.p, '?', r->m.target.n);
    struct hl_str query = {"", 0};
    if (mark)
        query = (struct hl_str){mark + 1, (size_t)(r->m.target.p + r->m.target.n - mark - 1)};
    bool is_stored = strict_count(&x->request.fields, "x-run-attempt") > 0;
    bool has_hook = route == EXPECT_RUN && !expect_is_websocket(&r->m) &&
                    expect_parameter(query, "webhookEndpoint", &hook);
    struct expect_request e = {.target = mapped,
        .peer = HL_STR("127.0.0.1"),
        .is_peer_trusted = world->config->trusted_proxies.n > 0,
        .wants_identity = is_stored || has_hook,
        .drops_expect = is_stored || world->config->app_concurrency > 0,
        .keeps_authorization = true,
        .makes_trace = !expect_has_trace(&r->m),
        .is_stored = is_stored};
    if (x->is_whole && !r->is_whole)
        return "a request that was cut looks whole";
    const char *fault = expect_request_head(&r->m, &x->request, &e);
    return fault ? fault : expect_same_body(&r->m, &x->request, !x->is_whole);
}

/* RFC 9110 9.2.2: a request goes out twice only if the first connection brought nothing and its method
 * is idempotent. */
static bool may_repeat(
    const struct transcript_exchange *first, const struct transcript_exchange *second)
{
    static const char *const idempotent[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    const struct strict_message *m = &first->request;
    bool is_idempotent = false;
    for (size_t i = 0; i < HL_ARRAY_LEN(idempotent); i++)
        is_idempotent = is_idempotent || strict_same(m->method, hl_str_from(idempotent[i]));
    return first->result == STRICT_BAD && is_idempotent &&
           strict_same(transcript_id(m), transcript_id(&second->request));
}

/* Finds the request that `x` is: one whose caller got an answer is known by that, any other by what it
 * says. Callers may say the same, and a request that was cut is the beginning of many, so each takes
 * what fits and is left, and who is in the way takes another (a matching by augmenting paths). */
static bool claim_request(struct transcript_exchange *x, bool *tried)
{
    for (size_t i = 0; i < t->request_count; i++) {
        struct transcript_request *r = &t->requests[i];
        struct transcript_exchange *holder = r->taken_by;
        bool is_fit = !tried[i] && r->m.has_head && !(holder && holder->of);
        if (!is_fit || compare_request(x, r))
            continue;
        tried[i] = true;
        if (holder && !claim_request(holder, tried))
            continue;
        r->taken_by = x;
        return true;
    }
    return false;
}

static const struct transcript_request *taken_request(const struct transcript_exchange *x)
{
    for (size_t i = 0; i < t->request_count; i++)
        if (t->requests[i].taken_by == x)
            return &t->requests[i];
    return NULL;
}

/* A run's last exchange stands for all of them. */
static bool is_last_of_run(const struct transcript_exchange *x)
{
    return x->request.has_head && transcript_find(transcript_id(&x->request)) == x;
}

static void find_requests(void)
{
    for (size_t i = 0; i < t->exchange_count; i++) {
        struct transcript_exchange *x = &t->exchanges[i];
        if (!is_last_of_run(x) || !x->of)
            continue;
        FUZZ_CHECK(!x->of->taken_by, "two runs of one request");
        x->of->taken_by = x;
    }
    for (size_t i = 0; i < t->exchange_count; i++) {
        bool tried[TRANSCRIPT_MAX] = {false};
        struct transcript_exchange *x = &t->exchanges[i];
        if (!is_last_of_run(x) || x->of)
            continue;
        fuzz_note("the app got", transcript_rest(&x->app->got, 0));
        FUZZ_CHECK(claim_request(x, tried), "the app got a request that nobody sent");
    }
}

static void judge_app(void)
{
    find_requests();
    for (size_t i = 0; i < t->exchange_count; i++) {
        struct transcript_exchange *x = &t->exchanges[i];
        if (!x->request.has_head)
            continue;
        struct transcript_exchange *last = transcript_find(transcript_id(&x->request));
        fuzz_note("the app got", transcript_rest(&x->app->got, 0));
        FUZZ_EXPECT(compare_request(x, taken_request(last)));
        FUZZ_CHECK(x == last || may_repeat(x, last), "a request went out twice");
    }
}

/* ---- what the store was told ---- */

static void judge_outcome(const struct stub_run *run, const struct transcript_exchange *x)
{
    const struct hl_outcome *o = &run->outcome;
    bool is_success = o->state == HL_RUN_SUCCESS;
    FUZZ_CHECK(!is_success || (x && x->result == STRICT_WHOLE), "success without an answer");
    if (!x || o->http_status == 0)
        return;
    FUZZ_CHECK(o->http_status == x->response.status, "another status is recorded");
    if (o->body.where != HL_BODY_INLINE)
        return;
    struct hl_str kept = {o->body.bytes ? o->body.bytes : "", o->body.size};
    fuzz_note("kept", kept);
    FUZZ_CHECK(hl_str_starts_with(x->response.body, kept), "another body is kept");
    FUZZ_CHECK(!is_success || kept.n == x->response.body.n, "less of the body is kept");
}

/* As compare_early_answer: the app has answered before the head with the run's id was whole. */
static const struct transcript_exchange *find_early(const struct stub_run *run)
{
    static const char *const methods[] = {"GET", "HEAD"}; /* those that differ in their answers */
    for (size_t i = 0; i < t->exchange_count; i++) {
        struct transcript_exchange *x = &t->exchanges[i];
        for (size_t k = 0; !x->request.has_head && k < HL_ARRAY_LEN(methods); k++) {
            x->request.method = hl_str_from(methods[k]);
            transcript_read_response(x);
            struct hl_str kept = {
                run->outcome.body.bytes ? run->outcome.body.bytes : "", run->outcome.body.size};
            bool is_inline = run->outcome.body.where == HL_BODY_INLINE;
            if (x->result == STRICT_WHOLE && x->response.status == run->outcome.http_status &&
                (!is_inline || strict_same(x->response.body, kept)))
                return x;
        }
    }
    return NULL;
}

static void judge_store(void)
{
    for (size_t i = 0; i < stub_run_count(world->store); i++) {
        const struct stub_run *run = stub_run_at(world->store, i);
        char text[HL_ID_TEXT];
        hl_id_format(&run->id, text);
        unsigned due = run->is_async ? run->claims - run->releases : 1;
        FUZZ_CHECK(run->finishes <= due, "a run ended that did not begin");
        FUZZ_CHECK(world->was_cut || run->finishes == due, "a run's end is not recorded");
        const struct transcript_exchange *x = transcript_find((struct hl_str){text, HL_ID_TEXT});
        if (run->finishes > 0)
            judge_outcome(run, x ? x : find_early(run));
    }
}

void judge(const struct world *w)
{
    world = w;
    t = transcript_read(w);
    for (size_t i = 0; t->is_complete && i < world->caller_count; i++) {
        size_t n = t->first_of[i + 1] - t->first_of[i];
        struct transcript_request *own = &t->requests[t->first_of[i]];
        for (size_t k = judge_caller(&world->callers[i], own, n); k < n; k++)
            own[k].m.has_head = false;
    }
    if (t->is_complete) {
        judge_app();
        judge_store();
    }
    transcript_forget();
}
