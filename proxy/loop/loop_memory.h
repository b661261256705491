/* loop_memory.h - memory for libuv. */
#ifndef HL_LOOP_LOOP_MEMORY_H
#define HL_LOOP_LOOP_MEMORY_H

/* Before the first loop; harmless again. */
void hl_loop_memory_set(void);

#endif
