/* test_judge.c - the judge of connections: right conversations pass, and each way to get one wrong is
 * found. A fault ends the judge's process, so each conversation is judged in one of its own. */
#include "base/buf.h"
#include "judge.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"
#include "preset.h"
#include "stub_store.h"
#include "world.h"

#define ID   "01a2017a-6ff9-71ea-b47d-688d6c127f53"
#define ID2  "01a2017a-6ff9-71ec-bdc0-0c259f6d0b2d"
#define DATE "Date: Sun, 22 Nov 2026 04:18:50 GMT\r\n"
#define OURS(id)                                                                                   \
    "X-Request-Id: " id "\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n"            \
    "X-Forwarded-Host: h\r\n"                                                                      \
    "traceparent: 00-01a2017a6ff971eab47d688d6c127f53-b698b802a3f85b62-01\r\nVia: 1.1 "            \
    "hookline\r\n"
#define GET      "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
#define APP_GET  "GET /x HTTP/1.1\r\nHost: h\r\n" OURS(ID) "\r\n"
#define APP_GET2 "GET /x HTTP/1.1\r\nHost: h\r\n" OURS(ID2) "\r\n"
#define POST     "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
#define APP_POST "POST /x HTTP/1.1\r\nHost: h\r\n" OURS(ID) "Content-Length: 5\r\n\r\n"
#define OK       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GOT_OK   "HTTP/1.1 200 OK\r\n" DATE "X-Request-Id: " ID "\r\nContent-Length: 2\r\n\r\nok"
#define OPEN     "HTTP/1.1 200 OK\r\n\r\nok"
#define GET_OLD  "GET /x HTTP/1.0\r\nHost: h\r\n\r\n"
#define APP_OLD  "GET /x HTTP/1.1\r\nHost: h\r\n" OURS_OLD "\r\n"
#define OURS_OLD                                                                                   \
    "X-Request-Id: " ID "\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n"            \
    "X-Forwarded-Host: h\r\n"                                                                      \
    "traceparent: 00-01a2017a6ff971eab47d688d6c127f53-b698b802a3f85b62-01\r\nVia: 1.0 "            \
    "hookline\r\n"
#define GOT_OLD(more)                                                                              \
    "HTTP/1.1 200 OK\r\n" DATE "X-Request-Id: " ID "\r\nConnection: close\r\n\r\n" more
#define OWN(status)                                                                                \
    "HTTP/1.1 " status "\r\n" DATE "Content-Type: application/problem+json\r\n"                    \
    "Content-Length: 2\r\nCache-Control: no-store\r\nX-Request-Id: " ID "\r\n\r\n{}"

/* Everything that one caller and one connection to the app sent and got. */
struct talk {
    const char *name, *caller_sent, *app_got, *app_sent, *caller_got;
    enum { OPEN_ENDS, APP_ENDED = 1, CALLER_FIN = 2, CALLER_RESET = 4 } ends;
};

static void set(struct hl_buf *buf, const char *text)
{
    hl_buf_init(buf, 0);
    if (hl_buf_append(buf, text, strlen(text)) != HL_OK)
        abort();
}

static void judge_talk(const struct talk *talk)
{
    static struct world world;
    world.config = preset(0);
    world.store = stub_new();
    world.caller_count = world.app_count = 1;
    struct world_wire *caller = &world.callers[0], *app = &world.apps[0];
    set(&caller->sent, talk->caller_sent);
    set(&caller->got, talk->caller_got);
    set(&app->got, talk->app_got);
    set(&app->sent, talk->app_sent);
    caller->fd = app->fd = -1;
    caller->got_end = talk->ends & (CALLER_FIN | CALLER_RESET);
    caller->socket.was_reset = talk->ends & CALLER_RESET;
    app->was_open_last = !(talk->ends & APP_ENDED);
    judge(&world);
}

static bool is_found_right(const struct talk *talk)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        judge_talk(talk);
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert((WIFEXITED(status) && WEXITSTATUS(status) == 0) || WTERMSIG(status) == SIGABRT,
        "%s: status %d", talk->name, status);
    return WIFEXITED(status);
}

static const struct talk right[] = {
    {"nothing", "", "", "", "", OPEN_ENDS},
    {"a call", GET, APP_GET, OK, GOT_OK, OPEN_ENDS},
    {"a call with a body", POST, APP_POST "hello", OK, GOT_OK, OPEN_ENDS},
    {"no answer", GET, APP_GET, "", "", OPEN_ENDS},
    {"a part of a head", GET, APP_GET, OK, "HTTP/1.1 200 O", CALLER_FIN},
    {"an answer that is cut", GET, APP_GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
        "HTTP/1.1 200 OK\r\n" DATE "X-Request-Id: " ID "\r\nContent-Length: 2\r\n\r\no",
        CALLER_FIN},
    {"no app", GET, "", "", OWN("502 Bad Gateway"), OPEN_ENDS},
    {"a bad answer", GET, APP_GET, "HTTP/1.1 nonsense\r\n\r\n", OWN("502 Bad Gateway"), OPEN_ENDS},
    {"an answer to HTTP/1.0", GET_OLD, APP_OLD, OPEN, GOT_OLD("ok"), APP_ENDED | CALLER_FIN},
    {"one that is cut", GET_OLD, APP_OLD, OPEN, GOT_OLD("ok"), CALLER_RESET},
    {"half a request", POST, APP_POST "he", "", "", OPEN_ENDS},
};

