/* retry.c - the contract's retry table (contract 5) as a table. */
#include "webhook/retry.h"

/* The first row that holds the status decides. */
static const struct {
    uint16_t least, most;
    enum hl_attempt_verdict verdict;
} outcomes[] = {
    {0, 0, HL_ATTEMPT_RETRY},          /* network error */
    {200, 299, HL_ATTEMPT_OK},         /* 2xx */
    {404, 404, HL_ATTEMPT_RETRY},      /* Not Found */
    {400, 499, HL_ATTEMPT_DEAD},       /* other 4xx: permanent */
    {500, 599, HL_ATTEMPT_DEAD},       /* 5xx: it may have had effects already */
    {1, UINT16_MAX, HL_ATTEMPT_RETRY}, /* any other non-2xx */
};

enum hl_attempt_verdict hl_retry_verdict(uint16_t http_status, uint32_t n, uint32_t max)
{
    size_t i = 0;
    while (http_status < outcomes[i].least || http_status > outcomes[i].most)
        i++;
    if (outcomes[i].verdict == HL_ATTEMPT_RETRY && n >= max)
        return HL_ATTEMPT_DEAD;
    return outcomes[i].verdict;
}

/* The spread keeps the deliveries of one outage from coming back in one moment. Both ends stay
 * under HL_RETRY_DELAY_MAX_MS with a tick of due.h to spare. */
static const struct {
    uint32_t least_ms, spread_ms;
} delays[] = {{800, 400}, {3500, 1000}};

uint64_t hl_retry_delay_ms(uint32_t n, uint32_t random)
{
    size_t i = n < HL_ARRAY_LEN(delays) ? n - 1 : HL_ARRAY_LEN(delays) - 1;
    return delays[i].least_ms + random % (delays[i].spread_ms + 1);
}
