/* body_removal.c - a body's file that nobody wants any more goes, in libuv's pool.
 * Thread: the worker's. */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/id.h"
#include "body/spool.h"
#include "store/body_file.h"

struct removal {
    uv_work_t request;
    const char *data_dir;
    struct hl_id file;
};

static void on_remove_file(uv_work_t *request)
{
    struct removal *r = HL_CONTAINER_OF(request, struct removal, request);
    hl_body_file_remove(r->data_dir, &r->file);
}

static void on_file_removed(uv_work_t *request, int status)
{
    (void)status;
    free(HL_CONTAINER_OF(request, struct removal, request));
}

void hl_spool_remove_file(struct hl_spool_home *home, const struct hl_id *file)
{
    struct removal *r = home->data_dir ? malloc(sizeof(*r)) : NULL;
    if (!r)
        return; /* the store sweeps files that no record names at its next start */
    r->data_dir = home->data_dir;
    r->file = *file;
    if (uv_queue_work(home->loop, &r->request, on_remove_file, on_file_removed) != 0)
        free(r);
}
