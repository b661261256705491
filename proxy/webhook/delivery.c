/* delivery.c - one delivery's body, signature and head fields, attempt by attempt.
 *
 * Thread: the sender's. Not here: when what happens, and the moves between states (sender.c). */
#include "webhook/delivery.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"

/* Hashing takes about 1 ms for this much: curl's sockets wait no longer for their turn. */
#define SIGN_SLICE (256 * 1024)

struct hl_delivery *hl_delivery_new(struct hl_leased *leased)
{
    struct hl_delivery *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    hl_list_init(&d->node);
    d->leased = leased;
    d->n = leased->n;
    d->ask.delivery_id = d->outcome.delivery_id = leased->delivery_id;
    d->ask.round = d->outcome.round = leased->round;
    return d;
}

void hl_delivery_free(struct hl_delivery *d)
{
    if (!d)
        return;
    HL_ASSERT(!d->transfer);
    hl_delivery_strip(d);
    hl_list_remove(&d->node);
    free(d);
}

void hl_delivery_strip(struct hl_delivery *d)
{
    hl_delivery_rest(d);
    if (d->has_envelope)
        hl_envelope_fini(&d->envelope);
    d->has_envelope = false;
    free(d->whole);
    d->whole = NULL;
    hl_leased_free(d->leased);
    d->leased = NULL;
}

static enum hl_err open_envelope(struct hl_delivery *d, const char *data_dir);

enum hl_err hl_delivery_begin(struct hl_delivery *d, uint32_t n, const char *data_dir)
{
    d->n = n;
    d->started_ms = hl_clock_wall_ms();
    d->started_us = hl_clock_mono_us();
    d->timestamp = d->started_ms / 1000;
    enum hl_err err = d->has_envelope ? HL_OK : open_envelope(d, data_dir);
    if (err == HL_OK && !d->whole)
        err = hl_envelope_rewind(&d->envelope);
    if (err != HL_OK || d->leased->secret.n == 0)
        return err;
    err = hl_signature_init(&d->signature, d->leased->secret, &d->leased->run_id, d->timestamp);
    d->has_signature = err == HL_OK;
    return err;
}

static enum hl_err make_whole(struct hl_delivery *d);

static enum hl_err open_envelope(struct hl_delivery *d, const char *data_dir)
{
    enum hl_err err = hl_envelope_init(&d->envelope, d->leased, data_dir);
    d->has_envelope = err == HL_OK;
    if (err == HL_OK && d->envelope.size <= HL_DELIVERY_WHOLE_MAX)
        err = make_whole(d);
    return err;
}

static enum hl_err make_whole(struct hl_delivery *d)
{
    size_t size = (size_t)d->envelope.size;
    char *whole = malloc(size + HL_ENVELOPE_READ_MIN);
    if (!whole)
        return HL_ERR_NOMEM;
    enum hl_err err = hl_envelope_rewind(&d->envelope);
    size_t n = 0;
    while (err == HL_OK && n < size) {
        ssize_t got = hl_envelope_read(&d->envelope, whole + n, size - n + HL_ENVELOPE_READ_MIN);
        if (got <= 0)
            err = HL_ERR_CORRUPT;
        else
            n += (size_t)got;
    }
    hl_envelope_rest(&d->envelope);
    if (err != HL_OK) {
        free(whole);
        return err;
    }
    d->whole = whole;
    hl_body_fini(&d->leased->outcome.body);
    return HL_OK;
}

static enum hl_err sign_slice(struct hl_delivery *d, bool *is_done);

enum hl_err hl_delivery_sign(
    struct hl_delivery *d, const struct hl_webhook_names *names, bool *is_done)
{
    struct hl_signature_text text;
    *is_done = true;
    if (d->has_signature) {
        enum hl_err err = sign_slice(d, is_done);
        if (err != HL_OK || !*is_done)
            return err;
        hl_signature_end(&d->signature, &text);
    }
    return hl_request_init(&d->request, names, &d->leased->run_id, d->timestamp,
        d->has_signature ? &text : NULL, d->leased->traceparent);
}

static enum hl_err sign_slice(struct hl_delivery *d, bool *is_done)
{
    if (d->whole) {
        hl_signature_feed(&d->signature, d->whole, (size_t)d->envelope.size);
        return HL_OK;
    }
    char part[16 * 1024];
    *is_done = false;
    for (size_t n = 0; n < SIGN_SLICE;) {
        ssize_t got = hl_envelope_read(&d->envelope, part, sizeof part);
        if (got < 0)
            return HL_ERR_CORRUPT;
        if (got == 0) {
            *is_done = true;
            return hl_envelope_rewind(&d->envelope);
        }
        hl_signature_feed(&d->signature, part, (size_t)got);
        n += (size_t)got;
    }
    return HL_OK;
}

enum hl_err hl_delivery_prepare(struct hl_delivery *d)
{
    struct hl_str whole = {d->whole, d->whole ? (size_t)d->envelope.size : 0};
    return hl_transfer_prepare(d->transfer, d->leased->url, d->request.fields, whole, &d->envelope);
}

void hl_delivery_rest(struct hl_delivery *d)
{
    if (d->has_signature)
        hl_signature_fini(&d->signature);
    d->has_signature = false;
    if (d->has_envelope)
        hl_envelope_rest(&d->envelope);
}

size_t hl_delivery_weight(const struct hl_delivery *d)
{
    size_t body = 0;
    if (d->whole)
        body = (size_t)d->envelope.size;
    else if (d->leased && d->leased->outcome.body.where == HL_BODY_INLINE)
        body = (size_t)d->leased->outcome.body.size;
    return sizeof *d + sizeof *d->leased + body;
}

const char *hl_delivery_state_text(enum hl_delivery_state state)
{
    static const char *const texts[] = {
#define X(name, text, is_placed) text,
        HL_DELIVERY_STATE_MAP(X)
#undef X
    };
    return texts[state];
}

bool hl_delivery_is_placed(const struct hl_delivery *d)
{
    static const bool placed[] = {
#define X(name, text, is_placed) is_placed,
        HL_DELIVERY_STATE_MAP(X)
#undef X
    };
    return placed[d->state];
}
