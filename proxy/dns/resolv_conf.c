/* resolv_conf.c - resolv.conf and nsswitch.conf as glibc 2.36 reads them, so that a
 * name is looked for where other programs of this machine look for it. c-ares 1.18 knows fewer options.
 * Thread: any; blocks for as long as two small files take.
 * Not here: /etc/hosts (hosts.c), the walk along the search list (walk.c). */
#include "dns/resolv_conf.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

#define RESOLV_CONF    "/etc/resolv.conf"
#define NSSWITCH_CONF  "/etc/nsswitch.conf"
#define FILE_MOST      (64 * 1024)
#define NDOTS_MOST     15
#define TIMEOUT_S      5
#define TIMEOUT_MOST_S 30

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* Takes the next word off `*rest`; false: there is none. */
static bool next_word(struct hl_str *rest, struct hl_str *word)
{
    size_t begin = 0, end;
    while (begin < rest->n && is_blank(rest->p[begin]))
        begin++;
    for (end = begin; end < rest->n && !is_blank(rest->p[end]);)
        end++;
    *word = (struct hl_str){rest->p + begin, end - begin};
    rest->p += end;
    rest->n -= end;
    return word->n > 0;
}

static bool next_line(struct hl_str *rest, struct hl_str *line)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    line->p = rest->p;
    line->n = end ? (size_t)(end - rest->p) : rest->n;
    size_t taken = line->n + (end != NULL);
    rest->p += taken;
    rest->n -= taken;
    return true;
}

/* ---- resolv.conf ---- */

static void add_server(struct hl_resolv_conf *conf, struct hl_str word)
{
    struct hl_dns_server server = {.scope = 0};
    const char *percent = memchr(word.p, '%', word.n);
    struct hl_str address = {word.p, percent ? (size_t)(percent - word.p) : word.n};
    if (conf->servers_n == HL_DNS_SERVERS_MAX || !hl_ip_parse(address, &server.ip))
        return;
    if (percent) {
        char name[IF_NAMESIZE] = "";
        size_t n = (size_t)(word.p + word.n - percent) - 1;
        if (n < sizeof(name))
            memcpy(name, percent + 1, n);
        server.scope = if_nametoindex(name);
        if (server.scope == 0)
            server.scope = (uint32_t)strtoul(name, NULL, 10);
    }
    conf->servers[conf->servers_n++] = server;
}

/* The last line counts, be it "search" or "domain". */
void hl_resolv_conf_take_search(struct hl_resolv_conf *conf, struct hl_str text, size_t most)
{
    struct hl_str word;
    size_t used = 0;
    conf->search_n = 0;
    while (conf->search_n < most && conf->search_n < HL_DNS_SEARCH_MAX && next_word(&text, &word)) {
        while (word.n > 0 && word.p[word.n - 1] == '.') /* they are absolute in any case */
            word.n--;
        if (used + word.n > sizeof(conf->text))
            return;
        memcpy(conf->text + used, word.p, word.n);
        conf->search[conf->search_n++] = (struct hl_str){conf->text + used, word.n};
        used += word.n;
    }
}

static bool read_number(struct hl_str word, struct hl_str name, uint64_t *number)
{
    struct hl_str digits = {word.p + name.n, word.n - name.n};
    return hl_str_starts_with(word, name) && hl_str_to_u64(digits, number);
}

static void take_option(struct hl_resolv_conf *conf, struct hl_str word)
{
    uint64_t number;
    if (read_number(word, HL_STR("ndots:"), &number)) {
        conf->ndots = number < NDOTS_MOST ? (unsigned)number : NDOTS_MOST;
    } else if (read_number(word, HL_STR("timeout:"), &number)) {
        conf->timeout_s = number < TIMEOUT_MOST_S ? (unsigned)number : TIMEOUT_MOST_S;
    } else if (hl_str_eq(word, HL_STR("rotate"))) {
        conf->rotates = true;
    } else if (hl_str_eq(word, HL_STR("use-vc"))) {
        conf->uses_tcp = true;
    } else if (hl_str_eq(word, HL_STR("no-aaaa"))) {
        conf->has_no_aaaa = true;
    } else if (hl_str_eq(word, HL_STR("no-tld-query"))) {
        conf->has_no_tld_query = true;
    }
}

