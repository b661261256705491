/* refusal.c - all that we refuse with: one table.
 * Owns: nothing; the rows are constants. Thread: any.
 * Promise: each status from 400 on, each text and each Retry-After that is an answer of ours has its
 * row here; tests/integration/refusals.test.mjs holds README.md's table against it.
 * Not here: what an app answers; what a function, or the Python host for it, fails with in words of its
 * own; why health checks say no (hl_service_state). */
#include "http/refusal.h"

#include <string.h>

#include "base/str.h"

#define ROW(cause, status, detail)                                                                 \
    [HL_REFUSAL_##cause] = {status, HL_RETRY_NONE, detail, NULL, #cause}
/* With Retry-After. */
#define LATER(cause, status, retry, detail)                                                        \
    [HL_REFUSAL_##cause] = {status, HL_RETRY_##retry, detail, NULL, #cause}
/* With a field of its own. */
#define WITH(cause, status, field, detail)                                                         \
    [HL_REFUSAL_##cause] = {status, HL_RETRY_NONE, detail, field "\r\n", #cause}

#define ALLOW "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
#define REALM "WWW-Authenticate: Bearer realm=\"hookline\""
#define BAD   REALM ", error=\"invalid_token\""
#define SCOPE REALM ", error=\"insufficient_scope\""

const struct hl_refusal hl_refusals[HL_REFUSAL_COUNT] = {
    /* ---- heads ---- */
    ROW(NO_HEAD, 400, "This is not an HTTP/1.1 request: each line of the head must end with CRLF."),
    ROW(TLS_HANDSHAKE, 400,
        "This is a TLS handshake, but plain HTTP is spoken at this port: use http:// here."),
    ROW(HTTP2_PREFACE, 505,
        "This is HTTP/2, but the only version spoken at this port is HTTP/1.1."),
    ROW(PROXY_PROTOCOL, 400,
        "This is the PROXY protocol, which is not spoken here: turn it off at the load balancer, "
        "and name that in HOOKLINE_TRUSTED_PROXIES, so that its X-Forwarded-For counts."),
    ROW(HEAD_TOO_LARGE, 431, "The request's head is larger than HOOKLINE_MAX_HEAD."),
    ROW(ADMIN_HEAD_TOO_LARGE, 431, "The request head may be at most 64 KiB here."),
    ROW(FUNCTION_HEAD_TOO_LARGE, 431, "The request head may be at most 128 KiB here."),
    ROW(REQUEST_LINE, 400,
        "The request line is not `method target HTTP/1.1` with single spaces between them."),
    ROW(TARGET_BYTES, 400,
        "The request target contains a byte that is not allowed there (a control, '#', above "
        "0x7e), or no version follows it. Percent-encode such bytes."),
    ROW(VERSION_MISSING, 400, "The start line has no HTTP version. Use HTTP/1.1."),
    ROW(VERSION_OTHER, 505, "The only versions supported here are HTTP/1.1 and HTTP/1.0."),
    ROW(REQUEST_LINE_END, 400, "The request line does not end with CRLF after its version."),
    ROW(TARGET_FORM, 400,
        "The request target has none of the forms that RFC 9112 section 3.2 allows for this "
        "method, or its authority is not a plain host and port."),
    ROW(FIELD_COUNT, 431, "There are more than 1024 header fields."),
    ROW(FIELD_LINE, 400,
        "A header field is not `name: value` on one line that ends with CRLF: a bad name, white "
        "space before the colon, a folded line, a NUL, a bare CR or another control."),
    ROW(HEAD_END, 400, "The head is not terminated by an empty line."),
    ROW(HEAD_UNCLEAR, 400, "The head can be parsed in more than one way."),
    ROW(HOST_MISSING, 400, "The request has no Host field. HTTP/1.1 requires one."),
    ROW(HOST_TWICE, 400, "There is more than one Host field. Send it once."),
    ROW(HOST_FORM, 400, "Host is not a host name or address with an optional port."),
    ROW(CONNECTION_FORM, 400, "Connection is not a list of at most 64 field names."),
    ROW(MAX_FORWARDS_FORM, 400, "Max-Forwards is not one decimal number below 2^64."),
    ROW(LENGTH_TWICE, 400, "There is more than one Content-Length. Send it once."),
    ROW(LENGTH_FORM, 400, "Content-Length is not a decimal number below 2^63."),
    ROW(CODING_VERSION, 400, "HTTP/1.0 has no Transfer-Encoding. Send Content-Length."),
    ROW(CODING_AND_LENGTH, 400,
        "Content-Length and Transfer-Encoding are mutually exclusive. Send only one."),
    ROW(CODING_TWICE, 400, "There is more than one Transfer-Encoding. Send it once."),
    ROW(CODING_FORM, 400, "Transfer-Encoding is malformed, or does not end in chunked."),
    ROW(CODING_EMPTY, 400, "Transfer-Encoding is empty."),
    ROW(CODING_OTHER, 501, "The only transfer coding supported here is chunked."),
    ROW(EXPECTATION, 417, "The only expectation supported here is 100-continue."),
    ROW(UPGRADE_BODY, 400, "A WebSocket upgrade may not have a body."),
    ROW(PLAIN_TEXT, 400,
        "This listener speaks TLS, and the request came in plain text: use https instead of http."),
    ROW(CLIENT_CERTIFICATE, 403,
        "A client certificate is needed here: one that a CA of HOOKLINE_TLS_CLIENT_CA_FILE has "
        "issued and that is valid now."),

    /* ---- chunked bodies ---- */
    ROW(CHUNKS_UNCLEAR, 400, "The chunked body can be parsed in more than one way."),
    ROW(CHUNK_DIGITS, 400, "A chunk size has more than 15 digits."),
    ROW(CHUNK_SIZE_MISSING, 400, "A chunk does not begin with its size in hex digits."),
    ROW(CHUNK_SIZE_FORM, 400, "A chunk size has a byte that is not a hex digit."),
    ROW(CHUNK_SIZE_BLANK, 400, "A chunk size is followed by white space without an extension."),
    ROW(CHUNK_SIZE_END, 400, "The chunk size line does not end with CRLF."),
    ROW(CHUNK_END, 400, "A chunk is longer than its size says, or CRLF is missing after it."),
    ROW(CHUNK_EXTENSIONS, 400, "The chunk extensions are too long."),
    ROW(CHUNK_EXTENSION_FORM, 400,
        "A chunk extension contains a control byte or an unterminated quoted string."),
    ROW(TRAILER_LINE, 400, "A trailer field is not `name: value` on one line that ends with CRLF."),
    ROW(TRAILER_TOO_LARGE, 400, "The trailer section is too long."),

    /* ---- slow callers, long bodies ---- */
    ROW(HEAD_SLOW, 408, "The request's head was not complete within HOOKLINE_HEAD_TIMEOUT."),
    ROW(BODY_SLOW, 408,
        "No byte of the request's body arrived for HOOKLINE_BODY_TIMEOUT; send the body without "
        "pauses, or raise that limit."),
    ROW(BODY_TOO_LARGE, 413, "The request's body is larger than allowed here."),
    ROW(SYNC_BODY_TOO_LARGE, 413,
        "The request's body is larger than HOOKLINE_MAX_SYNC_BODY allows."),
    ROW(ASYNC_BODY_TOO_LARGE, 413,
        "The request's body is larger than HOOKLINE_MAX_REQUEST_BODY allows for an asynchronous "
        "call."),
    ROW(KEPT_BODY_TOO_LARGE, 413,
        "The request's body is larger than HOOKLINE_MAX_REQUEST_BODY allows."),

    /* ---- routes ---- */
    WITH(METHOD_NEVER, 405, ALLOW, "CONNECT and TRACE are not served here."),
    ROW(TARGET_MALFORMED, 400, "The request target is malformed."),
    ROW(TARGET_TOO_LONG, 414, "The request target is too long."),
    ROW(PATH_NAME, 400,
        "A project or app name in the path is not 1 to 128 of A-Z a-z 0-9 . _ - without "
        "percent-encoding."),
    ROW(RUN_PATH, 404, "The path of a run is /v4/{project_id}/{app_name}/run."),
    WITH(RUN_METHOD, 405, "Allow: POST", "The run path accepts POST only."),
    ROW(OTHER_PROJECT, 404, "This sidecar serves another project."),
    ROW(OTHER_APP, 404, "This sidecar serves another app."),
    ROW(REST_PATH, 404, "The REST interface begins at /v2/projects/{project_id}."),
    ROW(HOST, 421,
        "This listener answers only to addresses, localhost and the names in HOOKLINE_HOSTS."),
    ROW(LOOP, 508,
        "The request has already passed through this hookline, as its Via says: HOOKLINE_APP_URL "
        "leads back here."),
    ROW(CROSS_SITE, 403,
        "Cross-origin pages may only read here, without hookline's own parameters and fields; "
        "allow more in HOOKLINE_CORS_ORIGINS."),
    ROW(OWN_PATH, 404,
        "Only healthz and readyz exist under /_hookline; such requests never reach the app."),
    WITH(HEALTH_METHOD, 405, "Allow: GET, HEAD", "Health checks use GET."),
    WITH(DESCRIPTION_METHOD, 405, "Allow: GET, HEAD", "The interface description is read-only."),
    ROW(NOT_PASSED, 404,
        "Only runs are served here: HOOKLINE_PASSTHROUGH is off. The path of a run is "
        "/v4/{project_id}/{app_name}/run."),
    ROW(NOT_PASSED_TOKEN, 404,
        "Only runs are served here: passing other requests through needs a token for "
        "HOOKLINE_PROJECT_ID, which is not set, or a path in HOOKLINE_PUBLIC_PATHS. The path of a "
        "run is /v4/{project_id}/{app_name}/run."),

    ROW(FRONT_UPGRADE, 501,
        "This replica is a front (HOOKLINE_ROLE=front): it has no app of its own to upgrade a "
        "connection to."),
    ROW(FRONT_PASS, 501,
        "This replica is a front (HOOKLINE_ROLE=front): it has no app of its own to pass requests "
        "to. The path of a run is /v4/{project_id}/{app_name}/run."),
    ROW(WORKER, 421,
        "This replica is a worker (HOOKLINE_ROLE=worker): it only runs what is queued. Send calls "
        "to a front."),

    /* ---- how a run is asked for ---- */
    ROW(PARAM_TWICE, 400,
        "The parameter async or webhookEndpoint is given more than once. Send it once."),
    ROW(PARAM_NEAR, 400,
        "The parameter %s is not hookline's, which is %s, in these letters and this case. If it is "
        "meant for the app, HOOKLINE_OWN_PARAMETERS=off lets it pass."),
    ROW(ASYNC_FORM, 400, "The parameter async is not one of true, 1, false, 0."),
    ROW(ASYNC_WEBSOCKET, 400,
        "A WebSocket cannot be asynchronous. Leave async out, or send a plain request."),
    ROW(WEBHOOK_FORM, 400,
        "The parameter webhookEndpoint is not an absolute http or https URL of at most 2048 bytes, "
        "URL-encoded."),
    ROW(WEBHOOK_CREDENTIALS, 400,
        "The parameter webhookEndpoint contains credentials. Let the receiver verify a signature "
        "instead: send X-Webhook-Secret."),
    ROW(WEBHOOK_PLAIN, 400,
        "The parameter webhookEndpoint is not an https URL, and HOOKLINE_WEBHOOK_HTTPS_ONLY is "
        "on."),
    ROW(WEBHOOK_ADDRESS, 400,
        "The parameter webhookEndpoint names an address that webhooks may not reach. The operator "
        "can allow it with HOOKLINE_WEBHOOK_ALLOW."),
    ROW(SECRET_FORM, 400,
        "X-Webhook-Secret must be a single field of 1 to 1024 bytes, with padded base64 after "
        "whsec_."),
    ROW(KEY_FORM, 400, "Idempotency-Key must be a single field of 1 to 255 printable bytes."),
    ROW(RUN_TIMEOUT_FORM, 400,
        "X-Run-Timeout must be a single field with a time above zero: seconds, or a number with "
        "ms, s, m, h or d."),
    ROW(RUN_START_TIMEOUT_FORM, 400,
        "X-Run-Start-Timeout must be a single field with a time above zero: seconds, or a number "
        "with ms, s, m, h or d."),
    ROW(RUN_PRIORITY_FORM, 400, "X-Run-Priority must be a single field: high, normal or low."),
    ROW(RUN_ATTEMPTS_FORM, 400, "X-Run-Attempts must be a single field with a number above zero."),
    ROW(RUN_TAG_EMPTY, 400,
        "X-Run-Tag is empty at tag %s: write name=value with one comma between two, or leave "
        "the field out."),
    ROW(RUN_TAG_FORM, 400,
        "X-Run-Tag has `%s`, which is no tag: write name=value, and no comma inside a value."),
    ROW(RUN_TAG_NAME, 400, "X-Run-Tag has `%s`, whose name is not 1 to 64 of A-Z a-z 0-9 . _ - /."),
    ROW(RUN_TAG_VALUE, 400,
        "X-Run-Tag has `%s`, whose value is not 1 to 64 visible ASCII characters, with blanks only "
        "between them, and without comma, quotation mark or backslash: percent-encode others."),
    ROW(RUN_TAG_TWICE, 400, "X-Run-Tag has `%s`, and that name once before: send each name once."),
    ROW(RUN_TAG_COUNT, 400,
        "X-Run-Tag has more than 8 tags; `%s` is the ninth: send those that runs are looked for "
        "by."),
    ROW(RUN_PRIORITY_RIGHT, 403,
        "X-Run-Priority asks for more than the account's max_priority, which is normal unless an "
        "admin has changed it; a token from outside has HOOKLINE_JWT_LIMITS, or its claim."),
    ROW(RUN_KEEP_FORM, 400, "X-Run-Keep must be a single field: true or false."),
    ROW(RUN_KEEP_OFF, 403,
        "X-Run-Keep asks for the stream to be kept, but HOOKLINE_STREAM_KEEP is off: leave it out, "
        "or call with async=true."),
    ROW(RUN_KEEP_TOKEN, 403,
        "X-Run-Keep asks for the stream to be kept, which needs tokens (HOOKLINE_AUTH=none): the "
        "operator can set HOOKLINE_STREAM_KEEP=all; or call with async=true."),

    /* ---- tokens ---- */
    WITH(TOKENS_SEVERAL, 400, REALM ", error=\"invalid_request\"",
        "The request has more than one token: send one Authorization field."),
    WITH(TOKEN_MISSING, 401, REALM,
        "A token is required: send it as `Authorization: Bearer <token>`. `hookline token create` "
        "makes one."),
    WITH(TOKEN_SCHEME, 401, REALM,
        "Authorization does not use the scheme Bearer: send `Authorization: Bearer <token>`."),
    WITH(TOKEN_PARTS, 401, BAD, "The token is not a JWT: three parts separated by dots."),
    WITH(TOKEN_SIGNATURE_FORM, 401, BAD,
        "The token's signature is not base64url of 1 to 512 bytes."),
    WITH(TOKEN_HEADER, 401, BAD,
        "The token's header is not a base64url-encoded JSON object with unique names."),
    WITH(TOKEN_CRIT, 401, BAD,
        "The token's header has `crit`, but no critical extension is supported here."),
    WITH(TOKEN_ALG, 401, BAD, "The token's algorithm is not one of ES256, RS256, HS256."),
    WITH(TOKEN_KID, 401, BAD, "The token's `kid` is not a string of at most 256 bytes."),
    WITH(TOKEN_CLAIMS, 401, BAD,
        "The token's claims are not a base64url-encoded JSON object with unique names."),
    WITH(TOKEN_NO_EXP, 401, BAD, "The token has no `exp`: only tokens that expire are accepted."),
    WITH(TOKEN_EXP, 401, BAD, "The token's `exp` is not a time in seconds."),
    WITH(TOKEN_NBF, 401, BAD, "The token's `nbf` is not a time in seconds."),
    WITH(
        TOKEN_SUB, 401, BAD, "The token's `sub` is not a string of at most 255 bytes without NUL."),
    WITH(TOKEN_ISS, 401, BAD, "The token's `iss` does not match HOOKLINE_JWT_ISSUER."),
    WITH(TOKEN_AUD, 401, BAD, "The token's `aud` does not include HOOKLINE_JWT_AUDIENCE."),
    WITH(TOKEN_MAX_RUNNING, 401, BAD,
        "The token's claim for max_running (HOOKLINE_JWT_LIMIT_CLAIMS) is not a whole number from "
        "1 to 1000000000."),
    WITH(TOKEN_MAX_QUEUED, 401, BAD,
        "The token's claim for max_queued (HOOKLINE_JWT_LIMIT_CLAIMS) is not a whole number from 1 "
        "to 1000000000."),
    WITH(TOKEN_RATE, 401, BAD,
        "The token's claim for rate (HOOKLINE_JWT_LIMIT_CLAIMS) is not a number from 1 to 10000000 "
        "for a second, a minute, an hour or a day (\"100/m\", also /s, /h, /d)."),
    WITH(TOKEN_MAX_PRIORITY, 401, BAD,
        "The token's claim for max_priority (HOOKLINE_JWT_LIMIT_CLAIMS) is not \"high\", "
        "\"normal\" or \"low\"."),
    WITH(TOKEN_NOT_OURS, 401, BAD,
        "The token names hookline's own key, but hookline did not issue it."),
    WITH(TOKEN_EXPIRED, 401, BAD, "The token has expired: get a new one."),
    WITH(TOKEN_EARLY, 401, BAD, "The token is not valid yet (`nbf`): check the clocks."),
    WITH(TOKEN_KEY_ALG, 401, BAD, "The token's algorithm is not that of the key it names."),
    WITH(TOKEN_ACCOUNT, 401, BAD, "The token's service account was revoked or is unknown here."),
    WITH(TOKEN_KEY, 401, BAD, "No known key matches this token (`kid` or algorithm)."),
    WITH(TOKEN_SIGNATURE, 401, BAD, "The token's signature does not match."),
    WITH(TOKEN_NO_PROJECT, 403, SCOPE,
        "The token has no claim that names its project (HOOKLINE_JWT_PROJECT_CLAIM), or one that "
        "is not a project name."),
    WITH(TOKEN_OTHER_PROJECT, 403, SCOPE,
        "The token is for another project: its claim (HOOKLINE_JWT_PROJECT_CLAIM) does not match "
        "the path."),
    LATER(KEYS_NOT_HAD, 503, BACKLOG,
        "The keys of HOOKLINE_JWT_JWKS_URL, or of HOOKLINE_JWT_ISSUER, have not been fetched yet, "
        "see the log; try again later."),
    LATER(TOO_MANY_TOKENS, 503, PLACE,
        "Too many new tokens are being checked; try again in a moment."),
    LATER(ACCOUNT_UNREAD, 503, BACKLOG,
        "The token's service account is unknown here, and the database cannot be reached to look "
        "it up; try again later."),

    /* ---- places, memory, the store ---- */
    LATER(CONNECTIONS_FULL, 503, PLACE,
        "No more callers can connect (HOOKLINE_MAX_CONNECTIONS, or the limit of open files), and "
        "none of those connected is idle; try again later."),
    LATER(NO_DESCRIPTOR, 503, BACKLOG,
        "Out of file descriptors; try again later, or raise the limit of open files."),
    LATER(NO_MEMORY, 503, BACKLOG, "Out of memory; try again later."),
    LATER(DELIVERIES_FULL, 429, BACKLOG,
        "HOOKLINE_MAX_PENDING_DELIVERIES webhook deliveries are already waiting; try again later."),
    LATER(DESTINATION_FULL, 429, BACKLOG,
        "Too many deliveries are waiting for the webhook's destination (the limit is half of "
        "HOOKLINE_MAX_PENDING_DELIVERIES); try again later."),
    LATER(RUNS_FULL, 429, BACKLOG,
        "Too many runs or webhook deliveries are already waiting (HOOKLINE_MAX_QUEUED_RUNS, "
        "HOOKLINE_MAX_PENDING_DELIVERIES); try again later."),
    LATER(ACCOUNT_RUNNING, 429, CALLS,
        "The service account, or the token's subject, has reached its limit of calls inside the "
        "app "
        "(max_running is %s); try again when one has ended."),
    LATER(ACCOUNT_QUEUED, 429, BACKLOG,
        "The service account, or the token's subject, has reached its limit of queued runs "
        "(max_queued is %s); try again when some have started."),
    LATER(ACCOUNT_CALLS, 429, PLACE,
        "The service account, or the token's subject, has reached its rate limit (rate is %s); try "
        "again later."),
    ROW(KEY_REUSED, 422,
        "This Idempotency-Key was used for another request; use a new key for a new request."),
    LATER(STORE_BUSY, 503, PLACE, "The store is overloaded; try again later."),
    LATER(STORE_CLOSED, 503, BACKLOG,
        "The request's body could not be written to the data directory; hookline's log says why."),
    LATER(STORE_FULL, 503, SPACE, "The store is full: the run was not accepted; try again later."),
    LATER(STORE_FAILING, 503, BACKLOG, "The store cannot accept runs now; try again later."),
    ROW(STORE_UNSURE, 503,
        "The run may have been accepted: the connection to the database was lost before it "
        "confirmed. If the run has not started when the database is back, it is withdrawn. Look up "
        "its run_id, or call again with the same Idempotency-Key."),

    /* ---- the app ---- */
    LATER(APP_QUEUE_FULL, 429, CALLS,
        "HOOKLINE_APP_QUEUE callers are already waiting for the app; try again later."),
    LATER(
        APP_BUSY, 429, CALLS, "The app was busy for HOOKLINE_APP_QUEUE_TIMEOUT; try again later."),
    ROW(APP_UNREACHED, 502, "No connection within HOOKLINE_CONNECT_TIMEOUT: %s."),
    LATER(APP_GATE, 503, BACKLOG,
        "The app is not accepting calls: it has not answered 2xx at HOOKLINE_APP_HEALTH_PATH since "
        "it started, or not recently (HOOKLINE_APP_HEALTH_GATE), and HOOKLINE_CONNECT_TIMEOUT has "
        "passed: %s."),
    LATER(APP_WAKING, 503, BACKLOG,
        "The app slept, and HOOKLINE_APP_WAKE_TIMEOUT has passed before it was awake; it is still "
        "being woken: %s."),
    ROW(APP_AWAY, 502, "The app has accepted no call for HOOKLINE_APP_START_TIMEOUT: %s."),
    ROW(APP_VANISHED, 502,
        "The app's machine no longer answers; check it and the network in between."),
    ROW(APP_CLOSED, 502, "The app closed the connection before it answered."),
    ROW(APP_CLOSED_INSIDE, 502, "The app closed the connection in the middle of its response."),
    ROW(APP_EARLY, 502, "The app sent bytes before it had received any of the request."),
    ROW(APP_NO_HEAD, 502, "The app's answer does not begin with an HTTP/1.1 head."),
    ROW(APP_HEAD_TOO_LARGE, 502, "The app's response head is larger than HOOKLINE_MAX_HEAD."),
    ROW(APP_HEAD_NOT_PASSED, 502, "The app's response head is too large to be passed on."),
    ROW(APP_STATUS, 502, "The app's status code is not a number from 100 to 599."),
    ROW(APP_STATUS_SPACE, 502, "The app's status line has no space after the status code."),
    ROW(APP_STATUS_END, 502, "The app's status line does not end with CRLF."),
    ROW(APP_INTERIM_BODY, 502, "The app announced a body for an interim response."),
    ROW(APP_SWITCHED, 502, "The app switched protocols without being asked to."),
    ROW(APP_VERSION, 502, "The app's answer is in none of the versions HTTP/1.1 and HTTP/1.0."),
    ROW(APP_FIELD_COUNT, 502, "The app's answer has more than 1024 header fields."),
    ROW(APP_FIELD_LINE, 502,
        "A header field of the app's answer is not `name: value` on one line that ends with CRLF: "
        "a bad name, white space before the colon, a folded line, a NUL, a bare CR or another "
        "control."),
    ROW(APP_HEAD_END, 502, "The head of the app's answer is not terminated by an empty line."),
    ROW(APP_HEAD_UNCLEAR, 502, "The head of the app's answer can be parsed in more than one way."),
    ROW(APP_CONNECTION_FORM, 502,
        "Connection in the app's answer is not a list of at most 64 field names."),
    ROW(APP_LENGTH_TWICE, 502, "The app's answer has more than one Content-Length."),
    ROW(APP_LENGTH_FORM, 502,
        "Content-Length in the app's answer is not a decimal number below 2^63."),
    ROW(APP_CODING_VERSION, 502,
        "The app's answer has a Transfer-Encoding, which HTTP/1.0 does not have."),
    ROW(APP_CODING_AND_LENGTH, 502,
        "The app's answer has both Content-Length and Transfer-Encoding."),
    ROW(APP_CODING_TWICE, 502, "The app's answer has more than one Transfer-Encoding."),
    ROW(APP_CODING_FORM, 502,
        "Transfer-Encoding in the app's answer is malformed, or does not end in chunked."),
    ROW(APP_CODING_EMPTY, 502, "Transfer-Encoding in the app's answer is empty."),
    ROW(APP_CODING_OTHER, 502, "The app's answer has a transfer coding other than chunked."),
    ROW(APP_SILENT, 504, "The app did not begin its answer within HOOKLINE_APP_HEAD_TIMEOUT."),
    ROW(APP_PAUSED, 504,
        "The app sent nothing for HOOKLINE_APP_IDLE_TIMEOUT in the middle of its response."),
    ROW(APP_STREAM_SILENT, 504,
        "The app sent nothing for HOOKLINE_STREAM_IDLE_TIMEOUT in the middle of its event stream."),
    ROW(RUN_TOO_LONG, 504,
        "The run took longer than its X-Run-Timeout, or HOOKLINE_RESPONSE_GRACE_PERIOD, allows."),
    ROW(CALL_TOO_LONG, 504,
        "The call took longer than its X-Run-Timeout, or HOOKLINE_SYNC_TIMEOUT, allows."),
    LATER(CALL_EXPIRED, 429, CALLS,
        "The app was too busy to begin the call within its X-Run-Start-Timeout; try again later."),
    ROW(WAITED_FAILED, 502, "The run failed without a response from the app: %s."),
    ROW(WAITED_LATE, 504, "The run failed without a response from the app: %s."),
    ROW(WAITED_UNKEPT, 502,
        "The app has answered, but its response was not kept: the run's record (Location) says "
        "why."),
    ROW(FRONT_LATE, 504,
        "The call was not answered within HOOKLINE_FRONT_TIMEOUT, and its run was cancelled. "
        "Long ones are better made with async=true."),
    LATER(FRONT_FULL, 503, CALLS,
        "HOOKLINE_MAX_WAITERS callers wait at this front already: the call was taken back."),
    LATER(FRONT_STREAMS, 503, CALLS,
        "HOOKLINE_MAX_FOLLOWERS callers read event streams at this front already: the call was "
        "taken back."),
    ROW(RUN_CANCELLED, 410,
        "The run was cancelled before the app answered. Call again if it is still wanted."),
    ROW(STORED_BODY_UNREADABLE, 500, "The stored request body cannot be read."),
    ROW(STORED_BODY_DAMAGED, 500,
        "The stored request body differs from the one that was accepted."),

    /* ---- the REST interface, the admin listener ---- */
    LATER(REST_NOT_SERVED, 503, CALLS,
        "The REST interface is unavailable at the moment; try again later."),
    ROW(REST_BODY_TOO_LARGE, 413, "The request body may be at most 64 KiB here."),
    ROW(REST_NOWHERE, 404,
        "Nothing is served at this path. Below /v2/projects/{project_id} are service-accounts, "
        "runs, apps/{app_name}/runs and deliveries."),
    ROW(REST_BY_ID_ONLY, 404,
        "With HOOKLINE_AUTH=none only requests that name a run id are served here: runs/{run_id}, "
        "runs/{run_id}/result and runs/{run_id}/cancel. The rest is on the control socket (the "
        "hookline command) and on the admin listener."),
    ROW(REST_METHOD, 405, "This method is not served here; the Allow field names those that are."),
    ROW(DRAIN_FINAL, 409,
        "This process is stopping (a signal, POST /quit or HOOKLINE_IDLE_EXIT), which cannot be "
        "taken back: start it again."),
    ROW(DRAIN_NOBODY, 409,
        "No sidecar is running on this data directory: nothing is to be stopped."),
    ROW(REST_NAME, 400,
        "The %s in the path is not 1 to 128 of A-Z a-z 0-9 . _ - without percent-encoding."),
    ROW(REST_ID, 404, "Nothing has that id: ids here are UUIDs."),
    ROW(REST_NO_PROJECT, 403,
        "The token has no claim that names its project (HOOKLINE_JWT_PROJECT_CLAIM)."),
    ROW(REST_OTHER_PROJECT, 403, "The token belongs to another project; use one of this project."),
    ROW(REST_NOT_ADMIN, 403,
        "This needs a token with the role admin; this token's role is invoke: it may call the app "
        "and read runs, results and the list of service accounts."),
    ROW(REST_NOT_VIEWER, 403,
        "This needs a token with the role admin or viewer; this token's role is invoke: it may "
        "call the app and read runs, results and the list of service accounts."),
    ROW(REST_VIEWER, 403,
        "This token's role is viewer: it sees what an admin sees, and changes nothing. This "
        "changes something, or calls the app."),
    ROW(REST_NOT_YOURS, 403,
        "This needs a token with the role admin, or the token of the subject that made the run; "
        "this token's role is invoke, and another subject made it."),
    ROW(QUERY_UNKNOWN, 400, "There is no query parameter \"%s\" here; supported: %s."),
    ROW(QUERY_TWICE, 400, "The query parameter %s is given more than once."),
    ROW(QUERY_VALUE, 400, "The query parameter %s must be %s."),
    ROW(QUERY_CURSOR, 400,
        "The query parameter cursor belongs to another list: use the next_cursor of the previous "
        "page with the same filters."),
    ROW(REST_NOT_FOUND, 404,
        "There is no such %s here: the id belongs to another project or app, or it is past "
        "HOOKLINE_RETENTION."),
    ROW(REST_RUN_NOT_FOUND, 404,
        "There is no such run here: the id belongs to another project or app, it is past "
        "HOOKLINE_RETENTION, or the run was synchronous at another replica, which alone knows it."),
    LATER(REST_STORE_BUSY, 503, CALLS, "Too much is waiting for the store; try again later."),
    LATER(REST_STORE_FULL, 503, SPACE, "The store's volume is full: make space, then try again."),
    LATER(REST_STORE_FAILING, 503, BACKLOG, "The store is failing; hookline's log says why."),
    ROW(RUN_FINISHED, 409, "The run has already finished: there is nothing to cancel."),
    ROW(RUN_UNFINISHED, 409, "The run is not finished; ask again when it is."),
    ROW(RUN_UNFINISHED_IN, 409, "The run is %s; ask again when it is finished."),
    ROW(RESULT_NEVER_KEPT, 404,
        "The run was synchronous: its response went to its caller and is not kept. Call with "
        "async=true or a webhookEndpoint to have it kept."),
    ROW(RESULT_DAMAGED, 410,
        "The kept response is damaged on disk: its bytes differ from those that were stored."),
    ROW(RESULT_DROPPED, 410,
        "The response of %s bytes is not kept: it was over HOOKLINE_MAX_KEPT_RESPONSE, or its "
        "space was needed (HOOKLINE_STORE_MAX_BYTES)."),
    ROW(RESULT_NOT_TAKEN, 410,
        "The response of %s bytes is not kept: the data directory did not take it, or not quickly "
        "enough."),
    ROW(RESULT_NO_ANSWER, 404, "There is no response: the app did not answer (state %s%s%s)."),
    ROW(RESULT_NO_BODY, 404, "There is no body: the app answered %s without one."),
    ROW(RESULT_REMOVED, 410,
        "The kept response has been removed: its run is past HOOKLINE_RETENTION, or the space "
        "was needed (HOOKLINE_STORE_MAX_BYTES)."),
    ROW(RESULT_UNREADABLE, 500,
        "The kept response cannot be read from the data directory; see the log."),
    ROW(EVENTS_NEVER_KEPT, 404,
        "The events of this run are not kept: it was called synchronously, without X-Run-Keep: "
        "true."),
    ROW(EVENTS_NO_STREAM, 409,
        "The run's response is not an event stream that can be followed (200, text/event-stream, "
        "without Content-Encoding): use /result."),
    ROW(EVENTS_GONE, 410,
        "The run's events are no longer kept, or were more than can be kept "
        "(HOOKLINE_MAX_KEPT_RESPONSE, HOOKLINE_STORE_MAX_BYTES, HOOKLINE_STREAM_KEEP_MAX_BYTES, "
        "HOOKLINE_STREAM_RETENTION)."),
    ROW(EVENTS_ID, 400,
        "Last-Event-ID is neither a number nor the id of an event of this run: leave it out to "
        "start from the first one."),
    ROW(EVENTS_ID_TWICE, 400,
        "Last-Event-ID is given more than once, or is longer than 1024 bytes: send one, as a field "
        "or as "
        "the parameter last_event_id."),
    ROW(EVENTS_NO_SIDECAR, 409,
        "No sidecar is running on this data directory: events are followed through it. Start it "
        "first."),
    ROW(RELAY_PASS, 403,
        "X-Run-Relay is for use between replicas, and this value is not valid, or no longer: leave "
        "it out."),
    ROW(RELAY_OTHER, 403, "X-Run-Relay is for the events of another run."),
    LATER(FOLLOWERS_FULL, 429, CALLS,
        "HOOKLINE_MAX_FOLLOWERS callers are already following runs; try again later."),
    LATER(FOLLOWERS_OF_RUN, 429, CALLS,
        "100 callers are already following this run; try again later."),
    LATER(FOLLOWERS_OF_SUBJECT, 429, CALLS,
        "The token's subject is already following as many runs as it may, a quarter of "
        "HOOKLINE_MAX_FOLLOWERS; try again later."),
    ROW(LOG_ELSEWHERE, 409,
        "The run's log is in the memory of the replica that has the run, %s: ask that one. The log "
        "of a failed run is available from every replica."),
    ROW(TAIL_OF_RUN, 403,
        "This token's role is invoke: it may follow the log of a run of its own alone; name the "
        "run "
        "with run_id. All lines need a token with the role admin or viewer."),
    ROW(REQUEST_NOT_KEPT, 410,
        "The run's request is no longer kept, or never was: see HOOKLINE_KEEP_REQUESTS, and "
        "HOOKLINE_STORE_MAX_BYTES, for which requests are removed first."),
    ROW(REQUEST_OF_SYNC, 410,
        "The run was synchronous: only requests of asynchronous runs are kept."),
    ROW(REQUEST_DAMAGED, 410,
        "The kept request is damaged on disk: its bytes differ from those that were stored."),
    ROW(RERUN_UNFINISHED, 409, "The run is %s: it can be run again when it has ended."),
    ROW(BODY_NO_OBJECT, 400, "The request's body is not a JSON object with unique members."),
    ROW(ACCOUNT_MEMBERS, 400,
        "The body is {\"name\", \"expires_at\"} and, optionally, role, max_running, max_queued, "
        "rate and max_priority: no other member."),
    ROW(ACCOUNT_NAME, 400,
        "The member name is not a string of 1 to 100 characters without control characters."),
    ROW(ACCOUNT_EXPIRY, 400,
        "The member expires_at is not a time in the future, at most ten years away, as RFC 3339 "
        "(2027-01-31T00:00:00Z) or in milliseconds since 1970."),
    ROW(ACCOUNT_ROLE, 400, "The member role is not \"invoke\", \"admin\" or \"viewer\"."),
    ROW(SESSION_MEMBERS, 400,
        "The member role is not \"invoke\", \"admin\" or \"viewer\", or there are other members "
        "than "
        "that and, with viewer, expires_at and name."),
    ROW(SESSION_LASTS, 400,
        "A session that may change something is good for an hour: expires_at and name go with the "
        "role "
        "viewer alone."),
    ROW(SESSION_EXPIRY, 400,
        "The member expires_at is not a time in the future, at most 366 days away, as RFC 3339 or "
        "in "
        "milliseconds since 1970."),
    ROW(SESSION_OPEN, 409,
        "This dashboard asks nobody for a token, so no link to it is read-only: set "
        "HOOKLINE_ADMIN_AUTH=token."),
    ROW(SESSION_NOT_LASTING, 403,
        "Only the session of a read-only link (hookline dashboard --read-only --expires) is "
        "renewed, "
        "and no further than to the link's end."),
    ROW(SESSION_OVER, 403,
        "The link that this session is of has expired, or was revoked: make another one (hookline "
        "dashboard --read-only --expires)."),
    ROW(LIMIT_MEMBERS, 400,
        "The member %s cannot be changed. Only max_running, max_queued, rate and max_priority "
        "can."),
    ROW(LIMIT_NUMBER, 400,
        "The member %s is not a whole number from 1 to 1000000000, or null for no limit."),
    ROW(LIMIT_RATE, 400,
        "The member %s is not a number from 1 to 10000000 for a second, a minute, an hour or a day "
        "(\"100/m\", also /s, /h, /d), or null for no limit."),
    ROW(LIMIT_PRIORITY, 400,
        "The member %s is not \"high\", \"normal\" or \"low\", or null for \"normal\"."),
    ROW(DELIVERY_PENDING, 409,
        "The delivery is pending: attempts are still being made. It can be sent again once it is "
        "delivered or dead."),
    ROW(REDELIVER_MEMBERS, 400,
        "The body is {\"state\": \"dead\", \"since\": \"2026-11-22T08:00:00Z\"}: these two members "
        "and no other, except the cursor of an earlier answer; or {\"delivery_ids\": [\"…\"]}."),
    ROW(REDELIVER_STATE, 400, "The member state is not \"dead\" or \"delivered\"."),
    ROW(REDELIVER_SINCE, 400,
        "The member since is not a time as RFC 3339 or in milliseconds since 1970."),
    ROW(REDELIVER_CURSOR, 400, "The member cursor is not one from an earlier answer."),
    ROW(REDELIVER_IDS, 400,
        "The member delivery_ids is not a list of 1 to 1000 ids of deliveries."),
    LATER(REDELIVER_FULL, 429, BACKLOG,
        "Half of HOOKLINE_MAX_PENDING_DELIVERIES webhook deliveries are waiting, and the other "
        "half "
        "is for new ones; try again later."),
    ROW(RESEND_MEMBERS, 400,
        "The body is {\"url\": \"https://…\"}, and \"secret\" if it is to be signed with another "
        "one "
        "than the operator's; without a body the delivery goes where it went."),
    ROW(RESEND_URL, 400,
        "The member url is not an absolute http or https URL of at most 2048 bytes."),
    ROW(RESEND_CREDENTIALS, 400,
        "The member url contains credentials. Let the receiver verify a signature instead: add the "
        "member secret."),
    ROW(RESEND_PLAIN, 400,
        "The member url is not an https URL, and HOOKLINE_WEBHOOK_HTTPS_ONLY is on."),
    ROW(RESEND_ADDRESS, 400,
        "The member url names an address that webhooks may not reach. The operator can allow it "
        "with HOOKLINE_WEBHOOK_ALLOW."),
    ROW(RESEND_SECRET, 400,
        "The member secret must be a text of 1 to 1024 bytes, with padded base64 after whsec_."),
    ROW(TEST_MEMBERS, 400,
        "The body is {\"url\": \"https://…\"}, with \"secret\" or without, or "
        "{\"delivery_id\": \"…\"} of a delivery that went there."),
    ROW(TEST_SEALED, 409,
        "Where that delivery went cannot be read with the present data key; name the url instead."),
    LATER(TEST_TOO_OFTEN, 429, BACKLOG,
        "Ten tests of destinations a minute, and four at once, are all that is sent from here; try "
        "again later."),
    ROW(TEST_NO_SIDECAR, 409,
        "No sidecar is running on this data directory: it would send the test. Start hookline."),
    LATER(TEST_NOT_TRIED, 503, BACKLOG,
        "The test was not sent: hookline is ending, or has no memory; try again later."),
    ROW(JOB_MEMBERS, 400,
        "The body is {\"what\", \"filter\"} and, optionally, pause_ms, expected and dry_run (true "
        "or "
        "false): no other member."),
    ROW(JOB_WHAT, 400, "The member what is not \"cancel\", \"rerun\" or \"redeliver\"."),
    ROW(JOB_FILTER, 400,
        "The member filter is not an object of what a list of runs, or of deliveries, is asked "
        "with (texts, numbers, true or false, or lists of them), without limit and cursor."),
    ROW(JOB_CANCEL_STATE, 400,
        "Runs in that state cannot be cancelled: the filter's state is \"queued\", \"running\", or "
        "left out for both."),
    ROW(JOB_PAUSE, 400, "The member pause_ms is not a number of milliseconds from 0 to 60000."),
    ROW(JOB_EXPECTED, 400, "The member expected is not a number from 0 on."),
    ROW(JOB_SURPRISE, 409,
        "The filter matches %s, which is more than was expected (%s): nothing was done."),
    LATER(JOBS_FULL, 429, BACKLOG,
        "The project has 4 jobs that go on: one more can be made when one of them has ended, or "
        "was stopped."),
    ROW(JOB_ENDED, 409, "The job has ended: there is nothing to stop."),
    ROW(NO_SIDECAR, 409,
        "No sidecar is running on this data directory: the dashboard is a page that it serves. "
        "Start it first."),
    ROW(ADMIN_SLOW, 408, "The request was not complete within HOOKLINE_HEAD_TIMEOUT."),
    ROW(ADMIN_HOST, 421,
        "This listener is reached by an address or as localhost; any other name must be in "
        "HOOKLINE_ADMIN_HOSTS."),
    ROW(ADMIN_CROSS_SITE, 403,
        "Cross-origin pages may change nothing here: Origin must be this listener's own, and "
        "Sec-Fetch-Site same-origin or none."),
    ROW(ADMIN_NOWHERE, 404,
        "Nothing is served at this path: the dashboard is at /; /healthz, /readyz, /metrics and "
        "/v2 are served."),
    ROW(ADMIN_MEMORY, 503, "Out of memory."),
    ROW(PASS_UNREACHABLE, 502,
        "The call could not be passed on: there was no connection. Calls sent from the dashboard "
        "go to HOOKLINE_LISTEN."),
    ROW(PASS_UNREADABLE, 502, "The answer is not valid HTTP."),
    ROW(PASS_LATE, 504, "There was no answer within 5 s."),
    ROW(PASS_BODY_TOO_LARGE, 413,
        "A call sent from here may have a body of at most 256 KiB: send a larger one to "
        "HOOKLINE_LISTEN."),
    WITH(FUNCTIONS_METHOD, 405, "Allow: GET, HEAD", "The app's functions are listed with GET."),
    LATER(FUNCTIONS_NOT_READY, 503, CALLS,
        "The app is not ready: its functions are listed once it is."),
    ROW(FUNCTIONS_NONE, 404,
        "The app lists no functions: GET /_hookline/functions, which the function hosts "
        "(hookline_runtime, hookline-functions, hookline-function) answer, gave no "
        "list."),
    ROW(FUNCTIONS_UNREACHABLE, 502, "The app could not be asked: there was no connection to it."),
    WITH(ASSET_METHOD, 405, "Allow: GET, HEAD", "The dashboard's files are read-only."),
    ROW(ASSET_MEMORY, 503, "There is not enough memory to send the dashboard."),
    ROW(FIGURES_AFTER, 400, "The parameters after and newest must be numbers, such as 17."),
    ROW(FIGURES_MEMORY, 503, "There is not enough memory to write the figures."),

    /* ---- the function hosts (runtime/) ---- */
    ROW(TARGET_NO_PATH, 400, "The request's target is not a path with an optional query."),
    ROW(FUNCTION_HEAD_SLOW, 408, "The request's head was not complete within 10 s."),
    ROW(FUNCTION_BODY_SLOW, 408, "No byte of the request's body arrived for 60 s."),
    ROW(FUNCTION_BODY_TOO_LARGE, 413,
        "The request's body is longer than HOOKLINE_FUNCTION_MAX_BODY allows."),
    ROW(FUNCTION_UNKNOWN, 404, "%s"), /* and which there are */
    WITH(FUNCTION_LISTING_METHOD, 405, "Allow: GET, HEAD", "The functions are listed with GET."),
    WITH(FUNCTION_METHOD, 405, "Allow: POST", "A function is called with POST."),
    ROW(FUNCTION_TYPE, 415,
        "A function takes a JSON object: send it with Content-Type: application/json."),
    LATER(FUNCTION_QUEUE_FULL, 429, PLACE,
        "Too many requests are waiting for the function; try again."),
    LATER(FUNCTION_MEMORY, 503, BACKLOG, "Out of memory."),
    ROW(FUNCTION_UPLOAD, 503,
        "The request's files cannot be kept: the directory for temporary files (TMPDIR) takes "
        "none."),
    ROW(FUNCTION_STOPPING, 503, "The function host is stopping."),
    ROW(FUNCTION_JSON_DEPTH, 400, "The body's JSON is nested deeper than %s levels."),
    ROW(FUNCTION_JSON_FORM, 400, "The body is not JSON: there is an error at byte %s."),
    ROW(FUNCTION_JSON_END, 400, "The body is not JSON: it ends too early, after %s bytes."),
    ROW(FUNCTION_NO_OBJECT, 422,
        "The body must be a JSON object: its members are the function's parameters."),
    ROW(FUNCTION_INPUT, 422, "%s"), /* which parameter */
    ROW(FUNCTION_NO_RESULT, 500, "The function ended without a result."),
    ROW(FUNCTION_VALUE, 500, "The function's value was refused: %s."),
    ROW(FUNCTION_VALUES_LONG, 500,
        "The function's values together are longer than HOOKLINE_FUNCTION_MAX_BODY allows."),
    ROW(FUNCTION_VALUES_MEMORY, 500, "There was no memory for one of the function's values."),
    ROW(FUNCTION_FAILED, 500, "The function returned %s."),
};

void hl_refusal_reason(const char *cause, char out[HL_REFUSAL_REASON])
{
    size_t n = 0;
    for (; cause && cause[n] && n < HL_REFUSAL_REASON - 1; n++)
        out[n] = cause[n] >= 'A' && cause[n] <= 'Z' ? (char)(cause[n] | 0x20) : cause[n];
    out[n] = '\0';
}

bool hl_refuse(struct hl_refusal *why, enum hl_refusal_cause cause)
{
    *why = hl_refusals[cause];
    return false;
}

static void put(char *room, size_t cap, size_t *n, struct hl_str text)
{
    size_t left = cap - 1 - *n, taken = text.n < left ? text.n : left;
    memcpy(room + *n, text.p, taken);
    *n += taken;
}

struct hl_refusal hl_refusal_vsay(
    char *room, size_t cap, enum hl_refusal_cause cause, va_list texts)
{
    struct hl_refusal why = hl_refusals[cause];
    const char *at = why.detail, *place, *text;
    size_t n = 0;
    while ((place = strstr(at, "%s")) != NULL && (text = va_arg(texts, const char *)) != NULL) {
        put(room, cap, &n, (struct hl_str){at, (size_t)(place - at)});
        put(room, cap, &n, hl_str_from(text));
        at = place + 2;
    }
    put(room, cap, &n, hl_str_from(at));
    room[n] = '\0';
    why.detail = room;
    return why;
}

struct hl_refusal hl_refusal_say(char *room, size_t cap, enum hl_refusal_cause cause, ...)
{
    va_list texts;
    va_start(texts, cause);
    struct hl_refusal why = hl_refusal_vsay(room, cap, cause, texts);
    va_end(texts);
    return why;
}
