/* fuzz.c - claims, notes and input of the fuzz targets. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_NOTES 16

static struct {
    const char *label;
    struct hl_str bytes;
} notes[MAX_NOTES];
static size_t note_count;

void fuzz_note(const char *label, struct hl_str bytes)
{
    size_t i = 0;
    while (i < note_count && notes[i].label != label)
        i++;
    if (i == MAX_NOTES)
        return;
    notes[i].label = label;
    notes[i].bytes = bytes;
    if (i == note_count)
        note_count++;
}

void fuzz_forget(void)
{
    note_count = 0;
}

static void show(struct hl_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        if (c == '\r')
            fputs("\\r", stderr);
        else if (c == '\n')
            fputs("\\n\n    ", stderr);
        else if (c < ' ' || c > '~' || c == '\\')
            fprintf(stderr, "\\x%02x", c);
        else
            fputc(c, stderr);
    }
}

void fuzz_fail(const char *file, int line, const char *claim, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n  does not hold: %s\n", file, line, what, claim);
    for (size_t i = 0; i < note_count; i++) {
        fprintf(stderr, "  %s (%zu bytes):\n    ", notes[i].label, notes[i].bytes.n);
        show(notes[i].bytes);
        fputc('\n', stderr);
    }
    abort();
}

struct hl_str fuzz_take_until(struct fuzz_input *in, char separator)
{
    const char *found = in->n ? memchr(in->p, separator, in->n) : NULL;
    struct hl_str taken = {in->p, found ? (size_t)(found - in->p) : in->n};
    size_t used = found ? taken.n + 1 : taken.n;
    in->p += used;
    in->n -= used;
    return taken;
}

char *fuzz_take_rest(struct fuzz_input *in, size_t *n)
{
    char *copy = malloc(in->n ? in->n : 1);
    if (!copy)
        abort();
    if (in->n)
        memcpy(copy, in->p, in->n);
    *n = in->n;
    in->p += in->n;
    in->n = 0;
    return copy;
}

size_t fuzz_cut(struct fuzz_cuts *cuts, size_t left)
{
    cuts->state ^= cuts->state << 13;
    cuts->state ^= cuts->state >> 17;
    cuts->state ^= cuts->state << 5;
    size_t most = cuts->state & 1 ? 3 : cuts->state & 2 ? 40 : left;
    size_t n = 1 + (cuts->state >> 2) % most;
    return n < left ? n : left;
}
