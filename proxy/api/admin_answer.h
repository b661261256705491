/* admin_answer.h - the answer to a request on the admin listener or the control socket: who asks, and
 * what is sent. Part of its connection (admin_connection.h). */
#ifndef HL_API_ADMIN_ANSWER_H
#define HL_API_ADMIN_ANSWER_H

#include "api/admin_pass.h"
#include "api/admin_response.h"
#include "api/rest_call.h"
#include "auth/seat.h"
#include "base/buf.h"
#include "worker/follow.h"

struct hl_admin_connection;
struct hl_admin_responder;
struct hl_follower;

struct hl_admin_answer {
    /* who asks, where that matters */
    struct hl_buf token;           /* wiped when it is checked */
    struct hl_refusal refusal;     /* status 0: `token` is to be checked */
    enum hl_refusal_cause barrier; /* what it gets but for the open paths */
    struct hl_auth_wait wait;

    struct hl_rest_call call;
    bool is_asking;               /* `call` is with the REST interface */
    bool is_inside;               /* it is asked just now: who asked reads on afterwards */
    struct hl_follower *follower; /* what it reads is the answer; NULL: none */
    struct hl_id followed;        /* the run */
    struct hl_last_event last_event;
    struct hl_admin_pass pass; /* somebody else answers */
    struct hl_admin_file file;
};

extern const struct hl_admin_responder hl_admin_answers;

#endif
