/* test_occupant.c - who listened at the app's address before the app did: sockets of the test's own. */
#include "app/occupant.h"
#include "config/choice.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static struct hl_occupant occupant;
static struct hl_app_url url;

/* Listens there; port 0: any free one, which the url has from then on. */
static int listen_at(const char *ip, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t n = sizeof(a);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, ip, &a.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    url.port = ntohs(a.sin_port);
    return fd;
}

static bool holds(const char *ip)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(url.port)};
    inet_pton(AF_INET, ip, &a.sin_addr);
    return hl_occupant_holds(&occupant, &url, (struct sockaddr *)&a);
}

Test(occupant, is_nobody_where_nobody_listens)
{
    close(listen_at("127.0.0.1", 0));
    hl_occupant_note(&occupant, &url);
    cr_assert(hl_occupant_is_nobody(&occupant));
    int app = listen_at("127.0.0.1", url.port);
    cr_assert_not(holds("127.0.0.1"));
    close(app);
}

Test(occupant, is_who_listened_before_and_still_does)
{
    int stranger = listen_at("127.0.0.1", 0);
    hl_occupant_note(&occupant, &url);
    cr_assert(holds("127.0.0.1"));
    cr_assert_not(holds("127.0.0.2"), "nobody listens there");
    cr_assert_not(holds("192.0.2.1"), "another machine");
    struct hl_occupant_process process = hl_occupant_find(&occupant);
    cr_assert_eq(process.pid, getpid());
    cr_assert_neq(process.name[0], '\0');
    close(stranger);
    cr_assert_not(holds("127.0.0.1"), "it has gone");
    int app = listen_at("127.0.0.1", url.port);
    cr_assert_not(holds("127.0.0.1"), "what listens now came later");
    close(app);
}

/* Whatever its socket allows others, as servers do who are started again. */
Test(occupant, is_found_though_its_port_may_be_used_again)
{
    int families[] = {AF_INET, AF_INET6}, on = 1;
    for (int i = 0; i < 2; i++) {
        struct sockaddr_storage a = {.ss_family = (sa_family_t)families[i]};
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;
        socklen_t n = i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (i == 0)
            ((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
            v6->sin6_addr = in6addr_loopback;
        int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, (struct sockaddr *)&a, n) != 0)
            continue; /* a machine without IPv6 */
        cr_assert_eq(listen(fd, 1), 0);
        cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
        url.port = ntohs(((struct sockaddr_in *)&a)->sin_port); /* in the same place of both */
        hl_occupant_note(&occupant, &url);
        cr_assert_not(hl_occupant_is_nobody(&occupant), "family %d", i);
        close(fd);
    }
}

Test(occupant, listens_at_all_addresses)
{
    int stranger = listen_at("0.0.0.0", 0);
    hl_occupant_note(&occupant, &url);
    cr_assert(holds("127.0.0.1"));
    cr_assert(holds("127.0.0.2"));
    cr_assert_not(holds("192.0.2.1"), "another machine");
    close(stranger);
}

Test(occupant, is_known_at_the_path_of_a_unix_socket)
{
    char dir[] = "/tmp/hl-occupant-XXXXXX";
    static struct sockaddr_un a = {.sun_family = AF_UNIX};
    cr_assert_not_null(mkdtemp(dir));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/app.sock", dir);
    url = (struct hl_app_url){.is_unix = true, .path = a.sun_path};
    hl_occupant_note(&occupant, &url);
    cr_assert(hl_occupant_is_nobody(&occupant));
    int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(stranger, (struct sockaddr *)&a, sizeof(a)), 0);
    hl_occupant_note(&occupant, &url);
    cr_assert(hl_occupant_holds(&occupant, &url, NULL));
    unlink(a.sun_path);
    cr_assert_not(hl_occupant_holds(&occupant, &url, NULL));
    close(stranger);
    rmdir(dir);
}
