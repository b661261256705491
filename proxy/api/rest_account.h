/* rest_account.h - service accounts: listed, made with a token that is shown once, limited,
 * revoked. */
#ifndef HL_API_REST_ACCOUNT_H
#define HL_API_REST_ACCOUNT_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_list_accounts, hl_rest_add_account, hl_rest_limit_account,
    hl_rest_revoke_account;

#endif
