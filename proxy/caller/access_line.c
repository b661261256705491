/* access_line.c - a line of the access log.
 * Thread: any; no state.
 * Promise: no query, no field and no body is in it; what is as long as the caller likes stands last,
 * so that it pushes nothing else out of the line.
 * Not here: when a call begins and ends (access.c), escaping (base/log.c). */
#include "caller/access_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/field.h"
#include "http/head.h"
#include "http/url.h"

/* The comma-separated element at the end of `*list`, which is cut off it. */
static struct hl_str take_last(struct hl_str *list)
{
    const char *comma = memrchr(list->p, ',', list->n);
    size_t at = comma ? (size_t)(comma - list->p) + 1 : 0;
    struct hl_str last = {list->p + at, list->n - at};
    list->n = comma ? at - 1 : 0;
    return hl_str_trim(last);
}

/* From the nearest hop on, as long as those who added them are trusted. */
static void find_client(
    char client[HL_IP_TEXT], const struct hl_head *head, const struct hl_cidr_list *trusted)
{
    for (size_t i = head->field_count; i-- > 0;) {
        if (head->fields[i].id != HL_FIELD_X_FORWARDED_FOR)
            continue;
        struct hl_str list = head->fields[i].value;
        while (list.n > 0) {
            struct hl_ip ip;
            if (!hl_ip_parse(take_last(&list), &ip))
                return;
            hl_ip_format(&ip, client);
            if (!hl_cidr_list_has(trusted, &ip))
                return;
        }
    }
}

static struct hl_str path_of(const struct hl_head *head)
{
    struct hl_target target;
    if (!head || !hl_target_split(head->target, &target))
        return HL_STR("");
    return target.path;
}

static size_t cut(size_t n, size_t max)
{
    return n < max ? n : max;
}

struct hl_access_line *hl_access_line_new(
    const char *peer, const struct hl_head *head, const struct hl_cidr_list *trusted)
{
    struct hl_str path = path_of(head);
    size_t path_n = cut(path.n, HL_ACCESS_PATH);
    struct hl_access_line *line = malloc(sizeof(*line) + path_n);
    if (!line)
        return NULL;
    memset(line, 0, sizeof(*line));
    hl_str_put(line->client, sizeof(line->client), peer);
    struct hl_ip ip;
    if (head && hl_ip_parse(hl_str_from(peer), &ip) && hl_cidr_list_has(trusted, &ip))
        find_client(line->client, head, trusted);
    if (head)
        memcpy(line->method, head->method.p, cut(head->method.n, HL_ACCESS_METHOD));
    line->path_n = path_n;
    if (path_n > 0)
        memcpy(line->path, path.p, path_n);
    return line;
}

void hl_access_line_write(
    const struct hl_access_line *line, const struct hl_access_outcome *outcome)
{
    uint64_t unsent = cut(outcome->unsent, line->bytes);
    struct hl_log_field fields[12];
    size_t n = 0;
    fields[n++] = HL_LOG_TEXT("client", line->client);
    if (*line->subject)
        fields[n++] = HL_LOG_TEXT("subject", line->subject);
    fields[n++] = HL_LOG_TEXT("method", line->method);
    fields[n++] = HL_LOG_INT("status", outcome->status);
    fields[n++] = HL_LOG_INT("bytes", line->bytes - unsent);
    fields[n++] = HL_LOG_INT("ms", outcome->us / 1000);
    if (!hl_id_is_nil(&line->run_id))
        fields[n++] = HL_LOG_ID("run_id", &line->run_id);
    fields[n++] = HL_LOG_TEXT("mode", outcome->mode);
    if (outcome->end)
        fields[n++] = HL_LOG_TEXT("end", outcome->end);
    fields[n++] = HL_LOG_STR("path", ((struct hl_str){line->path, line->path_n}));
    fields[n] = (struct hl_log_field){.name = NULL};
    hl_log_write(HL_LOG_INFO, HL_LOG_CALL, fields);
}
