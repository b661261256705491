/* audit.h - rows of who changed what (store/audit.h) as this folder makes them, logs them and shows them. The control
 * thread, and at a start. */
#ifndef HL_API_AUDIT_H
#define HL_API_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/audit.h"

/* Who, and from where. What is not known is empty. */
struct hl_audit_author {
    struct hl_id account;
    struct hl_str account_name, subject;
    bool has_uid; /* of the process on the control socket, or of a command */
    uint32_t uid;
    /* "run_listener", "admin_listener", "control_socket", "command", "signal", … */
    const char *via;
    struct hl_str from; /* the peer's address */
};

/* New references; NULL: out of memory. */
json_t *hl_audit_author_json(const struct hl_audit_author *author);
json_t *hl_audit_target_json(const char *kind, const struct hl_id *id, struct hl_str name);

/* `author` is lent, `target` and `detail` are taken, and may be NULL: there is none. NULL: out of memory. */
struct hl_audit *hl_audit_make(
    const struct hl_audit *what, const json_t *author, json_t *target, json_t *detail);
/* The line `audit`, whatever HOOKLINE_LOG_LEVEL says. */
void hl_audit_log(const struct hl_audit *audit);
/* The store has answered: the line of a change that was made, if the request has a row. */
void hl_audit_log_answer(struct hl_store_msg *m);
/* As lists show it. A new reference; NULL: out of memory. */
json_t *hl_audit_json(const struct hl_audit *audit);

#endif
