/* fuzz_function.c - what a caller sends to a function host, to what comes back.
 * Input: a byte that cuts the rest into pieces, and whose highest bit lets the caller leave with its last piece, not
 * with the last answer; then the caller's bytes on one connection.
 * Claims: all that comes back is strict HTTP; each request that the independent reader finds has one
 * answer, in order; a function got the body that this reader sees; after what is no request there is
 * an error at most, and then nothing; when the caller has closed nothing is left.
 * The core is driven as core/server.c does it, but in this thread, where calls are taken by turns, and
 * where what libuv's pool is to do is done between two turns: every run of an input is the same. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "core/call.h"
#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/server.h"
#include "core/upload.h"
#include "fuzz.h"
#include "net/listener.h"
#include "strict_grammar.h"
#include "strict_http.h"

#define OUT_MAX   (1 << 20)
#define QUIET     3 /* turns without news after which nothing more will come */
#define MOST_LEFT 100000
#define MOST_BODY 1024
#define MOST_WORK 16

static const struct hl_callee callees[] = {{.name = "raw", .is_raw = true, .is_async = true},
    {.name = "run", .is_async = true}, {.name = "yield", .is_async = true},
    {.name = "form", .is_async = true, .takes_forms = true}};

static struct world {
    struct hl_desk desk;
    struct hl_home home;
    uv_loop_t loop;
    struct hl_wheel wheel;
    struct hl_reader reader;
    struct hl_listener listener;
    int first; /* descriptor that was free before the caller came */
    int caller;
    bool is_closed; /* the host ended the connection */
    size_t n;
    char out[OUT_MAX];
} world;

/* ---- the pool, in place of libuv's ---- */

static struct {
    uv_work_t *work[MOST_WORK];
    uv_after_work_cb done[MOST_WORK];
    size_t n;
} pool;

int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb done)
{
    work->loop = loop;
    work->work_cb = run;
    FUZZ_CHECK(pool.n < MOST_WORK, "one caller has much in the pool");
    pool.work[pool.n] = work;
    pool.done[pool.n++] = done;
    return 0;
}

/* True: there was something to do. */
static bool work_off(void)
{
    size_t n = pool.n;
    for (size_t i = 0; i < n; i++) {
        uv_work_t *work = pool.work[0];
        uv_after_work_cb done = pool.done[0];
        pool.n--;
        memmove(pool.work, pool.work + 1, pool.n * sizeof(pool.work[0]));
        memmove(pool.done, pool.done + 1, pool.n * sizeof(pool.done[0]));
        work->work_cb(work);
        done(work, 0);
    }
    return n > 0;
}

/* ---- the host ---- */

static void on_message(void *self, struct hl_msg *msg)
{
    struct world *w = self;
    if (msg->type == HL_DESK_PIECE)
        hl_connection_take_piece(&w->home, HL_CONTAINER_OF(msg, struct hl_piece, msg));
    else
        hl_connection_take_call(&w->home, HL_CONTAINER_OF(msg, struct hl_call, released));
}

static void on_gone(struct hl_home *home)
{
    (void)home;
}

static bool may_accept(void *owner)
{
    (void)owner;
    return true;
}

static void on_connection(struct hl_listener *listener)
{
    struct world *w = listener->host.owner;
    hl_connection_accept(&w->home, listener);
}

static void make_world(struct world *w)
{
    char why[HL_SETTINGS_WHY];
    const struct hl_listener_host host = {.loop = &w->loop,
        .wheel = &w->wheel,
        .owner = w,
        .may_accept = may_accept,
        .on_connection = on_connection};
    w->desk.settings =
        (struct hl_settings){.max_body = MOST_BODY, .max_upload = MOST_BODY, .concurrency = 8};
    signal(SIGPIPE, SIG_IGN);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_JSON);
    snprintf(w->desk.settings.socket, sizeof(w->desk.settings.socket), "/tmp/fuzz-function-%d.sock",
        (int)getpid());
    w->home.desk = &w->desk;
    w->home.loop = &w->loop;
    w->home.wheel = &w->wheel;
    w->home.reader = &w->reader;
    w->home.is_unix = true;
    w->home.max_held = 1 << 20;
    w->home.on_gone = on_gone;
    hl_list_init(&w->home.connections);
    hl_list_init(&w->home.uploads);
    hl_slot_table_init(&w->home.names);
    hl_id_source_init(&w->home.ids);
    if (hl_directory_init(&w->desk.directory, callees, HL_ARRAY_LEN(callees), why) ||
        hl_queue_init(&w->desk.queue, 8) || uv_loop_init(&w->loop) ||
        hl_wheel_init(&w->wheel, &w->loop) || hl_reader_init(&w->reader, &w->loop) ||
        hl_uv_mailbox_init(&w->desk.mail, &w->loop, on_message, w) ||
        hl_listener_open_unix(&w->listener, &host, w->desk.settings.socket, 0600))
        abort();
}

