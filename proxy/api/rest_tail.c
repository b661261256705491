/* rest_tail.c - the tail of the log: the last lines of this process, and what comes after them, for whoever asks again
 * with the place up to which he has them (contract 10).
 * Owns: of each such call the part of the log that it looks at. Thread: control.
 * Promise: nobody sees lines of a project that is not his; whoever reads too slowly is told how many lines went by; what
 * is logged costs nothing more for that somebody reads.
 * Not here: which lines are kept (loop/run_log.c), those of one run when it has ended (rest_log.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/rest_handler.h"
#include "base/clock.h"
#include "config/config.h"
#include "loop/run_log.h"
#include "run/recent_run.h"
#include "run/service.h"
#include "store/op.h"
#include "store/question.h"
#include "store/store.h"

#define LOOK_MS 250 /* between two looks for new lines */
#define APP_BACK                                                                                   \
    2000 /* lines among which those of one app are looked for, where it is not said from where on */
#define ASKED_MAX   100        /* runs that the store and the workers are asked for, an answer */
#define WAITING_MAX 100        /* at once: others are answered, and ask again */
#define NOBODYS     UINT32_MAX /* in place of a project: it was asked for, and is not known */

struct hl_rest_tail {
    char project[HL_NAME_MAX + 1]; /* whose lines may be seen; empty: all */
    struct hl_run_log_filter filter;
    uint64_t from,
        until_ms; /* the number to go on from; monotonic: then it is answered in any case */
    uint64_t missed;
    uint32_t at, asked, shown; /* of the page: looked at; of the answer: runs, lines */
};

static void begin(struct hl_rest_call *call);

void hl_rest_show_tail(struct hl_rest_call *call)
{
    if (!hl_rest_sees_all(call) && hl_id_is_nil(&call->params.run_id)) {
        hl_rest_refuse(call, HL_REFUSAL_TAIL_OF_RUN);
        return;
    }
    call->id = call->params.run_id;
    hl_rest_as_owner(call, begin);
}

/* Lines that are about no run may say anything of anybody: only who may see all of this process sees them. */
static bool sees_others(const struct hl_rest_call *call)
{
    return hl_rest_sees_all(call) && (call->is_operator || call->asker.has_all_projects ||
                                         hl_rest_get_parts(call)->config->project_id.n > 0);
}

static uint64_t find_start(const struct hl_rest_call *call, const struct hl_rest_tail *tail)
{
    const struct hl_rest_params *params = &call->params;
    uint64_t end = hl_run_log_end();
    if (params->after > 0 && params->after_era == hl_run_log_era())
        return params->after < end ? params->after : end;
    return hl_run_log_back(&tail->filter, *params->app ? APP_BACK : params->limit);
}

static void look(struct hl_rest_call *call);

static void begin(struct hl_rest_call *call)
{
    struct hl_rest_tail *tail = calloc(1, sizeof(*tail));
    if (!tail || hl_buf_append_str(&call->reply.body, HL_STR("{\"lines\":[")) != HL_OK) {
        free(tail);
        hl_rest_refuse_memory(call);
        return;
    }
    call->tail = tail;
    hl_str_put(tail->project, sizeof(tail->project), call->project);
    *call->project = '\0'; /* what is asked for next may be anybody's */
    tail->filter = (struct hl_run_log_filter){.least = call->params.level,
        .run_id = call->params.run_id,
        .without_others = *call->params.app || !sees_others(call)};
    tail->from = find_start(call, tail);
    tail->until_ms = hl_clock_mono_ms() + call->params.wait_ms;
    look(call);
}

/* ---- the answer ---- */

