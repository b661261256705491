/* log.h - one line each, JSON or text, whole: lines of threads never mix. It goes to the sink
 * (base/log_sink.h).
 *
 *   HL_LOG(INFO, "run finished", HL_LOG_ID("run_id", &id), HL_LOG_TEXT("state", "failure"),
 *       HL_LOG_INT("status", 500));
 *
 * Values are escaped in both formats (controls, ESC, DEL, invalid UTF-8): what a peer sent cannot
 * forge a line or drive a terminal. A line is cut at HL_LOG_LINE_MAX. Secrets, tokens, webhook URLs are never
 * given to it by the callers. */
#ifndef HL_BASE_LOG_H
#define HL_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct hl_id;

#define HL_LOG_LINE_MAX 4096 /* bytes of a whole line, its newline included */

enum hl_log_level { HL_LOG_DEBUG, HL_LOG_INFO, HL_LOG_WARN, HL_LOG_ERROR };
enum hl_log_format { HL_LOG_JSON, HL_LOG_PLAIN };

struct hl_log_field {
    const char *name;
    enum { HL_LOG_KIND_STR, HL_LOG_KIND_INT, HL_LOG_KIND_ID, HL_LOG_KIND_HEX } kind;
    struct hl_str str;
    int64_t num;
    const struct hl_id *id; /* ID; HEX: its 16 bytes without dashes, NULL: no such field */
};

#define HL_LOG_STR(k, s)  ((struct hl_log_field){.name = (k), .kind = HL_LOG_KIND_STR, .str = (s)})
#define HL_LOG_TEXT(k, z) HL_LOG_STR(k, hl_str_from(z))
#define HL_LOG_INT(k, v)                                                                           \
    ((struct hl_log_field){.name = (k), .kind = HL_LOG_KIND_INT, .num = (int64_t)(v)})
#define HL_LOG_ID(k, i)  ((struct hl_log_field){.name = (k), .kind = HL_LOG_KIND_ID, .id = (i)})
#define HL_LOG_HEX(k, i) ((struct hl_log_field){.name = (k), .kind = HL_LOG_KIND_HEX, .id = (i)})

/* Set once at start, before other threads run. */
void hl_log_setup(enum hl_log_level least, enum hl_log_format format);
bool hl_log_is_on(enum hl_log_level level);

/* `fields` ends at the first one whose name is NULL. Any thread. */
void hl_log_write(enum hl_log_level level, const char *message, const struct hl_log_field *fields);

/* The same, of a run that the fields do not name. */
void hl_log_write_of(const struct hl_id *run_id, enum hl_log_level level, const char *message,
    const struct hl_log_field *fields);

/* The message of a line about a whole call: there is one for each, if they are wanted. */
#define HL_LOG_CALL "call"

/* All lines are given to `take` as well, always as JSON. `run_id`: the run that a line is about, named by a field "run_id"
 * or by hl_log_write_of; NULL: none. A `take` that is NULL: no more. On the thread that logs. */
typedef void hl_log_take_line(const struct hl_id *run_id, enum hl_log_level level,
    const char *message, const char *line, size_t n);
void hl_log_follow(hl_log_take_line *take);

/* The line that hl_log_write would make, and its length. */
size_t hl_log_build(char out[HL_LOG_LINE_MAX], enum hl_log_level level, const char *message,
    const struct hl_log_field *fields);

#define HL_LOG(level, message, ...)                                                                \
    (hl_log_is_on(HL_LOG_##level)                                                                  \
            ? hl_log_write(HL_LOG_##level, (message),                                              \
                  (const struct hl_log_field[]){__VA_ARGS__ __VA_OPT__(, ){.name = NULL}})         \
            : (void)0)

#endif
