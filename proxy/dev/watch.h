/* watch.h - whether the source files of an app have changed: those of a folder and the folders in it, but for
 * what tools keep there (.git, node_modules, __pycache__ …). */
#ifndef HL_DEV_WATCH_H
#define HL_DEV_WATCH_H

#include <stdbool.h>
#include <uv.h>

struct hl_dev_folder;

struct hl_dev_watch {
    uv_loop_t *loop;
    const char *root;
    struct hl_dev_folder *folders;
    size_t count;
    uv_timer_t timer; /* several files are written at once */
    void (*on_change)(void *self);
    void *self;
};

/* `root` is borrowed. */
void hl_dev_watch_open(struct hl_dev_watch *w, uv_loop_t *loop, const char *root);
/* Folders may have come, or gone. */
void hl_dev_watch_renew(struct hl_dev_watch *w);
void hl_dev_watch_close(struct hl_dev_watch *w);

#endif
