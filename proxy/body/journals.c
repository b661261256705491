/* journals.c - see journals.h. A journal is there as long as somebody has it: the run's worker, a tap, a read
 * in the pool. It is found by its run until the worker closes it, or while it is only awaited. */
#include "body/journals.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/str.h"
#include "body/journal.h"
#include "store/lane.h"

#define PIECE (16 * 1024) /* of a journal's file, in one read */
#define SHARE 4           /* a subject has this part of all places at the most */

struct hl_audience {
    uint32_t n;
};

struct hl_said {
    struct hl_list node;
    struct hl_id run_id;
    char json[HL_JOURNAL_PROGRESS + 1];
};

void hl_journals_init(struct hl_journals *all, uint32_t max)
{
    *all = (struct hl_journals){.max = max};
    pthread_mutex_init(&all->lock, NULL);
    hl_id_map_init(&all->map);
    hl_id_map_init(&all->runs);
    hl_id_map_init(&all->subjects);
    hl_id_map_init(&all->said);
    hl_list_init(&all->said_last);
    hl_random_fill(all->key, sizeof(all->key));
}

void hl_journals_fini(struct hl_journals *all)
{
    struct hl_list *node;
    while ((node = hl_list_pop_front(&all->said_last)) != NULL)
        free(HL_CONTAINER_OF(node, struct hl_said, node));
    hl_id_map_fini(&all->said);
    hl_id_map_fini(&all->map);
    hl_id_map_fini(&all->runs);
    hl_id_map_fini(&all->subjects);
    pthread_mutex_destroy(&all->lock);
}

/* Under the lock, as what follows. NULL: out of memory. */
static struct hl_journal *find_or_make(struct hl_journals *all, const struct hl_id *run_id)
{
    struct hl_journal *j = hl_id_map_find(&all->map, run_id);
    if (j)
        return j;
    if (hl_id_map_reserve(&all->map, 1) != HL_OK || !(j = hl_journal_new(all, run_id)))
        return NULL;
    j->is_listed = true;
    hl_id_map_put(&all->map, run_id, j);
    return j;
}

static void unlist(struct hl_journals *all, struct hl_journal *j)
{
    if (j->is_listed)
        hl_id_map_remove(&all->map, &j->run_id);
    j->is_listed = false;
}

/* True: nobody has it any more. */
static bool drop_ref(struct hl_journals *all, struct hl_journal *j)
{
    if (--j->refs > 0)
        return false;
    unlist(all, j);
    return true;
}

void hl_journals_hold(struct hl_journal *j)
{
    pthread_mutex_lock(&j->all->lock);
    j->refs++;
    pthread_mutex_unlock(&j->all->lock);
}

void hl_journals_release(struct hl_journal *j)
{
    struct hl_journals *all = j->all;
    pthread_mutex_lock(&all->lock);
    bool is_last = drop_ref(all, j);
    pthread_mutex_unlock(&all->lock);
    if (is_last)
        hl_journal_free(j);
}

struct hl_journal *hl_journals_open(
    struct hl_journals *all, const struct hl_id *run_id, uint32_t attempt, uint64_t before)
{
    pthread_mutex_lock(&all->lock);
    struct hl_journal *j = find_or_make(all, run_id);
    if (j && j->has_writer) { /* an attempt whose worker has not closed it yet */
        unlist(all, j);
        j = find_or_make(all, run_id);
    }
    if (j) {
        j->refs++;
        j->has_writer = true;
    }
    pthread_mutex_unlock(&all->lock);
    if (j)
        hl_journal_open(j, attempt, before);
    return j;
}

static void put(char out[HL_STORE_NAME_MAX + 1], struct hl_str name)
{
    size_t n = name.n < HL_STORE_NAME_MAX ? name.n : HL_STORE_NAME_MAX;
    memcpy(out, name.p, n);
    out[n] = '\0';
}

void hl_journals_set_place(struct hl_journal *j, struct hl_str project, struct hl_str app)
{
    pthread_mutex_lock(&j->all->lock);
    put(j->project, project);
    put(j->app, app);
    pthread_mutex_unlock(&j->all->lock);
}

