/* date.h - the time as Date has it (RFC 9110 5.6.7), written once a second. */
#ifndef HL_HTTP_DATE_H
#define HL_HTTP_DATE_H

#include <stdint.h>

#include "base/str.h"

#define HL_DATE_TEXT 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* The text of one second; zero it before its first use. One thread's. */
struct hl_date {
    int64_t second; /* since the epoch */
    char text[HL_DATE_TEXT];
};

/* That second's text, made anew only when it is another one than last time; years 0 to 9999. Valid
 * until the next call. */
struct hl_str hl_date_text(struct hl_date *date, int64_t second);

/* The present second's. */
struct hl_str hl_date_now(struct hl_date *date);

#endif
