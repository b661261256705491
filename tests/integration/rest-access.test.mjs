// Who may ask what of the REST interface, route by route, and the service accounts that say so.
import assert from 'node:assert/strict';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { filesBelow } from './lib/files.mjs';
import { connect } from './lib/raw.mjs';
import { assertRefused, control, pages, rest } from './lib/rest.mjs';
import { run } from './lib/sidecar.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const JWT = { HOOKLINE_AUTH: 'jwt' };
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

/** A token of that project and role. */
async function tokenFor(sidecar, project, role) {
    const body = { name: `${role} of ${project}`, expires_at: inAnHour(), role };
    const answer = await control(sidecar)('POST', `/v2/projects/${project}/service-accounts`, { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.json().token;
}

/** A run with a delivery, and a service account, of that project. */
async function populate({ call, receiver, sidecar }, project) {
    const ask = control(sidecar);
    const token = await tokenFor(sidecar, project, 'invoke');
    const { id, status } = await call(`/v4/${project}/a/run`, {
        query: { async: 'true', webhookEndpoint: receiver.url() },
        headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(status, 202);
    const delivery = await until('it is delivered', async () => {
        const { deliveries } = (await ask('GET', `/v2/runs/${id}`)).json();
        return deliveries?.[0]?.state === 'delivered' && deliveries[0].delivery_id;
    });
    const body = { name: 'x', expires_at: inAnHour() };
    const made = await ask('POST', `/v2/projects/${project}/service-accounts`, { body });
    return { run: id, delivery, account: made.json().id };
}

/** A finished asynchronous run of project p. */
async function bigRun(call, ask, token) {
    const { id } = await call(RUN, {
        query: { async: 'true' },
        headers: { authorization: `Bearer ${token}` },
    });
    await until('it is finished', async () => {
        return (await ask('GET', `/v2/projects/p/runs/${id}`)).json().state === 'success';
    });
    return id;
}

/** Every route: method, path below the project, who may (here each run is another's), and a body that it takes. */
const routes = (of) => [
    ['GET', '', 'invoke'],
    ['GET', '/service-accounts', 'invoke'],
    ['POST', '/service-accounts', 'admin', { name: 'y', expires_at: inAnHour() }],
    ['GET', '/runs', 'invoke'],
    ['GET', `/runs/${of.run}`, 'invoke', undefined, true],
    ['GET', `/runs/${of.run}/result`, 'invoke', undefined, true],
    ['GET', `/runs/${of.run}/events`, 'invoke', undefined, true],
    ['GET', `/runs/${of.run}/logs`, 'admin', undefined, true],
    ['POST', `/runs/${of.run}/cancel`, 'admin', undefined, true],
    ['GET', '/apps/a/runs', 'invoke'],
    ['GET', `/apps/a/runs/${of.run}`, 'invoke', undefined, true],
    ['GET', `/apps/a/runs/${of.run}/result`, 'invoke', undefined, true],
    ['GET', `/apps/a/runs/${of.run}/events`, 'invoke', undefined, true],
    ['GET', `/apps/a/runs/${of.run}/logs`, 'admin', undefined, true],
    ['POST', `/apps/a/runs/${of.run}/cancel`, 'admin', undefined, true],
    ['GET', '/destinations', 'admin'],
    ['GET', '/deliveries', 'admin'],
    ['GET', `/deliveries/${of.delivery}`, 'admin', undefined, true],
    ['POST', `/deliveries/${of.delivery}/redeliver`, 'admin', undefined, true],
    ['POST', '/deliveries/redeliver', 'admin', { state: 'dead', since: 0 }],
    ['DELETE', `/service-accounts/${of.account}`, 'admin', undefined, true],
];

for (const admin of [false, true]) {
    const where = admin ? 'the admin listener' : 'the run listener';

    test(`each route of ${where} wants a token, of its project, of the right role`, async (t) => {
        const here = await stage(t, { env: JWT });
        const { sidecar, app } = here;
        const ask = rest(sidecar, { admin });
        const of = await populate(here, 'p');
        const tokens = {
            invoke: await tokenFor(sidecar, 'p', 'invoke'),
            admin: await tokenFor(sidecar, 'p', 'admin'),
            other: await tokenFor(sidecar, 'q', 'admin'),
        };
        const calls = app.requests.length;
        for (const [method, below, role, body] of routes(of)) {
            const path = `/v2/projects/p${below}`;
            const refused = await ask(method, path, { body });
            assertRefused(refused, 401, /token/);
            assert.match(refused.headers['www-authenticate'], /^Bearer/, path);
            assertRefused(await ask(method, path, { body, token: 'x.y.z' }), 401);
            assertRefused(await ask(method, path, { body, token: tokens.other }), 403, /another project/);
            if (role === 'admin')
                assertRefused(await ask(method, path, { body, token: tokens.invoke }), 403, /role admin/);
            const answer = await ask(method, path, { body, token: tokens[role] });
            const expected = /\/(cancel|events)$/.test(below) ? [409] : [200, 201, 202, 204];
            assert.ok(expected.includes(answer.status), `${method} ${path}: ${answer.text}`);
        }
        assert.equal(app.requests.length, calls, 'the app is never asked');
    });

    test(`each id of another project is 404 on ${where}`, async (t) => {
        const here = await stage(t, { env: JWT });
        const ask = rest(here.sidecar, { admin });
        const theirs = await populate(here, 'q');
        const token = await tokenFor(here.sidecar, 'p', 'admin');
        const withId = routes(theirs).filter(([, , , , hasId]) => hasId);
        assert.equal(withId.length, 13);
        for (const [method, below] of withId)
            assertRefused(await ask(method, `/v2/projects/p${below}`, { token }), 404);
        assert.deepEqual((await ask('GET', '/v2/projects/p/runs', { token })).json().runs, []);
        assert.deepEqual((await ask('GET', '/v2/projects/p/deliveries', { token })).json().deliveries, []);
        const { service_accounts } = (
            await ask('GET', '/v2/projects/p/service-accounts', { token })
        ).json();
        assert.deepEqual(
            service_accounts.map((account) => account.name),
            ['admin of p'],
        );
    });

    test(`a large result is whole on ${where}, and one that is not read delays nobody`, async (t) => {
        const bytes = Buffer.alloc(24 << 20, 'hookline.');
        const { call, sidecar } = await stage(t, {
            env: { ...JWT, HOOKLINE_WORKERS: '1' },
            app: async (x) => {
                await x.body();
                await x.send(200, { 'Content-Type': 'application/octet-stream' }, bytes);
            },
        });
        const token = await tokenFor(sidecar, 'p', 'invoke');
        const ask = rest(sidecar, { admin, token });
        const id = await bigRun(call, ask, token);
        const path = `/v2/projects/p/apps/a/runs/${id}/result`;
        const port = admin ? sidecar.adminPort : sidecar.port;
        const stalled = await connect(t, { port });
        stalled.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
        await stalled.responseHead();
        stalled.socket.pause();
        const answer = await ask('GET', path);
        assert.equal(answer.status, 200);
        assert.equal(answer.headers['x-run-status-code'], '200');
        assert.ok(answer.body.equals(bytes));
        const head = await ask('HEAD', path);
        assert.deepEqual([head.status, head.headers['content-length']], [200, String(bytes.length)]);
        const kept = await connect(t, { port });
        for (const _ of [1, 2]) {
            kept.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
            assert.ok((await kept.response()).body.equals(bytes), 'the connection goes on');
        }
    });

    test(`a damaged result is cut off on ${where}, a removed one is 410`, async (t) => {
        const { call, sidecar } = await stage(t, {
            env: JWT,
            app: async (x) => {
                await x.body();
                await x.send(200, {}, Buffer.alloc(1 << 20, 'x'));
            },
        });
        const token = await tokenFor(sidecar, 'p', 'invoke');
        const ask = rest(sidecar, { admin, token });
        const id = await bigRun(call, ask, token);
        const path = `/v2/projects/p/runs/${id}/result`;
        const [file] = await filesBelow(join(sidecar.dataDir, 'bodies'));
        const handle = await open(file, 'r+');
        await handle.write('y', 500_000);
        await handle.close();
        await assert.rejects(ask('GET', path), { code: 'ECONNRESET' });
        await rm(file);
        assertRefused(await ask('GET', path), 410, /removed/);
    });

    test(`what needs no project is not on ${where}`, async (t) => {
        const { sidecar } = await stage(t, { env: JWT });
        const token = await tokenFor(sidecar, 'p', 'admin');
        const id = '0193f0b0-0000-7000-8000-000000000000';
        for (const path of ['/v2/runs', `/v2/runs/${id}`, '/v2/service-accounts', '/v2/deliveries']) {
            const answer = await rest(sidecar, { admin, token })('GET', path);
            assert.notEqual(answer.status, 200, path);
            assert.ok(answer.status === 404 || !admin, path);
        }
    });
}

test('who made a run may cancel it, read its log and see that it is theirs, and nobody else without the role admin', async (t) => {
    const hold = gate();
    const here = await stage(t, { env: JWT, app: async (x) => (await x.body(), await hold.promise, await x.json({})) });
    t.after(() => hold.open());
    const admin = await tokenFor(here.sidecar, 'p', 'admin');
    const accounts = await rest(here.sidecar, { token: admin })('GET', '/v2/projects/p/service-accounts');
    const known = new Set(accounts.json().service_accounts.map(({ id }) => id));
    const [mine, theirs] = [await tokenFor(here.sidecar, 'p', 'invoke'), await tokenFor(here.sidecar, 'p', 'invoke')];
    const mineFirst = rest(here.sidecar, { token: mine });
    const state = async (id) => (await mineFirst('GET', `/v2/projects/p/runs/${id}`)).json().state;
    const begin = {
        'a queued run': { query: { async: 'true' } },
        'a synchronous one with a webhook': { query: { webhookEndpoint: here.receiver.url() } },
        'a synchronous one': {},
    };
    for (const [what, options] of Object.entries(begin)) {
        const seen = new Set((await mineFirst('GET', '/v2/projects/p/runs')).json().runs.map((run) => run.run_id));
        const call = here.call(RUN, { ...options, headers: { authorization: `Bearer ${mine}` } });
        const { run_id: id, subject } = await until(`${what} is there`, async () =>
            (await mineFirst('GET', '/v2/projects/p/runs')).json().runs.find((run) => !seen.has(run.run_id) && run.state !== 'success'));
        assert.match(subject, UUID_V7, what);
        assert.ok(!known.has(subject), 'it is not the admin');
        for (const below of [`/runs/${id}`, `/apps/a/runs/${id}`]) {
            const path = `/v2/projects/p${below}`;
            for (const [token, shown] of [[mine, subject], [admin, subject], [theirs, undefined]])
                assert.equal((await rest(here.sidecar, { token })('GET', path)).json().subject, shown, what);
            for (const [method, last] of [['POST', 'cancel'], ['GET', 'logs']])
                assertRefused(await rest(here.sidecar, { token: theirs })(method, `${path}/${last}`), 403, /made/);
            for (const token of [mine, admin])
                assert.equal((await rest(here.sidecar, { token })('GET', `${path}/logs`)).status, 200, what);
        }
        const listed = (await rest(here.sidecar, { token: theirs })('GET', '/v2/projects/p/runs')).json().runs;
        assert.ok(listed.some((run) => run.run_id === id) && listed.every((run) => !('subject' in run)), what);
        assert.ok(['queued', 'running'].includes(await state(id)), 'it goes on');
        assert.equal((await mineFirst('POST', `/v2/projects/p/runs/${id}/cancel`)).status, 202, what);
        await until(`${what} is cancelled`, async () => (await state(id)) === 'cancelled');
        assertRefused(await mineFirst('POST', `/v2/projects/p/runs/${id}/cancel`), 409);
        await call;
    }
    const nobodys = '/v2/projects/p/runs/0193f0b0-0000-7000-8000-000000000000/cancel';
    assertRefused(await mineFirst('POST', nobodys), 404);
});

test('with HOOKLINE_AUTH=none whoever knows a run’s id may look at it and cancel it, and no more', async (t) => {
    const hold = gate();
    const here = await stage(t, { app: async (x) => (await x.body(), await hold.promise, await x.json({})) });
    const ask = rest(here.sidecar);
    const run = async () =>
        (await here.call(RUN, { query: { async: 'true', webhookEndpoint: here.receiver.url() } })).id;
    const [done, cut] = [await run(), await run()];
    for (const base of ['/v2/projects/p/runs', '/v2/projects/p/apps/a/runs']) {
        assert.equal((await ask('GET', `${base}/${done}`)).json().run_id, done);
        assertRefused(await ask('GET', `${base}/${done}/result`), 409);
        assertRefused(await ask('DELETE', `${base}/${done}`), 405);
        assertRefused(await ask('GET', base), 404, /HOOKLINE_AUTH=none/);
    }
    assertRefused(await ask('GET', `/v2/projects/q/runs/${done}`), 404);
    assert.equal((await ask('POST', `/v2/projects/p/runs/${cut}/cancel`)).status, 202);
    hold.open();
    await until('it is finished', async () =>
        (await ask('GET', `/v2/projects/p/runs/${done}`)).json().state === 'success');
    assert.equal((await ask('GET', `/v2/projects/p/runs/${done}/result`)).status, 200);
    await until('the other is cancelled', async () =>
        (await ask('GET', `/v2/projects/p/runs/${cut}`)).json().state === 'cancelled');
    const { deliveries } = (await control(here.sidecar)('GET', '/v2/deliveries')).json();
    for (const [method, path] of [
        ['GET', '/v2/projects'], ['GET', '/v2/projects/p'], ['GET', '/v2/runs'], ['GET', `/v2/runs/${done}`],
        ['GET', '/v2/projects/p/service-accounts'], ['POST', '/v2/projects/p/service-accounts'],
        ['GET', '/v2/projects/p/deliveries'], ['GET', `/v2/projects/p/deliveries/${deliveries[0].delivery_id}`],
        ['POST', `/v2/projects/p/deliveries/${deliveries[0].delivery_id}/redeliver`],
        ['POST', '/v2/projects/p/deliveries/redeliver'], ['POST', '/v2/projects/p/dashboard-sessions'],
        ['GET', `/v2/projects/p/runs/${done}/logs`], ['GET', `/v2/projects/p/apps/a/runs/${done}/logs`],
    ]) {
        const answer = await ask(method, path, method === 'POST' ? { body: {} } : {});
        assert.ok(answer.status === 404 || (path === '/v2/runs' || path.startsWith('/v2/runs/')), `${method} ${path}: ${answer.text}`);
    }
});

test('with HOOKLINE_AUTH=none a loopback admin listener is an admin’s, of every project', async (t) => {
    const { sidecar, call } = await stage(t);
    const { id } = await call('/v4/q/a/run', { query: { async: 'true' } });
    for (const where of [rest(sidecar, { admin: true }), control(sidecar)]) {
        assert.deepEqual((await where('GET', '/v2/projects')).json(), { projects: ['q'], project_id: null });
        assert.equal((await where('GET', '/v2/projects/q')).json().role, 'admin');
        assert.deepEqual((await where('GET', '/v2/runs')).json().runs.map((run) => run.run_id), [id]);
        assert.equal((await where('GET', '/v2/projects/q/deliveries')).status, 200);
    }
});

test('on another address the admin listener wants a token although HOOKLINE_AUTH is none', async (t) => {
    const { sidecar, call } = await stage(t);
    const listen = `0.0.0.0:${sidecar.adminPort}`;
    await sidecar.restart({ HOOKLINE_ADMIN_LISTEN: listen });
    const ask = rest(sidecar, { admin: true });
    assert.equal((await call(RUN)).status, 200, 'calls need none');
    assertRefused(await ask('GET', '/v2/projects/p/runs'), 401, /token/);
    assertRefused(await ask('GET', '/v2/projects'), 401, /token/);
    assert.deepEqual((await ask('GET', '/door')).json(), { asks_token: true });
    const token = await tokenFor(sidecar, 'p', 'admin');
    assert.equal((await ask('GET', '/v2/projects/p/runs', { token })).status, 200);
    assertRefused(await ask('GET', '/v2/projects/q/runs', { token }), 403);

    await sidecar.restart({ HOOKLINE_ADMIN_LISTEN: listen, HOOKLINE_ADMIN_AUTH: 'none' });
    assert.equal((await ask('GET', '/v2/projects/q/runs')).status, 200);
    await sidecar.logged((line) => line.level === 'warn' && /HOOKLINE_ADMIN_AUTH=none/.test(line.msg));

    await sidecar.restart({ HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`, HOOKLINE_ADMIN_AUTH: 'token' });
    assertRefused(await ask('GET', '/v2/projects/p/runs'), 401);
});

test('the admin listener answers for addresses, localhost and HOOKLINE_ADMIN_HOSTS only', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_ADMIN_HOSTS: 'hookline.internal, other' } });
    const ask = rest(sidecar, { admin: true });
    const port = sidecar.adminPort;
    const get = async (path, host) => (await ask('GET', path, { headers: { host } })).status;
    for (const path of ['/', '/door', '/v2/projects', '/v2/projects/p/runs', '/v2/now'])
        for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example', 'hookline.internal.evil', `a.localhost:${port}`])
            assert.equal(await get(path, host), 421, `${path} for ${host}`);
    for (const host of [`127.0.0.1:${port}`, 'localhost', 'LOCALHOST:1', '[::1]:9090', '10.1.2.3', 'Hookline.Internal:80', 'other'])
        assert.equal(await get('/v2/projects/p/runs', host), 200, host);
    for (const path of ['/healthz', '/readyz', '/metrics'])
        assert.equal(await get(path, 'evil.example'), 200, path);
});

test('a page of another origin changes nothing on the admin listener', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_ADMIN_HOSTS: 'hookline.internal' } });
    const ask = rest(sidecar, { admin: true });
    const host = `127.0.0.1:${sidecar.adminPort}`;
    const post = async (headers) =>
        (await ask('POST', '/v2/projects/p/deliveries/redeliver', { body: { state: 'dead', since: 0 }, headers: { host, ...headers } })).status;
    for (const headers of [
        {}, { origin: `http://${host}` }, { 'sec-fetch-site': 'same-origin', origin: `http://${host}` }, { 'sec-fetch-site': 'none' },
        { host: 'hookline.internal', origin: 'https://hookline.internal' },
    ])
        assert.equal(await post(headers), 202, JSON.stringify(headers));
    for (const headers of [
        { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'http://evil.example' }, { origin: 'null' },
        { origin: `https://${host}` }, { origin: 'http://127.0.0.1' }, { origin: `http://localhost:${sidecar.adminPort}` },
        { 'sec-fetch-site': 'same-origin', origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
    ])
        assert.equal(await post(headers), 403, JSON.stringify(headers));
    const read = await ask('GET', '/v2/projects/p/runs', { headers: { host, 'sec-fetch-site': 'cross-site' } });
    assert.equal(read.status, 200, 'what is only read is kept from other origins by the browser');
});

test('HOOKLINE_PROJECT_ID holds for the REST interface too', async (t) => {
    const { sidecar } = await stage(t, { env: { ...JWT, HOOKLINE_PROJECT_ID: 'p' } });
    const token = await tokenFor(sidecar, 'q', 'admin');
    for (const admin of [false, true])
        assertRefused(await rest(sidecar, { admin, token })('GET', '/v2/projects/q/runs'), 404);
});

test('a service account is made with a token that is shown once', async (t) => {
    const { call, sidecar } = await stage(t, { env: JWT });
    const token = await tokenFor(sidecar, 'p', 'admin');
    const ask = rest(sidecar, { token });
    const path = '/v2/projects/p/service-accounts';
    const expires_at = new Date(Date.now() + 90 * 86_400_000).toISOString();
    const made = await ask('POST', path, { body: { name: 'söme näme 名', expires_at } });
    assert.equal(made.status, 201, made.text);
    const account = made.json();
    assert.deepEqual(Object.keys(account), [
        'id',
        'name',
        'role',
        'created_at',
        'expires_at',
        'last_used_at',
        'revoked_at',
        'max_running',
        'max_queued',
        'rate',
        'max_priority',
        'token',
    ]);
    assert.match(account.id, UUID_V7);
    assert.deepEqual(
        [account.name, account.role, account.expires_at, account.last_used_at, account.revoked_at],
        ['söme näme 名', 'invoke', expires_at, null, null],
    );
    const authorization = `Bearer ${account.token}`;
    assert.equal((await call(RUN, { headers: { authorization } })).status, 200);
    const { service_accounts } = (await ask('GET', path)).json();
    const { token: _, ...shown } = account;
    assert.deepEqual(Object.keys(service_accounts[0]), Object.keys(shown));
    assert.deepEqual({ ...service_accounts[0], last_used_at: null }, shown);
    assert.ok(!JSON.stringify(service_accounts).includes(account.token));
});

test('a revoked token is refused from then on', async (t) => {
    const { call, sidecar } = await stage(t, { env: JWT });
    const ask = rest(sidecar, { admin: true, token: await tokenFor(sidecar, 'p', 'admin') });
    const path = '/v2/projects/p/service-accounts';
    const made = (await ask('POST', path, { body: { name: 'x', expires_at: inAnHour() } })).json();
    const headers = { authorization: `Bearer ${made.token}` };
    for (let i = 0; i < 8; i++) assert.equal((await call(RUN, { headers })).status, 200);
    const answer = await ask('DELETE', `${path}/${made.id}`);
    assert.deepEqual([answer.status, answer.text], [204, '']);
    for (let i = 0; i < 8; i++) assert.equal((await call(RUN, { headers })).status, 401);
    const { service_accounts } = (await ask('GET', path)).json();
    const { revoked_at } = service_accounts.find(({ id }) => id === made.id);
    assert.ok(Date.parse(revoked_at) <= Date.now());
    assert.equal((await ask('DELETE', `${path}/${made.id}`)).status, 204, 'twice is harmless');
    await sidecar.restart();
    assert.equal((await call(RUN, { headers })).status, 401);
});

test('what makes no account is refused with the reason', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    const make = (body) =>
        control(sidecar)('POST', '/v2/projects/p/service-accounts', { body });
    const expires_at = inAnHour();
    for (const [body, pattern] of [
        ['', /not a JSON object/],
        ['{"name":"a","name":"b","expires_at":"x"}', /unique members/],
        [{ name: 'a' }, /no other member/],
        [{ name: 'a', expires_at, scope: 'x' }, /no other member/],
        [{ name: '', expires_at }, /1 to 100 characters/],
        [{ name: 'n'.repeat(101), expires_at }, /1 to 100 characters/],
        [{ name: 'a\nb', expires_at }, /control characters/],
        [{ name: 'a\u009bb', expires_at }, /control characters/],
        [{ name: 7, expires_at }, /member name/],
        [{ name: 'a', expires_at: '2020-01-01T00:00:00Z' }, /in the future/],
        [{ name: 'a', expires_at: '2126-01-01T00:00:00Z' }, /ten years/],
        [{ name: 'a', expires_at: 'soon' }, /member expires_at/],
        [{ name: 'a', expires_at: null }, /member expires_at/],
        [{ name: 'a', expires_at, role: 'root' }, /"invoke", "admin" or "viewer"/],
    ])
        assertRefused(await make(body), 400, pattern);
    assert.equal((await make({ name: '\u{1f600}'.repeat(60), expires_at })).status, 201);
    const { service_accounts } = (
        await control(sidecar)('GET', '/v2/projects/p/service-accounts')
    ).json();
    assert.equal(service_accounts.length, 1);
});

test('accounts are listed page by page', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    const ask = control(sidecar);
    const path = '/v2/projects/p/service-accounts';
    const made = [];
    for (let i = 0; i < 7; i++) {
        const body = { name: `n${i}`, expires_at: inAnHour() };
        made.unshift((await ask('POST', path, { body })).json().id);
    }
    const all = await pages(ask, path, 'service_accounts', { limit: '3' });
    assert.deepEqual(
        all.map((page) => page.length),
        [3, 3, 1],
    );
    assert.deepEqual(
        all.flat().map((account) => account.id),
        made,
    );
});

test('REST goes on answering while calls are drained', async (t) => {
    const { app, call, sidecar } = await stage(t, {
        env: { ...JWT, HOOKLINE_DRAIN_TIMEOUT: '60s' },
        app: async (x) => {
            await x.body();
            await x.gone;
        },
    });
    const token = await tokenFor(sidecar, 'p', 'admin');
    const headers = { authorization: `Bearer ${token}` };
    const calls = [call(RUN, { headers }), call(RUN, { headers }), call(RUN, { headers })];
    await until('the app has them', () => app.requests.length === 3);
    sidecar.signal('SIGTERM');
    await until('the listener is closed', async () => (await sidecar.probe('/_hookline/healthz')) === null);
    const ask = rest(sidecar, { admin: true, token });
    const { runs } = (await ask('GET', '/v2/projects/p/runs?state=running')).json();
    assert.equal(runs.length, 3);
    for (const { run_id } of runs)
        assert.equal((await ask('POST', `/v2/projects/p/runs/${run_id}/cancel`)).status, 202);
    for (const answer of await Promise.all(calls)) assert.equal(answer.status, 410);
    assert.equal((await sidecar.exited()).code, 0);
});

test('token create prints the token and nothing else, beside a sidecar and without one', async (t) => {
    const { call, sidecar } = await stage(t, { env: JWT });
    const cli = async (...words) => {
        const result = await run(words, { HOOKLINE_DATA_DIR: sidecar.dataDir });
        assert.equal(result.code, 0, result.stderr);
        return result;
    };
    const create = (name) =>
        cli('token', 'create', '--project', 'p', '--name', name, '--role', 'invoke', '--expires', '90d');
    const status = async (token) =>
        (await call(RUN, { headers: { authorization: `Bearer ${token}` } })).status;
    const beside = await create('ci');
    assert.match(beside.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    assert.equal(beside.stderr, '');
    const token = beside.stdout.trim();
    assert.equal(await status(token), 200);
    const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
    assert.ok(Math.abs(claims.exp - Date.now() / 1000 - 90 * 86_400) < 120);
    const { stdout } = await cli('token', 'list');
    assert.match(stdout, /^ID +PROJECT +NAME +ROLE +CREATED +EXPIRES +LAST USED +LIMITS +STATE\n/);
    assert.match(stdout, /^\S+ +p +ci +invoke +\S+Z +\S+Z +\S+ +- +good$/m);
    assert.ok(!stdout.includes(token));
    await sidecar.stop();
    const offline = (await create('offline')).stdout.trim();
    const listed = (await cli('token', 'list', '--project', 'p', '--json')).stdout;
    const accounts = listed.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    assert.deepEqual(
        accounts.map((account) => account.name),
        ['offline', 'ci'],
    );
    assert.equal((await cli('token', 'revoke', accounts[1].id)).stdout, 'revoked\n');
    await sidecar.start();
    assert.equal(await status(offline), 200);
    assert.equal(await status(token), 401);
    assert.equal((await cli('token', 'revoke', accounts[0].id)).stdout, 'revoked\n');
    assert.equal(await status(offline), 401);
    assert.match((await cli('token', 'list')).stdout, / revoked$/m);
});

test('a read-only link’s session is renewed hour by hour, until its account ends or is revoked', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const ask = control(sidecar);
    const PATH = '/v2/projects/p/dashboard-sessions';
    const day = new Date(Date.now() + 86_400_000).toISOString();
    const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
    const made = (await ask('POST', PATH, { body: { role: 'viewer', expires_at: day, name: 'wall' } })).json();
    assert.equal(made.account_expires_at, day);
    const claims = claimsOf(made.token);
    assert.deepEqual([claims.role, claims.jti, claims.exp - claims.iat], ['viewer', made.account_id, 3600]);
    const as = (token) => rest(sidecar, { token, admin: true });
    const fresh = (await as(made.token)('POST', `${PATH}/renew`)).json();
    assert.equal(claimsOf(fresh.token).jti, made.account_id);
    assert.equal((await as(fresh.token)('GET', '/v2/projects/p/deliveries')).status, 200);
    assertRefused(await as(fresh.token)('POST', '/v2/projects/p/service-accounts', { body: {} }), 403, /viewer/);
    const { service_accounts: accounts } = (await ask('GET', '/v2/projects/p/service-accounts')).json();
    assert.deepEqual(accounts.map(({ name, role }) => [name, role]), [['wall', 'viewer']]);
    const { audit } = (await ask('GET', '/v2/projects/p/audit')).json();
    assert.deepEqual(audit.map(({ action, target }) => [action, target.name]), [['account_made', 'wall']]);

    const soon = new Date(Date.now() + 60_000).toISOString();
    const short = (await ask('POST', PATH, { body: { role: 'viewer', expires_at: soon } })).json();
    assert.ok(short.expires_at <= soon, 'no longer than its account');
    assert.equal((await ask('DELETE', `/v2/projects/p/service-accounts/${made.account_id}`)).status, 204);
    assertRefused(await as(fresh.token)('POST', `${PATH}/renew`), 401);

    const account = async (role) =>
        (await ask('POST', '/v2/projects/p/service-accounts', { body: { name: role, expires_at: day, role } })).json().token;
    const others = [(await ask('POST', PATH)).json().token, await account('invoke'), await account('admin'), await account('viewer')];
    for (const token of others) assertRefused(await as(token)('POST', `${PATH}/renew`), 403, /read-only link/);
    const far = new Date(Date.now() + 367 * 86_400_000).toISOString();
    for (const [body, why] of [
        [{ role: 'viewer', expires_at: far }, /366 days/],
        [{ role: 'viewer', expires_at: '2020-01-01T00:00:00Z' }, /in the future/],
        [{ role: 'viewer', expires_at: '30d' }, /RFC 3339/],
        [{ role: 'admin', expires_at: day }, /viewer alone/],
        [{ role: 'viewer', name: 'x' }, /expires_at/],
        [{ role: 'viewer', expires_at: day, name: '' }, /name/],
        [{ expires_at: day }, /role/],
    ])
        assertRefused(await ask('POST', PATH, { body }), 400, why);
});

test('hookline dashboard prints a read-only link that lasts while its page is open', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const link = (...args) => run(['dashboard', '--project', 'p', ...args], { HOOKLINE_DATA_DIR: sidecar.dataDir });
    const { code, stdout, stderr } = await link('--read-only', '--expires', '30d', '--name', 'wall');
    assert.equal(code, 0, stderr);
    const claims = JSON.parse(Buffer.from(stdout.split('#token=')[1].split('.')[1], 'base64url'));
    assert.equal(claims.role, 'viewer');
    assert.match(stderr, new RegExp(`within an hour.*hookline token revoke ${claims.jti}`));
    const hour = await link('--read-only');
    assert.equal(JSON.parse(Buffer.from(hour.stdout.split('#token=')[1].split('.')[1], 'base64url')).jti, undefined, 'no account');
    for (const [args, why] of [
        [['--expires', '30d'], /goes with --read-only/],
        [['--read-only', '--expires', 'soon'], /duration such as 30d/],
        ...['0d', '0s', '400d', '2020-01-01'].map((time) => [
            ['--read-only', '--expires', time],
            new RegExp(`^hookline dashboard: --expires takes a duration such as 30d, or a time .*, in the future and at most 366 days away, not "${time}"\n`),
        ]),
        [['--read-only', '--name', 'x'], /goes with --expires/],
    ]) {
        const bad = await link(...args);
        assert.equal(bad.code, 2);
        assert.match(bad.stderr, why);
    }
    assert.equal((await link('--read-only', '--expires', '366d')).code, 0);
    const long = await link('--read-only', '--expires', '30d', '--name', 'x'.repeat(101));
    assert.match(long.stderr, /^hookline dashboard: --name is not a string of 1 to 100 characters/);
    const { sidecar: open } = await stage(t, { env: { HOOKLINE_AUTH: 'none' } });
    const refused = await run(['dashboard', '--project', 'p', '--read-only'], { HOOKLINE_DATA_DIR: open.dataDir });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /HOOKLINE_ADMIN_AUTH=token/);
});

test('a session is an admin’s, or of the role that is asked for; where calls need no token it has none', async (t) => {
    for (const auth of ['jwt', 'none']) {
        const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: auth, HOOKLINE_ADMIN_AUTH: 'token' } });
        const ask = (body) => control(sidecar)('POST', '/v2/projects/p/dashboard-sessions', body && { body });
        const roleOf = ({ token }) => token && JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).role;
        assert.equal(roleOf((await ask()).json()), 'admin');
        assert.equal(roleOf((await ask({ role: 'admin' })).json()), 'admin');
        assert.equal(roleOf((await ask({ role: 'invoke' })).json()), auth === 'jwt' ? 'invoke' : undefined);
        assertRefused(await ask({ role: 'root' }), 400, /role is not/);
        assertRefused(await ask({ role: 'invoke', more: 1 }), 400, /role is not/);
        assertRefused(await ask('[]'), 400, /not a JSON object/);
    }
});