static void end(struct hl_rest_call *call, bool has_more)
{
    const struct hl_rest_tail *tail = call->tail;
    struct hl_reply *reply = &call->reply;
    struct hl_str replica = hl_rest_get_parts(call)->config->replica;
    bool is_shared = hl_store_is_shared(hl_rest_get_parts(call)->store);
    enum hl_err err = hl_buf_printf(&reply->body,
        "],\"next\":\"%" PRIu64 "-%" PRIu64 "\",\"missed\":%" PRIu64
        ",\"has_more\":%s,\"replica\":",
        hl_run_log_era(), tail->from, tail->missed, has_more ? "true" : "false");
    if (err == HL_OK && is_shared)
        err = hl_buf_printf(&reply->body, "\"%.*s\"}\n", (int)replica.n, replica.p);
    else if (err == HL_OK)
        err = hl_buf_append_str(&reply->body, HL_STR("null}\n"));
    if (err != HL_OK) {
        hl_rest_refuse_memory(call);
        return;
    }
    reply->status = 200;
    reply->is_json = true;
    hl_str_put(reply->content_type, sizeof(reply->content_type), "application/json");
    hl_rest_end(call);
}

static const char *project_of(const struct hl_rest_call *call, const struct hl_run_log_line *line)
{
    bool is_known = line->project > 0 && line->project != NOBODYS;
    return is_known ? call->log_page->text + line->project : NULL;
}

static bool may_show(const struct hl_rest_call *call, const struct hl_run_log_line *line)
{
    const struct hl_rest_tail *tail = call->tail;
    const char *project = project_of(call, line), *app = call->params.app;
    struct hl_str text = {call->log_page->text + line->at, line->n};
    if (!hl_rest_sees_all(call) && hl_rest_is_delivery_line(text))
        return false;
    if (!project)
        return !tail->filter.without_others ||
               (!*app && hl_id_eq(&line->run_id, &call->params.run_id) && sees_others(call));
    return (!*tail->project || strcmp(project, tail->project) == 0) &&
           (!*app || strcmp(app, call->log_page->text + line->app) == 0);
}

static enum hl_err write_line(struct hl_rest_call *call, const struct hl_run_log_line *line)
{
    const struct hl_rest_tail *tail = call->tail;
    const char *project = project_of(call, line);
    struct hl_buf *out = &call->reply.body;
    char id[HL_ID_TEXT];
    hl_id_format(&line->run_id, id);
    enum hl_err err = hl_buf_append_str(out, tail->shown > 0 ? HL_STR(",\n") : HL_STR("\n"));
    if (err == HL_OK)
        err = hl_id_is_nil(&line->run_id)
                  ? hl_buf_append_str(out, HL_STR("{\"run_id\":null"))
                  : hl_buf_printf(out, "{\"run_id\":\"%.*s\"", HL_ID_TEXT, id);
    if (err == HL_OK)
        err = project ? hl_buf_printf(out, ",\"project_id\":\"%s\",\"app_name\":\"%s\"", project,
                            call->log_page->text + line->app)
                      : hl_buf_append_str(out, HL_STR(",\"project_id\":null,\"app_name\":null"));
    if (err == HL_OK)
        err = hl_buf_printf(out, ",\"line\":%.*s}", (int)line->n, call->log_page->text + line->at);
    return err;
}

/* ---- whose a run is: as long as it is kept, it is asked for once ---- */

static void go_on(struct hl_rest_call *call);
static void on_stored(struct hl_rest_call *call);
static void on_recent(struct hl_rest_call *call);

static void ask(struct hl_rest_call *call, const struct hl_id *run_id)
{
    call->tail->asked++;
    call->id = *run_id;
    hl_rest_drop_answers(call);
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, on_stored);
}

_Static_assert(ASKED_MAX * 2 * (HL_NAME_MAX + 1) <= HL_RUN_LOG_PAGE_NAMES, "a page has room");

/* The lines of that run in the page say so, too. NULL: it is not known. */
static void put_owner(
    struct hl_rest_call *call, const struct hl_id *run_id, const char *names, size_t n)
{
    struct hl_run_log_page *page = call->log_page;
    uint32_t at = NOBODYS;
    if (names) {
        at = page->text_n;
        memcpy(page->text + at, names, n);
        page->text_n += (uint32_t)n;
    }
    for (uint32_t i = call->tail->at; i < page->count; i++) {
        struct hl_run_log_line *line = &page->lines[i];
        if (!hl_id_eq(&line->run_id, run_id))
            continue;
        line->project = at;
        line->app = at == NOBODYS ? 0 : at + (uint32_t)strlen(names) + 1;
    }
}

