/* destination.c - see destination.h. Any thread. */
#include "store/destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "http/url.h"
#include "store/secret.h"

size_t hl_destination_write(char *out, struct hl_str text)
{
    struct hl_url url;
    if (!hl_url_parse(text, &url))
        return 0;
    const char *scheme = url.is_https ? "https" : "http";
    const char *open = url.is_bracketed ? "[" : "", *end = url.is_bracketed ? "]" : "";
    bool is_usual = url.port == (url.is_https ? 443 : 80);
    int n = is_usual ? snprintf(out, HL_DESTINATION_MAX, "%s://%s%.*s%s", scheme, open,
                           HL_STR_ARG(url.host), end)
                     : snprintf(out, HL_DESTINATION_MAX, "%s://%s%.*s%s:%u", scheme, open,
                           HL_STR_ARG(url.host), end, url.port);
    return n > 0 && n < HL_DESTINATION_MAX ? (size_t)n : 0;
}

struct hl_str hl_destination_unseal(struct hl_sealer *sealer, const char *place,
    const struct hl_id *row, struct hl_str sealed, char *out)
{
    char *url = sealed.n > 0 ? malloc(sealed.n) : NULL;
    struct hl_str destination = {out, 0};
    size_t n;
    if (!url)
        return destination;
    if (hl_unseal(sealer, place, row, sealed, url, &n) == HL_OK)
        destination.n = hl_destination_write(out, (struct hl_str){url, n});
    explicit_bzero(url, sealed.n);
    free(url);
    return destination;
}
