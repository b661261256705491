/* description.c - answers a request for the description of the interface.
 * Owns: nothing; the file is a constant. Thread: any.
 * Not here: the text (api/openapi.json), how it got into the program (api/openapi_embed.cmake), the
 * listeners (worker/call.c, api/endpoint.c). */
#include "route/description.h"

#include "base/str.h"
#include "http/field_value.h"
#include "http/problem.h"

void hl_description_answer(struct hl_answer *answer, struct hl_str if_none_match)
{
    answer->content_type = HL_STR("application/json");
    answer->cache_control = "no-cache"; /* it is asked for each time: the next version may differ */
    answer->extra_fields = hl_description.etag_field;
    answer->status = hl_etag_is_known(if_none_match, hl_str_from(hl_description.etag)) ? 304 : 200;
    if (answer->status == 200)
        answer->body = (struct hl_str){(const char *)hl_description.bytes, hl_description.n};
}
