/* host_list.h - which hosts of webhooks are trusted: a text as the setting has it. Pure. */
#ifndef HL_CONFIG_HOST_LIST_H
#define HL_CONFIG_HOST_LIST_H

#include <stdbool.h>

struct hl_str;

/* Comma-separated names ("hooks.example.com"), names under one ("*.corp.example"), addresses
 * ("10.0.0.5", "[fd00::5]"), or "*" for all. No ports; other wildcards, ranges and other ways to
 * write an address are not valid. */
bool hl_host_list_is_valid(struct hl_str text);

/* `host` as hl_url_parse gives it. Names compare without case and without a dot at the end; "*."
 * stands for one or more labels, and addresses are matched by themselves and by "*" alone. An empty
 * text has none. */
bool hl_host_list_has(struct hl_str text, struct hl_str host, bool is_bracketed);

#endif
