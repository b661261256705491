// Browsers: preflights are answered without a token, and a WebSocket carries its own where nobody else sees it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { WebSocket } from 'ws';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, echo, stage } from './lib/stage.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { until } from './lib/until.mjs';

const ORIGIN = 'https://app.example';
const secret = makeSecret();

async function locked(t, { env = {}, app = echo } = {}) {
    const all = await stage(t, {
        app,
        env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret, HOOKLINE_CORS_ORIGINS: `${ORIGIN},http://localhost:3000`, ...env },
    });
    return { ...all, token: await sign(secret) };
}

const preflight = (origin, more = {}) => ({
    method: 'OPTIONS',
    headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type, x-mine',
        ...more,
    },
});

test('a preflight of an allowed origin is answered without a token, and the app is not asked', async (t) => {
    const { app, call } = await locked(t);
    for (const path of [RUN, '/v4/p/a/other', '/v2/projects/p/service-accounts']) {
        const r = await call(path, preflight(ORIGIN));
        assert.equal(r.status, 204, r.text);
        assert.equal(r.headers['access-control-allow-origin'], ORIGIN);
        assert.match(r.headers['access-control-allow-methods'], /\bPOST\b/);
        assert.equal(r.headers['access-control-allow-headers'], 'authorization, content-type, x-mine');
        assert.match(r.headers.vary, /Origin/);
        assert.equal(r.body.length, 0);
    }
    assert.equal(app.requests.length, 0);
});

test('a preflight of another origin, or without origins set, needs a token as any call', async (t) => {
    const { app, call, sidecar } = await locked(t);
    for (const origin of ['https://evil.example', 'null', `${ORIGIN}.evil.example`, `${ORIGIN}:444`, 'http://app.example', '']) {
        const r = await call(RUN, preflight(origin));
        assertProblem(r, 401);
        assert.equal(r.headers['access-control-allow-origin'], undefined);
        assert.equal(r.headers.vary, 'Origin');
    }
    await sidecar.restart({ HOOKLINE_CORS_ORIGINS: '' });
    const r = await call(RUN, preflight(ORIGIN));
    assertProblem(r, 401);
    assert.equal(r.headers['access-control-allow-origin'], undefined);
    assert.equal(r.headers.vary, undefined);
    assert.equal(app.requests.length, 0);
});

test('what a preflight asks for is repeated only if it is a list of names', async (t) => {
    const { call } = await locked(t);
    for (const asked of ['x: y', 'a b', 'x'.repeat(600), '']) {
        const r = await call(RUN, preflight(ORIGIN, { 'access-control-request-headers': asked }));
        assert.equal(r.status, 204);
        assert.match(r.headers['access-control-allow-headers'], /^Authorization, Content-Type/);
    }
});

test('answers to an allowed origin say so, refusals and the 202 too, and X-Request-Id may be read', async (t) => {
    const { call, token } = await locked(t);
    const authorization = `Bearer ${token}`;
    for (const [status, options] of [
        [200, { headers: { authorization } }],
        [202, { headers: { authorization }, query: { async: 'true' } }],
        [200, { headers: { authorization, prefer: 'wait=20' } }],
        [400, { headers: { authorization }, query: { async: 'maybe' } }],
        [405, { headers: { authorization }, method: 'GET' }],
        [401, {}],
    ]) {
        const r = await call(RUN, { ...options, headers: { ...options.headers, origin: ORIGIN } });
        assert.equal(r.status, status, r.text);
        assert.equal(r.headers['access-control-allow-origin'], ORIGIN);
        assert.match(r.headers['access-control-expose-headers'], /X-Request-Id/);
        assert.match(r.headers.vary, /Origin/);
        const other = await call(RUN, { ...options, headers: { ...options.headers, origin: 'https://evil.example' } });
        assert.equal(other.headers['access-control-allow-origin'], undefined);
        assert.equal(other.headers.vary, 'Origin', 'caches keep them apart');
    }
});

test('answers of the REST interface say so, too', async (t) => {
    const { call, token } = await locked(t);
    const headers = { authorization: `Bearer ${token}`, origin: ORIGIN };
    const { headers: accepted } = await call(RUN, { headers, query: { async: 'true' } });
    assert.match(accepted['access-control-expose-headers'], /Location/);
    for (const [path, status] of [[accepted.location, 200], [`${accepted.location}/result?wait=20`, 200], ['/v2/projects/p/runs?x', 400]]) {
        const r = await call(path, { method: 'GET', headers });
        assert.equal(r.status, status, r.text);
        assert.equal(r.headers['access-control-allow-origin'], ORIGIN);
    }
});

test('the app’s own word on who may read is replaced, not doubled', async (t) => {
    const app = (exchange) =>
        exchange.send(200, { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'X-App', Vary: 'Accept' }, 'ok');
    const { call, token } = await locked(t, { app });
    const headers = { authorization: `Bearer ${token}` };
    const r = await call(RUN, { headers: { ...headers, origin: ORIGIN } });
    assert.equal(r.headers['access-control-allow-origin'], ORIGIN);
    assert.ok([r.headers.vary].flat().join().includes('Accept'));
    assert.ok([r.headers['access-control-expose-headers']].flat().join().includes('X-App'));
    assert.equal((await call(RUN, { headers })).headers['access-control-allow-origin'], '*', 'no origin: as it came');
});

test('"*" allows every origin, by that very word', async (t) => {
    const { call, token } = await locked(t, { env: { HOOKLINE_CORS_ORIGINS: '*' } });
    const r = await call(RUN, { headers: { authorization: `Bearer ${token}`, origin: 'https://any.example' } });
    assert.equal(r.headers['access-control-allow-origin'], '*');
    assert.equal((await call(RUN, preflight('https://any.example'))).status, 204);
});

