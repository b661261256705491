/* hosts.c - hosts(5). Any thread; no state. */
#include "dns/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/address.h"

#define HOSTS "/etc/hosts"

static struct hl_str without_dot(struct hl_str name)
{
    if (name.n > 0 && name.p[name.n - 1] == '.')
        name.n--;
    return name;
}

bool hl_hosts_is_local(struct hl_str name)
{
    const struct hl_str local = HL_STR("localhost");
    name = without_dot(name);
    if (name.n < local.n)
        return false;
    struct hl_str last = {name.p + name.n - local.n, local.n};
    return hl_str_eq_nocase(last, local) && (name.n == local.n || last.p[-1] == '.');
}

/* Of a line, without its comment: the address and whether the name is one of those behind it. */
static bool is_line_of(const char *line, struct hl_str name, struct hl_ip *ip)
{
    static const char blank[] = " \t\r\f\v";
    size_t length = strcspn(line, "#"), at = strspn(line, blank), n = strcspn(line + at, blank);
    if (at + n > length || !hl_ip_parse((struct hl_str){line + at, n}, ip))
        return false;
    for (;;) {
        at += n;
        at += strspn(line + at, blank);
        if (at >= length)
            return false;
        n = strcspn(line + at, " \t\r\f\v#");
        if (hl_str_eq_nocase(without_dot((struct hl_str){line + at, n}), name))
            return true;
    }
}

static bool has(const struct hl_ip *list, size_t n, const struct hl_ip *ip)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&list[i], ip, sizeof(*ip)) == 0)
            return true;
    return false;
}

static size_t find_in(FILE *file, struct hl_str name, struct hl_ip *out, size_t max)
{
    char *line = NULL;
    size_t cap = 0, n = 0;
    struct hl_ip ip;
    name = without_dot(name);
    for (ssize_t length; n < max && (length = getline(&line, &cap, file)) > 0;) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (is_line_of(line, name, &ip) && !has(out, n, &ip))
            out[n++] = ip;
    }
    free(line);
    return n;
}

size_t hl_hosts_find_in(struct hl_str text, struct hl_str name, struct hl_ip *out, size_t max)
{
    FILE *file = text.n > 0 ? fmemopen((void *)text.p, text.n, "r") : NULL;
    size_t n = file ? find_in(file, name, out, max) : 0;
    if (file)
        fclose(file);
    return n;
}

size_t hl_hosts_find(struct hl_str name, struct hl_ip *out, size_t max, bool *is_there)
{
    FILE *file = fopen(HOSTS, "re");
    *is_there = file != NULL;
    size_t n = file ? find_in(file, name, out, max) : 0;
    if (file)
        fclose(file);
    return n;
}
