/* transcript.c - all that the peers of a world sent and got, read with the independent reader. */
#include "transcript.h"

#include "fuzz.h"
#include "strict_grammar.h"

static struct transcript t;
static const struct world *world;

struct hl_str transcript_rest(const struct hl_buf *buf, size_t from)
{
    return (struct hl_str){buf->p ? buf->p + from : "", buf->n - from};
}

struct hl_str transcript_id(const struct strict_message *m)
{
    return strict_value(&m->fields, "x-request-id");
}

/* ---- reading what the callers sent ---- */

static bool read_caller(const struct world_wire *caller)
{
    for (size_t at = 0; at < caller->sent.n;) {
        struct transcript_request *r = &t.requests[t.request_count];
        if (t.request_count == TRANSCRIPT_MAX)
            return false;
        r->caller = caller;
        r->taken_by = NULL;
        enum strict_result result =
            strict_read_request(&r->m, transcript_rest(&caller->sent, at), STRICT_PEER);
        r->is_whole = result == STRICT_WHOLE;
        r->end = at + r->m.size;
        if (!r->m.has_head)
            break;
        t.request_count++;
        if (!r->is_whole)
            break;
        at = r->end;
    }
    return true;
}

static bool read_callers(void)
{
    t.request_count = 0;
    for (size_t i = 0; i < world->caller_count; i++) {
        t.first_of[i] = t.request_count;
        if (!read_caller(&world->callers[i]))
            return false;
    }
    t.first_of[world->caller_count] = t.request_count;
    return true;
}

/* ---- reading what passed between hookline and the app ---- */

void transcript_read_response(struct transcript_exchange *x)
{
    const struct world_wire *app = x->app;
    bool is_end = app->has_ended || app->fd < 0;
    x->response_from = x->response_end = x->interim_from;
    do {
        strict_fini(&x->response);
        x->response_from = x->response_end;
        x->result = strict_read_response(&x->response,
            transcript_rest(&app->sent, x->response_from), is_end, x->request.method, STRICT_PEER);
        x->response_end = x->response_from + x->response.size;
    } while (x->result == STRICT_WHOLE && x->response.status < 200 && x->response.status != 101);
    if (!x->response.has_head)
        x->result = STRICT_BAD;
    else if (x->result == STRICT_BAD)
        x->result = STRICT_PARTIAL; /* up to the fault it was an answer */
}

bool transcript_is_switch(const struct transcript_exchange *x)
{
    return x->result == STRICT_WHOLE && x->response.status == 101 &&
           strict_lists(&x->response.fields, "connection", HL_STR("upgrade")) &&
           strict_lists(&x->response.fields, "upgrade", HL_STR("websocket")) &&
           strict_count(&x->request.fields, "upgrade") > 0;
}

static bool read_app(const struct world_wire *app)
{
    size_t at = 0, answered = 0;
    while (at < app->got.n) {
        struct transcript_exchange *x = &t.exchanges[t.exchange_count];
        if (t.exchange_count == TRANSCRIPT_MAX)
            return false;
        x->app = app;
        x->interim_from = answered;
        x->of = NULL;
        x->response.decoded = NULL;
        enum strict_result result =
            strict_read_request(&x->request, transcript_rest(&app->got, at), STRICT_OURS);
        fuzz_note("the app got", transcript_rest(&app->got, at));
        fuzz_note("why", hl_str_from(x->request.why));
        FUZZ_CHECK(result != STRICT_BAD, "the app got no strict request");
        t.exchange_count++;
        x->is_whole = result == STRICT_WHOLE;
        x->result = STRICT_BAD;
        if (!x->request.has_head)
            break;
        x->request_end = at + x->request.size;
        transcript_read_response(x);
        if (!x->is_whole || transcript_is_switch(x))
            break;
        at = x->request_end;
        answered = x->response_end;
    }
    return true;
}

static bool read_apps(void)
{
    t.exchange_count = 0;
    for (size_t i = 0; i < world->app_count; i++)
        if (!read_app(&world->apps[i]))
            return false;
    return true;
}

struct transcript_exchange *transcript_find(struct hl_str id)
{
    for (size_t i = t.exchange_count; i-- > 0;)
        if (t.exchanges[i].request.has_head &&
            strict_same(transcript_id(&t.exchanges[i].request), id))
            return &t.exchanges[i];
    return NULL;
}

struct transcript *transcript_read(const struct world *w)
{
    world = w;
    t.request_count = t.exchange_count = 0;
    t.is_complete = read_callers() && read_apps();
    return &t;
}

void transcript_forget(void)
{
    for (size_t i = 0; i < t.request_count; i++)
        strict_fini(&t.requests[i].m);
    for (size_t i = 0; i < t.exchange_count; i++) {
        strict_fini(&t.exchanges[i].request);
        strict_fini(&t.exchanges[i].response);
    }
}
