// problem.mjs - the answers that the host gives itself (RFC 9457), in the words of the other function hosts.
import { STATUS_CODES } from 'node:http';

const DETAIL_MAX = 1500; // bytes, as the inside of a JSON string

/** The reason phrases of RFC 9110; Node has older ones of some. */
export const phraseOf = (status) =>
    ({ 413: 'Content Too Large', 422: 'Unprocessable Content' })[status] ?? STATUS_CODES[status] ?? '';

const CLOSE = { Connection: 'close' };

/** What is wrong with a request before any function sees it: status, detail, other fields. */
export const REFUSALS = {
    noHead: [400, 'This is not an HTTP/1.1 request: each line of the head must end with CRLF.'],
    headTooLarge: [431, 'The request head may be at most 128 KiB here.'],
    version: [400, 'The start line has no HTTP version. Use HTTP/1.1.', CLOSE],
    codingVersion: [400, 'HTTP/1.0 has no Transfer-Encoding. Send Content-Length.', CLOSE],
    codingOther: [501, 'The only transfer coding supported here is chunked.', CLOSE],
    host: [400, 'An HTTP/1.1 request needs exactly one Host field.'],
    hostForm: [400, 'Host is not a host name or address with an optional port.'],
    noPath: [400, "The request's target is not a path with an optional query."],
    healthMethod: [405, 'Health checks use GET.', { Allow: 'GET, HEAD' }],
    listingMethod: [405, 'The functions are listed with GET.', { Allow: 'GET, HEAD' }],
    method: [405, 'A function is called with POST.', { Allow: 'POST' }],
    type: [415, 'A function takes a JSON object: send it with Content-Type: application/json.'],
    tooLarge: [413, "The request's body is longer than HOOKLINE_FUNCTION_MAX_BODY allows."],
    headSlow: [408, "The request's head was not complete within 10 s."],
    bodySlow: [408, "No byte of the request's body arrived for 60 s."],
    full: [429, 'Too many requests are waiting for the function; try again.', { 'Retry-After': '1' }],
    upload: [503, "The request's files cannot be kept: the directory for temporary files (TMPDIR) takes none."],
    stopping: [503, 'The function host is stopping.'],
};

/** problem+json, with a detail that is cut where it is too long. */
export function problemOf(status, detail, runId) {
    const problem = { type: 'about:blank', title: phraseOf(status), status, detail: fit(detail) };
    if (runId) problem.run_id = runId;
    return JSON.stringify(problem);
}

function fit(text) {
    let clean = text.replaceAll('\0', '?').toWellFormed?.() ?? Buffer.from(text.replaceAll('\0', '?')).toString();
    while (Buffer.byteLength(JSON.stringify(clean)) - 2 > DETAIL_MAX)
        clean = clean.slice(0, Math.floor(clean.length * 0.9));
    return clean;
}
