/* work_pool.h - libuv's pool of threads, which it makes when it is first asked for work, and ends the
 * process if it cannot. */
#ifndef HL_LOOP_WORK_POOL_H
#define HL_LOOP_WORK_POOL_H

#include <uv.h>

/* Makes them, while somebody can still be told that there are too few. `loop` has to run once more. 0 or
 * an errno value. */
int hl_work_pool_start(uv_loop_t *loop);

#endif
