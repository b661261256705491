/* rest_route.h - what can be asked of the REST interface: one table of method, path, right and
 * handler. */
#ifndef HL_API_REST_ROUTE_H
#define HL_API_REST_ROUTE_H

#include "api/rest_call.h"

enum hl_rest_right {
    HL_REST_READ,     /* every role */
    HL_REST_RUN,      /* who may call the app: makes and ends runs */
    HL_REST_LOOK,     /* admins and viewers: sees more */
    HL_REST_ADMIN,    /* admin */
    HL_REST_OPERATOR, /* an admin of every project: over all of them */
    HL_REST_PROCESS,  /* what is done with the process: an admin, whatever his project */
};

struct hl_rest_route {
    enum hl_method method; /* GET stands for HEAD too */
    const char *path;      /* {p} project, {a} app, {i} id */
    enum hl_rest_right right;
    unsigned params;
    hl_rest_handler *handle;
    bool is_by_id; /* with HOOKLINE_AUTH=none for whoever knows a run's id, on the run listener */
};

extern const struct hl_rest_route hl_rest_routes[];
extern const size_t hl_rest_route_count;

/* A request comes in: finds its route and checks what it may; calls the handler, or refuses. */
void hl_rest_route_call(struct hl_rest_calls *calls, struct hl_rest_call *call);

/* The project that a path names, unchecked; empty: none. */
struct hl_str hl_rest_project_of(struct hl_str path);

#endif
