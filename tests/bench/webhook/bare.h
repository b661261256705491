/* bare.h - the least that sending signed webhooks with libcurl can be: one multi handle, kept
 * connections, an HMAC each; no store, no guard, no retries. */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bare {
    int port, concurrent, core; /* the receiver's; at once; -1: any */
    bool has_epoll;             /* curl_multi_socket_action instead of curl_multi_poll */
    uint64_t n;                 /* to be sent */

    double us, cpu_us; /* of all, when `is_done` */
    uint64_t failed;
    atomic_bool is_done;
};

/* A thread's body; `self` is a struct bare. */
void *bare_run(void *self);

#endif
