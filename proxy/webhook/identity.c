/* identity.c - see identity.h. Thread: control at start, then the sender's. */
#include "webhook/identity.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/webhook_setting.h"
#include "http/url.h"

static enum hl_err add_fields(struct hl_identity *identity, struct hl_str text)
{
    struct hl_str line;
    while (hl_webhook_field_next(&text, &line)) {
        char *field = hl_str_dup(line);
        struct curl_slist *more = field ? curl_slist_append(identity->fields, field) : NULL;
        if (field)
            explicit_bzero(field, line.n);
        free(field);
        if (!more)
            return HL_ERR_NOMEM;
        identity->fields = more;
    }
    return HL_OK;
}

enum hl_err hl_identity_init(
    struct hl_identity *identity, const struct hl_config *config, char *why, size_t why_len)
{
    *identity = (struct hl_identity){.hosts = config->webhook_trusted_hosts};
    enum hl_err err = hl_certificate_init(&identity->certificate, config->webhook_client_cert_file,
        config->webhook_client_key_file, why, why_len);
    if (err != HL_OK)
        return err;
    err = add_fields(identity, config->webhook_headers);
    if (err != HL_OK)
        snprintf(why, why_len, "the webhook sender cannot start: out of memory");
    return err;
}

bool hl_identity_trusts(const struct hl_identity *identity, struct hl_str text)
{
    struct hl_url url;
    return identity->hosts.n > 0 && hl_url_parse(text, &url) &&
           hl_host_list_has(identity->hosts, url.host, url.is_bracketed);
}

void hl_identity_fini(struct hl_identity *identity)
{
    hl_certificate_fini(&identity->certificate);
    for (struct curl_slist *field = identity->fields; field; field = field->next)
        explicit_bzero(field->data, strlen(field->data));
    curl_slist_free_all(identity->fields);
    identity->fields = NULL;
}
