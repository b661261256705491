/* house.c - a server of a test's own, and callers. */
#include "house.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/call.h"
#include "core/server.h"

struct house house;
static pthread_t threads[8];
static unsigned thread_count;
static char received[1024 * 1024];

static void run_echo(struct hl_call *call)
{
    struct hl_str body = hl_call_body(call);
    hl_call_answer_json(call, 200, body.n ? body : HL_STR("{}"));
}

static void answer_run(struct hl_call *call, unsigned nth)
{
    char text[64];
    snprintf(text, sizeof(text), "{\"run\":%u}", nth);
    hl_call_answer_json(call, 200, hl_str_from(text));
}

static void run_hold(struct hl_call *call)
{
    unsigned nth = atomic_fetch_add(&house.running, 1) + 1;
    while (atomic_load(&house.let_go) < nth)
        house_rest();
    answer_run(call, nth);
    atomic_fetch_add(&house.finished, 1);
}

/* {"values":["a",1]}: split by hand, no commas inside. */
static struct hl_str values_of(struct hl_call *call)
{
    struct hl_str body = hl_call_body(call);
    const char *at = strchr(body.p, '[');
    return (struct hl_str){at + 1, (size_t)(strrchr(body.p, ']') - at - 1)};
}

static void run_yield(struct hl_call *call)
{
    struct hl_str list = values_of(call), value;
    while (hl_str_next_element(&list, &value)) {
        if (value.p[0] == '"') {
            char text[256];
            size_t n = 0;
            for (size_t i = 1; i + 1 < value.n; i++) {
                bool is_escape = value.p[i] == '\\';
                i += is_escape;
                text[n++] = !is_escape ? value.p[i] : value.p[i] == 'n' ? '\n' : '\r';
            }
            cr_assert_eq(hl_call_emit_text(call, (struct hl_str){text, n}), HL_OK);
        } else {
            cr_assert_eq(hl_call_emit_json(call, value), HL_OK);
        }
    }
    cr_assert_eq(hl_call_end(call), HL_OK);
}

static void run_raw(struct hl_call *call)
{
    char text[512];
    struct hl_str method = hl_call_method(call), path = hl_call_path(call),
                  query = hl_call_query(call), body = hl_call_body(call);
    int n = snprintf(text, sizeof(text), "%.*s %.*s ? %.*s : %.*s", HL_STR_ARG(method),
        HL_STR_ARG(path), HL_STR_ARG(query), HL_STR_ARG(body));
    hl_call_answer_bytes(call, 201, HL_STR("text/plain"), (struct hl_str){text, (size_t)n});
}

static void run_pour(struct hl_call *call)
{
    static char event[16 * 1024];
    memset(event, 'x', sizeof(event));
    while (hl_call_emit_text(call, (struct hl_str){event, sizeof(event)}) == HL_OK)
        atomic_fetch_add(&house.poured, sizeof(event));
    hl_call_end(call);
    atomic_fetch_add(&house.gone, hl_call_is_gone(call));
}

static void run_fail(struct hl_call *call)
{
    int values = atoi(strchr(hl_call_body(call).p, ':') + 1);
    for (int i = 0; i < values; i++)
        cr_assert_eq(hl_call_emit_json(call, HL_STR("1")), HL_OK);
    cr_assert_eq(hl_call_fail(call, 500, HL_STR("It \"broke\".")), HL_OK);
}

static void run_await(struct hl_call *call)
{
    atomic_fetch_add(&house.running, 1);
    hl_call_wait(call);
    atomic_fetch_add(&house.gone, 1);
}

static void run_tell(struct hl_call *call)
{
    struct hl_str list = values_of(call), value;
    for (int i = 0; hl_str_next_element(&list, &value); i++) {
        atomic_store(&house.told, hl_call_progress(call, value));
        if (i == 0)
            house_rest(); /* it goes out, the others wait */
    }
    unsigned nth = atomic_fetch_add(&house.running, 1) + 1;
    while (atomic_load(&house.let_go) < nth)
        house_rest();
    if (!hl_call_wants_events(call)) {
        answer_run(call, nth);
        return;
    }
    cr_assert_eq(hl_call_emit_json(call, HL_STR("1")), HL_OK);
    atomic_store(&house.told, hl_call_progress(call, HL_STR("\"late\"")));
    cr_assert_eq(hl_call_emit_json(call, HL_STR("2")), HL_OK);
    cr_assert_eq(hl_call_end(call), HL_OK);
}

