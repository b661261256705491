/* settle.h - the last step of loading: settings that follow from others or from the machine. */
#ifndef HL_CONFIG_SETTLE_H
#define HL_CONFIG_SETTLE_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;

/* Replaces "decide yourself" by values, and appends a line to `problems` for what cannot be used.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_config_settle(struct hl_config *config, struct hl_buf *problems);

#endif
