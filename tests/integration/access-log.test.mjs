// HOOKLINE_ACCESS_LOG: a line for each call, whatever became of it, and nothing secret in it.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { gate, until } from './lib/until.mjs';

const UPGRADE = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': 13,
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** A stage that logs calls, at the least level, and `line(test)`: the one line of such a call. */
async function logged(t, { env = {}, ...options } = {}) {
    const all = await stage(t, {
        ...options,
        env: { HOOKLINE_ACCESS_LOG: 'on', HOOKLINE_LOG_LEVEL: 'error', ...env },
    });
    const lines = () => all.sidecar.log.filter(({ msg }) => msg === 'call');
    const line = async (what, is) => {
        await until(`a line about ${what}`, () => lines().some(is));
        const found = lines().filter(is);
        assert.equal(found.length, 1, what);
        return found[0];
    };
    return { ...all, lines, line, lineOf: (id) => line(id, (one) => one.run_id === id) };
}

test('off, no call leaves a line', async (t) => {
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_LOG_LEVEL: 'info' } });
    const { id } = await call();
    await sidecar.stop();
    assert.ok(!sidecar.stderr.includes(id));
});

test('each call leaves one line, however it is answered', async (t) => {
    const { call, lines, lineOf } = await logged(t, {
        app: async (x) => {
            if (x.path === '/reset') return x.reset();
            if (x.path === '/stream') {
                const chunked = { 'Transfer-Encoding': 'chunked' };
                await x.respond(200, { 'Content-Type': 'text/event-stream', ...chunked });
                await x.chunk('data: 1\n\n');
                return x.lastChunk();
            }
            return x.send(x.path === '/missing' ? 404 : 200, {}, '0123456789');
        },
    });
    const cases = [
        ['POST', RUN, {}, { status: 200, bytes: 10, mode: 'sync' }],
        ['GET', '/v4/p/a/missing', {}, { status: 404, bytes: 10, mode: 'sync' }],
        ['HEAD', '/v4/p/a/x', {}, { status: 200, bytes: 0, mode: 'sync' }],
        ['POST', '/v4/p/a/stream', {}, { status: 200, bytes: 9, mode: 'stream' }],
        ['POST', RUN, { async: 'true' }, { status: 202, bytes: 49, mode: 'async' }],
        ['POST', '/v4/p/a/reset', {}, { status: 502, reason: 'app_closed', mode: 'sync' }],
        ['POST', RUN, { async: 'maybe' }, { status: 400, reason: 'async_form', mode: 'other' }],
        ['GET', RUN, {}, { status: 405, reason: 'run_method', mode: 'other' }],
        ['GET', '/passed/through', {}, { status: 200, bytes: 10, mode: 'sync' }],
        ['GET', '/_hookline/other', {}, { status: 404, reason: 'own_path', mode: 'other' }],
    ];
    for (const [method, path, query, expected] of cases) {
        const answer = await call(path, { method, query });
        const { time, level, msg, client, ms, run_id, ...line } = await lineOf(answer.id);
        assert.equal(level, 'info');
        assert.equal(client, '127.0.0.1');
        assert.equal(typeof ms, 'number');
        assert.deepEqual(line, { bytes: answer.body.length, ...expected, method, path }, msg);
        assert.equal(answer.status, expected.status, time);
        assert.equal(run_id, answer.id);
    }
    await call('/_hookline/readyz', { method: 'GET' });
    const { id } = await call();
    await lineOf(id);
    assert.equal(lines().length, cases.length + 1, 'health checks are not calls');
});

