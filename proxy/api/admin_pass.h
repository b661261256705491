/* admin_pass.h - requests on the admin listener that others answer: calls of the app that the
 * dashboard sends, which go to the run listener as they would have gone there, and the list of the
 * app's functions. Part of the answer to a request (admin_answer.h). */
#ifndef HL_API_ADMIN_PASS_H
#define HL_API_ADMIN_PASS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

struct hl_head;
struct hl_str;

#define HL_ADMIN_MAX_CALL_BODY (256 * 1024) /* of a call; more: 413 */

struct hl_admin_connection;
struct hl_exchange;

struct hl_admin_pass {
    struct hl_exchange *other; /* NULL: none is under way */
    struct hl_buf fields;      /* of a call's head: the lines that go on; wiped when they did */
    bool has_head;             /* the answer has begun to go out */
    bool is_listing;           /* the app is asked for its functions */
    unsigned next;             /* of the app's addresses */
};

/* A call: /v4/{project}/{app}/… */
bool hl_admin_pass_is_call(struct hl_str path);
/* The list of the app's functions. */
bool hl_admin_pass_is_listing(struct hl_str path);

/* A call's head has come. False: out of memory. */
HL_MUST_CHECK bool hl_admin_pass_take_head(
    struct hl_admin_connection *c, const struct hl_head *head);
/* A call is whole: it is passed on. */
void hl_admin_pass_call(struct hl_admin_connection *c, struct hl_str path);
/* Who asks may know: the app is asked. */
void hl_admin_pass_list(struct hl_admin_connection *c);
/* The socket takes bytes again. */
void hl_admin_pass_drained(struct hl_admin_connection *c);
/* Nobody waits for the answer any more. */
void hl_admin_pass_drop(struct hl_admin_connection *c);

#endif
