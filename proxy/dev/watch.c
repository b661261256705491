/* watch.c - see watch.h. Thread: main. */
#include "dev/watch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"

#define SETTLE_MS   200
#define DEPTH_MAX   8
#define FOLDERS_MAX 1000

struct hl_dev_folder {
    uv_fs_event_t event;
    struct hl_dev_folder *next;
};

static const char *const ignored_folders[] = {
    "node_modules", "__pycache__", "venv", "target", "build", "dist"};
/* What people write. Not what an app writes while it runs: data, logs, caches. */
static const char *const source_ends[] = {".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts",
    ".jsx", ".tsx", ".go", ".rs", ".rb", ".php", ".java", ".kt", ".ex", ".exs", ".c", ".h", ".cc",
    ".cpp", ".hpp", ".sh", ".html", ".css", ".toml", ".yaml", ".yml", ".env", ".so",
    "package.json"};

static bool is_ignored_folder(const char *name)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(ignored_folders); i++)
        if (strcmp(name, ignored_folders[i]) == 0)
            return true;
    return name[0] == '.';
}

static bool is_source(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < HL_ARRAY_LEN(source_ends); i++) {
        size_t end = strlen(source_ends[i]);
        if (n >= end && strcmp(name + n - end, source_ends[i]) == 0)
            return true;
    }
    return false;
}

static void on_settled(uv_timer_t *timer)
{
    struct hl_dev_watch *w = timer->data;
    w->on_change(w->self);
}

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct hl_dev_watch *w = event->data;
    (void)events;
    if (status == 0 && name && is_source(name))
        uv_timer_start(&w->timer, on_settled, SETTLE_MS, 0);
}

static void on_closed(uv_handle_t *handle)
{
    free(HL_CONTAINER_OF(handle, struct hl_dev_folder, event));
}

static void add(struct hl_dev_watch *w, const char *path)
{
    struct hl_dev_folder *folder = calloc(1, sizeof(*folder));
    if (!folder)
        return;
    uv_fs_event_init(w->loop, &folder->event);
    folder->event.data = w;
    if (uv_fs_event_start(&folder->event, on_event, path, 0) != 0) {
        uv_close((uv_handle_t *)&folder->event, on_closed);
        return;
    }
    folder->next = w->folders;
    w->folders = folder;
    w->count++;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_all(struct hl_dev_watch *w, const char *path, int depth)
{
    add(w, path);
    DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
    for (struct dirent *entry; dir && w->count < FOLDERS_MAX && (entry = readdir(dir)) != NULL;) {
        char inner[4096];
        int n = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (n < (int)sizeof(inner) && !is_ignored_folder(entry->d_name) && is_folder(inner))
            add_all(w, inner, depth + 1);
    }
    if (dir)
        closedir(dir);
}

static void drop_all(struct hl_dev_watch *w)
{
    for (struct hl_dev_folder *folder = w->folders, *next; folder; folder = next) {
        next = folder->next;
        uv_close((uv_handle_t *)&folder->event, on_closed);
    }
    w->folders = NULL;
    w->count = 0;
}

void hl_dev_watch_open(struct hl_dev_watch *w, uv_loop_t *loop, const char *root)
{
    w->loop = loop;
    w->root = root;
    uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    add_all(w, root, 0);
}

void hl_dev_watch_renew(struct hl_dev_watch *w)
{
    drop_all(w);
    add_all(w, w->root, 0);
}

void hl_dev_watch_close(struct hl_dev_watch *w)
{
    drop_all(w);
    uv_close((uv_handle_t *)&w->timer, NULL);
}
