// POST /drain, GET /drain, /drain/wait, DELETE /drain and POST /quit: the end of a process, asked for by a call.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { request } from './lib/raw.mjs';
import { control, rest } from './lib/rest.mjs';
import { run } from './lib/sidecar.mjs';
import { RUN, shared, stage } from './lib/stage.mjs';
import { gate, until, within } from './lib/until.mjs';

const NOTHING = { calls: 0, tunnels: 0, streams: 0, runs: 0, deliveries: 0 };
const UPGRADE = {
    Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13, 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const asynchronous = { query: { async: 'true' } };
/** The newest row of the audit once it is of `action`: it follows the answer. */
const drainRow = (sidecar, action) => until(`a row ${action}`, async () => {
    const [row] = (await control(sidecar)('GET', '/v2/audit')).json().audit;
    return row?.action === action && row;
});

/** `admin(method, path)` on the admin listener, without a token. */
const on = (sidecar) => rest(sidecar, { admin: true });

test('POST /drain: not ready, calls are taken and close their connection, nothing is claimed; DELETE takes it back', async (t) => {
    const { app, sidecar, call, connect: open } = await shared(t);
    const ask = on(sidecar);
    const begun = await ask('POST', '/drain');
    assert.deepEqual([begun.status, begun.json()], [200, { draining: true, ...NOTHING }]);
    await drainRow(sidecar, 'drain_begun');
    for (const readyz of [await sidecar.admin('/readyz'), await call('/_hookline/readyz', { method: 'GET' })]) {
        assert.equal(readyz.status, 503);
        assert.match(readyz.text, /^draining: .*\(left: nothing\)\n$/);
    }
    const kept = await open();
    await kept.send(request('POST', RUN, {}, ''));
    const answer = await kept.response();
    assert.equal(answer.status, 200);
    assert.equal(answer.get('connection'), 'close');
    const { id } = await call(RUN, asynchronous);
    const calls = app.requests.length;
    assert.deepEqual((await ask('GET', '/drain?wait=0')).json(), { draining: true, ...NOTHING });
    assert.equal((await ask('POST', '/drain')).status, 200, 'again changes nothing');
    assert.equal((await control(sidecar)('GET', `/v2/runs/${id}`)).json().state, 'queued');
    assert.equal(app.requests.length, calls);
    const back = await ask('DELETE', '/drain');
    assert.deepEqual([back.status, back.json().draining], [200, false]);
    await drainRow(sidecar, 'drain_cancelled');
    assert.equal((await sidecar.admin('/readyz')).status, 200);
    await until('the run that waited is done', async () =>
        (await control(sidecar)('GET', `/v2/runs/${id}`)).json().state === 'success');
    assert.equal((await ask('DELETE', '/drain')).status, 200, 'again changes nothing');
});

test('what is inside is told apart: calls, tunnels, streams, runs; GET /drain?wait= waits for all of it', async (t) => {
    const doors = gate();
    const { app, sidecar, call, connect: open } = await shared(t, {
        app: async (x) => {
            if (x.target.includes('socket')) {
                await x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Accept': 'x' });
                const { socket } = x.take();
                await doors.promise;
                socket.end();
                return;
            }
            if (x.target.includes('stream')) {
                await x.respond(200, { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' });
                await x.chunk('data: 1\n\n');
                await doors.promise;
                await x.lastChunk();
                return;
            }
            await doors.promise;
            await x.send(200);
        },
    });
    const ask = on(sidecar);
    const running = [call(), call('/v4/p/a/stream'), call(RUN, asynchronous)];
    const tunnel = await open();
    await tunnel.send(request('GET', '/v4/p/a/socket', UPGRADE));
    assert.equal((await tunnel.response()).status, 101);
    await until('all are inside the app', () => app.requests.length === 4);
    await until('the stream has begun', async () => (await ask('GET', '/drain')).json().streams === 1);
    const now = await ask('GET', '/drain');
    assert.deepEqual([now.status, now.json()], [202, { draining: false, ...NOTHING, calls: 1, tunnels: 1, streams: 1, runs: 1 }]);
    await ask('POST', '/drain');
    assert.match((await sidecar.admin('/readyz')).text, /\(left: 1 call, 1 tunnel, 1 stream, 1 run\)/);
    assert.equal((await ask('GET', '/v2/now')).json().left, '1 call, 1 tunnel, 1 stream, 1 run');
    let isAnswered = false;
    const waited = ask('GET', '/drain/wait?timeout=600').finally(() => (isAnswered = true));
    assert.equal((await ask('GET', '/drain?wait=0')).status, 202);
    assert.ok(!isAnswered);
    doors.open();
    tunnel.close();
    const end = await within('the end of all', waited);
    assert.deepEqual([end.status, end.json()], [200, { draining: true, ...NOTHING }]);
    await Promise.all(running);
    await ask('DELETE', '/drain');
    assert.equal((await ask('GET', '/v2/now')).json().left, undefined);
});

test('GET /drain/wait that begins it: the row of the audit comes while it waits, and afterwards all goes on', async (t) => {
    const doors = gate();
    const { app, sidecar, call } = await shared(t, { app: async (x) => { await doors.promise; await x.send(200); } });
    const ask = on(sidecar);
    const running = call();
    await until('it is inside the app', () => app.requests.length === 1);
    const rows = async () => (await control(sidecar)('GET', '/v2/audit?action=drain_begun')).json().audit.length;
    const before = await rows();
    const waited = ask('GET', '/drain/wait?timeout=600');
    await until('its row is there', async () => (await rows()) > before);
    assert.equal((await ask('GET', '/drain')).json().draining, true);
    doors.open();
    assert.deepEqual((await within('the end of all', waited)).json(), { draining: true, ...NOTHING });
    assert.equal((await running).status, 200);
    assert.equal((await within('the next answer', ask('DELETE', '/drain'))).json().draining, false);
});

test('what nobody may ask for: wrong methods, wrong numbers, pages of other origins, other names', async (t) => {
    const { sidecar } = await shared(t);
    const ask = on(sidecar);
    assert.equal((await ask('PUT', '/drain')).headers.allow, 'GET, HEAD, POST, DELETE');
    assert.equal((await ask('GET', '/quit')).headers.allow, 'POST');
    assert.match((await ask('GET', '/drain?wait=soon')).text, /wait/);
    assert.match((await ask('GET', '/drain/wait?wait=1')).text, /timeout/);
    for (const [method, path] of [['POST', '/drain'], ['DELETE', '/drain'], ['GET', '/drain/wait?timeout=0'], ['POST', '/quit']]) {
        assert.equal((await ask(method, path, { headers: { origin: 'https://evil.example' } })).status, 403, path);
        assert.equal((await ask(method, path, { headers: { host: 'evil.example' } })).status, 421, path);
    }
    assert.equal((await ask('GET', '/drain')).json().draining, false);
    await rest(sidecar)('POST', '/drain', { judge: () => {} }); // the app's path there
    assert.equal((await ask('GET', '/drain')).json().draining, false);
});

test('HOOKLINE_ADMIN_AUTH=token: who has no admin’s token is refused', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_ADMIN_AUTH: 'token' } });
    const account = async (role) => (await control(sidecar)('POST', '/v2/projects/p/service-accounts', {
        body: { name: role, role, expires_at: new Date(Date.now() + 3_600_000).toISOString() },
    })).json();
    const requests = [['POST', '/drain'], ['DELETE', '/drain'], ['GET', '/drain'], ['GET', '/drain/wait?timeout=0'], ['POST', '/quit']];
    const status = async (token) => {
        const answers = [];
        for (const [method, path] of requests) answers.push((await rest(sidecar, { admin: true, token })(method, path)).status);
        return answers;
    };
    assert.deepEqual(await status(), [401, 401, 401, 401, 401]);
    assert.deepEqual(await status((await account('invoke')).token), [403, 403, 403, 403, 403]);
    assert.deepEqual(await status((await account('viewer')).token), [403, 403, 403, 403, 403]);
    const admin = await account('admin');
    assert.equal((await rest(sidecar, { admin: true, token: admin.token })('POST', '/drain')).status, 200);
    assert.equal((await drainRow(sidecar, 'drain_begun')).who.account_id, admin.service_account_id ?? admin.id);
});

