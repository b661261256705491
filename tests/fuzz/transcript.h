/* transcript.h - the messages that passed in a world, cut apart by the independent reader: what callers
 * sent, what the app got and answered. */
#ifndef HL_FUZZ_TRANSCRIPT_H
#define HL_FUZZ_TRANSCRIPT_H

#include "strict_http.h"
#include "world.h"

#define TRANSCRIPT_MAX 256

/* A request as a caller sent it. */
struct transcript_request {
    struct strict_message m;
    bool is_whole;
    size_t end; /* in what the caller sent */
    const struct world_wire *caller;
    struct transcript_exchange *taken_by; /* the exchange that it became last */
};

/* A request as the app got it, and what the app sent in answer. */
struct transcript_exchange {
    const struct world_wire *app;
    struct strict_message request, response;
    bool is_whole;       /* the request */
    size_t request_end;  /* in what the app got */
    size_t interim_from; /* in what the app sent: its 1xx, then the response */
    size_t response_from, response_end;
    enum strict_result result; /* of the response; BAD: there is none */
    struct transcript_request *of;
};

struct transcript {
    struct transcript_request requests[TRANSCRIPT_MAX];
    size_t request_count;
    size_t first_of[WORLD_MAX_CALLERS + 1]; /* the first request of each caller */
    struct transcript_exchange exchanges[TRANSCRIPT_MAX];
    size_t exchange_count;
    bool is_complete; /* false: more messages than there is room for */
};

/* Ends the process when the app got something that is no strict request. Valid until
 * transcript_forget; there is one at a time. */
struct transcript *transcript_read(const struct world *world);
void transcript_forget(void);

/* The exchange's response, behind x->interim_from, by the request's method. */
void transcript_read_response(struct transcript_exchange *x);
/* The last exchange of that run; one that was repeated is there twice. */
struct transcript_exchange *transcript_find(struct hl_str id);
/* It became a tunnel. */
bool transcript_is_switch(const struct transcript_exchange *x);

/* X-Request-Id. */
struct hl_str transcript_id(const struct strict_message *m);
struct hl_str transcript_rest(const struct hl_buf *buf, size_t from);

#endif
