/* run_log.c - the last lines of the log: about each run, and all in their order.
 * Owns: the lines. Thread: lines come from any, and are asked for by any.
 * Promise: whoever logs waits for the copy of a line, or of what somebody reads, at the most; what is kept is bounded.
 * Not here: what a line looks like (base/log.c), which of the app's lines are a run's (app/visits.c). */
#include "loop/run_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id_map.h"
#include "base/list.h"
#include "base/log.h"

#define MALLOC_COST 16

struct story;

struct line {
    struct line *next;   /* of its story */
    struct hl_list node; /* among all */
    struct story *story;
    uint64_t number;
    uint32_t n;
    enum hl_log_level level;
    char p[];
};

/* What is kept of a run; there is a line at least. Or of none. */
struct story {
    struct hl_list node;
    struct hl_id run_id; /* nil: of none */
    char *owner;         /* its project and its app, each with its NUL; NULL: not known */
    uint32_t owner_n;
    struct line *first, **end;
    uint32_t count, bytes;
    uint32_t handed; /* of its lines, the first ones */
    bool is_call;    /* its lines are about its call alone */
};

static struct {
    pthread_mutex_t lock;
    struct hl_id_map stories;
    struct hl_list calls, runs; /* the stories, oldest first */
    struct hl_list lines;       /* of all stories, in the order in which they came */
    struct story others;        /* of no run */
    uint64_t last;              /* number */
    uint64_t era;
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
    story->bytes -= line->n;
    hl_list_remove(&line->node);
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
    all.total -= sizeof(*story) + MALLOC_COST + story->owner_n;
    free(story->owner);
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

static bool has_too_much(const struct story *story)
{
    if (story == &all.others)
        return story->count > HL_RUN_LOG_OTHERS || story->bytes > HL_RUN_LOG_OTHERS_BYTES;
    return story->count > HL_RUN_LOG_LINES || story->bytes > HL_RUN_LOG_BYTES;
}

static void add(struct story *story, struct line *line)
{
    line->story = story;
    line->number = ++all.last;
    hl_list_push_back(&all.lines, &line->node);
    *story->end = line;
    story->end = &line->next;
    story->count++;
    story->bytes += line->n;
    all.total += cost_of(line);
    while (has_too_much(story))
        drop_first(story);
}

/* ---- lines come ---- */

static void take(const struct hl_id *run_id, enum hl_log_level level, const char *message,
    const char *text, size_t n)
{
    struct line *line = malloc(sizeof(*line) + n);
    if (!line)
        return;
    line->next = NULL;
    line->n = (uint32_t)n;
    line->level = level;
    memcpy(line->p, text, n);
    pthread_mutex_lock(&all.lock);
    struct story *story = NULL;
    if (all.is_on) {
        make_room(cost_of(line) + sizeof(*story) + MALLOC_COST);
        story = run_id ? story_of(run_id, strcmp(message, HL_LOG_CALL) == 0) : &all.others;
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
    hl_list_init(&all.lines);
    all.others = (struct story){.end = &all.others.first};
    all.last = 0;
    all.era = (uint64_t)hl_clock_wall_ms();
    all.is_on = true;
    pthread_mutex_unlock(&all.lock);
    hl_log_follow(take);
}

void hl_run_log_stop(void)
{
    hl_log_follow(NULL);
    pthread_mutex_lock(&all.lock);
    if (all.is_on) {
        while (all.others.first)
            drop_first(&all.others);
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

/* ---- all of them, in their order ---- */

uint64_t hl_run_log_era(void)
{
    pthread_mutex_lock(&all.lock);
    uint64_t era = all.era;
    pthread_mutex_unlock(&all.lock);
    return era;
}

uint64_t hl_run_log_end(void)
{
    pthread_mutex_lock(&all.lock);
    uint64_t end = all.last + 1;
    pthread_mutex_unlock(&all.lock);
    return end;
}

static bool lets_through(const struct hl_run_log_filter *filter, const struct line *line)
{
    const struct hl_id *run_id = &line->story->run_id;
    if (line->level < filter->least || (filter->without_others && hl_id_is_nil(run_id)))
        return false;
    return hl_id_is_nil(&filter->run_id) || hl_id_eq(&filter->run_id, run_id);
}

static struct line *line_at(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct line, node);
}

uint64_t hl_run_log_back(const struct hl_run_log_filter *filter, uint32_t n)
{
    pthread_mutex_lock(&all.lock);
    uint64_t from = all.last + 1;
    struct hl_list *node = &all.lines;
    for (uint32_t far = 0; all.is_on && n > 0 && far < HL_RUN_LOG_REACH; far++) {
        node = node->prev;
        if (node == &all.lines)
            break;
        if (!lets_through(filter, line_at(node)))
            continue;
        from = line_at(node)->number;
        n--;
    }
    pthread_mutex_unlock(&all.lock);
    return from;
}

/* Of those that are kept within reach, the first with that number or a greater one; the list's end: there is none. */
static struct hl_list *find(uint64_t from)
{
    struct hl_list *node = &all.lines;
    for (uint32_t far = 0; far < HL_RUN_LOG_REACH; far++) {
        if (node->prev == &all.lines || line_at(node->prev)->number < from)
            break;
        node = node->prev;
    }
    return node;
}

/* Both texts of the line's run; 0: they are not known. */
static uint32_t put_owner(struct hl_run_log_page *page, const struct story *story)
{
    uint32_t at = page->text_n;
    if (!story->owner)
        return 0;
    memcpy(page->text + at, story->owner, story->owner_n);
    page->text_n += story->owner_n;
    return at;
}

/* False: it has no room there. */
static bool put(struct hl_run_log_page *page, const struct line *line)
{
    if (page->count == HL_RUN_LOG_PAGE_LINES ||
        line->n + line->story->owner_n > HL_RUN_LOG_PAGE_BYTES - page->text_n)
        return false;
    struct hl_run_log_line *out = &page->lines[page->count++];
    *out = (struct hl_run_log_line){.number = line->number,
        .run_id = line->story->run_id,
        .at = page->text_n,
        .n = line->n - 1};
    memcpy(page->text + page->text_n, line->p, out->n);
    page->text_n += out->n;
    out->project = put_owner(page, line->story);
    if (out->project)
        out->app = out->project + (uint32_t)strlen(page->text + out->project) + 1;
    return true;
}

void hl_run_log_scan(
    const struct hl_run_log_filter *filter, uint64_t from, struct hl_run_log_page *page)
{
    page->count = 0;
    page->text_n = 1; /* no text begins at 0 */
    page->is_full = false;
    page->next = from;
    page->missed = 0;
    pthread_mutex_lock(&all.lock);
    struct hl_list *node = all.is_on ? find(from) : &all.lines;
    for (; all.is_on && node != &all.lines; node = node->next) {
        const struct line *line = line_at(node);
        page->is_full = lets_through(filter, line) && !put(page, line);
        if (page->is_full)
            break;
        page->missed += line->number - page->next;
        page->next = line->number + 1;
    }
    if (all.is_on && !page->is_full && page->next <= all.last) {
        page->missed += all.last + 1 - page->next;
        page->next = all.last + 1;
    }
    pthread_mutex_unlock(&all.lock);
}

void hl_run_log_note(const struct hl_id *run_id, const char *project, const char *app)
{
    size_t project_n = strlen(project) + 1, n = project_n + strlen(app) + 1;
    char *owner = malloc(n);
    if (!owner)
        return;
    memcpy(owner, project, project_n);
    memcpy(owner + project_n, app, n - project_n);
    pthread_mutex_lock(&all.lock);
    struct story *story = all.is_on ? hl_id_map_find(&all.stories, run_id) : NULL;
    if (story && !story->owner) {
        story->owner = owner;
        story->owner_n = (uint32_t)n;
        all.total += n;
    } else {
        free(owner);
    }
    pthread_mutex_unlock(&all.lock);
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
