/* tls.c - what of TLS there is once in a process and once on each loop.
 * Owns: threads and identity; seats with the memory that their sessions share.
 * Thread: control makes and ends it; a seat is its loop's. */
#include "tls/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls/session.h"

enum { OWN, APP, KEEPERS };

struct hl_tls {
    struct hl_tls_crew crew;
    struct hl_tls_keeper keepers[KEEPERS];
    bool has[KEEPERS];
};

static void on_tick(void *arg)
{
    struct hl_tls *tls = arg;
    for (int i = 0; i < KEEPERS; i++)
        if (tls->has[i])
            hl_tls_keeper_look(&tls->keepers[i]);
}

enum hl_err hl_tls_check(const struct hl_tls_files *files, char *why, size_t why_len)
{
    struct hl_tls_identity *identity;
    enum hl_err err = hl_tls_identity_load(&identity, files, why, why_len);
    hl_tls_identity_release(identity);
    return err;
}

enum hl_err hl_tls_open(struct hl_tls **out, const struct hl_tls_files *own,
    const struct hl_tls_files *app, char *why, size_t why_len)
{
    const struct hl_tls_files *files[KEEPERS] = {[OWN] = own, [APP] = app};
    snprintf(why, why_len, "out of memory");
    struct hl_tls *tls = calloc(1, sizeof(*tls));
    *out = tls;
    if (!tls)
        return HL_ERR_NOMEM;
    for (int i = 0; i < KEEPERS; i++) {
        if (!files[i])
            continue;
        tls->has[i] = true;
        enum hl_err err = hl_tls_keeper_init(&tls->keepers[i], files[i], why, why_len);
        if (err)
            return err;
    }
    tls->crew.on_tick = on_tick;
    tls->crew.arg = tls;
    int rc = hl_tls_crew_start(&tls->crew);
    if (rc == 0)
        return HL_OK;
    snprintf(why, why_len, "cannot start a thread: %s", strerror(rc));
    return hl_err_from_errno(rc);
}

void hl_tls_stop(struct hl_tls *tls)
{
    if (tls)
        hl_tls_crew_stop(&tls->crew);
}

void hl_tls_free(struct hl_tls *tls)
{
    if (!tls)
        return;
    for (int i = 0; i < KEEPERS; i++)
        if (tls->has[i])
            hl_tls_keeper_fini(&tls->keepers[i]);
    free(tls);
}

int64_t hl_tls_expires_s(const struct hl_tls *tls)
{
    return tls->has[OWN] ? atomic_load(&tls->keepers[OWN].expires_s) : 0;
}

/* ---- seats ---- */

struct hl_tls_seat *hl_tls_seat_new(
    struct hl_tls *tls, uv_loop_t *loop, struct hl_wheel *wheel, uint64_t handshake_ms)
{
    struct hl_tls_seat *seat = calloc(1, sizeof(*seat));
    if (!seat)
        return NULL;
    seat->crew = &tls->crew;
    for (enum hl_tls_use use = 0; use < HL_TLS_USES; use++)
        seat->keepers[use] = &tls->keepers[use == HL_TLS_APP ? APP : OWN];
    seat->wheel = wheel;
    seat->handshake_ms = handshake_ms;
    seat->plain = malloc(HL_TLS_PLAIN_ROOM);
    if (seat->plain && hl_uv_mailbox_init(&seat->mail, loop, hl_tls_session_on_message, seat) == 0)
        return seat;
    free(seat->plain);
    free(seat);
    return NULL;
}

void hl_tls_seat_close(struct hl_tls_seat *seat)
{
    if (seat)
        hl_uv_mailbox_close(&seat->mail);
}

void hl_tls_seat_free(struct hl_tls_seat *seat)
{
    if (!seat)
        return;
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&seat->mail.box); msg; msg = next) {
        next = msg->next;
        hl_tls_session_on_message(seat, msg); /* its stream is closed: it is freed */
    }
    free(seat->plain);
    free(seat);
}

const struct hl_tls_metrics *hl_tls_seat_metrics(
    const struct hl_tls_seat *seat, enum hl_tls_use use)
{
    return &seat->metrics[use];
}
