/* trial.h - whether libcurl's TLS library can use the files of a setting: who else would know. */
#ifndef HL_WEBHOOK_TRIAL_H
#define HL_WEBHOOK_TRIAL_H

#include <curl/curl.h>
#include <stdbool.h>

/* Begins a handshake with a listener of our own, which hangs up before its first answer; by then all files
 * are loaded. The options that name them are set already. False: it could not begin. After
 * curl_global_init. */
bool hl_trial_begins(CURL *easy);

#endif
