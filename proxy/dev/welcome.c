/* welcome.c - see welcome.h. */
#include "dev/welcome.h"

#include <string.h>

#include "base/buf.h"
#include "dev/dev.h"
#include "dev/receiver.h"
#include "dev/settings.h"
#include "dev/sketch.h"

static void say_place(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    FILE *out = plan->out;
    fprintf(out,
        "\nhookline is at http://127.0.0.1:%u, without tokens, for this machine only; the "
        "dashboard at\n"
        "http://127.0.0.1:%u, received webhooks at http://127.0.0.1:%u" HL_DEV_HOOKS_PATH "\n",
        s->port, s->admin_port, s->hooks_port);
    if (plan->app == HL_DEV_URL)
        fprintf(out, "The app is at %s.\n", plan->url);
    else
        fprintf(out, "The app is restarted when a file below %s changes.\n", s->folder);
    if (s->ignored.n > 0)
        fprintf(out, "Ignored:%.*s (dev has settings of its own)\n",
            HL_STR_ARG(hl_buf_str(&s->ignored)));
}

/* The body is a JSON text of the sketch: nothing in it needs quoting in a shell but its own quotes. */
static void say_call(const struct hl_dev_plan *plan, const struct hl_dev_settings *s,
    const char *what, const char *accept, const char *path, const char *query, const char *body)
{
    fprintf(plan->out,
        "\n%s:\n  curl -sN 'http://127.0.0.1:%u/v4/" HL_DEV_PROJECT "/" HL_DEV_NAME "/%s%s'", what,
        s->port, path, query);
    if (accept)
        fprintf(plan->out, " -H 'Accept: %s'", accept);
    if (body)
        fprintf(plan->out, " -H 'Content-Type: application/json' -d '%s'", body);
    fprintf(plan->out, "\n");
}

static void say_calls(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    static struct hl_dev_sketch sketch;
    const struct hl_dev_function *plain = NULL, *stream = NULL;
    if (plan->app == HL_DEV_FILE) {
        hl_dev_sketch_read(&sketch, plan->file);
        plain = hl_dev_sketch_pick(&sketch, false);
        stream = hl_dev_sketch_pick(&sketch, true);
        plain = plain ? plain : stream;
        stream = stream ? stream : plain;
    }
    char query[160];
    snprintf(query, sizeof(query),
        "?async=true&webhookEndpoint=http%%3A%%2F%%2F127.0.0.1%%3A%u%%2F_hookline%%2Fdev%%2Fhooks",
        s->hooks_port);
    const char *path = plain ? plain->name : "", *body = plain ? plain->json : NULL;
    say_call(plan, s, "A call", NULL, path, "", body);
    say_call(
        plan, s, "In the background, its answer to the webhook receiver", NULL, path, query, body);
    say_call(plan, s, "A stream, event by event, where the app gives one", "text/event-stream",
        stream ? stream->name : "", "", stream ? stream->json : NULL);
    fprintf(plan->out, "\nCtrl-C ends everything.\n\n");
}

void hl_dev_welcome(const struct hl_dev_plan *plan, const struct hl_dev_settings *s)
{
    say_place(plan, s);
    say_calls(plan, s);
    fflush(plan->out);
}
