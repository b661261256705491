/* bench.c - measures the store through its own interface, on a disk.
 *
 *   bench_store                       beside the floor (an append and an fdatasync for all that is
 *                                     pending), with 1, 16 and 256 submitters
 *   bench_store --scale=N             1,000, 100,000 … N finished runs: get, list, accept, purge
 *   bench_store --waiting=N           1,000, 100,000 … N deliveries that wait for hours: memory, opening, others
 *   bench_store --runs=N              that many runs, for a profiler: no floor, nothing is printed
 *
 *   --postgres=URL   the store on PostgreSQL, in a schema of its own (hookline_bench); the floor is a row
 *                    inserted and deleted there
 *   --replicas=N     with it, default 1; the runs go to them in turn
 *   --memory         with --runs, the store in memory
 *   --keep-requests=none    what HOOKLINE_KEEP_REQUESTS says; default failed
 *   --dir=PATH       where files are made and removed again, default in the build directory
 *   --rounds=N       default 7                --seconds=S   of each turn, default 0.5
 *   --submitters=N   with --runs, default 16  --json        one line of JSON instead of a table */
#include <ftw.h>
#include <getopt.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "runs.h"
#include "sample.h"
#include "scale.h"
#include "versus.h"
#include "waiting.h"

struct options {
    const char *dir;
    int rounds;
    double seconds;
    uint64_t runs, scale, waiting;
    unsigned submitters, replicas;
    const char *postgres;
    bool is_json;
};

static struct options read_options(int argc, char **argv)
{
    static const struct option names[] = {
        {"dir", required_argument, NULL, 'd'},
        {"rounds", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"runs", required_argument, NULL, 'n'},
        {"scale", required_argument, NULL, 'x'},
        {"waiting", required_argument, NULL, 'w'},
        {"submitters", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {"postgres", required_argument, NULL, 'p'},
        {"replicas", required_argument, NULL, 'a'},
        {"keep-requests", required_argument, NULL, 'k'},
        {"memory", no_argument, NULL, 'm'},
        {0},
    };
    struct options options = {
        .dir = BENCH_DIR, .rounds = 7, .seconds = 0.5, .submitters = 16, .replicas = 1};
    for (int name; (name = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
        if (name == 'd')
            options.dir = optarg;
        else if (name == 'r')
            options.rounds = atoi(optarg);
        else if (name == 's')
            options.seconds = atof(optarg);
        else if (name == 'n')
            options.runs = strtoull(optarg, NULL, 10);
        else if (name == 'x')
            options.scale = strtoull(optarg, NULL, 10);
        else if (name == 'w')
            options.waiting = strtoull(optarg, NULL, 10);
        else if (name == 'c')
            options.submitters = (unsigned)atoi(optarg);
        else if (name == 'p')
            options.postgres = optarg;
        else if (name == 'a')
            options.replicas = (unsigned)atoi(optarg);
        else if (name == 'm')
            runs_use_memory();
        else if (name == 'k' && strcmp(optarg, "none") == 0)
            runs_keep_requests(HL_KEEP_REQUESTS_NONE);
        else if (name == 'k' && strcmp(optarg, "failed") == 0)
            runs_keep_requests(HL_KEEP_REQUESTS_FAILED);
        else if (name == 'j')
            options.is_json = true;
        else
            exit(2);
    }
    if (options.rounds < 1 || options.rounds > SAMPLE_MAX || optind < argc ||
        options.replicas < 1 || options.replicas > RUNS_REPLICAS_MAX)
        exit(2);
    return options;
}

/* --- the directory -------------------------------------------------------------------------- */

static char dir[4096];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_dir(void)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What is in memory shows nothing of a queue on disk. */
static void make_dir(const char *parent)
{
    struct statfs volume;
    snprintf(dir, sizeof(dir), "%s/bench-store-XXXXXX", parent);
    if (!mkdtemp(dir) || statfs(dir, &volume) < 0) {
        perror(dir);
        exit(1);
    }
    atexit(remove_dir);
    if (volume.f_type == TMPFS_MAGIC || volume.f_type == RAMFS_MAGIC) {
        fprintf(stderr, "bench_store: %s is in memory, not on a disk: see --dir\n", parent);
        exit(2);
    }
}

static void make_runs(unsigned submitters, uint64_t n)
{
    static struct runs runs;
    static struct load load;
    runs_open(&runs, dir, 3600 * 1000, NULL);
    load_init(&load, &runs.queue);
    runs_give_credit(&runs, &load, submitters);
    load_run(&load, submitters, n);
    runs_close(&runs);
    load_fini(&load);
}

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    make_dir(options.dir);
    if (options.postgres)
        runs_use_postgres(options.postgres, options.replicas);
    if (options.scale > 0)
        scale(dir, options.scale, options.seconds);
    else if (options.waiting > 0)
        waiting(dir, options.waiting);
    else if (options.runs > 0)
        make_runs(options.submitters, options.runs);
    else
        versus(dir, options.rounds, options.seconds, options.is_json);
    return 0;
}