bool hl_journals_has_run(
    struct hl_journals *all, const struct hl_id *run_id, const char *project, const char *app)
{
    pthread_mutex_lock(&all->lock);
    const struct hl_journal *j = hl_id_map_find(&all->map, run_id);
    bool has = j && j->has_writer && *j->project &&
               (!*project || strcmp(j->project, project) == 0) &&
               (!*app || strcmp(j->app, app) == 0);
    pthread_mutex_unlock(&all->lock);
    return has;
}

void hl_journals_close(struct hl_journal *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->all->lock);
    unlist(j->all, j);
    pthread_mutex_unlock(&j->all->lock);
    hl_journal_close(j);
    hl_journals_release(j);
}

bool hl_journals_tap(struct hl_journals *all, const struct hl_id *run_id,
    struct hl_journal_tap *tap, struct hl_mailbox *box, uint32_t msg_type)
{
    *tap = (struct hl_journal_tap){.msg.type = msg_type, .box = box};
    pthread_mutex_lock(&all->lock);
    struct hl_journal *j = find_or_make(all, run_id);
    if (j)
        j->refs++;
    pthread_mutex_unlock(&all->lock);
    if (!j)
        return false;
    tap->journal = j;
    pthread_mutex_lock(&j->lock);
    hl_list_push_back(&j->taps, &tap->node);
    pthread_mutex_unlock(&j->lock);
    return true;
}

bool hl_journals_untap(struct hl_journal_tap *tap)
{
    struct hl_journal *j = tap->journal;
    pthread_mutex_lock(&j->lock);
    hl_list_remove(&tap->node);
    bool is_posted = tap->is_posted;
    pthread_mutex_unlock(&j->lock);
    tap->journal = NULL;
    hl_journals_release(j);
    return !is_posted;
}

/* ---- progress ---- */

/* A new one takes the place of the one that was said longest ago. NULL: out of memory. */
static struct hl_said *make_said(struct hl_journals *all, const struct hl_id *run_id)
{
    struct hl_said *said = NULL;
    if (all->said.n >= HL_PROGRESS_KEPT) {
        said = HL_CONTAINER_OF(hl_list_pop_front(&all->said_last), struct hl_said, node);
        hl_id_map_remove(&all->said, &said->run_id);
    }
    if (!said && hl_id_map_reserve(&all->said, 1) == HL_OK)
        said = malloc(sizeof(*said));
    if (!said)
        return NULL;
    said->run_id = *run_id;
    hl_list_init(&said->node);
    hl_id_map_put(&all->said, run_id, said);
    return said;
}

void hl_journals_set_progress(
    struct hl_journals *all, const struct hl_id *run_id, struct hl_str json)
{
    if (json.n > HL_JOURNAL_PROGRESS)
        return;
    pthread_mutex_lock(&all->lock);
    struct hl_said *said = hl_id_map_find(&all->said, run_id);
    if (!said)
        said = make_said(all, run_id);
    if (said) {
        memcpy(said->json, json.p, json.n);
        said->json[json.n] = '\0';
        hl_list_remove(&said->node);
        hl_list_push_back(&all->said_last, &said->node);
    }
    struct hl_journal *j = hl_id_map_find(&all->map, run_id);
    if (j)
        hl_journal_set_progress(j, json);
    pthread_mutex_unlock(&all->lock);
}

bool hl_journals_get_progress(struct hl_journals *all, const struct hl_id *run_id, char *out)
{
    pthread_mutex_lock(&all->lock);
    const struct hl_said *said = hl_id_map_find(&all->said, run_id);
    if (said)
        memcpy(out, said->json, strlen(said->json) + 1);
    pthread_mutex_unlock(&all->lock);
    return said != NULL;
}

/* ---- places ---- */

static bool enter(struct hl_id_map *map, const struct hl_id *id, uint32_t max)
{
    struct hl_audience *a = hl_id_map_find(map, id);
    if (!a && max > 0 && hl_id_map_reserve(map, 1) == HL_OK && (a = calloc(1, sizeof(*a))))
        hl_id_map_put(map, id, a);
    if (!a || a->n >= max)
        return false;
    a->n++;
    return true;
}