static void learn(struct hl_rest_call *call, struct hl_str project, struct hl_str app)
{
    char names[2 * (HL_NAME_MAX + 1)];
    size_t n = (size_t)snprintf(names, sizeof(names), "%.*s", (int)project.n, project.p) + 1;
    n += (size_t)snprintf(names + n, sizeof(names) - n, "%.*s", (int)app.n, app.p) + 1;
    hl_run_log_note(&call->id, names, names + strlen(names) + 1);
    put_owner(call, &call->id, names, n);
    go_on(call);
}

static void on_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_OK || g->m.rc == HL_ERR_CORRUPT)
        learn(call, g->run.project, g->run.app);
    else
        hl_rest_ask_recent(call, on_recent);
}

static void on_recent(struct hl_rest_call *call)
{
    const struct hl_recent_ask *ask = hl_rest_recent(call);
    if (ask) {
        learn(call, hl_recent_project(&ask->rows[0]), hl_recent_app(&ask->rows[0]));
        return;
    }
    put_owner(call, &call->id, NULL, 0);
    go_on(call);
}

/* ---- line by line ---- */

static bool needs_owner(const struct hl_run_log_line *line)
{
    return !hl_id_is_nil(&line->run_id) && line->project == 0;
}

static void go_on(struct hl_rest_call *call)
{
    struct hl_rest_tail *tail = call->tail;
    for (; tail->at < call->log_page->count; tail->at++) {
        const struct hl_run_log_line *line = &call->log_page->lines[tail->at];
        if (needs_owner(line) && tail->asked == ASKED_MAX) {
            end(call, true);
            return;
        }
        if (needs_owner(line)) {
            ask(call, &line->run_id);
            return;
        }
        bool is_shown = may_show(call, line);
        if (is_shown && write_line(call, line) != HL_OK) {
            hl_rest_refuse_memory(call);
            return;
        }
        tail->shown += is_shown;
        tail->from = line->number + 1;
        if (tail->shown == call->params.limit) {
            end(call, tail->from < hl_run_log_end());
            return;
        }
    }
    tail->from = call->log_page->next;
    look(call);
}

static void on_look(struct hl_timer *timer)
{
    look(HL_CONTAINER_OF(timer, struct hl_rest_call, look));
}

static bool is_leaving(const struct hl_rest_call *call)
{
    const struct hl_service *service = hl_rest_get_parts(call)->service;
    return !service || atomic_load(&service->is_draining);
}

/* True: it is one of those that may wait. */
static bool is_waiting(struct hl_rest_call *call)
{
    if (!call->look.on_fire && call->all->tails < WAITING_MAX) {
        call->all->tails++;
        hl_timer_init(&call->look, on_look);
    }
    return call->look.on_fire;
}

/* What has been found is answered; while there is nothing, it is waited for. */
static void look(struct hl_rest_call *call)
{
    struct hl_rest_tail *tail = call->tail;
    if (tail->from < hl_run_log_end()) {
        if (!call->log_page && !(call->log_page = malloc(sizeof(*call->log_page)))) {
            hl_rest_refuse_memory(call);
            return;
        }
        hl_run_log_scan(&tail->filter, tail->from, call->log_page);
        tail->at = 0;
        if (call->params.after > 0)
            tail->missed += call->log_page->missed;
        go_on(call);
        return;
    }
    free(call->log_page);
    call->log_page = NULL;
    if (tail->shown > 0 || hl_clock_mono_ms() >= tail->until_ms || is_leaving(call) ||
        !is_waiting(call)) {
        end(call, false);
        return;
    }
    hl_timer_arm(&call->all->waits.wheel, &call->look, LOOK_MS);
}
