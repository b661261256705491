/* server.h - an admin listener on a loop thread of its own, and a client that reads whole answers.
 */
#ifndef HL_TEST_API_SERVER_H
#define HL_TEST_API_SERVER_H

#include <pthread.h>

#include "api/now.h"
#include "app/readiness.h"
#include "app/sleep.h"
#include "app/supervisor.h"
#include "body/journals.h"
#include "run/service.h"
#include "worker/worker.h"

struct server {
    struct hl_config *config;
    struct hl_readiness readiness; /* never started: only its flag is used */
    struct hl_app_gauges app;
    struct hl_sleep_gauges sleep;
    struct hl_worker worker; /* never started: only its figures are used */
    struct hl_worker *workers[1];
    struct hl_journals journals;
    struct hl_service service;
    struct hl_sender *sender;
    struct hl_rest *rest; /* without workers */
    char data_dir[64];    /* for the control socket */
    struct hl_api_view view;

    uv_loop_t loop;
    struct hl_wheel wheel;
    struct hl_reader reader;
    uv_async_t stop;
    struct hl_recorder recorder;
    struct hl_admin *admin;
    pthread_t thread;
    uint16_t port;
};

/* With a store in memory and a sender. The criterion test fails when something does not work.
 * `entry` ("NAME=value") is one more setting, or NULL. */
void server_start(struct server *server, const char *entry);
/* Ends with all memory freed. */
void server_stop(struct server *server);

/* A connected socket whose reads fail after 5 s. */
int client_connect(const struct server *server);
/* The same to the control socket. */
int client_connect_local(const struct server *server);
void client_send(int fd, const char *text);

struct answer {
    int status;
    char head[2048];
    char body[64 * 1024];
    size_t body_len;
};

/* Reads exactly one answer: what follows it stays unread. `has_body` false: to a HEAD request. */
void client_read(int fd, struct answer *answer, bool has_body);
/* Whether the peer has closed, in order, with nothing more to read. */
bool client_is_closed(int fd);

#endif
