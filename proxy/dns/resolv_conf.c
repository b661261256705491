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
#define RESOLVED       "/run/systemd/resolve/io.systemd.Resolve"
#define FILE_MOST      (64 * 1024)
#define NDOTS_MOST     15
#define TIMEOUT_S      5
#define TIMEOUT_MOST_S 30
#define ATTEMPTS       2
#define ATTEMPTS_MOST  5

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
    } else if (read_number(word, HL_STR("attempts:"), &number)) {
        conf->attempts = number < ATTEMPTS_MOST ? (unsigned)number : ATTEMPTS_MOST;
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

/* Unless the line says otherwise. */
static struct hl_name_source source_of(int kind)
{
    struct hl_name_source source = {.ends = {[HL_NAME_FOUND] = true}};
    source.kind = kind;
    return source;
}

/* The rest of the line without the blanks before it. */
static bool skip_blanks(struct hl_str *rest)
{
    while (rest->n > 0 && is_blank(rest->p[0]))
        *rest = (struct hl_str){rest->p + 1, rest->n - 1};
    return rest->n > 0;
}

static struct hl_str take_until(struct hl_str *rest, const char *stops)
{
    size_t n = 0;
    while (n < rest->n && !is_blank(rest->p[n]) && !strchr(stops, rest->p[n]))
        n++;
    struct hl_str word = {rest->p, n};
    *rest = (struct hl_str){rest->p + n, rest->n - n};
    return word;
}

static bool take_sign(struct hl_str *rest, char sign)
{
    if (!skip_blanks(rest) || rest->p[0] != sign)
        return false;
    *rest = (struct hl_str){rest->p + 1, rest->n - 1};
    return true;
}

static bool read_status(struct hl_str word, enum hl_name_status *status)
{
    static const char *const words[] = {[HL_NAME_FOUND] = "SUCCESS",
        [HL_NAME_ABSENT] = "NOTFOUND",
        [HL_NAME_UNAVAILABLE] = "UNAVAIL",
        [HL_NAME_TROUBLED] = "TRYAGAIN"};
    for (size_t i = 0; i < HL_NAME_STATUSES; i++)
        if (hl_str_eq_nocase(word, hl_str_from(words[i]))) {
            *status = (enum hl_name_status)i;
            return true;
        }
    return false;
}

/* "return" ends it; "continue" goes on, and so does "merge": getaddrinfo merges nothing. */
static bool read_action(struct hl_str word, bool *ends)
{
    *ends = hl_str_eq_nocase(word, HL_STR("return"));
    return *ends || hl_str_eq_nocase(word, HL_STR("continue")) ||
           hl_str_eq_nocase(word, HL_STR("merge"));
}

/* "UNAVAIL=return", or with "!" what is to be done in all other cases. */
static bool take_action(struct hl_str *rest, struct hl_name_source *source)
{
    enum hl_name_status status;
    bool is_not = take_sign(rest, '!'), ends;
    if (!skip_blanks(rest) || !read_status(take_until(rest, "=]"), &status) ||
        !take_sign(rest, '=') || !skip_blanks(rest) || !read_action(take_until(rest, "=]"), &ends))
        return false;
    for (size_t i = 0; i < HL_NAME_STATUSES; i++)
        if ((i == status) != is_not)
            source->ends[i] = ends;
    return true;
}

/* False: it is not written as it should be. */
static bool take_actions(struct hl_str *rest, struct hl_name_source *source)
{
    if (!take_sign(rest, '['))
        return true;
    while (!take_sign(rest, ']'))
        if (!take_action(rest, source))
            return false;
    return true;
}

static void add_source(struct hl_name_sources *sources, const struct hl_name_source *source)
{
    if (sources->n < HL_NAME_SOURCES_MAX)
        sources->of[sources->n++] = *source;
}

static bool has_kind(const struct hl_name_sources *sources, int kind)
{
    for (size_t i = 0; i < sources->n; i++)
        if ((int)sources->of[i].kind == kind)
            return true;
    return false;
}

/* False: a part of the line makes no sense. */
static bool read_sources(
    const struct hl_resolv_conf *conf, struct hl_str line, struct hl_name_sources *sources)
{
    const struct hl_name_source files = source_of(HL_NAME_BY_FILES);
    while (skip_blanks(&line)) {
        struct hl_str name = take_until(&line, "[");
        bool is_resolve = hl_str_eq(name, HL_STR("resolve"));
        bool is_dns = hl_str_eq(name, HL_STR("dns")) || (is_resolve && conf->has_resolved);
        struct hl_name_source source = source_of(hl_str_eq(name, HL_STR("files")) ? HL_NAME_BY_FILES
                                                 : is_dns                         ? HL_NAME_BY_DNS
                                                          : HL_NAME_BY_MODULE);
        if (name.n == 0 || !take_actions(&line, &source))
            return false;
        if (is_resolve && is_dns)
            add_source(sources, &files);
        add_source(sources, &source);
    }
    return true;
}

void hl_resolv_conf_take_switch(struct hl_resolv_conf *conf, struct hl_str text)
{
    struct hl_str line;
    while (next_line(&text, &line)) {
        struct hl_name_sources sources = {.n = 0};
        const char *hash = line.n ? memchr(line.p, '#', line.n) : NULL;
        line.n = hash ? (size_t)(hash - line.p) : line.n;
        if (!skip_blanks(&line) || !hl_str_eq(take_until(&line, ":"), HL_STR("hosts")))
            continue;
        (void)take_sign(&line, ':'); /* glibc needs none */
        if (!read_sources(conf, line, &sources))
            continue;
        /* modules that only glibc can load: what they find is not known */
        if (has_kind(&sources, HL_NAME_BY_FILES) || has_kind(&sources, HL_NAME_BY_DNS))
            conf->sources = sources;
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
    *conf = (struct hl_resolv_conf){.ndots = 1,
        .timeout_s = TIMEOUT_S,
        .attempts = ATTEMPTS,
        .has_resolved = access(RESOLVED, W_OK) == 0,
        .sources = {2, {source_of(HL_NAME_BY_FILES), source_of(HL_NAME_BY_DNS)}}};
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
