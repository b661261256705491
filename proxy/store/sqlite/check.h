/* check.h - whether the store could be opened, without a change to anything. Before other threads. */
#ifndef HL_STORE_SQLITE_CHECK_H
#define HL_STORE_SQLITE_CHECK_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;

/* See hl_store_check. */
HL_MUST_CHECK enum hl_err hl_sqlite_check(const struct hl_config *config, struct hl_buf *problems);

#endif
