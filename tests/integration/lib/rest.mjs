// rest.mjs - a client of the REST interface: through the control socket, or over TCP with a token.
import assert from 'node:assert/strict';
import http from 'node:http';
import { join } from 'node:path';
import { assertCallDescribed, assertDescribed } from './openapi.mjs';
import { PATIENCE } from './until.mjs';

/** One request. `where`: node's http options that say where to. Answers `{ status, headers, body, text, json() }`, once it
 * is what the description of the interface says. */
function request(where, method, path, { body, token, headers = {}, agent = false, judge = assertDescribed } = {}) {
    const bytes =
        body === undefined || Buffer.isBuffer(body) || typeof body === 'string'
            ? body
            : JSON.stringify(body);
    return new Promise((resolve, reject) => {
        const outgoing = http.request(
            {
                ...where,
                agent,
                method,
                path,
                timeout: PATIENCE,
                headers: {
                    ...(token && { authorization: `Bearer ${token}` }),
                    ...(bytes !== undefined && { 'content-length': Buffer.byteLength(bytes) }),
                    ...headers,
                },
            },
            (response) => {
                const pieces = [];
                response.on('data', (piece) => pieces.push(piece));
                response.on('error', reject);
                response.on('end', () => {
                    const whole = Buffer.concat(pieces);
                    const answer = { status: response.statusCode, headers: response.headers, body: whole };
                    try {
                        judge(method, path, answer);
                    } catch (error) {
                        reject(error);
                        return;
                    }
                    resolve({ ...answer, text: whole.toString(), json: () => JSON.parse(whole) });
                });
            },
        );
        outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
        outgoing.on('error', reject);
        outgoing.end(bytes);
    });
}

/** `ask(method, path, { body, token, headers })` on the sidecar's control socket. */
export function control(sidecar) {
    const where = { socketPath: join(sidecar.dataDir, 'control.sock') };
    return (method, path, options) => request(where, method, path, options);
}

/** The same on the run listener, or with `admin: true` on the admin listener. */
export function rest(sidecar, { admin = false, token } = {}) {
    const where = { host: '127.0.0.1', port: admin ? sidecar.adminPort : sidecar.port };
    const judge = admin ? assertDescribed : assertCallDescribed;
    return (method, path, options) => request(where, method, path, { token, judge, ...options });
}

/** Asserts that an answer of the REST interface is a problem (RFC 9457) whose detail says what `pattern` says. */
export function assertRefused(answer, status, pattern = /./) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers['content-type'], 'application/problem+json');
    const problem = answer.json();
    assert.equal(problem.status, status);
    assert.equal(problem.type, 'about:blank');
    assert.equal(typeof problem.title, 'string');
    assert.match(problem.detail, pattern);
    return problem;
}

/** All pages of a list, as arrays of rows. `member`: "runs", "deliveries", "service_accounts". */
export async function pages(ask, path, member, query = {}) {
    const all = [];
    let cursor;
    do {
        const search = new URLSearchParams({ ...query, ...(cursor && { cursor }) });
        const answer = await ask('GET', `${path}?${search}`);
        assert.equal(answer.status, 200, answer.text);
        const page = answer.json();
        all.push(page[member]);
        cursor = page.next_cursor;
    } while (cursor);
    return all;
}
