/* probe.h - one question to the app at one address: does it take connections, or does it answer a GET
 * of HOOKLINE_APP_HEALTH_PATH with 2xx? */
#ifndef HL_APP_PROBE_H
#define HL_APP_PROBE_H

#include <uv.h>

#include "app/cause.h"

struct sockaddr;

struct hl_probe;

struct hl_probe_asker {
    uv_loop_t *loop;
    struct hl_reader *reader;
    const struct hl_config *config;
    void *owner;
    /* The answer; HL_CAUSE_NONE: yes. The probe is gone. */
    void (*on_end)(void *owner, struct hl_cause cause);
};

/* Asks; `address` NULL: the app's unix: path. `asker` is copied. NULL: it cannot be asked, `*cause`
 * says why; else on_end is called once, after the return. */
struct hl_probe *hl_probe_begin(
    const struct hl_probe_asker *asker, const struct sockaddr *address, struct hl_cause *cause);
/* No answer is wanted any more; NULL-safe. */
void hl_probe_drop(struct hl_probe *probe);
/* Its answer, or its end, has come to this machine and was not looked at yet. */
bool hl_probe_is_answered(const struct hl_probe *probe);
/* What it means that nothing has come of it for too long. */
struct hl_cause hl_probe_late(const struct hl_probe *probe);

#endif
