/* replay.c - runs a target over files instead of under libFuzzer: the seeds and the inputs that
 * once were findings, with any compiler. Arguments are files and folders; those that do not exist
 * are passed over, for a target may have no regressions. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned replayed;

static void replay_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);

    fprintf(stderr, "%s\n", path);
    uint8_t *exact = malloc(n ? n : 1); /* a read beyond it is seen */
    if (!exact)
        exit(2);
    memcpy(exact, bytes, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    replayed++;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void replay(const char *path)
{
    struct stat st;
    struct dirent **entries;
    if (stat(path, &st) != 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    int n = scandir(path, &entries, is_visible, alphasort);
    for (int i = 0; i < n; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        free(entries[i]);
        replay(inside);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%u inputs replayed\n", replayed);
    return replayed == 0;
}