/** An app that takes WebSockets by hand and selects what it is told to; it echoes nothing else. */
function socketApp(seen, selected) {
    return async (exchange) => {
        seen.push(exchange.head);
        const accept = createHash('sha1')
            .update(`${exchange.get('sec-websocket-key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
            .digest('base64');
        await exchange.respond(101, {
            Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Accept': accept,
            ...(selected && { 'Sec-WebSocket-Protocol': selected }),
        });
        exchange.take();
    };
}

/** Opens a WebSocket; `{ protocol }`, or `{ status }` when it was refused. */
function open(t, sidecar, protocols, headers = {}) {
    return new Promise((resolve) => {
        const socket = new WebSocket(`ws://127.0.0.1:${sidecar.port}/v4/p/a/chat`, protocols, { headers });
        t.after(() => socket.terminate());
        socket.on('open', () => resolve({ protocol: socket.protocol }));
        socket.on('unexpected-response', (_, response) => resolve({ status: response.statusCode, headers: response.headers }));
        socket.on('error', (error) => resolve({ error }));
    });
}

test('a WebSocket’s token may be a subprotocol, which the app does not see and nobody repeats', async (t) => {
    const seen = [];
    const { sidecar, token } = await locked(t, { app: socketApp(seen, 'chat') });
    assert.deepEqual(await open(t, sidecar, [`bearer.${token}`, 'chat', 'other']), { protocol: 'chat' });
    assert.deepEqual(await open(t, sidecar, ['chat', `bearer.${token}`]), { protocol: 'chat' });
    const offered = seen.map((head) => head.get('sec-websocket-protocol').split(/,\s*/));
    assert.deepEqual(offered, [['chat', 'other'], ['chat']]);
    for (const head of seen) assert.ok(!JSON.stringify(head.fields).includes(token));
    assert.ok(!sidecar.stderr.includes(token));
});

test('`hookline` is selected when the app selects none and it was offered', async (t) => {
    const seen = [];
    const { sidecar, token } = await locked(t, { app: socketApp(seen) });
    assert.deepEqual(await open(t, sidecar, [`bearer.${token}`, 'hookline']), { protocol: 'hookline' });
    assert.ok(!JSON.stringify(seen[0].fields).includes(token));
    const refused = await open(t, sidecar, [`bearer.${token}`]);
    assert.ok(refused.error, 'nothing is selected that was not offered beside the token');
    assert.equal(seen[1].get('sec-websocket-protocol'), undefined);
});

test('an app’s own choice stands before `hookline`', async (t) => {
    const { sidecar, token } = await locked(t, { app: socketApp([], 'chat') });
    assert.deepEqual(await open(t, sidecar, [`bearer.${token}`, 'hookline', 'chat']), { protocol: 'chat' });
});

test('a WebSocket without a good token is refused before the app sees it', async (t) => {
    const seen = [];
    const { sidecar, token, connect } = await locked(t, { app: socketApp(seen, 'chat') });
    const strange = await sign(makeSecret());
    for (const protocols of [['chat'], [`bearer.${strange}`, 'chat'], [`Bearer.${token}`, 'chat'], ['bearer', 'chat']])
        assert.equal((await open(t, sidecar, protocols)).status, 401, protocols[0]);
    assert.equal((await open(t, sidecar, [`bearer.${token}`, 'chat'], { authorization: `Bearer ${token}` })).status, 400);
    assert.equal((await open(t, sidecar, [`bearer.${token}`, `bearer.${strange}`, 'chat'])).status, 400);
    assert.equal(seen.length, 0);

    const client = await connect();
    await client.send(`GET /v4/p/a/chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Protocol: bearer.${token}\r\n\r\n`);
    assert.equal((await client.response()).status, 401, 'without an upgrade it is not a credential');
});

test('a WebSocket’s token may as well be in Authorization', async (t) => {
    const { sidecar, token } = await locked(t, { app: socketApp([], 'chat') });
    assert.deepEqual(await open(t, sidecar, ['chat'], { authorization: `Bearer ${token}` }), { protocol: 'chat' });
});

test('with HOOKLINE_HOSTS an image of another page’s reads, sends no webhook and queues no run', async (t) => {
    const { app, receiver, call, sidecar } = await stage(t, { env: { HOOKLINE_HOSTS: 'localhost' } });
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
    const words = '/v4/p/a/words';
    for (const method of ['GET', 'HEAD'])
        for (const [headers, query] of [
            [image, { webhookEndpoint: receiver.url() }],
            [image, { async: 'true' }],
            [{ referer: 'http://evil.example/' }, { async: 'true' }],
            [{ origin: 'http://evil.example', prefer: 'respond-async' }, {}],
            [{ ...image, 'x-run-keep': 'true' }, {}],
        ]) {
            const answer = await call(words, { method, headers, query });
            assert.equal(answer.status, 403, `${method} ${JSON.stringify({ headers, query })}`);
            if (method === 'GET') assertProblem(answer, 403);
        }
    assert.equal(app.requests.length, 0);
    assert.equal(await sidecar.metric('hookline_runs_queued'), 0);
    assert.equal((await call(words, { method: 'GET', headers: image })).status, 200);
    for (const headers of [{}, { ...image, 'sec-fetch-site': 'same-origin' }, { referer: `${sidecar.url}/docs` }])
        assert.equal((await call(words, { method: 'GET', headers, query: { async: 'true' } })).status, 202);
    await until('the runs are called', () => app.requests.length === 4);
    assert.equal(receiver.requests.length, 0);
});
