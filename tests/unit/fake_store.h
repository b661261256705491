/* fake_store.h - the store as runs and followers see it: keeps what it is told for the test, which
 * answers itself. It takes the place of store/store.c. */
#ifndef HL_TEST_FAKE_STORE_H
#define HL_TEST_FAKE_STORE_H

#include "base/err.h"
#include "store/gauges.h"

struct fake_store {
    struct hl_store_gauges gauges;
    bool is_shared;
    int64_t live_streams;
    /* what hl_store_post returns: not OK, then the message stays its poster's */
    enum hl_err refusal;
    struct hl_store_msg *posted[16];
    size_t count;
};

extern struct fake_store fake_store;

/* For struct hl_service. */
struct hl_store *fake_store_begin(void);
/* The oldest message, which is of this type; the test's from here on. */
struct hl_store_msg *fake_store_take(uint32_t type);

#endif
