/* record.h - a line of the app's output that is itself a log record: a JSON object with a level
 * and a message, as our function hosts and many logging libraries write them. Its members become
 * fields of our line, instead of JSON inside of JSON. */
#ifndef HL_APP_RECORD_H
#define HL_APP_RECORD_H

#include "base/id.h"
#include "base/log.h"

struct hl_str;

#define HL_RECORD_FIELDS 16 /* what is more is left out */

struct hl_record {
    enum hl_log_level level;
    size_t count;
    struct hl_log_field fields[HL_RECORD_FIELDS + 1]; /* the last one has no name */
    struct hl_id run_id;
    const char *message_name; /* the member that the message is */
    size_t text_n;
    char text[2 * HL_LOG_LINE_MAX]; /* names and values, read twice */
};

/* `stream` is where the line came from; the fields point into `record`, `line` and `stream`. False:
 * it is not a record. Of a line that is longer than ours the beginning is read, as it is cut
 * anyway. */
bool hl_record_read(struct hl_record *record, const char *stream, struct hl_str line);

#endif
