/* admin_answer.h - the answer to a request on the admin listener or the control socket: who asks, and
 * what is sent. Part of its connection (admin_connection.h). */
#ifndef HL_API_ADMIN_ANSWER_H
#define HL_API_ADMIN_ANSWER_H

#include "api/admin_pass.h"
#include "api/rest.h"
#include "auth/seat.h"
#include "base/buf.h"
#include "worker/last_event.h"

struct hl_admin_connection;
struct hl_body_reader;

struct hl_admin_answer {
    /* who asks, where that matters */
    struct hl_buf token;           /* wiped when it is checked */
    struct hl_refusal refusal;     /* status 0: `token` is to be checked */
    enum hl_refusal_cause barrier; /* what it gets but for the open paths */
    struct hl_auth_wait wait;

    struct hl_rest_call call;
    bool is_asking; /* `call` is with the REST interface */
    bool is_inside; /* it is asked just now: who asked reads on afterwards */
    struct hl_body_reader *file;
    bool is_reading_file;
    struct hl_follower *follower; /* what it reads is the answer; NULL: none */
    struct hl_id followed;        /* the run */
    void (*on_followed)(struct hl_admin_connection *c); /* all of it went out */
    struct hl_last_event last_event;
    struct hl_admin_pass pass; /* somebody else answers */
    struct hl_buf head;        /* of an answer with a file, until its first piece is there */
};

extern const struct hl_admin_responder hl_admin_answers;

/* The answer is written: the request is over. */
void hl_admin_answer_end(struct hl_admin_connection *c);

#endif
