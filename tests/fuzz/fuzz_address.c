/* fuzz_address.c - addresses, ranges, hosts, authorities, as texts.
 * Input: two texts, the first ends with a line feed.
 * Claims: what is read, and what is blocked, is what a naive reader says; whatever the C library
 * takes for a number is one to the guard. */
#include <arpa/inet.h>

#include "config/choice.h"
#include "config/endpoint.h"
#include "expect_address.h"
#include "fuzz.h"
#include "http/url.h"
#include "net/address.h"
#include "net/guard.h"
#include "strict_grammar.h"

static bool expect_ip(struct hl_str text, uint8_t out[16])
{
    return expect_v4(text, out) || expect_v6(text, out);
}

static void check_ip(struct hl_str text)
{
    struct hl_ip ip, again;
    uint8_t expected[16];
    char formatted[HL_IP_TEXT];
    static const struct hl_cidr_list nobody;
    bool is_read = hl_ip_parse(text, &ip);
    FUZZ_CHECK(is_read == expect_ip(text, expected), "an address to one reader only");
    if (!is_read)
        return;
    FUZZ_CHECK(memcmp(ip.b, expected, 16) == 0, "another address");
    hl_ip_format(&ip, formatted);
    FUZZ_CHECK(hl_ip_parse(hl_str_from(formatted), &again) && memcmp(ip.b, again.b, 16) == 0,
        "formatted, another address");
    FUZZ_CHECK(hl_guard_is_blocked(&ip, &nobody) == expect_is_blocked(expected),
        "blocked by one reader only");
}

static bool has_bit(const uint8_t ip[16], unsigned i)
{
    return ip[i / 8] >> (7 - i % 8) & 1;
}

/* "address/bits" with no bit set behind them; bits of a dotted quad count from its own first. */
static bool expect_range(struct hl_str text, uint8_t base[16], unsigned *bits)
{
    const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
    struct hl_str address = {text.p, slash ? (size_t)(slash - text.p) : text.n};
    unsigned most = expect_v4(address, base) ? 32 : 128;
    if (most == 128 && !expect_v6(address, base))
        return false;
    *bits = most;
    if (slash) {
        size_t n = text.n - address.n - 1;
        *bits = 0;
        for (size_t i = 1; i <= n; i++) {
            if (n > 3 || slash[i] < '0' || slash[i] > '9')
                return false;
            *bits = *bits * 10 + (unsigned)(slash[i] - '0');
        }
        if (n == 0 || *bits > most)
            return false;
    }
    *bits += 128 - most;
    for (unsigned i = *bits; i < 128; i++)
        if (has_bit(base, i))
            return false;
    return true;
}

static void check_range(struct hl_str text, struct hl_str member)
{
    struct hl_cidr cidr;
    struct hl_ip ip;
    uint8_t base[16];
    unsigned bits, same = 0;
    bool is_read = hl_cidr_parse(text, &cidr);
    FUZZ_CHECK(is_read == expect_range(text, base, &bits), "a range to one reader only");
    if (!is_read)
        return;
    FUZZ_CHECK(cidr.bits == bits && memcmp(cidr.base.b, base, 16) == 0, "another range");
    if (!hl_ip_parse(member, &ip))
        return;
    while (same < 128 && has_bit(base, same) == has_bit(ip.b, same))
        same++;
    FUZZ_CHECK(hl_cidr_has(&cidr, &ip) == (same >= bits), "in the range to one reader only");
}

static void check_host(struct hl_str text)
{
    struct hl_ip ip;
    uint8_t expected[16];
    struct in_addr in;
    char z[64];
    bool is_read = hl_guard_parse_host(text, false, &ip);
    FUZZ_CHECK(is_read == expect_loose_v4(text, expected), "an IPv4 host to one reader only");
    FUZZ_CHECK(!is_read || memcmp(ip.b, expected, 16) == 0, "another IPv4 host");

    bool has_blank = strcspn(text.p, " \t\n\v\f\r") < text.n; /* inet_aton stops there */
    if (text.n >= sizeof z || memchr(text.p, '\0', text.n) || has_blank)
        return;
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';
    if (inet_aton(z, &in))
        FUZZ_CHECK(is_read && memcmp(&in, ip.b + 12, 4) == 0, "the C library reads an address");
}

static void check_authority(struct hl_str text)
{
    struct hl_authority a;
    uint8_t ip[16];
    bool is_read = hl_authority_parse(text, &a);
    FUZZ_CHECK(!is_read || strict_is_authority(text), "an authority that is none");
    if (!is_read) {
        bool may_be_v6 = text.n > 0 && text.p[0] == '[';
        FUZZ_CHECK(!strict_is_authority(text) || may_be_v6, "an authority to one reader only");
        return;
    }
    struct hl_str host = a.host;
    const char *zone = memchr(host.p, '%', host.n);
    if (zone)
        host.n = (size_t)(zone - host.p);
    FUZZ_CHECK(a.is_bracketed == (text.p[0] == '['), "brackets came or went");
    FUZZ_CHECK(!a.is_bracketed || expect_v6(host, ip), "brackets around something else");
    FUZZ_CHECK(a.is_bracketed || !memchr(host.p, ':', host.n), "a port in the host");
}

/* Texts that settings hold: only that they can be read and let go. */
static void check_endpoints(struct hl_str text)
{
    struct hl_listen_list list;
    struct hl_app_url url;
    struct hl_cidr_list ranges;
    struct hl_str bad;
    if (hl_listen_list_parse(text, &list) == HL_OK) {
        FUZZ_CHECK(list.n > 0, "a list of nothing");
        hl_listen_list_fini(&list);
    }
    if (hl_app_url_parse(text, &url) == HL_OK) {
        FUZZ_CHECK(url.is_unix ? url.path[0] == '/' : url.port > 0, "an app that is nowhere");
        hl_app_url_fini(&url);
    }
    if (hl_cidr_list_parse(text, &ranges, &bad) == HL_OK)
        hl_cidr_list_fini(&ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_input(data, size);
    struct hl_str text = fuzz_take_until(&input, '\n'), other = {input.p, input.n};
    char z[256];
    fuzz_forget();
    fuzz_note("text", text);
    if (text.n >= sizeof z)
        return 0;
    if (text.n > 0)
        memcpy(z, text.p, text.n);
    z[text.n] = '\0'; /* for those that read C strings here */
    text.p = z;
    check_ip(text);
    check_range(text, other);
    check_host(text);
    check_authority(text);
    check_endpoints(text);
    return 0;
}
