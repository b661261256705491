/* key.c - `hookline key create`: what HOOKLINE_KEY is set to. It needs no settings and touches no
 * file. */
#include "cli/key.h"

#include <string.h>

#include "base/hex.h"
#include "base/random.h"
#include "cli/cli.h"
#include "store/key.h"

int hl_cli_key_create(const struct hl_cli *cli)
{
    uint8_t raw[HL_KEY_SIZE];
    char text[2 * HL_KEY_SIZE + 1];
    hl_random_fill(raw, sizeof(raw));
    hl_hex_write(text, raw, sizeof(raw));
    text[2 * HL_KEY_SIZE] = '\n';
    bool is_written = fwrite(text, 1, sizeof(text), cli->out) == sizeof(text);
    explicit_bzero(raw, sizeof(raw));
    explicit_bzero(text, sizeof(text));
    return is_written ? HL_CLI_OK : HL_CLI_FAILED;
}
