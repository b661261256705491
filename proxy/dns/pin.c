/* pin.c - addresses in a table of one transfer's own: the multi handle's is that of all its transfers.
 * There the entry may stand for any name, so that nothing hangs on how libcurl spells the URL's.
 * Any thread. Not here: that libcurl resolves nothing by itself (CURLOPT_RESOLVER_START_FUNCTION). */
#include "dns/pin.h"

#include <stdio.h>

#include "base/assert.h"

static void write_entry(struct hl_pin *pin, uint16_t port, const struct hl_ip *addresses, size_t n)
{
    const size_t cap = sizeof(pin->text);
    char text[HL_IP_TEXT];
    size_t used = (size_t)snprintf(pin->text, cap, "*:%u:", port);
    for (size_t i = 0; i < n; i++) {
        bool is_v4 = hl_ip_is_v4(&addresses[i]);
        hl_ip_format(&addresses[i], text);
        used += (size_t)snprintf(
            pin->text + used, cap - used, is_v4 ? "%s%s" : "%s[%s]", i > 0 ? "," : "", text);
        HL_ASSERT(used < cap);
    }
}

enum hl_err hl_pin_set(
    struct hl_pin *pin, CURL *easy, uint16_t port, const struct hl_ip *addresses, size_t n)
{
    HL_ASSERT(n > 0 && n <= HL_LOOKUP_ADDRESSES_MAX);
    hl_pin_clear(pin, easy);
    write_entry(pin, port, addresses, n);
    pin->resolve = (struct curl_slist){.data = pin->text};
    pin->names = curl_share_init();
    bool is_set =
        pin->names &&
        curl_share_setopt(pin->names, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
        curl_easy_setopt(easy, CURLOPT_SHARE, pin->names) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_RESOLVE, &pin->resolve) == CURLE_OK;
    return is_set ? HL_OK : HL_ERR_NOMEM;
}

void hl_pin_clear(struct hl_pin *pin, CURL *easy)
{
    if (!pin->names)
        return;
    curl_easy_setopt(easy, CURLOPT_RESOLVE, NULL);
    curl_easy_setopt(easy, CURLOPT_SHARE, NULL);
    curl_share_cleanup(pin->names);
    pin->names = NULL;
}
