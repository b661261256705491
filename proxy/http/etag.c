/* etag.c - compares tags weakly. Thread: any; no state. */
#include "http/etag.h"

#include "base/str.h"

bool hl_etag_is_known(struct hl_str if_none_match, struct hl_str etag)
{
    struct hl_str tag;
    while (hl_str_next_element(&if_none_match, &tag)) {
        if (hl_str_starts_with(tag, HL_STR("W/")))
            tag = (struct hl_str){tag.p + 2, tag.n - 2};
        if (hl_str_eq(tag, etag) || hl_str_eq(tag, HL_STR("*")))
            return true;
    }
    return false;
}
