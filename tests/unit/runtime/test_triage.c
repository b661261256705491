/* test_triage.c - which Accept asks for a stream of events. */
#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/str.h"
#include "core/triage.h"

Test(media, wants_events_where_they_are_named)
{
    static const struct {
        const char *accept;
        bool wants;
    } cases[] = {
        {"text/event-stream", true},
        {"TEXT/Event-Stream", true},
        {"application/json, text/event-stream", true},
        {"text/event-stream;q=0.5, application/json", true},
        {"text/event-stream ; charset=utf-8 ; Q=1", true},
        {"text/event-stream;q=0", false},
        {"text/event-stream; charset=x; q=0.000", false},
        {"text/event-stream;q=0, text/event-stream", true},
        {"*/*", false},
        {"text/*", false},
        {"application/json", false},
        {"text/event-streams", false},
        {"x text/event-stream", false},
        {";q=1", false},
        {"", false},
        {",,;", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_expect_eq(hl_media_wants_events(hl_str_from(cases[i].accept)), cases[i].wants, "%s",
            cases[i].accept);
}
