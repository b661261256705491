/* destination.c - see destination.h. Any thread. */
#include "store/destination.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "http/url.h"
#include "http/writer.h"
#include "store/secret.h"

size_t hl_destination_write(char *out, struct hl_str text)
{
    struct hl_url url;
    if (!hl_url_parse(text, &url))
        return 0;
    struct hl_writer w = hl_writer_on(out, HL_DESTINATION_MAX - 1);
    hl_write_str(&w, url.is_https ? HL_STR("https://") : HL_STR("http://"));
    hl_write_str(&w, url.is_bracketed ? HL_STR("[") : HL_STR(""));
    hl_write_str(&w, url.host);
    hl_write_str(&w, url.is_bracketed ? HL_STR("]") : HL_STR(""));
    if (url.port != (url.is_https ? 443 : 80)) {
        HL_WRITE(&w, ":");
        hl_write_u64(&w, url.port);
    }
    size_t n = hl_writer_end(&w);
    out[n] = '\0';
    return n;
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