static void remove_socket(void)
{
    unlink(world.desk.settings.socket);
}

static void answer_form(struct hl_call *call)
{
    char bytes[MOST_BODY + 1];
    ssize_t n = pread(hl_call_upload(call), bytes, sizeof(bytes), 0);
    FUZZ_CHECK(n >= 0 && n <= MOST_BODY, "no file, or too long a one");
    hl_call_answer_bytes(call, 200, HL_STR("text/plain"), (struct hl_str){bytes, (size_t)n});
}

/* Answers what waits. True: there was something. */
static bool serve(struct world *w)
{
    bool has_served = false;
    struct hl_call *call;
    while ((call = hl_desk_take_async(&w->desk)) != NULL) {
        struct hl_str body = hl_call_body(call);
        FUZZ_CHECK(body.p[body.n] == '\0', "a body ends with a NUL");
        for (size_t i = 0; i < hl_call_field_count(call); i++) {
            struct hl_str name, value;
            hl_call_field_at(call, i, &name, &value);
            FUZZ_CHECK(value.p[value.n] == '\0', "a field's value ends with a NUL");
        }
        if (hl_call_upload(call) != HL_UPLOAD_NONE)
            answer_form(call);
        else if (hl_call_callee(call) == 0)
            hl_call_answer_bytes(call, 200, HL_STR("text/plain"), body);
        else if (hl_call_callee(call) != 2)
            hl_call_answer_json(call, 200, body.n ? body : HL_STR("{}"));
        else if (hl_call_emit_json(call, body.n ? body : HL_STR("{}")) == HL_OK)
            hl_call_end(call);
        hl_call_release(call);
        has_served = true;
    }
    return has_served;
}

/* ---- the caller ---- */

static int next_descriptor(const struct world *w)
{
    int fd = dup(uv_backend_fd(&w->loop));
    close(fd);
    return fd;
}

static void open_caller(struct world *w)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, w->desk.settings.socket, strlen(w->desk.settings.socket));
    w->first = next_descriptor(w);
    w->caller = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    w->n = 0;
    w->is_closed = false;
    if (connect(w->caller, (struct sockaddr *)&address, sizeof(address)) != 0)
        abort();
}

/* True: bytes came, or the end. */
static bool read_out(struct world *w)
{
    ssize_t got = recv(w->caller, w->out + w->n, OUT_MAX - w->n, 0);
    if (got > 0)
        w->n += (size_t)got;
    bool was_closed = w->is_closed;
    w->is_closed = got == 0 || (got < 0 && errno != EAGAIN);
    return got > 0 || w->is_closed != was_closed;
}

/* One turn of both. True: something happened. */
static bool turn(struct world *w)
{
    bool has_worked = work_off();
    uv_run(&w->loop, UV_RUN_NOWAIT);
    bool has_served = serve(w);
    return read_out(w) || has_served || has_worked;
}

static void settle(struct world *w)
{
    for (int quiet = 0; quiet < QUIET;)
        quiet = turn(w) ? 0 : quiet + 1;
}

static void send_pieces(struct world *w, const char *p, size_t n, struct fuzz_cuts cuts)
{
    while (n > 0 && !w->is_closed) {
        size_t piece = fuzz_cut(&cuts, n);
        ssize_t sent = send(w->caller, p, piece, MSG_NOSIGNAL);
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        }
        turn(w);
    }
}

static void close_caller(struct world *w)
{
    close(w->caller);
    for (int left = MOST_LEFT; w->home.count + w->home.calls + pool.n > 0; left--) {
        FUZZ_CHECK(left > 0, "something stays when the caller has gone");
        uv_run(&w->loop, UV_RUN_NOWAIT);
        work_off();
        serve(w);
    }
    FUZZ_CHECK(w->home.held == 0, "bytes are counted that nobody holds");
    FUZZ_CHECK(hl_list_is_empty(&w->home.uploads), "a form stays");
    FUZZ_CHECK(next_descriptor(w) == w->first, "a descriptor stays");
}

