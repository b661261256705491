/* call.h - one call of a function: what was asked, and the answer to it.
 *
 * A call belongs to the thread that took it until it is released; only the functions marked "any
 * thread" may be called from elsewhere, and only while the call is not released. The slices that it
 * gives out are valid until the release.
 *
 * Answers. Exactly one of: hl_call_answer_json, hl_call_answer_bytes, hl_call_fail, or any number
 * of hl_call_emit_* followed by hl_call_end. It leaves with the release of the call; events before.
 * What is emitted becomes a stream of events, each sent the moment it is emitted, if the caller
 * asked for one (Accept: text/event-stream); else the values are collected and hl_call_end sends
 * them as one JSON array. The host need not know which.
 *
 * Results are HL_OK; HL_ERR_CANCELLED when the caller has gone (nobody reads what is written: stop
 * as soon as may be); HL_ERR_INVALID when it was answered already or the argument cannot be sent;
 * HL_ERR_TOO_LARGE, HL_ERR_NOMEM. After an error other than CANCELLED hl_call_fail still can be
 * used. */
#ifndef HL_RUNTIME_CALL_H
#define HL_RUNTIME_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct hl_refusal;

struct hl_call;
struct hl_server;

/* Waits for the next call, first come first served. NULL: the server has stopped, and none will come
 * any more. Any thread. */
struct hl_call *hl_call_take(struct hl_server *server);

/* The next call of an async callee (core/server.h); NULL: not now. Never waits. */
struct hl_call *hl_call_take_async(struct hl_server *server);

/* Gives the call back; an answer that is missing becomes a 500. Takes it. */
void hl_call_release(struct hl_call *call);

/* ---- what was asked ---- */

/* Index into the callees that hl_server_start was given. */
size_t hl_call_callee(const struct hl_call *call);
struct hl_str hl_call_method(const struct hl_call *call);
struct hl_str hl_call_path(const struct hl_call *call);  /* as it came, without the query */
struct hl_str hl_call_query(const struct hl_call *call); /* as it came, without '?'; may be empty */

/* Values are followed by a NUL that is not counted. */
size_t hl_call_field_count(const struct hl_call *call);
void hl_call_field_at(
    const struct hl_call *call, size_t i, struct hl_str *name, struct hl_str *value);
/* The value of the first field of that name, in any case; p is NULL when there is none. */
struct hl_str hl_call_find_field(const struct hl_call *call, struct hl_str name);

/* The whole body. Followed by a NUL that is not counted. */
struct hl_str hl_call_body(const struct hl_call *call);

/* The body of a form (multipart/form-data), of a callee that takes forms: a file, and hl_call_body is empty. -1: it is
 * none. The call's. */
int hl_call_upload(const struct hl_call *call);

/* X-Request-Id; a new one when the request had none that is a UUID. */
const struct hl_id *hl_call_run_id(const struct hl_call *call);
/* X-Run-Attempt, from 1; 1 without it. */
uint32_t hl_call_attempt(const struct hl_call *call);
/* X-Run-Deadline as milliseconds since the epoch; 0: there is none. */
int64_t hl_call_deadline_ms(const struct hl_call *call);
/* The caller asked for an event stream. */
bool hl_call_wants_events(const struct hl_call *call);

/* ---- whether anybody still waits ---- */

/* The caller closed its connection, or takes nothing any more. Any thread; cheap. */
bool hl_call_is_gone(const struct hl_call *call);
/* Waits until the caller has gone: for functions that have nothing else to wait for. */
void hl_call_wait(struct hl_call *call);

/* What is emitted next will not wait for the caller. */
bool hl_call_has_room(struct hl_call *call);

/* ---- how far it is ---- */

/* Says how far the function is, to a caller who listens for that: JSON text (the host's duty), which
 * goes out as one line of ASCII (core/progress.h) in an interim response. Any thread; never waits:
 * a value takes the place of one that has not gone out. The first goes out at once, others after
 * HL_PROGRESS_EVERY_MS, one that still waits before the answer. After the head of a stream, and for
 * callers of HTTP/1.0, it is dropped: HL_OK. HL_ERR_TOO_LARGE: the line is longer than
 * HL_CALL_PROGRESS_MAX. */
#define HL_CALL_PROGRESS_MAX 1024
enum hl_err hl_call_progress(struct hl_call *call, struct hl_str json);

/* ---- answers ---- */

/* The function's value as JSON text (the host's duty), in the envelope if that is set. Status 200
 * to 599, no 204, 205 or 304. */
enum hl_err hl_call_answer_json(struct hl_call *call, uint16_t status, struct hl_str json);
/* Any body. Empty `type`: application/octet-stream. No envelope. */
enum hl_err hl_call_answer_bytes(
    struct hl_call *call, uint16_t status, struct hl_str type, struct hl_str body);
/* problem+json, in place of a whole answer if there is one; `status` 400 to 599. `detail` may be
 * any bytes; it is cut after some 1,000. Values that were collected are dropped; in a stream that
 * has begun it is an event of type "error" with the same JSON, and then the connection is cut, so
 * that no one takes the stream for whole. */
enum hl_err hl_call_fail(struct hl_call *call, uint16_t status, struct hl_str detail);
/* The same in the host's words. */
enum hl_err hl_call_refuse(struct hl_call *call, const struct hl_refusal *why);

/* Sends the head of the event stream before there is a value; nothing for other callers. */
enum hl_err hl_call_begin(struct hl_call *call);
/* A value that is JSON text (the host's duty); in an event it stands as it is. */
enum hl_err hl_call_emit_json(struct hl_call *call, struct hl_str json);
/* A text: in an event as it is, each of its lines a data line; in the array a JSON string.
 * HL_ERR_INVALID: not UTF-8. Both wait while the caller is slow to take what was emitted before: a
 * call holds at most HL_CALL_WINDOW bytes and one value. */
#define HL_CALL_WINDOW (64 * 1024)
enum hl_err hl_call_emit_text(struct hl_call *call, struct hl_str text);
/* No more values: ends the stream, or sends the array (in the envelope if that is set). If one of
 * them could not be emitted for want of room, the call fails instead. */
enum hl_err hl_call_end(struct hl_call *call);

#endif
