/* crowd.h - an app that streams events and those who read them, in one thread: hookline stands
 * between them. Events are numbered from 1 and carry the time of their writing; a reader checks that
 * it gets each of them once, in order and, of a kept stream, with its number as id. Whatever goes
 * wrong ends the program with a message. */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct latencies {
    size_t n, cap;
    uint32_t *us;
};

/* The one below which `share` (0 to 1) of them lie. Sorts them. 0: there are none. */
uint32_t latencies_share(struct latencies *l, double share);

struct crowd_stream {
    bool is_kept;
    int fd; /* the app's; -1: it is not called yet, or has ended the stream */
    char run_id[40];
    uint32_t sent, seen; /* events: written by the app; received by the fastest reader */
};

enum crowd_pace { CROWD_FAST, CROWD_SLOW, CROWD_SILENT };

struct crowd_reader;

struct crowd {
    int epoll, port; /* hookline's */
    bool times;      /* latencies are recorded */
    struct crowd_stream **streams;
    size_t streams_n;
    struct crowd_reader **readers; /* those that are open */
    size_t readers_n, slow_next;

    /* Counters, for crowd_run. */
    uint64_t called;   /* streams that the app was asked for */
    uint64_t received; /* events, by readers that are fast */
    uint64_t ended;    /* readers that had their answer to its end, and all events */
    uint64_t skipped;  /* events that the app could not write: its socket was full */

    /* Of plain streams, and of kept ones. */
    struct latencies fastest[2]; /* the first reader of the stream that has the event */
    struct latencies every[2];   /* each fast one */
};

/* Never NULL. */
struct crowd *crowd_new(int app_port, int hookline_port);

/* An asynchronous run, which nobody follows yet; its 202 has come. */
struct crowd_stream *crowd_call_async(struct crowd *c);
/* A synchronous call and its reader. */
struct crowd_stream *crowd_call(struct crowd *c);
/* `has_small_buffers`: for who will not be fast. All begin as CROWD_FAST. */
struct crowd_reader *crowd_follow(
    struct crowd *c, struct crowd_stream *stream, bool has_small_buffers);
void crowd_set_pace(struct crowd *c, struct crowd_reader *r, enum crowd_pace pace);
/* Events that were written, and that fast readers do not have. */
uint64_t crowd_missing(const struct crowd *c);
void crowd_close_readers(struct crowd *c);

/* One event whose data line is `size` bytes long. */
void crowd_write(struct crowd *c, struct crowd_stream *stream, size_t size);
void crowd_end(struct crowd_stream *stream);

/* Plays all sides until `*count` has reached `goal`; ends the program after `seconds`. */
void crowd_run(
    struct crowd *c, double seconds, const uint64_t *count, uint64_t goal, const char *what);
/* Plays for that long, and calls `on_tick` (NULL: nobody) every `tick_us` as far as there is time. */
void crowd_run_for(
    struct crowd *c, double seconds, unsigned tick_us, void (*on_tick)(void *), void *self);

#endif