test('POST /quit ends it as SIGTERM does, without the delay; what is stored is said last', async (t) => {
    const doors = gate();
    const { app, sidecar, call } = await stage(t, {
        env: { HOOKLINE_SHUTDOWN_DELAY: '1h', HOOKLINE_DRAIN_TIMEOUT: '1h', HOOKLINE_ASYNC_CONCURRENCY: '1' },
        app: async (x) => { await doors.promise; await x.send(200); },
    });
    const running = call();
    await call(RUN, asynchronous);
    await call(RUN, asynchronous);
    await until('two are inside the app', () => app.requests.length === 2);
    await on(sidecar)('POST', '/drain');
    assert.equal((await on(sidecar)('POST', '/quit')).status, 200);
    assert.equal((await on(sidecar)('DELETE', '/drain')).status, 409);
    const left = on(sidecar)('GET', '/drain?wait=600');
    for (let i = 0; i < 3; i++) await on(sidecar)('GET', '/drain'); // it is with the process when these are
    doors.open();
    assert.equal((await running).status, 200);
    assert.equal((await within('what is left', left)).status, 200);
    assert.deepEqual(await within('the end', sidecar.exited()), { code: 0, signal: null });
    const last = sidecar.log.findLast?.(({ msg }) => msg === 'stopped') ?? sidecar.log.filter(({ msg }) => msg === 'stopped').at(-1);
    assert.deepEqual([last.runs_stored, last.deliveries_stored], [1, 0]);
});

