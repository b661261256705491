/* principal.c - see principal.h. */
#include "auth/principal.h"

#include "store/quota.h"

enum hl_priority hl_principal_max_priority(const struct hl_principal *who)
{
    if (!who)
        return HL_PRIORITY_HIGH;
    return who->quota ? hl_quota_max_priority(who->quota) : HL_PRIORITY_NORMAL;
}
