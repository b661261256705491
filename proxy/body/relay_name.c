/* relay_name.c - see relay_name.h. Thread: the loop's. */
#include "body/relay_name.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define GOOD_MS (30 * 1000)

void hl_relay_names_init(struct hl_relay_names *names, uv_loop_t *loop)
{
    *names = (struct hl_relay_names){.loop = loop};
    hl_list_init(&names->waiting);
}

void hl_relay_names_close(struct hl_relay_names *names)
{
    if (!names->resolving)
        return;
    names->resolving->data = NULL;
    uv_cancel((uv_req_t *)names->resolving);
    names->resolving = NULL;
}

static bool read_literal(const char *host, struct sockaddr_storage *out)
{
    *out = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
    return uv_ip4_addr(host, 0, (struct sockaddr_in *)out) == 0 ||
           uv_ip6_addr(host, 0, (struct sockaddr_in6 *)out) == 0;
}

static void look_up_next(struct hl_relay_names *names);

static void tell_all(struct hl_relay_names *names)
{
    bool is_found = names->found.ss_family != AF_UNSPEC;
    HL_LIST_EACH_SAFE (node, &names->waiting) {
        struct hl_relay_name *name = HL_CONTAINER_OF(node, struct hl_relay_name, node);
        if (strcmp(name->host, names->host) != 0)
            continue;
        hl_list_remove(&name->node);
        name->on_found(name, is_found ? &names->found : NULL);
    }
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct hl_relay_names *names = request->data;
    if (names) {
        names->resolving = NULL;
        names->found = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
        if (status == 0 && found && found->ai_addrlen <= sizeof(names->found))
            memcpy(&names->found, found->ai_addr, found->ai_addrlen);
        names->found_ms = uv_now(names->loop);
        tell_all(names);
        look_up_next(names);
    }
    uv_freeaddrinfo(found);
    free(request);
}

/* False: it cannot be begun. */
static bool look_up(struct hl_relay_names *names, const char *host)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t *request = calloc(1, sizeof(*request));
    if (!request)
        return false;
    request->data = names;
    memcpy(names->host, host, strlen(host) + 1);
    if (uv_getaddrinfo(names->loop, request, on_resolved, host, NULL, &hints) == 0) {
        names->resolving = request;
        return true;
    }
    free(request);
    return false;
}

static void look_up_next(struct hl_relay_names *names)
{
    while (!names->resolving && !hl_list_is_empty(&names->waiting)) {
        struct hl_relay_name *name =
            HL_CONTAINER_OF(names->waiting.next, struct hl_relay_name, node);
        if (look_up(names, name->host))
            return;
        hl_list_remove(&name->node);
        name->on_found(name, NULL);
    }
}

void hl_relay_name_find(struct hl_relay_names *names, struct hl_relay_name *name)
{
    struct sockaddr_storage literal;
    hl_list_init(&name->node);
    bool is_known = !names->resolving && names->found.ss_family != AF_UNSPEC &&
                    strcmp(name->host, names->host) == 0 &&
                    uv_now(names->loop) - names->found_ms < GOOD_MS;
    if (read_literal(name->host, &literal)) {
        name->on_found(name, &literal);
    } else if (is_known) {
        name->on_found(name, &names->found);
    } else {
        hl_list_push_back(&names->waiting, &name->node);
        look_up_next(names);
    }
}

void hl_relay_name_cut(struct hl_relay_name *name)
{
    hl_list_remove(&name->node);
}