test('hookline drain: begins it, takes it back, waits', async (t) => {
    const doors = gate();
    const { app, sidecar, call } = await shared(t, { app: async (x) => { await doors.promise; await x.send(200); } });
    const env = { HOOKLINE_DATA_DIR: sidecar.dataDir };
    const running = call();
    await until('it is inside the app', () => app.requests.length === 1);
    const begun = await run(['drain'], env);
    assert.equal(begun.stdout, 'draining; left: 1 calls, 0 tunnels, 0 streams, 0 runs, 0 deliveries\n', begun.stderr);
    const waits = run(['drain', '--wait'], env);
    doors.open();
    assert.match((await within('the end', waits)).stdout, /left: 0 calls.*\n$/);
    assert.match((await run(['drain', '--cancel'], env)).stdout, /^not draining; left: 0 calls/);
    assert.equal((await run(['drain', '--cancel', '--wait'], env)).code, 2);
    await running;
});

for (const store of ['sqlite', 'postgres']) {
    test(`HOOKLINE_RUN_RETRY_ON=shutdown: what the end of a drain cuts goes back to the queue, uncounted (${store})`, async (t) => {
        let isOpen = false;
        const { app, sidecar, call } = await stage(t, {
            env: {
                ...(store === 'postgres' && (await postgres(t)).env),
                HOOKLINE_RUN_RETRY_ON: 'shutdown', HOOKLINE_KEEP_REQUESTS: 'none', HOOKLINE_DRAIN_TIMEOUT: '100ms',
            },
            app: async (x) => {
                if (!isOpen) await x.gone;
                else await x.send(200, {}, await x.body());
            },
        });
        const { id } = await call(RUN, { ...asynchronous, body: 'ping' });
        await until('it is inside the app', () => app.requests.length === 1);
        sidecar.signal('SIGTERM');
        assert.equal((await within('the end', sidecar.exited())).code, 3);
        isOpen = true;
        await sidecar.start();
        const ask = control(sidecar);
        const run = await until('it is done', async () => {
            const seen = (await ask('GET', `/v2/runs/${id}`)).json();
            return seen.state === 'success' && seen;
        });
        assert.equal(run.attempts, 1);
        assert.equal((await ask('GET', `/v2/runs/${id}/result`)).text, 'ping');
        assert.deepEqual(app.requests.map(({ head }) => head.get('x-run-attempt')), ['1', '1']);
    });
}
