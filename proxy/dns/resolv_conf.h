/* resolv_conf.h - which name servers to ask and how, as the machine's files say: resolv.conf(5),
 * nsswitch.conf(5). */
#ifndef HL_DNS_RESOLV_CONF_H
#define HL_DNS_RESOLV_CONF_H

#include "base/str.h"
#include "net/address.h"

#define HL_DNS_SERVERS_MAX 3  /* as in glibc: others are not asked */
#define HL_DNS_SEARCH_MAX  16 /* domains */
#define HL_DNS_SEARCH_TEXT 4096

struct hl_dns_server {
    struct hl_ip ip;
    uint32_t scope; /* of a link-local address, or 0 */
};

/* What came of asking one source of nsswitch.conf (its words SUCCESS, NOTFOUND, UNAVAIL, TRYAGAIN). */
enum hl_name_status {
    HL_NAME_FOUND,
    HL_NAME_ABSENT,
    HL_NAME_UNAVAILABLE,
    HL_NAME_TROUBLED,
    HL_NAME_STATUSES
};

struct hl_name_source {
    enum {
        HL_NAME_BY_FILES,
        HL_NAME_BY_DNS,
        HL_NAME_BY_MODULE /* that only glibc can load: as where it is not there */
    } kind;
    bool ends[HL_NAME_STATUSES]; /* those behind it are not asked then */
};

#define HL_NAME_SOURCES_MAX 12

struct hl_name_sources {
    size_t n;
    struct hl_name_source of[HL_NAME_SOURCES_MAX];
};

struct hl_resolv_conf {
    struct hl_dns_server servers[HL_DNS_SERVERS_MAX]; /* at least one: the loopback address */
    size_t servers_n;
    struct hl_str search[HL_DNS_SEARCH_MAX]; /* slices of `text`; "" is the root */
    size_t search_n;
    unsigned ndots;
    unsigned timeout_s,
        attempts;           /* how long a server is waited for before the next one, and how often */
    bool rotates, uses_tcp; /* "rotate", "use-vc" */
    bool has_no_aaaa;       /* "no-aaaa": glibc's since 2.36 */
    bool has_no_tld_query;
    bool has_resolved; /* the module "resolve" finds its daemon, which reads hosts, too */
    struct hl_name_sources sources; /* nsswitch.conf's line "hosts" */
    char text[HL_DNS_SEARCH_TEXT];
};

/* As the files are at this moment; what is missing there is as in glibc. Reads small files. */
void hl_resolv_conf_read(struct hl_resolv_conf *conf);

/* The parts of it: `text` of resolv.conf; "search" or "domain" of a text, as LOCALDOMAIN is; options of a
 * text, as RES_OPTIONS is; `text` of nsswitch.conf. */
void hl_resolv_conf_take(struct hl_resolv_conf *conf, struct hl_str text);
void hl_resolv_conf_take_search(struct hl_resolv_conf *conf, struct hl_str text, size_t most);
void hl_resolv_conf_take_options(struct hl_resolv_conf *conf, struct hl_str text);
void hl_resolv_conf_take_switch(struct hl_resolv_conf *conf, struct hl_str text);

#endif