/* ---- the judgement ---- */

static struct strict_message request, answer;

/* The next final answer; false: there is none. */
static bool next_answer(struct hl_str *rest, bool is_end, struct hl_str method)
{
    for (;;) {
        if (rest->n == 0)
            return false;
        enum strict_result result =
            strict_read_response(&answer, *rest, is_end, method, STRICT_OURS);
        FUZZ_CHECK(result == STRICT_WHOLE, answer.why ? answer.why : "an answer is cut off");
        rest->p += answer.size;
        rest->n -= answer.size;
        if (answer.status != 100)
            return true;
        strict_fini(&answer);
    }
}

static void check_value(void)
{
    struct hl_str path = request.target, body = request.body;
    if (strict_same(path, HL_STR("/raw")) && !strict_same(request.method, HL_STR("HEAD")))
        FUZZ_CHECK(strict_same(answer.body, body), "the function got another body");
    if (strict_same(path, HL_STR("/form")) && body.n > 0)
        FUZZ_CHECK(strict_same(answer.body, body), "the function got another form");
    if (strict_same(path, HL_STR("/run")))
        FUZZ_CHECK(strict_same(answer.body, body.n ? body : HL_STR("{}")), "another value");
}

/* What stands behind the authority of an absolute form and before a query. */
static struct hl_str path_of(struct hl_str target)
{
    if (target.n == 0)
        return target;
    const char *p = target.p, *end = p + target.n, *authority = memmem(p, target.n, "://", 3);
    if (authority && *p != '/')
        for (p = authority + 3; p < end && *p != '/' && *p != '?'; p++)
            ;
    const char *query = memchr(p, '?', (size_t)(end - p));
    return (struct hl_str){p, (size_t)((query ? query : end) - p)};
}

/* The health check and the listing are answered when their head is there, whatever follows. */
static bool is_answered_early(void)
{
    struct hl_str path = path_of(request.target);
    return strict_same(path, HL_STR("/healthz")) ||
           strict_same(path, HL_STR("/_hookline/functions"));
}

/* One request and its answer. False: the conversation is over. */
static bool check_exchange(struct hl_str *in, struct hl_str *out, bool is_end)
{
    enum strict_result result = strict_read_request(&request, *in, STRICT_PEER);
    bool is_whole = result == STRICT_WHOLE;
    /* What is no request may have been a HEAD or not: its answer may have content or none. */
    bool is_answered = next_answer(out, is_end, is_whole ? request.method : HL_STR("HEAD"));
    FUZZ_CHECK(is_answered || !is_whole, "a whole request without an answer");
    bool goes_on = false;
    if (is_answered) {
        bool closes = strict_lists(&answer.fields, "connection", HL_STR("close"));
        FUZZ_CHECK(is_whole || answer.status >= 400 || is_answered_early(),
            "what is no request has an answer");
        FUZZ_CHECK(is_whole || closes, "the connection goes on behind what is no request");
        if (is_whole && answer.status == 200)
            check_value();
        if (!is_whole) {
            FUZZ_CHECK(out->n == 0 || out->n == answer.length, "the answer's content is cut off");
            out->n = 0;
        }
        goes_on = is_whole && !closes;
        strict_fini(&answer);
    }
    in->p += request.size;
    in->n -= is_whole ? request.size : 0;
    strict_fini(&request);
    return goes_on;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = &world;
    struct fuzz_input input = fuzz_input(data, size);
    uint8_t seed = fuzz_take_byte(&input);
    bool stays = seed < 0x80;
    if (!w->home.desk) {
        make_world(w);
        atexit(remove_socket);
    }
    struct hl_str in = {input.p, input.n};
    fuzz_forget();
    fuzz_note("in", in);
    open_caller(w);
    send_pieces(w, input.p, input.n, fuzz_cuts(seed));
    if (stays)
        settle(w);
    struct hl_str out = {w->out, w->n};
    fuzz_note("out", out);
    while (stays && in.n > 0 && check_exchange(&in, &out, w->is_closed))
        continue;
    FUZZ_CHECK(out.n == 0 || !stays, "an answer to nothing");
    close_caller(w);
    return 0;
}
