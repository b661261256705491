/* redelivery.c - many webhooks once more, in pieces, so that the sidecar answers others in between and new
 * webhooks find room (contract 8).
 * Promise: however it ends it says how many were sent, why no more, and how to go on. Ctrl-C ends it between two
 * pieces.
 * Not here: which ones (redeliver.c). */
#include "cli/redelivery.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/target.h"

#define PIECE       500
#define PATIENCE_MS 60000 /* without room for a single one */
#define SAY_EACH_MS 10000 /* where nobody looks on */

struct job {
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    const char *target;
    struct hl_id *ids;
    size_t n, at;        /* what is before `at` is sent or refused */
    struct hl_id behind; /* the list's last one before those that are left; nil: there is none */
    size_t sent, pending, unknown, in_doubt;
    uint64_t moved_ms, said_ms;
};

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* The second one ends the process. */
static void heed_interrupts(void)
{
    struct sigaction action = {
        .sa_handler = on_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- how far it is ---- */

static void show_progress(struct job *job, const char *what)
{
    bool is_watched = isatty(fileno(job->cli->err));
    uint64_t now = hl_clock_mono_ms();
    if (job->n <= PIECE && !*what)
        return;
    if (!is_watched && now - job->said_ms < SAY_EACH_MS)
        return;
    job->said_ms = now;
    fprintf(job->cli->err, is_watched ? "\r\033[K%zu of %zu%s" : "%zu of %zu%s\n", job->at, job->n,
        what);
    fflush(job->cli->err);
}

static void end_progress(const struct job *job)
{
    if (isatty(fileno(job->cli->err)))
        fputs("\r\033[K", job->cli->err);
}

void hl_cli_say_redelivered(const struct hl_cli *cli, size_t n, const char *will)
{
    const char *are = n == 1 ? "is" : "are";
    fprintf(cli->out, "%zu %s %s sent again\n", n, n == 1 ? "delivery" : "deliveries",
        *will ? will : are);
}

/* ---- a piece ---- */

static json_t *piece_json(const struct hl_id *ids, size_t n)
{
    json_t *list = json_array();
    char text[HL_ID_TEXT];
    for (size_t i = 0; i < n; i++) {
        hl_id_format(&ids[i], text);
        if (json_array_append_new(list, json_stringn(text, sizeof(text))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    json_t *body = json_object();
    if (json_object_set_new(body, "delivery_ids", list) == 0)
        return body;
    json_decref(body);
    return NULL;
}

static bool is_named(const json_t *left, const struct hl_id *id)
{
    const json_t *item;
    size_t i;
    struct hl_id one;
    json_array_foreach(left, i, item)
    {
        if (json_is_string(item) && hl_id_parse(hl_str_from(json_string_value(item)), &one) &&
            hl_id_eq(&one, id))
            return true;
    }
    return false;
}

/* Those that are left go behind the others, in their order. */
static size_t put_back(struct job *job, size_t n, const json_t *left)
{
    struct hl_id kept[PIECE], *ids = job->ids + job->at;
    size_t n_kept = 0, n_done = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_named(left, &ids[i])) {
            kept[n_kept++] = ids[i];
            continue;
        }
        if (n_kept == 0)
            job->behind = ids[i];
        ids[n_done++] = ids[i];
    }
    memcpy(ids + n_done, kept, n_kept * sizeof(*kept));
    return n_done;
}

/* False: it is no answer to what was asked. */
static bool take_answer(struct job *job, size_t n, const json_t *answer)
{
    const json_t *refused = json_object_get(answer, "refused"), *row;
    const json_t *left = json_object_get(answer, "left");
    json_int_t sent = json_integer_value(json_object_get(answer, "redelivered"));
    size_t i, n_refused = json_array_size(refused), n_pending = 0;
    json_array_foreach(refused, i, row)
    {
        const char *reason = json_string_value(json_object_get(row, "reason"));
        n_pending += reason && strcmp(reason, "pending") == 0;
    }
    if (!json_is_array(refused) || !json_is_array(left) || sent < 0 || (uint64_t)sent > n ||
        json_array_size(left) > n || (size_t)sent + n_refused + json_array_size(left) != n)
        return false;
    size_t n_done = put_back(job, n, left);
    if (n_done == 0 || n_done + json_array_size(left) != n)
        return false;
    job->at += n_done;
    job->sent += (size_t)sent;
    job->pending += n_pending;
    job->unknown += n_refused - n_pending;
    if (n_done > 0)
        job->moved_ms = hl_clock_mono_ms();
    return true;
}

/* There is room again when what is pending has been sent, which a sidecar does. */
static bool can_wait(const struct job *job, unsigned answered)
{
    return (answered == 429 || answered == 503) && hl_cli_session_has_sidecar(job->session) &&
           hl_clock_mono_ms() - job->moved_ms < PATIENCE_MS;
}

static int send_piece(struct job *job)
{
    const struct timespec pause = {.tv_sec = 1};
    size_t n = job->n - job->at < PIECE ? job->n - job->at : PIECE;
    json_t *body = piece_json(job->ids + job->at, n), *answer;
    unsigned answered;
    if (!body)
        return hl_cli_fail(job->cli, "out of memory");
    int status = hl_cli_ask_any(job->session, "POST", job->target, body, &answered, &answer);
    job->in_doubt = status == HL_CLI_OK ? 0 : n;
    if (status == HL_CLI_OK && answered == 202) {
        if (take_answer(job, n, answer)) {
            show_progress(job, "");
        } else {
            job->in_doubt = n;
            status = hl_cli_fail(job->cli, "the answer is not hookline's");
        }
    } else if (status == HL_CLI_OK && can_wait(job, answered)) {
        show_progress(job, ", waiting for room");
        nanosleep(&pause, NULL);
    } else if (status == HL_CLI_OK) {
        end_progress(job);
        status = hl_cli_refuse(job->session, job->target, answered, answer);
    }
    json_decref(answer);
    return status;
}

/* ---- the end ---- */

static int say_refused(const struct job *job)
{
    size_t n = job->pending + job->unknown;
    const char *are = n == 1 ? "is" : "are";
    if (job->unknown == 0)
        return hl_cli_fail(job->cli, "%zu %s not: pending already", n, are);
    if (job->pending == 0)
        return hl_cli_fail(job->cli, "%zu %s not: not there any more", n, are);
    return hl_cli_fail(job->cli, "%zu are not: %zu pending already, %zu not there any more", n,
        job->pending, job->unknown);
}

/* A duration would count back from another moment. */
static int say_left(const struct job *job, int64_t since_ms)
{
    char since[HL_CLOCK_TEXT], id[HL_ID_TEXT], doubt[64] = "";
    hl_clock_format(since_ms, since);
    hl_id_format(&job->behind, id);
    bool has_mark = !hl_id_is_nil(&job->behind);
    if (job->in_doubt > 0)
        snprintf(doubt, sizeof(doubt), " (of the next %zu it is not known)", job->in_doubt);
    return hl_cli_fail(job->cli,
        "%s%zu of %zu are left%s; the same command goes on with --since %s%s%.*s",
        is_interrupted ? "interrupted: " : "", job->n - job->at, job->n, doubt, since,
        has_mark ? " --after " : "", has_mark ? HL_ID_TEXT : 0, id);
}

int hl_cli_redelivery(struct hl_cli_session *session, const struct hl_cli *cli, const char *project,
    int64_t since_ms, struct hl_id *ids, size_t n)
{
    struct hl_cli_target target;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, project, "/deliveries/redeliver");
    uint64_t now = hl_clock_mono_ms();
    struct job job = {.cli = cli,
        .session = session,
        .target = hl_cli_target_text(&target),
        .ids = ids,
        .n = n,
        .moved_ms = now,
        .said_ms = now};
    int status = job.target ? HL_CLI_OK : hl_cli_fail(cli, "out of memory");
    heed_interrupts();
    while (status == HL_CLI_OK && job.at < n && !is_interrupted)
        status = send_piece(&job);
    end_progress(&job);
    hl_cli_say_redelivered(cli, job.sent, "");
    fflush(cli->out);
    if (job.pending + job.unknown > 0)
        status = say_refused(&job);
    if (job.at < n)
        status = say_left(&job, since_ms);
    hl_cli_target_fini(&target);
    return status;
}
