/* desk.h - what the loop and the host's threads share: calls go over it one way, what they write the
 * other. Made before the threads, and never changed but for the queue, the mailbox and one flag. */
#ifndef HL_RUNTIME_DESK_H
#define HL_RUNTIME_DESK_H

#include <stdatomic.h>

#include "core/directory.h"
#include "core/queue.h"
#include "core/settings.h"
#include "loop/mailbox.h"

struct hl_desk {
    struct hl_settings settings;
    struct hl_directory directory;
    struct hl_queue queue;     /* of struct hl_call */
    struct hl_uv_mailbox mail; /* the loop's */
    atomic_bool is_stopping;   /* connections close after their answer */
};

/* What comes through the mailbox. */
enum hl_desk_message {
    HL_DESK_PIECE,    /* struct hl_piece */
    HL_DESK_PROGRESS, /* struct hl_progress */
    HL_DESK_RELEASED, /* struct hl_call */
    HL_DESK_STOP,
};

#endif