static void run_count(struct hl_call *call)
{
    unsigned nth = atomic_fetch_add(&house.running, 1) + 1;
    enum hl_err err = HL_OK;
    for (int i = 1; !err && atomic_load(&house.let_go) < nth; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", i);
        err = hl_call_progress(call, hl_str_from(number));
        house_rest();
    }
    atomic_fetch_add(&house.gone, err == HL_ERR_CANCELLED);
    answer_run(call, nth);
}

static void run_form(struct hl_call *call)
{
    static char bytes[1024 * 1024];
    ssize_t n = pread(hl_call_upload(call), bytes, sizeof(bytes), 0);
    cr_assert(n >= 0);
    hl_call_answer_bytes(call, 200, HL_STR("text/plain"), (struct hl_str){bytes, (size_t)n});
}

static const struct hl_callee callees[] = {{.name = "echo"}, {.name = "hold"}, {.name = "yield"},
    {.name = "raw", .is_raw = true}, {.name = "pour"}, {.name = "fail"}, {.name = "await"},
    {.name = "tell"}, {.name = "count"}, {.name = "form", .takes_forms = true}};
static void (*const functions[])(struct hl_call *call) = {run_echo, run_hold, run_yield, run_raw,
    run_pour, run_fail, run_await, run_tell, run_count, run_form};

static void *work(void *arg)
{
    struct hl_call *call;
    while ((call = hl_call_take(arg)) != NULL) {
        functions[hl_call_callee(call)](call);
        hl_call_release(call);
    }
    return NULL;
}

void house_prepare(void)
{
    house.settings = (struct hl_settings){
        .host = "127.0.0.1", .concurrency = 1, .max_body = 1024 * 1024, .log_level = HL_LOG_ERROR};
}

void house_open(void)
{
    char why[HL_SETTINGS_WHY];
    hl_log_setup(house.settings.log_level, HL_LOG_PLAIN);
    cr_assert_eq(
        hl_server_start(&house.server, &house.settings, callees, HL_ARRAY_LEN(callees), false, why),
        HL_OK, "%s", why);
    for (thread_count = 0; thread_count < house.settings.concurrency; thread_count++)
        pthread_create(&threads[thread_count], NULL, work, house.server);
}

void house_close(void)
{
    if (!house.server)
        return;
    atomic_store(&house.let_go, UINT32_MAX);
    hl_server_stop(house.server);
    while (thread_count > 0)
        pthread_join(threads[--thread_count], NULL);
    hl_server_free(house.server);
    house.server = NULL;
}

void house_rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void house_catch_up(void)
{
    caller_ask("GET /healthz HTTP/1.0\r\n\r\n");
}

/* ---- callers ---- */

int caller_open(void)
{
    struct sockaddr_in tcp = {.sin_family = AF_INET,
        .sin_port = htons(hl_server_port(house.server)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    bool is_unix = house.settings.socket[0] != '\0';
    memcpy(local.sun_path, house.settings.socket, sizeof(local.sun_path));
    int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    int rc = is_unix ? connect(fd, (struct sockaddr *)&local, sizeof(local))
                     : connect(fd, (struct sockaddr *)&tcp, sizeof(tcp));
    cr_assert_eq(rc, 0);
    return fd;
}

void caller_send(int fd, const char *text)
{
    size_t n = strlen(text), sent = 0;
    while (sent < n) {
        ssize_t done = send(fd, text + sent, n - sent, MSG_NOSIGNAL);
        if (done <= 0)
            return; /* refused already: the answer says why */
        sent += (size_t)done;
    }
}

/* True: bytes came. */
static bool read_more(int fd, size_t *n)
{
    cr_assert_lt(*n, sizeof(received) - 1, "too much came");
    ssize_t got = recv(fd, received + *n, sizeof(received) - 1 - *n, 0);
    cr_assert(got >= 0 || errno == ECONNRESET, "nothing came: %s", strerror(errno));
    *n += got > 0 ? (size_t)got : 0;
    received[*n] = '\0';
    return got > 0;
}

const char *caller_read_until(int fd, const char *mark)
{
    size_t n = 0;
    received[0] = '\0';
    while (!strstr(received, mark))
        cr_assert(read_more(fd, &n), "closed before \"%s\": %s", mark, received);
    return received;
}

const char *caller_read_all(int fd)
{
    size_t n = 0;
    received[0] = '\0';
    while (read_more(fd, &n))
        continue;
    return received;
}

const char *caller_ask(const char *request)
{
    int fd = caller_open();
    caller_send(fd, request);
    caller_read_all(fd);
    close(fd);
    return received;
}

void caller_post(int fd, const char *path, const char *lines, const char *body)
{
    char head[1024];
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n",
        path, lines, strlen(body));
    caller_send(fd, head);
    caller_send(fd, body);
}
