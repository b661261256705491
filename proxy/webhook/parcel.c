/* parcel.c - a parcel's body, signature and head fields, attempt by attempt.
 *
 * Thread: the sender's. Not here: when what happens, and the moves between states (sender.c). */
#include "webhook/parcel.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "trace/span.h"
#include "webhook/transfer.h"

/* Hashing takes about 1 ms for this much: curl's sockets wait no longer for their turn. */
#define SIGN_SLICE (256 * 1024)

struct hl_parcel *hl_parcel_new(struct hl_leased *leased)
{
    struct hl_parcel *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    hl_list_init(&p->node);
    hl_list_init(&p->line);
    p->leased = leased;
    p->lane = leased->lane;
    p->n = leased->n;
    p->ask.delivery_id = p->outcome.delivery_id = leased->delivery_id;
    p->ask.round = p->outcome.round = leased->round;
    return p;
}

void hl_parcel_free(struct hl_parcel *p)
{
    if (!p)
        return;
    HL_ASSERT(!p->transfer);
    hl_parcel_strip(p);
    hl_attempt_outcome_fini(&p->outcome);
    hl_list_remove(&p->node);
    hl_list_remove(&p->line);
    free(p);
}

void hl_parcel_strip(struct hl_parcel *p)
{
    if (p->has_signature)
        hl_signature_fini(&p->signature);
    if (p->has_previous)
        hl_signature_fini(&p->previous);
    p->has_signature = p->has_previous = false;
    if (p->has_envelope)
        hl_envelope_fini(&p->envelope);
    p->has_envelope = false;
    free(p->whole);
    p->whole = NULL;
    free(p->request);
    p->request = NULL;
    hl_span_drop(p->span);
    p->span = NULL;
    hl_leased_free(p->leased);
    p->leased = NULL;
}

void hl_parcel_renew(struct hl_parcel *p, struct hl_leased *leased)
{
    HL_ASSERT(!p->leased && leased);
    p->leased = leased;
}

static enum hl_err open_envelope(struct hl_parcel *p, const struct hl_parcel_settings *settings);
static enum hl_err begin_signatures(struct hl_parcel *p, const struct hl_parcel_settings *settings);

enum hl_err hl_parcel_begin(
    struct hl_parcel *p, uint32_t n, const struct hl_parcel_settings *settings)
{
    p->n = n;
    p->started_ms = hl_clock_wall_ms();
    p->started_us = hl_clock_mono_us();
    p->timestamp = p->started_ms / 1000;
    p->request = malloc(sizeof *p->request);
    if (!p->request)
        return HL_ERR_NOMEM;
    hl_attempt_span_begin(p, &settings->tracing);
    enum hl_err err = open_envelope(p, settings);
    if (err == HL_OK && !p->whole)
        err = hl_envelope_rewind(&p->envelope);
    return err == HL_OK ? begin_signatures(p, settings) : err;
}

static enum hl_err make_whole(struct hl_parcel *p);

static enum hl_err open_envelope(struct hl_parcel *p, const struct hl_parcel_settings *settings)
{
    enum hl_err err =
        hl_envelope_init(&p->envelope, p->leased, settings->data_dir, &settings->payload);
    p->has_envelope = err == HL_OK;
    if (err == HL_OK && p->envelope.size <= HL_PARCEL_WHOLE_MAX)
        err = make_whole(p);
    return err;
}

static enum hl_err make_whole(struct hl_parcel *p)
{
    size_t size = (size_t)p->envelope.size;
    char *whole = malloc(size);
    if (!whole)
        return HL_ERR_NOMEM;
    enum hl_err err = hl_envelope_rewind(&p->envelope);
    size_t n = 0;
    while (err == HL_OK && n < size) {
        ssize_t got = hl_envelope_read(&p->envelope, whole + n, size - n);
        if (got <= 0)
            err = HL_ERR_CORRUPT;
        else
            n += (size_t)got;
    }
    hl_envelope_rest(&p->envelope);
    if (err != HL_OK) {
        free(whole);
        return err;
    }
    p->whole = whole;
    hl_body_fini(&p->leased->outcome.body);
    return HL_OK;
}

static enum hl_err begin_signatures(struct hl_parcel *p, const struct hl_parcel_settings *settings)
{
    const struct hl_leased *l = p->leased;
    bool is_callers = l->secret.n > 0;
    enum hl_err err = is_callers ? hl_signature_init(&p->signature, l->secret) : HL_OK;
    if (err != HL_OK)
        return err;
    if (!is_callers && settings->key)
        hl_signature_copy(&p->signature, settings->key);
    if (!is_callers && settings->previous_key)
        hl_signature_copy(&p->previous, settings->previous_key);
    p->has_signature = is_callers || settings->key;
    p->has_previous = !is_callers && settings->previous_key;
    if (p->has_signature)
        hl_signature_begin(&p->signature, &l->run_id, p->timestamp);
    if (p->has_previous)
        hl_signature_begin(&p->previous, &l->run_id, p->timestamp);
    return HL_OK;
}

static void feed(struct hl_parcel *p, const char *bytes, size_t n)
{
    hl_signature_feed(&p->signature, bytes, n);
    if (p->has_previous)
        hl_signature_feed(&p->previous, bytes, n);
}

static enum hl_err sign_slice(struct hl_parcel *p, bool *is_done);

enum hl_err hl_parcel_sign(struct hl_parcel *p, const struct hl_webhook_names *names,
    struct curl_slist *more, bool *is_done)
{
    struct hl_signature_text text, previous;
    struct hl_webhook_proof proof = {&text, p->has_previous ? &previous : NULL};
    struct hl_str traceparent = {p->traceparent, sizeof p->traceparent};
    *is_done = true;
    if (p->has_signature) {
        enum hl_err err = sign_slice(p, is_done);
        if (err != HL_OK || !*is_done)
            return err;
        hl_signature_end(&p->signature, &text);
        if (p->has_previous)
            hl_signature_end(&p->previous, &previous);
    }
    return hl_webhook_request_init(p->request, names, &p->leased->run_id, p->timestamp,
        p->has_signature ? &proof : NULL, p->span ? traceparent : p->leased->traceparent, more);
}

static enum hl_err sign_slice(struct hl_parcel *p, bool *is_done)
{
    if (p->whole) {
        feed(p, p->whole, (size_t)p->envelope.size);
        return HL_OK;
    }
    char part[16 * 1024];
    *is_done = false;
    for (size_t n = 0; n < SIGN_SLICE;) {
        ssize_t got = hl_envelope_read(&p->envelope, part, sizeof part);
        if (got < 0)
            return HL_ERR_CORRUPT;
        if (got == 0) {
            *is_done = true;
            return hl_envelope_rewind(&p->envelope);
        }
        feed(p, part, (size_t)got);
        n += (size_t)got;
    }
    return HL_OK;
}

enum hl_err hl_parcel_prepare(struct hl_parcel *p)
{
    struct hl_str whole = {p->whole, p->whole ? (size_t)p->envelope.size : 0};
    return hl_transfer_prepare(
        p->transfer, p->leased->url, p->request->fields, whole, &p->envelope, p->n > 1);
}

const char *hl_parcel_state_text(enum hl_parcel_state state)
{
    static const char *const texts[] = {
#define X(name, text, is_placed) text,
        HL_PARCEL_STATE_MAP(X)
#undef X
    };
    return texts[state];
}

bool hl_parcel_is_placed(const struct hl_parcel *p)
{
    static const bool placed[] = {
#define X(name, text, is_placed) is_placed,
        HL_PARCEL_STATE_MAP(X)
#undef X
    };
    return placed[p->state];
}