void hl_resolv_conf_take_options(struct hl_resolv_conf *conf, struct hl_str text)
{
    struct hl_str word;
    while (next_word(&text, &word))
        take_option(conf, word);
}

void hl_resolv_conf_take(struct hl_resolv_conf *conf, struct hl_str text)
{
    struct hl_str line, name, word;
    while (next_line(&text, &line)) {
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';' || is_blank(line.p[0]) ||
            !next_word(&line, &name))
            continue;
        if (hl_str_eq(name, HL_STR("nameserver")) && next_word(&line, &word))
            add_server(conf, word);
        else if (hl_str_eq(name, HL_STR("search")))
            hl_resolv_conf_take_search(conf, line, HL_DNS_SEARCH_MAX);
        else if (hl_str_eq(name, HL_STR("domain")))
            hl_resolv_conf_take_search(conf, line, 1);
        else if (hl_str_eq(name, HL_STR("options")))
            hl_resolv_conf_take_options(conf, line);
    }
}

/* ---- nsswitch.conf ---- */

void hl_resolv_conf_take_switch(struct hl_resolv_conf *conf, struct hl_str text)
{
    struct hl_str line, word;
    while (next_line(&text, &line)) {
        const char *hash = line.n ? memchr(line.p, '#', line.n) : NULL;
        line.n = hash ? (size_t)(hash - line.p) : line.n;
        if (!next_word(&line, &word) || !hl_str_starts_with(word, HL_STR("hosts:")))
            continue;
        line = (struct hl_str){word.p + 6, (size_t)(line.p + line.n - word.p) - 6};
        bool has_files = false, has_dns = false, is_dns_first = false;
        while (next_word(&line, &word)) {
            if (hl_str_eq(word, HL_STR("files"))) {
                has_files = true;
            } else if (hl_str_eq(word, HL_STR("dns")) || hl_str_eq(word, HL_STR("resolve"))) {
                has_dns = true;
                is_dns_first |= !has_files;
            }
        }
        if (!has_files && !has_dns)
            continue; /* modules that only glibc can load: what they find is not known */
        conf->has_files = has_files;
        conf->has_dns = has_dns;
        conf->is_dns_first = is_dns_first;
    }
}

/* ---- the machine's ---- */

/* Empty: there is none that can be read. */
static struct hl_str read_file(const char *path, char *room)
{
    FILE *file = fopen(path, "re");
    struct hl_str text = {room, 0};
    if (!file)
        return text;
    text.n = fread(room, 1, FILE_MOST, file);
    fclose(file);
    return text;
}

/* With no search list it is the domain that the host's own name is in. */
static void take_host_domain(struct hl_resolv_conf *conf)
{
    char name[256] = "";
    if (gethostname(name, sizeof(name) - 1) != 0)
        return;
    const char *dot = strchr(name, '.');
    if (dot)
        hl_resolv_conf_take_search(conf, hl_str_from(dot + 1), 1);
}

void hl_resolv_conf_read(struct hl_resolv_conf *conf)
{
    char *room = malloc(FILE_MOST);
    const char *domain = getenv("LOCALDOMAIN"), *options = getenv("RES_OPTIONS");
    *conf = (struct hl_resolv_conf){
        .ndots = 1, .timeout_s = TIMEOUT_S, .has_files = true, .has_dns = true};
    take_host_domain(conf);
    if (room) {
        hl_resolv_conf_take(conf, read_file(RESOLV_CONF, room));
        hl_resolv_conf_take_switch(conf, read_file(NSSWITCH_CONF, room));
    }
    free(room);
    if (domain)
        hl_resolv_conf_take_search(conf, hl_str_from(domain), HL_DNS_SEARCH_MAX);
    if (options)
        hl_resolv_conf_take_options(conf, hl_str_from(options));
    if (conf->servers_n == 0 && hl_ip_parse(HL_STR("127.0.0.1"), &conf->servers[0].ip))
        conf->servers_n = 1;
}