static const struct talk wrong[] = {
    {"an answer to nothing", "", "", "", GOT_OK, OPEN_ENDS},
    {"an answer of nobody", GET, "", "", GOT_OK, OPEN_ENDS},
    {"another status", GET, APP_GET, "HTTP/1.1 404 OK\r\nContent-Length: 2\r\n\r\nok", GOT_OK,
        OPEN_ENDS},
    {"another body", GET, APP_GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", GOT_OK,
        OPEN_ENDS},
    {"another length", GET, APP_GET, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok!", GOT_OK,
        OPEN_ENDS},
    {"a field is lost", GET, APP_GET, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok",
        GOT_OK, OPEN_ENDS},
    {"a field is added", GET, APP_GET, OK,
        "HTTP/1.1 200 OK\r\nA: b\r\n" DATE "X-Request-Id: " ID "\r\nContent-Length: 2\r\n\r\nok",
        OPEN_ENDS},
    {"no id", GET, APP_GET, OK, "HTTP/1.1 200 OK\r\n" DATE "Content-Length: 2\r\n\r\nok",
        OPEN_ENDS},
    {"no date", GET, APP_GET, OK,
        "HTTP/1.1 200 OK\r\nX-Request-Id: " ID "\r\nContent-Length: 2\r\n\r\nok", OPEN_ENDS},
    {"two answers", GET, APP_GET, OK OK, GOT_OK GOT_OK, OPEN_ENDS},
    {"a bare LF", GET, APP_GET, OK, "HTTP/1.1 200 OK\n" DATE "\r\n", OPEN_ENDS},
    {"bytes behind the last answer", GET, APP_GET, OK,
        "HTTP/1.1 200 OK\r\n" DATE "X-Request-Id: " ID
        "\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok!",
        OPEN_ENDS},
    {"content for HEAD", "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "", "",
        "HTTP/1.1 431 Request Header Fields Too Large\r\n" DATE
        "Content-Type: application/problem+json\r\nContent-Length: 2\r\nCache-Control: no-store\r\n"
        "X-Request-Id: " ID "\r\nConnection: close\r\n\r\n{}",
        CALLER_FIN},
    {"a part that looks whole", GET_OLD, APP_OLD, OPEN, GOT_OLD("ok"), CALLER_FIN},
    {"less than the whole", GET_OLD, APP_OLD, OPEN, GOT_OLD("o"), APP_ENDED | CALLER_FIN},
    {"a close that is not said", "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", APP_GET,
        OK, GOT_OK, OPEN_ENDS},
    {"an odd answer of ours", GET, "", "", OWN("200 OK"), OPEN_ENDS},
    {"accepted by nobody", GET, "", "", OWN("202 Accepted"), OPEN_ENDS},
    {"a request of nobody", "", APP_GET, "", "", OPEN_ENDS},
    {"another target", "GET /y HTTP/1.1\r\nHost: h\r\n\r\n", APP_GET, "", "", OPEN_ENDS},
    {"another method", "PUT /x HTTP/1.1\r\nHost: h\r\n\r\n", APP_GET, "", "", OPEN_ENDS},
    {"another host", "GET /x HTTP/1.1\r\nHost: i\r\n\r\n", APP_GET, "", "", OPEN_ENDS},
    {"a field of the caller is lost", "GET /x HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n", APP_GET, "", "",
        OPEN_ENDS},
    {"a hop-by-hop field goes on", "GET /x HTTP/1.1\r\nHost: h\r\nConnection: a\r\nA: b\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: h\r\nA: b\r\n" OURS(ID) "\r\n", "", "", OPEN_ENDS},
    {"a request goes on as it was", GET, GET, "", "", OPEN_ENDS},
    {"a request becomes two", GET, APP_GET APP_GET2, OK, GOT_OK, OPEN_ENDS},
    {"a POST goes out twice", POST, APP_POST "hello" APP_POST "hello", "", "", OPEN_ENDS},
    {"another request body", POST, APP_POST "hallo", "", "", OPEN_ENDS},
    {"a cut request looks whole",
        "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "POST /x HTTP/1.1\r\nHost: h\r\n" OURS(
            ID) "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "", "", OPEN_ENDS},
    {"smuggled", POST, APP_POST "hello" APP_GET2, "", "", OPEN_ENDS},
    {"no HTTP", GET, "GET /x HTTP/1.1\nHost: h\n\n", "", "", OPEN_ENDS},
};

Test(judge, takes_what_is_right)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(right); i++)
        cr_expect(is_found_right(&right[i]), "%s", right[i].name);
}

Test(judge, finds_what_is_wrong)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(wrong); i++)
        cr_expect_not(is_found_right(&wrong[i]), "%s", wrong[i].name);
}
