/* fuzz_connection.c - a worker, its callers and its app, through whole calls.
 * Input: script.h. Claims: judge.h. */
#include "fuzz.h"
#include "judge.h"
#include "script.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = script_play(data, size, NULL);
    world_finish();
    judge(world);
    world_forget();
    return 0;
}
