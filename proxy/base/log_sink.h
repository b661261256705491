/* log_sink.h - where the log's lines go: stderr, written at once, or whoever takes them and makes
 * nobody wait. */
#ifndef HL_BASE_LOG_SINK_H
#define HL_BASE_LOG_SINK_H

#include <stdbool.h>
#include <stddef.h>

#define HL_LOG_LAST_MS 1000 /* what a process that is about to abort waits for its log, at most */

/* Takes whole lines from any thread, instead of stderr. */
struct hl_log_sink {
    void (*put)(const char *lines, size_t n);
    bool (*has_room)(void); /* for lines that may be left out */
    void (*flush)(int ms);  /* until all of it is written, or for that long */
};

/* Borrowed until another one, or NULL: stderr, at once. */
void hl_log_sink_use(const struct hl_log_sink *sink);

/* One line or more, of any length: each ends in a newline, and no other comes between. Any thread. */
void hl_log_sink_put(const char *lines, size_t n);

/* Whoever reads the log keeps up: the sink, or without one a pipe to the reader, is less than half
 * full. Asked before lines that may be left out. Any thread. */
bool hl_log_sink_has_room(void);

/* Text as it stands, behind the lines before it, if that is possible within a time. For a process
 * that is about to abort. Any thread. */
void hl_log_sink_put_last(const char *text, size_t n);

#endif
