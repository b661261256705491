/* trial.c - see trial.h. Control's thread at start, then the sender's. */
#include "webhook/trial.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIAL_MS 5000

/* A listener on a port of the loopback that the kernel picks; -1: there is none. */
static int open_listener(struct sockaddr_in *at)
{
    socklen_t len = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd >= 0 && bind(fd, (struct sockaddr *)at, sizeof *at) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)at, &len) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whoever connects is hung up on. */
static CURLcode shake_hands(CURLM *multi, int listener)
{
    struct curl_waitfd wait = {.fd = listener, .events = CURL_WAIT_POLLIN};
    for (int running = 1, left;;) {
        curl_multi_perform(multi, &running);
        CURLMsg *msg = curl_multi_info_read(multi, &left);
        if (msg)
            return msg->data.result;
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer >= 0) {
            close(peer);
            wait.fd = -1;
        }
        curl_multi_poll(multi, &wait, 1, TRIAL_MS, NULL);
    }
}

static bool set_up(CURL *easy, unsigned port)
{
    return curl_easy_setopt(easy, CURLOPT_URL, "https://127.0.0.1/") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PORT, (long)port) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TRIAL_MS) == CURLE_OK;
}

bool hl_trial_begins(CURL *easy)
{
    struct sockaddr_in at;
    int listener = open_listener(&at);
    CURLM *multi = curl_multi_init();
    bool is_set = listener >= 0 && multi && set_up(easy, ntohs(at.sin_port)) &&
                  curl_multi_add_handle(multi, easy) == CURLM_OK;
    CURLcode code = is_set ? shake_hands(multi, listener) : CURLE_OUT_OF_MEMORY;
    if (is_set)
        curl_multi_remove_handle(multi, easy);
    curl_multi_cleanup(multi);
    if (listener >= 0)
        close(listener);
    return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR;
}
