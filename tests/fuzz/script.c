/* script.c - steps of a conversation: which letter does what to whom. */
#include "script.h"

#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "kernel.h"
#include "stub_store.h"
#include "worker/worker.h"
#include "world.h"

static struct world *world;
static struct world_wire *caller;
static ptrdiff_t chosen_app; /* -1: the one that got bytes last */
static size_t last_app, seen[WORLD_MAX_APPS];

/* ---- steps ---- */

/* The next step's letter, its text behind it in `*text` (owned); '\0' at the end. */
static char take_step(struct fuzz_input *in, struct hl_buf *text)
{
    char letter = (char)fuzz_take_byte(in);
    hl_buf_init(text, 0);
    while (in->n > 0) {
        struct hl_str part = fuzz_take_until(in, '`');
        bool is_escaped = in->n > 0 && *in->p == '`';
        FUZZ_CHECK(hl_buf_append_str(text, part) == HL_OK, "out of memory");
        if (!is_escaped)
            break;
        FUZZ_CHECK(hl_buf_append(text, "`", 1) == HL_OK, "out of memory");
        fuzz_take_byte(in);
    }
    return letter;
}

static struct world_wire *find_app(void)
{
    for (size_t i = 0; i < world->app_count; i++) {
        if (world->apps[i].got.n > seen[i])
            last_app = i;
        seen[i] = world->apps[i].got.n;
    }
    if (world->app_count == 0)
        return NULL;
    size_t i = chosen_app >= 0 ? (size_t)chosen_app % world->app_count : last_app;
    return &world->apps[i];
}

static struct world_wire *find_caller(void)
{
    if (!caller)
        caller = world_call();
    return caller;
}

size_t script_room(unsigned digit)
{
    static const size_t rooms[] = {0, 1, 2, 7, 20, 64, 200, 1000, SIZE_MAX, SIZE_MAX};
    return rooms[digit % HL_ARRAY_LEN(rooms)];
}

uint64_t script_time(unsigned digit)
{
    static const uint64_t ms[] = {1, 20, 100, 1000, 2000, 5000, 10000, 31000, 61000, 901000};
    return ms[digit % HL_ARRAY_LEN(ms)];
}

static void direct_store(unsigned digit)
{
    static const enum hl_err answers[] = {
        HL_OK, HL_ERR_BUSY, HL_ERR_FULL, HL_ERR_CONFLICT, HL_ERR_EXISTS, HL_ERR_IO};
    if (digit < HL_ARRAY_LEN(answers))
        stub_answer_with(world->store, answers[digit]);
    else if (digit == 6)
        stub_fail_finishes(world->store, 2);
    else if (digit == 7)
        stub_hold(world->store);
    else
        stub_release(world->store);
}

static void stop_worker(unsigned digit)
{
    static const enum hl_worker_message messages[] = {
        HL_WORKER_DRAIN, HL_WORKER_CLOSE, HL_WORKER_CUT};
    world_tell(messages[digit % HL_ARRAY_LEN(messages)]);
}

/* Steps that need no connection. */
static void take_general_step(char letter, unsigned digit)
{
    switch (letter) {
    case 'n': {
        struct world_wire *another = world_call();
        caller = another ? another : caller;
        break;
    }
    case '1':
    case '2':
    case '3':
    case '4':
        if ((size_t)(letter - '1') < world->caller_count)
            caller = &world->callers[letter - '1'];
        break;
    case 'u':
        chosen_app = (ptrdiff_t)digit;
        break;
    case 't':
        kernel_advance(script_time(digit));
        world_check_app();
        break;
    case 'd':
        world->is_app_up = digit % 2;
        world_check_app();
        break;
    case 's':
        direct_store(digit);
        break;
    case 'q':
        stop_worker(digit);
        break;
    default:
        break;
    }
}

static void take_wire_step(char letter, struct world_wire *wire, struct hl_str text, unsigned digit)
{
    switch (letter) {
    case 'c':
    case 'a':
        world_send(wire, text);
        break;
    case 'e':
    case 'f':
        world_end_sending(wire);
        break;
    case 'x':
    case 'z':
        world_close(wire);
        break;
    case 'v':
    case 'w':
        wire->socket.room = script_room(digit);
        break;
    default:
        break;
    }
}

static unsigned digit_of(struct hl_str text)
{
    return text.n > 0 && text.p[0] >= '0' && text.p[0] <= '9' ? (unsigned)(text.p[0] - '0') : 0;
}

static void carry_out(char letter, struct hl_str text)
{
    bool is_callers = strchr("cexv", letter), is_apps = strchr("afzw", letter);
    struct world_wire *wire = is_callers ? find_caller() : is_apps ? find_app() : NULL;
    if (wire)
        take_wire_step(letter, wire, text, digit_of(text));
    else if (!is_callers && !is_apps)
        take_general_step(letter, digit_of(text));
    world_settle();
}

struct world *script_play(const uint8_t *data, size_t size, script_on_step *on_step)
{
    struct fuzz_input input = fuzz_input(data, size);
    fuzz_forget();
    fuzz_note("steps", (struct hl_str){input.p, input.n});
    world = world_begin(fuzz_take_byte(&input));
    caller = NULL;
    chosen_app = -1;
    last_app = 0;
    memset(seen, 0, sizeof seen);
    fuzz_take_until(&input, '`');
    while (input.n > 0) {
        struct hl_buf text;
        char letter = take_step(&input, &text);
        if (letter != '\0') {
            carry_out(letter, hl_buf_str(&text));
            if (on_step)
                on_step(world, letter, digit_of(hl_buf_str(&text)));
        }
        hl_buf_fini(&text);
    }
    return world;
}
