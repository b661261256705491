/* target.h - the path and query of what a command asks for, encoded. */
#ifndef HL_CLI_TARGET_H
#define HL_CLI_TARGET_H

#include "base/buf.h"

struct hl_cli_target {
    struct hl_buf text;
    bool has_query, has_failed;
};

void hl_cli_target_init(struct hl_cli_target *t);
void hl_cli_target_fini(struct hl_cli_target *t);
/* "/v2/projects/{project}", then `rest` as it stands; with NULL, over all projects: "/v2". */
void hl_cli_target_of(struct hl_cli_target *t, const char *project, const char *rest);
/* A piece of the path as it stands: "/v2/runs/". */
void hl_cli_target_path(struct hl_cli_target *t, const char *piece);
/* What somebody typed, as one segment of the path. */
void hl_cli_target_segment(struct hl_cli_target *t, const char *text);
/* Nothing happens for a NULL value. */
void hl_cli_target_query(struct hl_cli_target *t, const char *name, const char *value);
void hl_cli_target_query_time(struct hl_cli_target *t, const char *name, int64_t wall_ms);
/* The whole, or NULL: out of memory. */
const char *hl_cli_target_text(struct hl_cli_target *t);

#endif
