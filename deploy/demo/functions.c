/* functions.c - a model in miniature as functions in C: what app.py does as a server of its own.
 *
 *   POST /run    {"prompt": "a few words", "seconds": 2}   the words reversed, after that time
 *   POST /words  {"prompt": "a few words", "seconds": 2}   the words one by one, that time apart
 *
 * Build and run:
 *   cc -O2 -shared -fPIC -o functions.so functions.c
 *   hookline-function functions.so */
#include <hookline/function.h>
#include <stdlib.h>
#include <time.h>

#define LONGEST_PROMPT (64 * 1024)

/* Sleeps, and looks now and then whether anybody still waits. False: nobody does. */
static bool compute(const struct hl_fn_call *call, double seconds)
{
    for (; seconds > 0 && !hl_fn_is_cancelled(call); seconds -= 0.05)
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    return !hl_fn_is_cancelled(call);
}

/* The last word of text[0..n): its begin; *n becomes what is before it. */
static const char *last_word(const char *text, size_t *n, size_t *length)
{
    size_t end = *n;
    while (end > 0 && text[end - 1] == ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != ' ')
        begin--;
    *n = begin;
    *length = end - begin;
    return text + begin;
}

static int run(struct hl_fn_call *call)
{
    const char *prompt = hl_fn_get_text(call, "prompt", "");
    size_t left = strlen(prompt), words = 0, written = 0, length;
    if (left > LONGEST_PROMPT)
        return hl_fn_fail(
            call, 422, "The prompt has %zu bytes, and may have %d.", left, LONGEST_PROMPT);
    char *reversed = malloc(left + 2);
    if (!reversed)
        return hl_fn_fail(call, 503, "Out of memory.");
    if (!compute(call, hl_fn_get_real(call, "seconds", 0)))
        hl_fn_log(call, HL_FN_INFO, "nobody waits any more");
    for (const char *word; word = last_word(prompt, &left, &length), length > 0; words++) {
        memcpy(reversed + written, word, length);
        written += length;
        reversed[written++] = ' ';
    }
    reversed[written > 0 ? written - 1 : 0] = '\0';

    hl_fn_open(call, '{');
    hl_fn_key(call, "text");
    hl_fn_put_text(call, reversed);
    hl_fn_key(call, "words");
    hl_fn_put_integer(call, (int64_t)words);
    hl_fn_close(call);
    hl_fn_result(call);
    free(reversed);
    return 0;
}

static int words(struct hl_fn_call *call)
{
    double seconds = hl_fn_get_real(call, "seconds", 0.4);
    char *rest = NULL, *copy = strdup(hl_fn_get_text(call, "prompt", ""));
    if (!copy)
        return hl_fn_fail(call, 503, "Out of memory.");
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (hl_fn_emit_text(call, word) != HL_FN_OK || !compute(call, seconds))
            break;
    free(copy);
    return 0;
}

static const struct hl_fn_parameter takes[] = {
    {"prompt", HL_FN_STRING, HL_FN_REQUIRED}, {"seconds", HL_FN_REAL, HL_FN_OPTIONAL}, {0}};
static const struct hl_fn_function functions[] = {
    {"run", run, takes}, {"words", words, takes}, {0}};
HL_FN_MODULE(functions, NULL, NULL);