test('what is not a request leaves a line, too', async (t) => {
    const { connect, line } = await logged(t);
    for (const [what, bytes, expected] of [
        ['no head', 'MARKER no head\r\n\r\n', { method: '', path: '', status: 400, reason: 'version_missing' }],
        ['a bad field', 'GET /bad?x=MARKER HTTP/1.1\r\nHost : x\r\n\r\n', { path: '/bad' }],
        [
            'too large a head',
            `GET /large?x=MARKER HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
            { method: 'GET', path: '/large', status: 431 },
        ],
    ]) {
        const client = await connect();
        void client.send(bytes);
        const answer = await client.response();
        const id = answer.get('x-request-id');
        const found = await line(what, (one) => one.run_id === id);
        for (const [name, value] of Object.entries(expected)) assert.equal(found[name], value, what);
        assert.doesNotMatch(JSON.stringify(found), /MARKER/);
    }
});

test('a cut response and a caller that left are told apart, with what was sent', async (t) => {
    const doors = gate();
    const { app, connect, line } = await logged(t, {
        app: async (x) => {
            if (x.path === '/silent') return x.gone;
            await x.respond(200, { 'Content-Length': 100 });
            await x.raw('0123456789');
            if (x.path === '/left') return x.gone;
            await doors.promise;
            x.reset();
        },
    });
    const half = await connect();
    await half.send(request('POST', '/v4/p/a/cut'));
    assert.equal((await half.responseHead()).status, 200);
    doors.open();
    const cut = await line('the cut one', ({ path }) => path === '/v4/p/a/cut');
    assert.deepEqual([cut.status, cut.bytes, cut.end], [200, 10, 'cut']);
    for (const [name, status, bytes] of [
        ['left', 200, 10],
        ['silent', 0, 0],
    ]) {
        const client = await connect();
        await client.send(request('POST', `/v4/p/a/${name}`));
        if (status) assert.equal((await client.responseHead()).status, status);
        else await until('it is inside', () => app.requests.some((x) => x.path === `/${name}`));
        client.close();
        const left = await line(name, ({ path }) => path === `/v4/p/a/${name}`);
        assert.deepEqual([left.status, left.bytes, left.end], [status, bytes, 'caller_left']);
        assert.match(left.run_id, UUID_V7);
    }
});

test('a tunnel leaves its line at its end', async (t) => {
    const { connect, lines, line } = await logged(t, {
        app: async (x) => {
            await x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket' });
            const { socket } = x.take();
            socket.write('0123456789');
            socket.on('end', () => socket.end()).resume();
        },
    });
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/socket', UPGRADE));
    assert.equal((await client.responseHead('GET')).status, 101);
    while ((await client.reader.some()) !== null) {
        assert.equal(lines().length, 0);
        client.end();
    }
    const { status, bytes, mode } = await line('the tunnel', ({ path }) => /socket/.test(path));
    assert.deepEqual([status, bytes, mode], [101, 10, 'tunnel']);
});

test('callers of the REST interface, by subject', async (t) => {
    const secret = makeSecret();
    const { call, lineOf } = await logged(t, {
        env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret },
    });
    const authorization = `Bearer ${await sign(secret, { sub: 'somebody "else"' })}`;
    const path = '/v2/projects/p/runs';
    const listed = await call(path, { method: 'GET', headers: { authorization } });
    const line = await lineOf(listed.id);
    assert.equal(line.subject, 'somebody "else"');
    assert.deepEqual([line.status, line.bytes, line.path], [200, listed.body.length, path]);
    const run = await call(RUN, { headers: { authorization } });
    assert.equal((await lineOf(run.id)).subject, 'somebody "else"');
    const refused = await call(RUN);
    const stranger = await lineOf(refused.id);
    assert.deepEqual([stranger.status, stranger.reason, 'subject' in stranger], [401, 'token_missing', false]);
    const nowhere = await call('/v2/projects/p/nowhere', { method: 'GET', headers: { authorization } });
    assert.equal((await lineOf(nowhere.id)).reason, 'rest_nowhere');
    const late = `Bearer ${await sign(secret, { exp: Math.floor(Date.now() / 1000) - 3600 })}`;
    const expired = await call(RUN, { headers: { authorization: late } });
    assert.deepEqual([expired.status, (await lineOf(expired.id)).reason], [401, 'token_expired']);
});

test('the query is left out, and what a caller sends is escaped and pushes nothing out', async (t) => {
    const { call, connect, sidecar, line } = await logged(t);
    await call(`${RUN}?token=MARKER`);
    const client = await connect();
    const long = `/v4/p/a/${'%0a"\\'.repeat(2000)}`;
    await client.send(request('POST', `${long}?token=MARKER`));
    await client.response();
    const cut = await line('the long one', ({ path }) => path.length > 1000);
    assert.ok(cut.path.endsWith('…'));
    assert.equal(typeof cut.status, 'number');
    assert.match(cut.run_id, UUID_V7);
    assert.doesNotMatch(sidecar.stderr, /MARKER/);
});

test('behind a trusted proxy the client is the nearest hop that is not trusted', async (t) => {
    const { call, lineOf, sidecar } = await logged(t);
    const clientOf = async (forwarded) => {
        const { id } = await call(RUN, { headers: { 'x-forwarded-for': forwarded } });
        return (await lineOf(id)).client;
    };
    assert.equal(await clientOf('203.0.113.7'), '127.0.0.1', 'nobody is trusted');
    await sidecar.restart({ HOOKLINE_TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8' });
    assert.equal(await clientOf('203.0.113.7'), '203.0.113.7');
    assert.equal(await clientOf('198.51.100.1, 203.0.113.7, 10.1.2.3'), '203.0.113.7');
    assert.equal(await clientOf(['198.51.100.1', '2001:db8::7']), '2001:db8::7');
    assert.equal(await clientOf('203.0.113.7, no address'), '127.0.0.1');
    assert.equal(await clientOf('10.1.2.3'), '10.1.2.3');
});
