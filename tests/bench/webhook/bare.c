/* bare.c - see bare.h. */
#include "bare.h"

#include <curl/curl.h>
#include <mbedtls/md.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "stage.h"

#define FIELDS  6
#define WAIT_MS 1000

struct easy {
    CURL *curl;
    char text[FIELDS][128], body[512];
    struct curl_slist fields[FIELDS];
};

struct loop {
    struct bare *bare;
    CURLM *multi;
    struct easy *easies;
    uint64_t begun, ended;
    int epoll;
    uint64_t timer_us; /* libcurl's, it goes off once; UINT64_MAX: none */
};

static uint64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static size_t drop(char *bytes, size_t size, size_t n, void *arg)
{
    (void)bytes;
    (void)arg;
    return size * n;
}

static void sign(const char *id, const char *at, const char *body, char hex[65])
{
    static const char digits[] = "0123456789abcdef", secret[] = STAGE_SECRET;
    unsigned char mac[32];
    mbedtls_md_context_t hmac;
    mbedtls_md_init(&hmac);
    mbedtls_md_setup(&hmac, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1);
    mbedtls_md_hmac_starts(&hmac, (const unsigned char *)secret, sizeof secret - 1);
    mbedtls_md_hmac_update(&hmac, (const unsigned char *)id, strlen(id));
    mbedtls_md_hmac_update(&hmac, (const unsigned char *)".", 1);
    mbedtls_md_hmac_update(&hmac, (const unsigned char *)at, strlen(at));
    mbedtls_md_hmac_update(&hmac, (const unsigned char *)".", 1);
    mbedtls_md_hmac_update(&hmac, (const unsigned char *)body, strlen(body));
    mbedtls_md_hmac_finish(&hmac, mac);
    mbedtls_md_free(&hmac);
    for (size_t i = 0; i < sizeof mac; i++) {
        hex[2 * i] = digits[mac[i] >> 4];
        hex[2 * i + 1] = digits[mac[i] & 15];
    }
    hex[64] = '\0';
}

static void begin(struct loop *l, struct easy *e)
{
    char id[37], at[24], hex[65];
    snprintf(id, sizeof id, "01a201bb-3fb1-7546-a9e1-%012llx", (unsigned long long)l->begun++);
    snprintf(at, sizeof at, "%lld", (long long)time(NULL));
    int n = snprintf(e->body, sizeof e->body,
        "{\"type\":\"run.success\",\"run_id\":\"%s\",\"timestamp\":\"2026-11-21T08:00:00.123Z\","
        "\"project_id\":\"p\",\"app_name\":\"a\",\"status\":\"success\",\"status_code\":200,"
        "\"content_type\":\"application/json\",\"content_encoding\":null,\"encoding\":\"json\","
        "\"response\":{\"x\":\"%0160d\"}}",
        id, 0);
    sign(id, at, e->body, hex);
    strcpy(e->text[0], "Content-Type: application/json");
    strcpy(e->text[1], "Expect:");
    snprintf(e->text[2], sizeof e->text[2], "X-Request-Id: %s", id);
    snprintf(e->text[3], sizeof e->text[3], "X-Service-Webhook-Timestamp: %s", at);
    snprintf(e->text[4], sizeof e->text[4], "X-Service-Webhook-Signature: v1,%s", hex);
    snprintf(e->text[5], sizeof e->text[5], "webhook-id: %s", id);
    curl_easy_setopt(e->curl, CURLOPT_POSTFIELDSIZE, (long)n);
    curl_easy_setopt(e->curl, CURLOPT_POSTFIELDS, e->body);
    curl_multi_add_handle(l->multi, e->curl);
}

static void set_up(struct loop *l, struct easy *e)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", l->bare->port);
    e->curl = curl_easy_init();
    for (int i = 0; i < FIELDS; i++)
        e->fields[i] = (struct curl_slist){e->text[i], i + 1 < FIELDS ? &e->fields[i + 1] : NULL};
    curl_easy_setopt(e->curl, CURLOPT_PRIVATE, e);
    curl_easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e->curl, CURLOPT_URL, url);
    curl_easy_setopt(e->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(e->curl, CURLOPT_POST, 1L);
    curl_easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(e->curl, CURLOPT_HTTPHEADER, e->fields);
}

