/* fake_store.c - the functions of the store that a worker calls. */
#include "fake_store.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "loop/mailbox.h"
#include "store/op.h"
#include "store/store.h"

struct fake_store fake_store;

struct hl_store *fake_store_begin(void)
{
    memset(&fake_store, 0, sizeof(fake_store));
    return (struct hl_store *)&fake_store;
}

struct hl_store_msg *fake_store_take(uint32_t type)
{
    cr_assert_gt(fake_store.count, 0, "nothing was posted");
    struct hl_store_msg *m = fake_store.posted[0];
    cr_assert_eq(m->msg.type, type);
    memmove(fake_store.posted, fake_store.posted + 1, --fake_store.count * sizeof(m));
    return m;
}

enum hl_err hl_store_post(struct hl_store *s, struct hl_store_msg *m)
{
    (void)s;
    if (fake_store.refusal != HL_OK)
        return fake_store.refusal;
    cr_assert_lt(fake_store.count, HL_ARRAY_LEN(fake_store.posted));
    fake_store.posted[fake_store.count++] = m;
    return HL_OK;
}

const struct hl_store_gauges *hl_store_get_gauges(const struct hl_store *s)
{
    (void)s;
    return &fake_store.gauges;
}

const char *hl_store_data_dir(const struct hl_store *s)
{
    (void)s;
    return NULL;
}

uint64_t hl_store_ready_runs(const struct hl_store *store)
{
    return hl_counter_get(&hl_store_get_gauges(store)->queued_runs);
}

bool hl_store_is_shared(const struct hl_store *s)
{
    (void)s;
    return fake_store.is_shared;
}

void hl_store_note_stream(struct hl_store *store, int64_t bytes)
{
    (void)store;
    fake_store.live_streams += bytes;
}

bool hl_store_is_destination_full(const struct hl_store *store, struct hl_str webhook_url)
{
    (void)store;
    (void)webhook_url;
    return false;
}

uint64_t hl_store_live_streams(const struct hl_store *store)
{
    (void)store;
    return (uint64_t)fake_store.live_streams;
}
