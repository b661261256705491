/* rest_session.h - a way into the dashboard for whoever may use the control socket. */
#ifndef HL_API_REST_SESSION_H
#define HL_API_REST_SESSION_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_open_session;

#endif
