/* conversation.c - plays conversations and holds what each peer got against what it must get.
 *
 *   conversations EXPECTED RESULTS INPUT…
 *
 * INPUT are folders of scripts (script.h), EXPECTED has a record (record.h) for each of them, under
 * the same name; what came goes to RESULTS, and the difference to the output. With UPDATE=1 in the
 * environment it becomes what is expected: read `git diff` then. Each is played in a process of its
 * own. Failures and the count are said as criterion says them.
 * Not here: whether what is expected is right. fuzz_connection.c judges the same files. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "record.h"
#include "script.h"
#include "world.h"

#define MAX_FILE (1u << 20)
#define MAX_PATH 4096

static const char *expected_folder, *results_folder;
static unsigned tested, failing, crashing;

static _Noreturn void give_up(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(2);
}

/* ---- playing one ---- */

static uint8_t *read_input(const char *path, size_t *n)
{
    uint8_t *bytes = malloc(MAX_FILE);
    FILE *file = fopen(path, "rb");
    if (!file || !bytes)
        give_up(path);
    *n = fread(bytes, 1, MAX_FILE, file);
    fclose(file);
    return bytes;
}

static void write_record(const char *path, struct hl_str text)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text.p, 1, text.n, file) != text.n || fclose(file) != 0)
        give_up(path);
}

static void play(const char *input, const char *result)
{
    size_t n;
    struct hl_buf text;
    uint8_t *bytes = read_input(input, &n);
    hl_buf_init(&text, 0);
    record_begin();
    struct world *world = script_play(bytes, n, record_step);
    world_finish();
    record_step(world, '\0', 0);
    record_write(world, &text);
    write_record(result, hl_buf_str(&text));
    world_forget();
    hl_buf_fini(&text);
    free(bytes);
}

/* 0 in the child. */
static pid_t begin_child(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    return pid;
}

static bool ends_well(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

/* false: the child did not end well; it has said why. */
static bool play_apart(const char *input, const char *result)
{
    pid_t child = begin_child();
    if (child == 0) {
        play(input, result);
        exit(0);
    }
    return ends_well(child);
}

/* ---- comparing ---- */

/* What diff answers: 0: alike. It shows the difference. */
static bool is_expected(const char *expected, const char *result)
{
    pid_t child = begin_child();
    if (child == 0) {
        execlp("diff", "diff", "-uN", "--label", expected, "--label", "what came", expected, result,
            (char *)NULL);
        give_up("diff");
    }
    return ends_well(child);
}

static void test(const char *folder, const char *name)
{
    char input[MAX_PATH], expected[MAX_PATH], result[MAX_PATH];
    bool is_update = getenv("UPDATE") != NULL;
    snprintf(input, sizeof input, "%s/%s", folder, name);
    snprintf(expected, sizeof expected, "%s/%s", expected_folder, name);
    snprintf(result, sizeof result, "%s/%s", is_update ? expected_folder : results_folder, name);
    tested++;
    if (!play_apart(input, result))
        crashing++;
    else if (!is_expected(expected, result))
        failing++;
    else
        return;
    printf("[FAIL] conversation: %s\n", input);
}

/* ---- all of them ---- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Names in alphabetical order; each is passed to `take` with the folder. Their number. */
static unsigned each_file(const char *folder, void (*take)(const char *folder, const char *name))
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_visible, alphasort);
    if (n < 0)
        give_up(folder);
    for (int i = 0; i < n; i++) {
        if (take)
            take(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return (unsigned)n;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    expected_folder = argv[1];
    results_folder = argv[2];
    if (mkdir(results_folder, 0777) != 0 && errno != EEXIST)
        give_up(results_folder);
    for (int i = 3; i < argc; i++)
        each_file(argv[i], test);
    if (each_file(expected_folder, NULL) != tested) {
        failing++;
        printf("[FAIL] conversation: there are other files in %s than conversations\n", argv[1]);
    }
    printf("[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: %u \n", tested,
        tested - failing - crashing, failing, crashing);
    return failing + crashing > 0;
}
