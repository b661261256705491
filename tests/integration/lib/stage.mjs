// stage.mjs - what nearly every test starts with: an app, the sidecar before it, a receiver, and calls.
import assert from 'node:assert/strict';
import { Agent, request as undiciRequest } from 'undici';
import { join } from 'node:path';
import { FILE, onFailure } from './case.mjs';
import { atEnd } from './cleanup.mjs';
import { assertCallDescribed } from './openapi.mjs';
import { startServer } from './server.mjs';
import { Receiver } from './receiver.mjs';
import { startSidecar, temporaryDirectory } from './sidecar.mjs';
import { connect } from './raw.mjs';
import { sleep, until } from './until.mjs';

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

const stages = new Map(); // of this file, by their settings

/**
 * As stage(), for a test that needs no sidecar of its own: all tests of the file with these settings use one, one after
 * the other, and its end is the file's. App, `requests` and receiver are the test's. What has counted, kept or logged
 * something before would be in this test's way is not for it: metrics, lists of all runs, the database; nor is what
 * stops the sidecar.
 */
export async function shared(t, { app: handler = echo, env = {} } = {}) {
    const key = JSON.stringify(env);
    if (!stages.has(key)) stages.set(key, await open(key, env));
    const { server, sidecar } = stages.get(key);
    const app = server.begin(handler);
    const logged = sidecar.log.length;
    onFailure(t, () => sidecar.tail());
    atEnd(t, () => settle(server, sidecar));
    const receiver = await Receiver.start(t);
    const { url, port, adminUrl, adminPort, dataDir } = sidecar;
    const own = {
        url, port, adminUrl, adminPort, dataDir,
        admin: (path) => sidecar.admin(path),
        /** What it has logged since this test began. */
        get log() {
            return sidecar.log.slice(logged);
        },
    };
    return { app, receiver, sidecar: own, call: caller(t, sidecar), connect: () => connect(t, sidecar) };
}

async function open(key, env) {
    atEnd(FILE, () => stages.delete(key));
    const server = await startServer(FILE, echo);
    const sidecar = await startSidecar(FILE, { env: { HOOKLINE_APP_URL: server.url, ...env } });
    return { server, sidecar };
}

/** Some are queued or inside the app. */
const CALLS = /^hookline_(runs_queued|runs_in_flight|http_requests_in_flight) [1-9]/m;

/** What the test has asked for is over: nothing of it comes to the next one's app. */
async function settle(server, sidecar) {
    assert.ok(sidecar.isRunning, sidecar.tail());
    let seen = 0; // a run on its way from the queue to a worker is in neither count
    await until('all calls are over', async () => {
        const answer = await sidecar.admin('/metrics');
        seen = !answer || CALLS.test(answer.text) ? 0 : seen + 1;
        return seen === 2;
    });
    const [fault] = server.faults.splice(0);
    if (fault) throw fault;
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

/** An app that has each call inside for `ms`, and what was seen of that: how many are, at most were, and have been. */
export function counting(ms) {
    const seen = { inside: 0, most: 0, ended: 0 };
    const app = async (exchange) => {
        seen.most = Math.max(seen.most, ++seen.inside);
        await exchange.body();
        await sleep(ms);
        seen.inside--;
        seen.ended++;
        await exchange.send(200);
    };
    return { app, seen };
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
