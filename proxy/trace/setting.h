/* setting.h - OpenTelemetry's own variables (contract, "Traces"), as this program follows them. */
#ifndef HL_TRACE_SETTING_H
#define HL_TRACE_SETTING_H

#include <curl/curl.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/context.h"

struct hl_trace_setting {
    bool is_on;
    char *url;                     /* of the collector, NUL-terminated; owned */
    struct curl_slist *fields;     /* of each request; secret: never logged or shown; owned */
    struct hl_buf resource;        /* its attributes, as otlp.h has them */
    uint64_t timeout_ms;           /* of a request */
    uint64_t delay_ms;             /* between two batches */
    uint32_t queue_max, batch_max; /* spans */
    struct hl_sampler sampler;
};

/* Reads `variables` ("NAME=value" each, ends with NULL). What is wrong counts as not set, or turns traces off,
 * and is logged: it is never an error, for the app shares these variables. `service_name`: HOOKLINE's own,
 * which wins; may be empty. HL_ERR_NOMEM. hl_trace_setting_fini then, too. */
HL_MUST_CHECK enum hl_err hl_trace_setting_read(
    struct hl_trace_setting *setting, char *const *variables, struct hl_str service_name);
void hl_trace_setting_fini(struct hl_trace_setting *setting);

#endif
