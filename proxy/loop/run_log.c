/* run_log.c - the last lines of the log about each run.
 * Owns: the lines. Thread: lines come from any, and are asked for by any.
 * Promise: whoever logs waits for the copy of a line at the most; what is kept is bounded.
 * Not here: what a line looks like (base/log.c), which of the app's lines are a run's (app/visits.c). */
#include "loop/run_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/id_map.h"
#include "base/list.h"
#include "base/log.h"

#define MALLOC_COST 16

struct line {
    struct line *next;
    size_t n;
    char p[];
};

/* What is kept of a run; there is a line at least. */
struct story {
    struct hl_list node;
    struct hl_id run_id;
    struct line *first, **end;
    uint32_t count, bytes;
    uint32_t handed; /* of its lines, the first ones */
    bool is_call;    /* its lines are about its call alone */
};

static struct {
    pthread_mutex_t lock;
    struct hl_id_map stories;
    struct hl_list calls, runs; /* the stories, oldest first */
    size_t total;
    bool is_on;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- with the lock ---- */

static size_t cost_of(const struct line *line)
{
    return sizeof(*line) + line->n + MALLOC_COST;
}

static void drop_first(struct story *story)
{
    struct line *line = story->first;
    story->first = line->next;
    if (!story->first)
        story->end = &story->first;
    story->count--;
    story->bytes -= (uint32_t)line->n;
    story->handed -= story->handed > 0;
    all.total -= cost_of(line);
    free(line);
}

static void drop_story(struct story *story)
{
    while (story->first)
        drop_first(story);
    hl_id_map_remove(&all.stories, &story->run_id);
    hl_list_remove(&story->node);
    all.total -= sizeof(*story) + MALLOC_COST;
    free(story);
}

static void make_room(size_t cost)
{
    while (all.total + cost > HL_RUN_LOG_TOTAL) {
        struct hl_list *from = hl_list_is_empty(&all.calls) ? &all.runs : &all.calls;
        if (hl_list_is_empty(from))
            return;
        drop_story(HL_CONTAINER_OF(from->next, struct story, node));
    }
}

/* NULL: out of memory. */
static struct story *story_of(const struct hl_id *run_id, bool is_call)
{
    struct story *story = hl_id_map_find(&all.stories, run_id);
    if (story && story->is_call && !is_call) {
        story->is_call = false;
        hl_list_remove(&story->node);
        hl_list_push_back(&all.runs, &story->node);
    }
    if (story)
        return story;
    story = hl_id_map_reserve(&all.stories, 1) == HL_OK ? calloc(1, sizeof(*story)) : NULL;
    if (!story)
        return NULL;
    story->run_id = *run_id;
    story->end = &story->first;
    story->is_call = is_call;
    hl_id_map_put(&all.stories, run_id, story);
    hl_list_push_back(is_call ? &all.calls : &all.runs, &story->node);
    all.total += sizeof(*story) + MALLOC_COST;
    return story;
}

static void add(struct story *story, struct line *line)
{
    *story->end = line;
    story->end = &line->next;
    story->count++;
    story->bytes += (uint32_t)line->n;
    all.total += cost_of(line);
    while (story->count > HL_RUN_LOG_LINES || story->bytes > HL_RUN_LOG_BYTES)
        drop_first(story);
}

/* ---- lines come ---- */

static void take(const struct hl_id *run_id, const char *message, const char *text, size_t n)
{
    struct line *line = malloc(sizeof(*line) + n);
    if (!line)
        return;
    line->next = NULL;
    line->n = n;
    memcpy(line->p, text, n);
    pthread_mutex_lock(&all.lock);
    struct story *story = NULL;
    if (all.is_on) {
        make_room(cost_of(line) + sizeof(*story) + MALLOC_COST);
        story = story_of(run_id, strcmp(message, HL_LOG_CALL) == 0);
    }
    if (story)
        add(story, line);
    else
        free(line);
    pthread_mutex_unlock(&all.lock);
}

void hl_run_log_start(void)
{
    pthread_mutex_lock(&all.lock);
    hl_id_map_init(&all.stories);
    hl_list_init(&all.calls);
    hl_list_init(&all.runs);
    all.is_on = true;
    pthread_mutex_unlock(&all.lock);
    hl_log_follow_runs(take);
}

void hl_run_log_stop(void)
{
    hl_log_follow_runs(NULL);
    pthread_mutex_lock(&all.lock);
    if (all.is_on) {
        make_room(HL_RUN_LOG_TOTAL);
        hl_id_map_fini(&all.stories);
    }
    all.is_on = false;
    pthread_mutex_unlock(&all.lock);
}

/* ---- they are asked for ---- */

static enum hl_err append(const struct story *story, uint32_t from, struct hl_buf *out)
{
    enum hl_err err = HL_OK;
    uint32_t i = 0;
    for (const struct line *line = story->first; line && !err; line = line->next, i++)
        if (i >= from)
            err = hl_buf_append(out, line->p, line->n);
    return err;
}

static enum hl_err read_story(
    const struct hl_id *run_id, bool is_rest, bool hands_over, struct hl_buf *out)
{
    enum hl_err err = HL_OK;
    pthread_mutex_lock(&all.lock);
    struct story *story = all.is_on ? hl_id_map_find(&all.stories, run_id) : NULL;
    if (story)
        err = append(story, is_rest ? story->handed : 0, out);
    if (story && hands_over && !err)
        story->handed = story->count;
    pthread_mutex_unlock(&all.lock);
    return err;
}

enum hl_err hl_run_log_read(const struct hl_id *run_id, struct hl_buf *out)
{
    return read_story(run_id, false, false, out);
}

enum hl_err hl_run_log_hand_over(const struct hl_id *run_id, struct hl_buf *out)
{
    return read_story(run_id, false, true, out);
}

enum hl_err hl_run_log_read_rest(const struct hl_id *run_id, struct hl_buf *out)
{
    return read_story(run_id, true, false, out);
}

void hl_run_log_trim(struct hl_buf *text)
{
    size_t lines = 0, from = text->n;
    while (from > 0) { /* backwards, a line at a time */
        const char *before = memrchr(text->p, '\n', from - 1);
        size_t begin = before ? (size_t)(before + 1 - text->p) : 0;
        if (++lines > HL_RUN_LOG_LINES || text->n - begin > HL_RUN_LOG_BYTES)
            break;
        from = begin;
    }
    hl_buf_drop(text, from);
}