static void leave(struct hl_id_map *map, const struct hl_id *id)
{
    struct hl_audience *a = hl_id_map_find(map, id);
    if (a && --a->n == 0)
        free(hl_id_map_remove(map, id));
}

static enum hl_follow_verdict try_enter(struct hl_journals *all, struct hl_follow_place *place)
{
    bool has_subject = !hl_id_is_nil(&place->subject);
    uint32_t share = (all->max + SHARE - 1) / SHARE;
    if (all->followers >= all->max)
        return HL_FOLLOW_FULL;
    if (!enter(&all->runs, &place->run_id, HL_FOLLOWERS_OF_RUN))
        return HL_FOLLOW_RUN_FULL;
    if (has_subject && !enter(&all->subjects, &place->subject, share)) {
        leave(&all->runs, &place->run_id);
        return HL_FOLLOW_SUBJECT_FULL;
    }
    all->followers++;
    return HL_FOLLOW_GRANTED;
}

enum hl_follow_verdict hl_journals_enter(struct hl_journals *all, const struct hl_id *run_id,
    struct hl_str subject, struct hl_follow_place *place)
{
    *place = (struct hl_follow_place){.run_id = *run_id};
    if (subject.n > 0)
        place->subject = hl_lane_key(hl_siphash(all->key, subject));
    pthread_mutex_lock(&all->lock);
    enum hl_follow_verdict verdict = try_enter(all, place);
    pthread_mutex_unlock(&all->lock);
    if (verdict == HL_FOLLOW_GRANTED)
        place->all = all;
    return verdict;
}

void hl_journals_leave(struct hl_follow_place *place)
{
    struct hl_journals *all = place->all;
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    leave(&all->runs, &place->run_id);
    if (!hl_id_is_nil(&place->subject))
        leave(&all->subjects, &place->subject);
    all->followers--;
    pthread_mutex_unlock(&all->lock);
    place->all = NULL;
}

uint32_t hl_journals_followers(struct hl_journals *all)
{
    pthread_mutex_lock(&all->lock);
    uint32_t n = all->followers;
    pthread_mutex_unlock(&all->lock);
    return n;
}

/* ---- a read of a journal's file. It goes when the pool has done with it ---- */

struct hl_journal_reading {
    uv_work_t work;
    struct hl_journal *journal;
    hl_journal_piece *on_piece;
    void *owner; /* NULL: it has gone */
    uint64_t offset;
    ptrdiff_t n;
    char piece[PIECE];
};

static void on_work(uv_work_t *work)
{
    struct hl_journal_reading *r = HL_CONTAINER_OF(work, struct hl_journal_reading, work);
    r->n = hl_journal_read_file(r->journal, r->offset, r->piece, sizeof(r->piece));
}

static void on_done(uv_work_t *work, int status)
{
    (void)status;
    struct hl_journal_reading *r = HL_CONTAINER_OF(work, struct hl_journal_reading, work);
    bool is_read = r->n >= 0;
    if (r->owner)
        r->on_piece(
            r->owner, r->journal, is_read, (struct hl_str){r->piece, is_read ? (size_t)r->n : 0});
    hl_journals_release(r->journal);
    free(r);
}

struct hl_journal_reading *hl_journal_reading_begin(
    uv_loop_t *loop, struct hl_journal *j, uint64_t offset, hl_journal_piece *on_piece, void *owner)
{
    struct hl_journal_reading *r = malloc(sizeof(*r));
    if (!r)
        return NULL;
    r->journal = j;
    r->on_piece = on_piece;
    r->owner = owner;
    r->offset = offset;
    hl_journals_hold(j);
    if (uv_queue_work(loop, &r->work, on_work, on_done) == 0)
        return r;
    hl_journals_release(j);
    free(r);
    return NULL;
}

void hl_journal_reading_leave(struct hl_journal_reading *r)
{
    if (r)
        r->owner = NULL;
}
