/* era.c - see era.h. A server is known by its system identifier, its timeline, which each promotion raises, and
 * the table that this schema's events are in; a state of the same server that was brought back, by beats that
 * are not there. */
#include "store/postgres/era.h"

#include <stdio.h>

#include "base/log.h"

static bool is_other(const struct hl_pg_era *era, struct hl_str name)
{
    return era->name[0] && !hl_str_eq(name, hl_str_from(era->name));
}

static bool is_behind(const struct hl_pg_era *era, int64_t beat_ms)
{
    return beat_ms >= 0 && beat_ms < era->beat_ms;
}

bool hl_pg_era_take(struct hl_pg_store *s, struct hl_str name, int64_t beat_ms)
{
    struct hl_pg_era *era = &s->era;
    bool has_turned = is_other(era, name) || is_behind(era, beat_ms);
    if (has_turned) {
        HL_LOG(WARN,
            "store: this is another database, or an earlier state of it: what was committed last "
            "may be missing; all is read anew",
            HL_LOG_TEXT("was", era->name), HL_LOG_STR("is", name),
            HL_LOG_INT("beats_missing_ms",
                is_behind(era, beat_ms) && beat_ms > 0 ? era->beat_ms - beat_ms : 0));
        s->outbox.begins_anew = s->outbox.overrules = true;
        era->beat_ms = 0;
    }
    snprintf(era->name, sizeof(era->name), "%.*s", HL_STR_ARG(name));
    return has_turned;
}

void hl_pg_era_watch(struct hl_pg_store *s, struct hl_str name, int64_t beat_ms)
{
    s->era.has_turned |= hl_pg_era_take(s, name, beat_ms);
}
