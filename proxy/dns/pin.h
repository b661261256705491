/* pin.h - the addresses that a libcurl transfer is to use, in the place of its own resolving. */
#ifndef HL_DNS_PIN_H
#define HL_DNS_PIN_H

#include <curl/curl.h>

#include "base/compiler.h"
#include "base/err.h"
#include "dns/resolver.h"

struct hl_pin {
    CURLSH *names; /* where libcurl finds the addresses: this transfer's alone; NULL: it has none */
    struct curl_slist resolve;
    char text[HL_LOOKUP_ADDRESSES_MAX * (HL_IP_TEXT + 3) + 16];
};

/* Whatever the URL's host is, these are its addresses until hl_pin_clear. `n` from 1 to
 * HL_LOOKUP_ADDRESSES_MAX; `port`: the URL's. `easy` borrows `pin`; it is in no multi handle. NOMEM. */
HL_MUST_CHECK enum hl_err hl_pin_set(
    struct hl_pin *pin, CURL *easy, uint16_t port, const struct hl_ip *addresses, size_t n);
/* Before `easy` is cleaned up. Harmless when nothing is set. */
void hl_pin_clear(struct hl_pin *pin, CURL *easy);

#endif
