/* sketch.h - the functions of a Python file, as far as a look at its text tells: enough for a call that works. */
#ifndef HL_DEV_SKETCH_H
#define HL_DEV_SKETCH_H

#include <stdbool.h>
#include <stddef.h>

#define HL_DEV_FUNCTIONS_MAX 32

struct hl_dev_function {
    char name[64];
    char json[256]; /* its parameters without defaults, each with a value of its type */
    bool yields;
};

struct hl_dev_sketch {
    struct hl_dev_function functions[HL_DEV_FUNCTIONS_MAX];
    size_t count;
};

/* Empty when the file cannot be read: its host will say so. */
void hl_dev_sketch_read(struct hl_dev_sketch *sketch, const char *path);
/* `run`, else the first that does not yield, or that does; NULL: there is none. */
const struct hl_dev_function *hl_dev_sketch_pick(const struct hl_dev_sketch *sketch, bool yields);

#endif
