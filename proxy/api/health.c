/* health.c - the two answers that orchestrators ask for.
 * Thread: control.
 * Not here: what readiness means (hl_service_state), the same answers on the run listener
 * (worker/call.c). */
#include "api/health.h"

#include "api/view.h"
#include "run/service.h"
#include "worker/left.h"

static void say(struct hl_api_response *response, uint16_t status, const char *line)
{
    response->content_type = HL_STR("text/plain; charset=utf-8");
    response->status = hl_buf_printf(&response->body, "%s\n", line) == HL_OK ? status : 503;
}

void hl_health_live(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    (void)request;
    bool is_alive;
    const char *line = hl_service_life(view->service, &is_alive);
    say(response, is_alive ? 200 : 503, line);
}

void hl_health_ready(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    (void)request;
    bool is_ready;
    char line[HL_STANDING_TEXT];
    hl_left_write_standing(view->service, &is_ready, line);
    say(response, is_ready ? 200 : 503, line);
}
