/* fake_app.h - the app that runs call: a port, and the connections that it has accepted. */
#ifndef HL_TEST_RUN_FAKE_APP_H
#define HL_TEST_RUN_FAKE_APP_H

#include "http/head.h"

struct hl_run;

/* With runs; nothing about the app times out unless the test says so. */
void app_begin(void);
/* Callers that are still there leave; the runs end. */
void app_end(void);
/* Nobody answers at its port any more. */
void app_stop(void);

/* Waits for a connection, which is known by its number. */
int app_accept(void);
bool app_is_called(void);
/* All that has come on a connection since it was opened holds this; at last. */
bool app_has_got(int i, const char *part);
void app_await(int i, const char *part);
void app_say(int i, const char *text);
/* As much as its socket takes; returns how much. */
size_t app_pour(int i, const char *p, size_t n);
/* Its machine has been told that all it said has come. */
bool app_is_acknowledged(int i);
void app_close(int i);
/* hookline has closed it. */
bool app_is_left(int i);

/* A GET that a caller has sent whole, on its way to the app. */
struct hl_run *app_call(int *caller);

/* A POST with these lines whose body is still to come from its caller. */
struct hl_run *app_call_with_body(int *caller, const char *lines, enum hl_framing framing);

#define APP_GET "GET /x HTTP/1.1\r\nHost: h\r\n\r\n" /* what the app gets of it */

/* A run's page: a request that is whole but for what its caller sends. */
void run_set_page(struct hl_run *run, const char *text, enum hl_framing framing);

#endif
