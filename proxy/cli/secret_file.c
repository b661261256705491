/* secret_file.c - see secret_file.h. */
#include "cli/secret_file.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "config/secret.h"
#include "webhook/signature.h"

int hl_cli_read_secret_file(
    const struct hl_cli *cli, const char *path, char secret[HL_CLI_SECRET_ROOM], size_t *n)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return hl_cli_fail(cli, "%s: %s", path, strerror(errno));
    *n = fread(secret, 1, HL_CLI_SECRET_ROOM, file);
    bool has_failed = ferror(file);
    fclose(file);
    if (has_failed)
        return hl_cli_fail(cli, "%s: %s", path, strerror(errno));
    struct hl_str text = hl_str_unframe((struct hl_str){secret, *n});
    *n = text.n;
    memmove(secret, text.p, text.n);
    if (*n == 0 || *n > HL_SIGNATURE_SECRET_MAX)
        return hl_cli_fail(cli, "%s: a secret has 1 to 1024 bytes", path);
    if (!hl_secret_text_is_sound((struct hl_str){secret, *n}))
        return hl_cli_fail(cli, "%s: a secret is one line of UTF-8", path);
    return HL_CLI_OK;
}
