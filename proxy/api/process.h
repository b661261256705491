/* process.h - what the kernel says of this process. */
#ifndef HL_API_PROCESS_H
#define HL_API_PROCESS_H

#include <stdint.h>

struct hl_process {
    uint64_t resident_bytes;
    uint64_t cpu_us; /* user and system, all threads, since the start */
    uint64_t open_fds;
};

/* Reads /proc/self, which waits for no device. What cannot be read is 0. */
void hl_process_read(struct hl_process *process);

#endif
