#include "server.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/admin.h"
#include "api/control_path.h"
#include "api/rest.h"
#include "api/rest_call.h"
#include "base/log.h"
#include "config/config.h"
#include "store/store.h"
#include "webhook/sender.h"

static void load_config(struct server *s, const char *entry)
{
    struct hl_buf problems, warnings;
    char data_dir[96];
    snprintf(s->data_dir, sizeof(s->data_dir), "/tmp/hookline-test-XXXXXX");
    cr_assert(mkdtemp(s->data_dir));
    snprintf(data_dir, sizeof(data_dir), "HOOKLINE_DATA_DIR=%s", s->data_dir);
    char *variables[] = {"HOOKLINE_STORE=memory", "HOOKLINE_AUTH=none",
        "HOOKLINE_APP_URL=http://127.0.0.1:9", data_dir, (char *)(uintptr_t)entry, NULL};
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    enum hl_err err = hl_config_load(&s->config, variables, &problems, &warnings);
    cr_assert_eq(err, HL_OK, "%.*s", (int)problems.n, problems.p);
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
    ((struct sockaddr_in *)&s->config->admin_listen.items[0].addr)->sin_port = 0;
}

static void open_parts(struct server *s)
{
    char why[256];
    hl_log_setup(HL_LOG_ERROR, HL_LOG_JSON);
    cr_assert_eq(hl_store_open(&s->service.store, s->config, why, sizeof(why)), HL_OK, "%s", why);
    cr_assert_eq(hl_sender_start(&s->sender,
                     &(struct hl_sender_parts){.config = s->config, .store = s->service.store}, why,
                     sizeof(why)),
        HL_OK, "%s", why);
    hl_journals_init(&s->journals, 10);
    s->service.journals = &s->journals;
    s->workers[0] = &s->worker;
    s->service.config = s->config;
    s->service.readiness = &s->readiness;
    s->readiness.why = "the app at HOOKLINE_APP_URL is not ready";
    s->service.app = &s->app;
    s->service.sleep = &s->sleep;
    s->service.workers = s->workers;
    s->service.worker_count = 1;
    s->view = (struct hl_api_view){.config = s->config,
        .service = &s->service,
        .store = s->service.store,
        .sender = s->sender,
        .started_ms = 1700000000123};
}

static void on_stop(uv_async_t *stop)
{
    struct server *s = HL_CONTAINER_OF(stop, struct server, stop);
    hl_admin_close(s->admin);
    hl_recorder_stop(&s->recorder);
    hl_wheel_close(&s->wheel);
    hl_reader_close(&s->reader);
    uv_close((uv_handle_t *)stop, NULL);
}

static void *run_loop(void *arg)
{
    struct server *s = arg;
    uv_run(&s->loop, UV_RUN_DEFAULT);
    return NULL;
}

void server_start(struct server *s, const char *entry)
{
    char why[256];
    memset(s, 0, sizeof(*s));
    load_config(s, entry);
    open_parts(s);
    cr_assert_eq(uv_loop_init(&s->loop), 0);
    cr_assert_eq(hl_wheel_init(&s->wheel, &s->loop), 0);
    cr_assert_eq(hl_reader_init(&s->reader, &s->loop), 0);
    cr_assert_eq(uv_async_init(&s->loop, &s->stop, on_stop), 0);
    struct hl_rest_parts parts = {.config = s->config, .store = s->service.store};
    cr_assert(s->rest = s->view.rest = hl_rest_new(&s->loop, &parts));
    hl_recorder_start(&s->recorder, &s->wheel, &s->view);
    cr_assert_eq(
        hl_admin_open(&s->admin, &s->loop, &s->wheel, &s->reader, &s->view, why, sizeof(why)),
        HL_OK, "%s", why);
    s->port = hl_admin_port(s->admin, 0);
    cr_assert_eq(pthread_create(&s->thread, NULL, run_loop, s), 0);
}

void server_stop(struct server *s)
{
    uv_async_send(&s->stop);
    pthread_join(s->thread, NULL);
    hl_sender_stop(s->sender, 0, NULL, NULL);
    hl_sender_join(s->sender);
    hl_store_close(s->service.store);
    hl_journals_fini(&s->journals);
    hl_sender_free(s->sender);
    hl_rest_close(s->rest);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    hl_rest_free(s->rest);
    cr_assert_eq(uv_loop_close(&s->loop), 0, "a handle is still open");
    cr_assert_eq(rmdir(s->data_dir), 0, "the control socket is still there");
    hl_reader_fini(&s->reader);
    hl_config_free(s->config);
}

int client_connect(const struct server *s)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(s->port)};
    struct timeval limit = {5, 0};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    return fd;
}

int client_connect_local(const struct server *s)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct timeval limit = {5, 0};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(un.sun_path, sizeof(un.sun_path), "%s/" HL_CONTROL_SOCKET, s->data_dir);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    return fd;
}

void client_send(int fd, const char *text)
{
    size_t n = strlen(text);
    cr_assert_eq(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
}

void client_read(int fd, struct answer *a, bool has_body)
{
    size_t n = 0;
    memset(a, 0, sizeof(*a));
    while (n < 4 || memcmp(a->head + n - 4, "\r\n\r\n", 4) != 0) {
        cr_assert_lt(n, sizeof(a->head) - 1);
        cr_assert_eq(read(fd, a->head + n, 1), 1, "the answer ends in its head: %s", a->head);
        n++;
    }
    cr_assert_eq(sscanf(a->head, "HTTP/1.1 %3d ", &a->status), 1);
    const char *length = strstr(a->head, "\r\nContent-Length: ");
    size_t announced = length ? strtoul(length + 18, NULL, 10) : 0;
    cr_assert_lt(announced, sizeof(a->body));
    while (has_body && a->body_len < announced) {
        ssize_t got = read(fd, a->body + a->body_len, announced - a->body_len);
        cr_assert_gt(got, 0, "the answer ends in its body");
        a->body_len += (size_t)got;
    }
}

bool client_is_closed(int fd)
{
    char byte;
    return read(fd, &byte, 1) == 0;
}
