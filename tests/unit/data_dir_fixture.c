/* data_dir_fixture.c - a folder below /tmp. */
#include "data_dir_fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char data_dir[] = "/tmp/hl-test-XXXXXX";

static void make(const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", data_dir, name);
    cr_assert_eq(mkdir(path, 0700), 0);
}

void data_dir_begin(void)
{
    cr_assert_not_null(mkdtemp(data_dir));
    make("tmp");
    make("bodies");
}

/* Files below a directory; removes them when told to. */
static unsigned count_files(const char *dir, bool removes)
{
    unsigned n = 0;
    char path[512];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (e->d_type == DT_DIR)
            n += count_files(path, removes);
        else
            n++;
        if (removes)
            remove(path);
    }
    if (d)
        closedir(d);
    return n;
}

unsigned data_dir_files(void)
{
    return count_files(data_dir, false);
}

void data_dir_end(void)
{
    count_files(data_dir, true);
    rmdir(data_dir);
}
