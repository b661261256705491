/* access_line.h - a line of the access log (HOOKLINE_ACCESS_LOG), from its call's head to its end. */
#ifndef HL_CALLER_ACCESS_LINE_H
#define HL_CALLER_ACCESS_LINE_H

#include "auth/claims.h"
#include "base/id.h"
#include "net/address.h"

struct hl_head;

#define HL_ACCESS_METHOD 32   /* bytes of it; known methods are shorter */
#define HL_ACCESS_PATH   4096 /* a log line has no room for more */

struct hl_access_line {
    char client[HL_IP_TEXT];
    char method[HL_ACCESS_METHOD + 1];
    char subject[HL_SUBJECT_MAX + 1]; /* empty: nobody was asked, or the token is not good */
    struct hl_id run_id;
    uint64_t bytes; /* of the response's body that were written for the caller */
    size_t path_n;
    char path[];
};

/* `head` NULL: there is none that could be read. Copies; NULL when out of memory. free() it. */
struct hl_access_line *hl_access_line_new(
    const char *peer, const struct hl_head *head, const struct hl_cidr_list *trusted);

/* What only the end tells. */
struct hl_access_outcome {
    uint16_t status; /* 0: none was sent */
    const char *mode;
    const char *end; /* NULL: the response was whole */
    uint64_t us;
    uint64_t unsent; /* of `bytes`, what the caller's socket never took */
};
/* Whatever HOOKLINE_LOG_LEVEL is. */
void hl_access_line_write(
    const struct hl_access_line *line, const struct hl_access_outcome *outcome);

#endif