static void take_finished(struct loop *l)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(l->multi, &left))) {
        struct easy *e = NULL;
        CURL *curl = msg->easy_handle;
        l->bare->failed += msg->data.result != CURLE_OK;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&e);
        curl_multi_remove_handle(l->multi, curl);
        l->ended++;
        if (l->begun < l->bare->n)
            begin(l, e);
    }
}

static void run_polling(struct loop *l)
{
    int running;
    while (l->ended < l->bare->n) {
        curl_multi_perform(l->multi, &running);
        take_finished(l);
        if (l->ended < l->bare->n)
            curl_multi_poll(l->multi, NULL, 0, WAIT_MS, NULL);
    }
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *known)
{
    struct loop *l = self;
    struct epoll_event event = {.data.fd = fd,
        .events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u)};
    (void)easy;
    if (what == CURL_POLL_REMOVE)
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
    else
        epoll_ctl(l->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    curl_multi_assign(l->multi, fd, what == CURL_POLL_REMOVE ? NULL : l);
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *self)
{
    struct loop *l = self;
    (void)multi;
    l->timer_us = ms < 0 ? UINT64_MAX : wire_now_us() + (uint64_t)ms * 1000;
    return 0;
}

static int wait_ms(const struct loop *l)
{
    uint64_t now = wire_now_us();
    if (l->timer_us <= now)
        return 0;
    uint64_t ms = (l->timer_us - now + 999) / 1000;
    return ms < WAIT_MS ? (int)ms : WAIT_MS;
}

static void run_on_epoll(struct loop *l)
{
    struct epoll_event events[256];
    int running;
    while (l->ended < l->bare->n) {
        int n = epoll_wait(l->epoll, events, 256, wait_ms(l));
        for (int i = 0; i < n; i++) {
            int how = (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                      (events[i].events & ~(uint32_t)EPOLLOUT ? CURL_CSELECT_IN : 0);
            curl_multi_socket_action(l->multi, events[i].data.fd, how, &running);
        }
        if (l->timer_us <= wire_now_us()) {
            l->timer_us = UINT64_MAX;
            curl_multi_socket_action(l->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        take_finished(l);
    }
}

static void stay_on(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

void *bare_run(void *self)
{
    struct bare *b = self;
    struct loop l = {.bare = b,
        .multi = curl_multi_init(),
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .easies = calloc((size_t)b->concurrent, sizeof *l.easies),
        .timer_us = UINT64_MAX};
    if (b->core >= 0)
        stay_on(b->core);
    curl_multi_setopt(l.multi, CURLMOPT_MAXCONNECTS, (long)b->concurrent * 2);
    if (b->has_epoll) {
        curl_multi_setopt(l.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(l.multi, CURLMOPT_SOCKETDATA, &l);
        curl_multi_setopt(l.multi, CURLMOPT_TIMERFUNCTION, on_timer);
        curl_multi_setopt(l.multi, CURLMOPT_TIMERDATA, &l);
    }
    for (int i = 0; i < b->concurrent; i++)
        set_up(&l, &l.easies[i]);
    uint64_t start = wire_now_us(), cpu = cpu_us();
    for (int i = 0; i < b->concurrent && l.begun < b->n; i++)
        begin(&l, &l.easies[i]);
    if (b->has_epoll)
        run_on_epoll(&l);
    else
        run_polling(&l);
    b->us = (double)(wire_now_us() - start);
    b->cpu_us = (double)(cpu_us() - cpu);
    for (int i = 0; i < b->concurrent; i++)
        curl_easy_cleanup(l.easies[i].curl);
    curl_multi_cleanup(l.multi);
    close(l.epoll);
    free(l.easies);
    atomic_store(&b->is_done, true);
    return NULL;
}
