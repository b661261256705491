/* peer.c - a client's certificate as X-Forwarded-Client-Cert says it, in Envoy's form: Hash, Subject, URI, DNS.
 * Thread: the crew's.
 * Promise: whatever a certificate holds, it cannot look like another element or another value: values are
 * quoted, names escaped (RFC 4514 2.4), and what no field may hold is written in hex. */
#include <mbedtls/oid.h>
#include <mbedtls/sha256.h>
#include <mbedtls/x509.h>
#include <string.h>

#include "base/base64.h"
#include "tls/session.h"

#define NAME_PARTS_MAX 64
#define SAN_URI        6 /* RFC 5280 4.2.1.6 */
#define SAN_DNS        2

static bool is_printable(unsigned char c)
{
    return c >= ' ' && c < 0x7f;
}

/* Of a quoted string: `"` and `\\` have a `\\` before them. */
static enum hl_err quote(struct hl_buf *out, unsigned char c)
{
    return c == '"' || c == '\\' ? hl_buf_printf(out, "\\%c", c) : hl_buf_append(out, &c, 1);
}

/* RFC 4514 2.4, and then quoted. */
static enum hl_err write_name_byte(struct hl_buf *out, unsigned char c, bool is_at_edge)
{
    bool is_special = memchr(",+\"\\<>;=", c, 8) || (is_at_edge && (c == ' ' || c == '#'));
    if (!is_printable(c))
        return hl_buf_printf(out, "\\\\%02X", c);
    if (!is_special)
        return quote(out, c);
    enum hl_err err = quote(out, '\\');
    return err ? err : quote(out, c);
}

static enum hl_err write_part(struct hl_buf *out, const mbedtls_x509_name *part)
{
    const char *name;
    char digits[128];
    if (mbedtls_oid_get_attr_short_name(&part->oid, &name) != 0) {
        if (mbedtls_oid_get_numeric_string(digits, sizeof(digits), &part->oid) < 0)
            return HL_ERR_TOO_LARGE;
        name = digits;
    }
    enum hl_err err = hl_buf_printf(out, "%s=", name);
    for (size_t i = 0; i < part->val.len && !err; i++)
        err = write_name_byte(out, part->val.p[i], i == 0 || i + 1 == part->val.len);
    return err;
}

/* The last part first (RFC 4514 2.1). */
static enum hl_err write_subject(struct hl_buf *out, const mbedtls_x509_name *name)
{
    const mbedtls_x509_name *parts[NAME_PARTS_MAX];
    size_t n = 0;
    for (; name && name->oid.p; name = name->next) {
        if (n == NAME_PARTS_MAX)
            return HL_ERR_TOO_LARGE;
        parts[n++] = name;
    }
    enum hl_err err = hl_buf_printf(out, ";Subject=\"");
    while (n > 0 && !err) {
        err = write_part(out, parts[--n]);
        if (!err && n > 0)
            err = hl_buf_append(out, parts[n - 1]->next_merged ? "+" : ",", 1);
    }
    return err ? err : hl_buf_append(out, "\"", 1);
}

static enum hl_err write_value(struct hl_buf *out, const char *key, const mbedtls_x509_buf *value)
{
    enum hl_err err = hl_buf_printf(out, ";%s=\"", key);
    for (size_t i = 0; i < value->len && !err; i++)
        err = is_printable(value->p[i]) ? quote(out, value->p[i])
                                        : hl_buf_printf(out, "%%%02X", value->p[i]);
    return err ? err : hl_buf_append(out, "\"", 1);
}

static enum hl_err write_others(
    struct hl_buf *out, const char *key, int type, const mbedtls_x509_sequence *names)
{
    enum hl_err err = HL_OK;
    for (; names && names->buf.p && !err; names = names->next)
        if ((names->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK) == type)
            err = write_value(out, key, &names->buf);
    return err;
}

enum hl_err hl_tls_peer_write(struct hl_buf *out, const mbedtls_x509_crt *crt)
{
    uint8_t hash[32];
    char hex[2 * sizeof(hash)];
    mbedtls_sha256_ret(crt->raw.p, crt->raw.len, hash, 0);
    hl_hex_write(hex, hash, sizeof(hash));
    enum hl_err err = hl_buf_printf(out, "Hash=%.*s", (int)sizeof(hex), hex);
    if (!err)
        err = write_subject(out, &crt->subject);
    if (!err)
        err = write_others(out, "URI", SAN_URI, &crt->subject_alt_names);
    return err ? err : write_others(out, "DNS", SAN_DNS, &crt->subject_alt_names);
}
