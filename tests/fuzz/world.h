/* world.h - one worker of hookline's, its callers and its app, all in one thread: the test holds the
 * other end of every socket and moves the clock. */
#ifndef HL_FUZZ_WORLD_H
#define HL_FUZZ_WORLD_H

#include "base/buf.h"
#include "kernel.h"
#include "worker/worker.h"

#define WORLD_MAX_CALLERS 4
#define WORLD_MAX_APPS    16

/* A connection, from its peer's end: a caller's, or one that the app has accepted. */
struct world_wire {
    int fd;                      /* the peer's end; -1: the peer has closed it */
    struct kernel_socket socket; /* hookline's end */
    struct hl_buf sent, got;     /* by and to the peer, all of it */
    bool has_ended;              /* the peer sends no more, cleanly */
    bool got_end;                /* hookline has ended its side: FIN, or `socket.was_reset` */
    bool has_closed;             /* the peer closed before it saw that end */
    bool was_open_last;          /* it was world_finish that closed it, after all callers */
};

struct world {
    const struct hl_config *config;
    struct hl_worker *worker; /* NULL: it has ended */
    struct hl_store *store;   /* stub_store.h */
    struct world_wire callers[WORLD_MAX_CALLERS], apps[WORLD_MAX_APPS];
    size_t caller_count, app_count;
    bool is_app_up, was_cut;
};

/* Everything is as at the start; the worker of that configuration is kept from one input to the
 * next, unless it was ended. */
struct world *world_begin(unsigned preset);

/* NULL: there are enough, or nobody is there to answer. */
struct world_wire *world_call(void);
void world_send(struct world_wire *wire, struct hl_str bytes);
void world_end_sending(struct world_wire *wire);
void world_close(struct world_wire *wire);
void world_tell(enum hl_worker_message what);

/* Runs the loop until nothing happens any more. */
void world_settle(void);
/* The app is asked whether it takes calls: it does if it is up. */
void world_check_app(void);
/* Moves the clock and settles. */
void world_wait(uint64_t ms);

/* All peers go, time passes: ends the process when anything of a call is left then. What was sent
 * and got stays until world_forget. */
void world_finish(void);
void world_forget(void);

#endif
