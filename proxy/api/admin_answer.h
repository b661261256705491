/* admin_answer.h - the answers on a connection of the admin listener or the control socket. */
#ifndef HL_API_ADMIN_ANSWER_H
#define HL_API_ADMIN_ANSWER_H

#include "api/admin_connection.h"

extern const struct hl_admin_responder hl_admin_answers;

#endif
