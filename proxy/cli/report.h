/* report.h - `hookline runs show`: what happened to a run. */
#ifndef HL_CLI_REPORT_H
#define HL_CLI_REPORT_H

#include <jansson.h>

struct hl_cli;

/* A member of `object` after a label; nothing if it is null. */
void hl_cli_report_line(
    const struct hl_cli *cli, const char *label, const json_t *object, const char *name);
/* A webhook and each attempt of it. */
void hl_cli_report_delivery(const struct hl_cli *cli, const json_t *delivery);

#endif
