/* trust.c - makes one CA bundle of the system's and the operator's.
 *
 * libcurl's CURLOPT_CAINFO replaces the system's bundle instead of adding to it, and libcurl keeps
 * a parsed bundle from one connection to the next only when it is a file (parsing some 140
 * certificates costs more than the rest of a handshake). So the merged bundle is a file too: one in
 * memory, named through /proc/self/fd. */
#include "dns/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bundle.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"

#define BUNDLE_MAX (16 * 1024 * 1024)
#define CHECK_MS   5000

static enum hl_err append_file(struct hl_buf *out, const char *path);
static const char *find_fault(struct hl_str pem, const char *path);
static enum hl_err publish(struct hl_trust *trust, struct hl_str bundle);

/* Where systems keep their list that libcurl was not built for: Fedora and Red Hat, openSUSE, others. */
static const char *const elsewhere[] = {"/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem"};

/* A bundle runs on systems of which its libcurl knows nothing, and has a list where these have none. */
static const char *find_for_bundle(const char *own)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(elsewhere); i++)
        if (access(elsewhere[i], R_OK) == 0)
            return elsewhere[i];
    return own;
}

const char *hl_trust_of_system(void)
{
    const char *known = curl_version_info(CURLVERSION_NOW)->cainfo;
    const char *own = hl_bundle_authorities();
    if (!known)
        known = "/etc/ssl/certs/ca-certificates.crt";
    return own && access(known, R_OK) != 0 ? find_for_bundle(own) : known;
}

enum hl_err hl_trust_init(
    struct hl_trust *trust, const char *option, struct hl_str extra, char *why, size_t why_len)
{
    const char *system = hl_trust_of_system();
    bool has_system = access(system, R_OK) == 0;
    *trust = (struct hl_trust){.file = has_system ? system : NULL, .fd = -1, .before = -1};
    if (extra.n == 0)
        return HL_OK;
    hl_file_look(extra.p, &trust->seen);

    struct hl_buf bundle;
    hl_buf_init(&bundle, BUNDLE_MAX);
    enum hl_err err = append_file(&bundle, extra.p);
    const char *fault = err ? hl_err_text(err) : find_fault(hl_buf_str(&bundle), extra.p);
    if (err == HL_OK && fault)
        err = HL_ERR_INVALID;
    if (err != HL_OK)
        snprintf(why, why_len, "%s: %.*s: %s; it must be a readable file of PEM certificates",
            option, HL_STR_ARG(extra), fault);
    if (err == HL_OK && has_system)
        err = append_file(&bundle, system);
    if (err == HL_OK)
        err = publish(trust, hl_buf_str(&bundle));
    if (err != HL_OK && !why[0])
        snprintf(why, why_len, "%s: it cannot be combined with %s: %s", option,
            has_system ? system : "nothing", hl_err_text(err));
    hl_buf_fini(&bundle);
    return err;
}

/* The file's bytes and a line end. */
static enum hl_err append_file(struct hl_buf *out, const char *path)
{
    enum hl_err err = hl_file_append(path, out);
    return err ? err : hl_buf_append(out, "\n", 1);
}

static bool can_be_loaded(const char *path)
{
    CURL *easy = curl_easy_init();
    bool is_good = easy && curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
                   curl_easy_setopt(easy, CURLOPT_CAINFO, path) == CURLE_OK &&
                   curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
                   hl_tls_files_check(easy);
    curl_easy_cleanup(easy);
    return is_good;
}

/* What cannot be loaded would spoil the system's, too. NULL: nothing is wrong. */
static const char *find_fault(struct hl_str pem, const char *path)
{
    if (pem.n <= 1) /* a line end of ours */
        return "it is empty";
    if (hl_str_unframe(pem).p != pem.p) /* what follows would be passed over */
        return "it begins with a byte order mark";
    if (!memmem(pem.p, pem.n, "-----BEGIN ", 11))
        return "it contains no PEM";
    if (!memmem(pem.p, pem.n, "CERTIFICATE-----", 16))
        return "its PEM contains something other than certificates";
    return can_be_loaded(path) ? NULL : "a certificate in it cannot be read";
}

static void show(struct hl_trust *trust, int fd)
{
    trust->fd = fd;
    snprintf(trust->path, sizeof trust->path, "/proc/self/fd/%d", fd);
    trust->file = trust->path;
}

static enum hl_err publish(struct hl_trust *trust, struct hl_str bundle)
{
    int fd = memfd_create("authorities", MFD_CLOEXEC);
    if (fd < 0)
        return hl_err_from_errno(errno);
    for (size_t done = 0; done < bundle.n;) {
        ssize_t n = write(fd, bundle.p + done, bundle.n - done);
        if (n < 0) {
            enum hl_err err = hl_err_from_errno(errno);
            close(fd);
            return err;
        }
        done += (size_t)n;
    }
    show(trust, fd);
    return HL_OK;
}

/* libcurl keeps for a day what it has read of a file, and knows it by its name: each has one that none before it had.
 * With no number left above theirs it takes one again. */
static void show_above(struct hl_trust *trust, int before)
{
    int fd = trust->fd > before ? -1 : fcntl(trust->fd, F_DUPFD_CLOEXEC, before + 1);
    if (fd < 0)
        return;
    close(trust->fd);
    show(trust, fd);
}

enum hl_err hl_trust_refresh(
    struct hl_trust *trust, const char *option, struct hl_str extra, char *why, size_t why_len)
{
    struct hl_trust fresh;
    struct stat now;
    if (extra.n == 0)
        return HL_OK;
    hl_file_look(extra.p, &now);
    if (!hl_file_has_changed(&trust->seen, &now))
        return HL_OK;
    trust->seen = now;
    enum hl_err err = hl_trust_init(&fresh, option, extra, why, why_len);
    if (err)
        return err;
    if (trust->before >= 0)
        close(trust->before);
    show_above(&fresh, trust->fd);
    fresh.before = trust->fd;
    *trust = fresh;
    trust->file = trust->path; /* of the copy */
    return HL_OK;
}

void hl_trust_look(struct hl_trust *trust, const char *option, struct hl_str extra)
{
    char why[512] = "", what[128];
    if (hl_trust_refresh(trust, option, extra, why, sizeof(why)) == HL_OK)
        return;
    snprintf(what, sizeof(what), "%s: the previous certificate authorities stay in use", option);
    HL_LOG(ERROR, what, HL_LOG_TEXT("error", why));
}

void hl_trust_fini(struct hl_trust *trust)
{
    if (trust->fd >= 0)
        close(trust->fd);
    if (trust->before >= 0)
        close(trust->before);
    hl_trust_none(trust);
}

void hl_trust_none(struct hl_trust *trust)
{
    *trust = (struct hl_trust){.fd = -1, .before = -1};
}

/* ---- whether the TLS library can use the files ---- */

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
        curl_multi_poll(multi, &wait, 1, CHECK_MS, NULL);
    }
}

static bool set_up(CURL *easy, unsigned port)
{
    return curl_easy_setopt(easy, CURLOPT_URL, "https://127.0.0.1/") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PORT, (long)port) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)CHECK_MS) == CURLE_OK;
}

bool hl_tls_files_check(CURL *easy)
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
