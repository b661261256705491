// stage.mjs - what nearly every test starts with: an app, the sidecar before it, a receiver, and calls.
import assert from 'node:assert/strict';
import { Agent, request as undiciRequest } from 'undici';
import { join } from 'node:path';
import { atEnd } from './cleanup.mjs';
import { assertCallDescribed } from './openapi.mjs';
import { startServer } from './server.mjs';
import { Receiver } from './receiver.mjs';
import { startSidecar, temporaryDirectory } from './sidecar.mjs';
import { connect } from './raw.mjs';

export const RUN = '/v4/p/a/run';
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Starts app, sidecar and receiver. `app`: a handler of exchanges (server.mjs), by default one that
 * answers what it got; null: nothing listens at the app's address. `unix`: the app is on a unix socket.
 * `command`: see startSidecar.
 */
export async function stage(t, { app: handler = echo, env = {}, unix = false, wait, command } = {}) {
    const where = unix ? join(await temporaryDirectory(t), 'app.sock') : 0;
    const app = handler && (await startServer(t, handler, where));
    const receiver = await Receiver.start(t);
    const sidecar = await startSidecar(t, {
        env: { HOOKLINE_APP_URL: app ? app.url : 'http://127.0.0.1:1', ...env },
        wait: wait ?? (app ? 'readyz' : 'healthz'),
        command,
    });
    const call = caller(t, sidecar);
    return { app, receiver, sidecar, call, connect: () => connect(t, sidecar) };
}

/** Answers with the request, as JSON. */
export async function echo(exchange) {
    const body = await exchange.body();
    await exchange.json({
        method: exchange.method,
        target: exchange.target,
        fields: exchange.head.fields,
        body: body.toString('latin1'),
    });
}

/**
 * `call(path, options)` for one sidecar, through undici. Options: method (POST), query (object),
 * headers, body. Answers `{ status, headers, body, text, json(), id, ms }`.
 */
export function caller(t, sidecar) {
    const agent = new Agent({ headersTimeout: 60_000, bodyTimeout: 60_000, connections: 256 });
    atEnd(t, () => agent.destroy());
    return async (path = RUN, { method = 'POST', query = {}, headers = {}, body, signal } = {}) => {
        const search = new URLSearchParams(query).toString();
        const began = performance.now();
        const response = await undiciRequest(sidecar.url + path + (search && `?${search}`), {
            dispatcher: agent,
            method,
            headers,
            body,
            signal,
        });
        const ms = performance.now() - began;
        const bytes = Buffer.from(await response.body.arrayBuffer());
        assertCallDescribed(method, path, { status: response.statusCode, headers: response.headers, body: bytes });
        return {
            status: response.statusCode,
            headers: response.headers,
            trailers: response.trailers,
            id: response.headers['x-request-id'],
            body: bytes,
            text: bytes.toString(),
            json: () => JSON.parse(bytes),
            ms,
        };
    };
}

/** Asserts that an answer is hookline's own refusal: RFC 9457, with the run id where there is one. */
export function assertProblem(response, status) {
    assert.equal(response.status, status, response.text);
    const get = (name) => response.get?.(name) ?? response.headers?.[name];
    assert.equal(get('content-type'), 'application/problem+json');
    const problem = JSON.parse(response.body);
    assert.equal(problem.status, status);
    for (const member of ['type', 'title', 'detail']) {
        assert.equal(typeof problem[member], 'string', member);
    }
    assert.match(get('x-request-id'), UUID_V7);
    assert.equal(problem.run_id, get('x-request-id'));
    return problem;
}
