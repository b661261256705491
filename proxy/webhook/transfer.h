/* transfer.h - one attempt in libcurl's hands: an easy handle that is kept and used again, so that
 * what never changes is set once.
 *
 * libcurl resolves no name. It goes over a kept connection, or to the addresses that it was given;
 * without either the transfer ends at once and wants them: nothing was sent, and it may be added to
 * the multi handle again. */
#ifndef HL_WEBHOOK_TRANSFER_H
#define HL_WEBHOOK_TRANSFER_H

#include <curl/curl.h>

#include "base/list.h"
#include "dns/resolver.h"
#include "store/record.h"

struct hl_envelope;
struct hl_str;
struct hl_url;

#define HL_TRANSFER_HEAD_MAX (256 * 1024) /* of all heads of an answer together */

/* What all transfers share; borrowed for their life. */
struct hl_transfer_settings {
    const char *ca_file; /* trust.h; NULL: libcurl's default */
    uint64_t timeout_ms; /* of one attempt, DNS and connecting included */
    bool https_only;
    const struct hl_cidr_list *allow; /* HOOKLINE_WEBHOOK_ALLOW */
    const char *proxy; /* with its credentials; NULL: none. It is exempt from the guard */
    /* Transfers enter it with their response's head, the oldest first; NULL: no such list. */
    struct hl_list *answered;
};

struct hl_transfer {
    CURL *easy;
    void *owner;             /* whose attempt it is */
    struct hl_list node;     /* for its owner, and for settings->answered */
    struct hl_lookup lookup; /* for its owner */
    uint64_t lookup_us;      /* when that began, monotonic */
    bool wants_addresses;    /* it ended for the lack of them */
    uint64_t answered_ms;    /* monotonic; when the head came */
    uint64_t sent;           /* of the request's body, when that was last looked at */
    uint64_t moved_ms;       /* monotonic; when it was less before */

    /* private: the latest attempt's URL */
    char *url_text; /* NULL: there is none */
    CURLU *url;     /* its parts; NULL: libcurl refused them, and is told the text */

    /* private: one attempt's */
    const struct hl_transfer_settings *settings;
    struct hl_envelope *envelope; /* read while it is sent; NULL: the body was given whole */
    uint32_t opened, refused;     /* sockets, by the address guard */
    uint64_t opened_us;           /* monotonic: when the first of them was opened */
    uint64_t secures_us;          /* monotonic: when TLS began; 0: it did not */
    uint32_t requests;            /* of this attempt: more than one is refused */
    char refused_address[HL_IP_TEXT];
    uint64_t head_size;      /* bytes of the receiver's heads */
    uint64_t received;       /* bytes of its body */
    uint64_t retry_after_ms; /* what its last head asks for; 0: nothing */
    int32_t name_us;         /* how long the look-up took; -1: there was none. The owner's to set */
    uint32_t body_n;         /* of what is kept of the answer's body */
    char body[HL_REPORT_BODY_MAX];
    bool has_head;            /* a final response's head came whole: its status counts */
    bool is_body_broken;      /* the envelope could not be read */
    uint64_t size;            /* of the request's body */
    struct curl_slist target; /* for libcurl, what the proxy is asked for: an address */
    char target_text[HL_IP_TEXT + 16];
    char asked[HL_REPORT_ADDRESS_MAX + 1]; /* what the proxy is asked for; empty: there is none */
    struct hl_pin pin;
};

/* NULL when out of memory. */
struct hl_transfer *hl_transfer_new(const struct hl_transfer_settings *settings);
void hl_transfer_free(struct hl_transfer *t); /* NULL-safe; not while it is in a multi handle */

/* Prepares the next attempt; add t->easy to the multi handle then. `fields` is borrowed until the
 * end. The body is `whole`, borrowed, or when that is empty `envelope`, rewound, read on the
 * multi's thread. `is_retry`: kept connections are passed over, so that the name is resolved anew:
 * the receiver may have moved. NOMEM, TOO_LARGE (the URL is too long). */
HL_MUST_CHECK enum hl_err hl_transfer_prepare(struct hl_transfer *t, struct hl_str url,
    struct curl_slist *fields, struct hl_str whole, struct hl_envelope *envelope, bool is_retry);

/* Whatever the URL's host is, these are its addresses, for this attempt; with a proxy, the proxy's. `port`:
 * the URL's, or the proxy's.
 * `left_ms`: what is left of the attempt's time. NOMEM. */
HL_MUST_CHECK enum hl_err hl_transfer_set_addresses(struct hl_transfer *t, uint16_t port,
    const struct hl_ip *addresses, size_t n, uint64_t left_ms);

/* With a proxy, before the attempt: it is asked for `url`'s host, a name, or for the address that this is.
 * False: the guard refuses that one, which the result says. */
HL_MUST_CHECK bool hl_transfer_ask_for_name(struct hl_transfer *t, const struct hl_url *url);
/* It is asked for one of these addresses of `url`'s host, by turns: `turn` is the attempt's number. False:
 * the guard refuses all of them, which the result says. */
HL_MUST_CHECK bool hl_transfer_ask_for_address(struct hl_transfer *t, const struct hl_url *url,
    const struct hl_ip *addresses, size_t n, uint32_t turn);

/* How much of the request's body libcurl has given to the connection. */
uint64_t hl_transfer_sent(const struct hl_transfer *t);
/* Of the answer whose head has come. */
uint16_t hl_transfer_status(const struct hl_transfer *t);

#endif
