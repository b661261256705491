/* follow.c - see follow.h.
 * Owns: nothing. Thread: any.
 * Not here: who is granted it (api/rest_events.c), who may be one more (journals.c). */
#include "body/follow.h"

#include <stdlib.h>

void hl_follow_free(struct hl_follow *f)
{
    if (f)
        hl_journals_leave(&f->place);
    free(f);
}
