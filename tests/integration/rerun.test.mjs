// Requests that are kept after their runs' ends: GET …/runs/{id}/request, request_fields, POST …/runs/{id}/rerun.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { assertSigned } from './lib/signature.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const RUNS = '/v2/projects/p/apps/a/runs';
const LARGE = randomBytes(700_000); // in a file, or in pieces

const fields = (x) => Object.fromEntries(x.head.fields.map(([name, value]) => [name.toLowerCase(), value]));

/** An app that answers as `statuses` says, one a call, then 200. */
function answering(statuses) {
    const calls = [];
    const app = async (x) => {
        const status = statuses[calls.length] ?? 200;
        calls.push({ method: x.method, target: x.target, fields: fields(x), body: await x.body() });
        await x.send(status, {}, `${status}`);
    };
    return { calls, app };
}

async function until_ended(ask, id) {
    const show = async () => (await ask('GET', `${RUNS}/${id}`)).json();
    await until(`run ${id} has ended`, async () => (await show()).finished_at);
    return show();
}

/** On one of the stores: `{ calls, call, ask, receiver, ended(id), rerun(id) }`. */
async function staged(t, store, statuses, env = {}) {
    const { calls, app } = answering(statuses);
    let all, receiver;
    if (store === 'postgres') {
        const replicas = await fleet(t, { app, env });
        all = await replicas.add('a');
        receiver = replicas.receiver;
    } else {
        all = await stage(t, { app, env: { HOOKLINE_STORE: store, ...env } });
        receiver = all.receiver;
    }
    const ask = control(all.sidecar);
    const begin = async (options = {}) => {
        const answer = await all.call(RUN, { body: 'ping', ...options, query: { async: 'true', ...options.query } });
        assert.equal(answer.status, 202, answer.text);
        return answer.id;
    };
    const rerun = async (id) => {
        const answer = await ask('POST', `${RUNS}/${id}/rerun`);
        assert.equal(answer.status, 202, answer.text);
        return answer.json().run_id;
    };
    return { calls, sidecar: all.sidecar, call: all.call, ask, receiver, begin, rerun, ended: (id) => until_ended(ask, id) };
}

const files = (sidecar) => {
    const bodies = join(sidecar.dataDir, 'bodies');
    return readdirSync(bodies).flatMap((shard) => readdirSync(join(bodies, shard)));
};

for (const store of ['sqlite', 'memory', 'postgres'])
    for (const [what, body] of [['a small body', Buffer.from('{"a": 1}')], ['a large one', LARGE], ['none', undefined]]) {
        if (store === 'memory' && body === LARGE) continue;
        test(`${store}: a run that failed is run again with its request, ${what}`, async (t) => {
            const all = await staged(t, store, [500]);
            const { calls, ask, receiver } = all;
            const id = await all.begin({
                body,
                query: { x: '1', webhookEndpoint: receiver.url() },
                headers: { ...(body && { 'content-type': 'application/json' }), 'x-mine': 'kept', 'x-webhook-secret': 'shh', 'x-run-priority': 'low' },
            });
            assert.equal((await all.ended(id)).state, 'failure');
            const shown = await ask('GET', `${RUNS}/${id}/request`);
            assert.equal(shown.status, 200, shown.text);
            assert.equal(Buffer.compare(shown.body, body ?? Buffer.alloc(0)), 0);
            if (body) assert.equal(shown.headers['content-type'], 'application/json');
            assert.equal(shown.headers['x-content-type-options'], 'nosniff');
            const answer = await ask('POST', `${RUNS}/${id}/rerun`);
            assert.equal(answer.status, 202, answer.text);
            const { run_id: again, rerun_of } = answer.json();
            assert.match(again, UUID_V7);
            assert.equal(rerun_of, id);
            assert.equal(answer.headers.location, `${RUNS}/${again}`);
            const record = await all.ended(again);
            assert.deepEqual([record.state, record.rerun_of, record.priority, record.attempts], ['success', id, 'low', 1]);
            assert.equal((await all.ended(id)).rerun_of, null);
            const [first, second] = calls;
            assert.equal(Buffer.compare(second.body, first.body), 0);
            assert.deepEqual([second.method, second.target], [first.method, first.target]);
            const ids = { 'x-request-id': null, traceparent: null, 'x-run-deadline': null };
            assert.deepEqual({ ...second.fields, ...ids }, { ...first.fields, ...ids });
            assert.equal(second.fields['x-request-id'], again);
            assert.equal(second.fields.traceparent.split('-')[1], again.replaceAll('-', ''), 'a trace of its own');
            await until('both webhooks have come', () => receiver.requests.length === 2);
            for (const request of receiver.requests) assertSigned(request, 'shh');
            assertRefused(await ask('POST', `${RUNS}/${again}/rerun`), 410, /HOOKLINE_KEEP_REQUESTS/);
        });
    }

for (const store of ['sqlite', 'memory', 'postgres'])
    for (const [keep, ofFailed, ofGood] of [['failed', 200, 410], ['all', 200, 200], ['none', 410, 410]])
        test(`${store}: HOOKLINE_KEEP_REQUESTS=${keep} keeps those requests`, async (t) => {
            const all = await staged(t, store, [500], { HOOKLINE_KEEP_REQUESTS: keep });
            const failed = await all.begin();
            await all.ended(failed);
            const good = await all.begin({ headers: { 'user-agent': 'me', authorization: 'Bearer x' } });
            await all.ended(good);
            for (const [id, status] of [[failed, ofFailed], [good, ofGood]]) {
                const answer = await all.ask('GET', `${RUNS}/${id}/request`);
                assert.equal(answer.status, status, answer.text);
                assert.equal((await all.ask('POST', `${RUNS}/${id}/rerun`)).status, status === 200 ? 202 : 410);
                const { request_fields } = await all.ended(id);
                assert.equal(request_fields !== null, status === 200);
            }
            if (keep !== 'all') return;
            const shown = Object.fromEntries((await all.ended(good)).request_fields.map(({ name, value }) => [name.toLowerCase(), value]));
            assert.deepEqual([shown['user-agent'], shown.authorization, shown['x-request-id']], ['me', null, good]);
        });

for (const store of ['sqlite', 'memory', 'postgres'])
    test(`${store}: a run that goes on or waits is not run again, and a cancelled one is`, async (t) => {
        const hold = gate();
        const inside = [];
        const app = async (x) => (inside.push(x), await Promise.race([hold.promise, x.gone]), await x.send(200, {}, 'ok'));
        t.after(() => hold.open());
        const env = { HOOKLINE_ASYNC_CONCURRENCY: '1' };
        const all = store === 'postgres' ? await (await fleet(t, { app, env })).add('a') : await stage(t, { app, env: { HOOKLINE_STORE: store, ...env } });
        const ask = control(all.sidecar);
        const [running, queued] = [(await all.call(RUN, { query: { async: 'true' } })).id, (await all.call(RUN, { query: { async: 'true' } })).id];
        await until('one is inside', () => inside.length === 1);
        assertRefused(await ask('POST', `${RUNS}/${running}/rerun`), 409, /running/);
        assertRefused(await ask('POST', `${RUNS}/${queued}/rerun`), 409, /queued/);
        for (const id of [running, queued]) assert.equal((await ask('POST', `${RUNS}/${id}/cancel`)).status, 202);
        for (const id of [running, queued]) assert.equal((await until_ended(ask, id)).state, 'cancelled');
        hold.open();
        for (const id of [running, queued]) {
            const answer = await ask('POST', `${RUNS}/${id}/rerun`);
            assert.equal(answer.status, 202, answer.text);
            assert.equal((await until_ended(ask, answer.json().run_id)).state, 'success');
        }
    });

test('what is not there, was synchronous or is another project’s is refused, and so are other methods', async (t) => {
    const all = await staged(t, 'sqlite', []);
    const { id } = await all.call(RUN);
    const nobody = '01890a5d-ac96-774b-bcce-b302099a8057';
    for (const [method, last, other] of [['POST', 'rerun', 'GET'], ['GET', 'request', 'POST']]) {
        assertRefused(await all.ask(method, `${RUNS}/${nobody}/${last}`), 404);
        assertRefused(await all.ask(method, `${RUNS}/${id}/${last}`), 410, /synchronous/);
        assertRefused(await all.ask(method, `/v2/projects/q/apps/a/runs/${id}/${last}`), 404);
        assertRefused(await all.ask(other, `${RUNS}/${id}/${last}`), 405);
    }
    const run = await all.begin();
    await all.ended(run);
    for (const [method, last] of [['POST', 'rerun'], ['GET', 'request']])
        assertRefused(await rest(all.sidecar)(method, `${RUNS}/${run}/${last}`), 404);
});

test('a request is there after a restart and a kill; an interrupted run is run again', async (t) => {
    const hold = gate();
    let calls = 0;
    const app = async (x) => {
        const body = await x.body();
        if (++calls === 2) await Promise.race([hold.promise, x.gone]);
        await x.send(calls === 1 ? 503 : 200, {}, body);
    };
    const { sidecar, call } = await stage(t, { app });
    t.after(() => hold.open());
    const failed = (await call(RUN, { query: { async: 'true' }, body: LARGE })).id;
    await until_ended(control(sidecar), failed);
    const cut = (await call(RUN, { query: { async: 'true' }, body: 'ping' })).id;
    await until('it is inside', () => calls === 2);
    await sidecar.kill();
    await sidecar.restart();
    const ask = control(sidecar);
    assert.equal((await until_ended(ask, cut)).reason, 'interrupted');
    for (const [id, body] of [[failed, LARGE], [cut, Buffer.from('ping')]]) {
        assert.equal(Buffer.compare((await ask('GET', `${RUNS}/${id}/request`)).body, body), 0);
        const { run_id: again } = (await ask('POST', `${RUNS}/${id}/rerun`)).json();
        assert.equal((await until_ended(ask, again)).state, 'success');
        assert.equal(Buffer.compare((await ask('GET', `${RUNS}/${again}/result`)).body, body), 0);
    }
});

test('the file of a kept request goes with its run, and one of a run that succeeds with its end', async (t) => {
    const all = await staged(t, 'sqlite', [500], { HOOKLINE_RETENTION: '6s', HOOKLINE_MAX_KEPT_RESPONSE: '1KiB' });
    const failed = await all.begin({ body: LARGE });
    await all.ended(failed);
    const kept = files(all.sidecar);
    assert.equal(kept.length, 1);
    const again = await all.rerun(failed);
    assert.equal((await all.ended(again)).state, 'success');
    await until('the file of the second run is gone', () => files(all.sidecar).length === 1);
    assert.deepEqual(files(all.sidecar), kept);
    await until('its record is past retention', async () => (await all.ask('GET', `${RUNS}/${failed}`)).status === 404);
    await until('its file is gone', () => files(all.sidecar).length === 0);
});

test('requests are the first to go when the store is full', async (t) => {
    const env = { HOOKLINE_STORE_MAX_BYTES: '4MiB', HOOKLINE_MAX_KEPT_RESPONSE: '64KiB' };
    const all = await staged(t, 'sqlite', Array(30).fill(500), env);
    const ids = [];
    for (let i = 0; i < 12; i++) ids.push(await all.begin({ body: randomBytes(600_000) }));
    for (const id of ids) await all.ended(id);
    await until('the oldest request is gone', async () => (await all.ask('GET', `${RUNS}/${ids[0]}/request`)).status === 410);
    for (const id of ids) assert.equal((await all.ask('GET', `${RUNS}/${id}/result`)).status, 200, 'results stay');
});

/** Accounts, and calls with their tokens. */
async function accounts(t, app, env = {}) {
    const all = await stage(t, { app, env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p', HOOKLINE_FORWARD_AUTHORIZATION: 'on', ...env } });
    const admin = control(all.sidecar);
    const make = async (more = {}) => {
        const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...more };
        const account = (await admin('POST', '/v2/projects/p/service-accounts', { body })).json();
        const ask = rest(all.sidecar, { token: account.token });
        const call = (options) =>
            all.call(RUN, { query: { async: 'true' }, body: 'ping', ...options, headers: { authorization: `Bearer ${account.token}`, ...options?.headers } });
        return { ...account, ask, call };
    };
    return { ...all, admin, make };
}

test('who made a run may run it again, as itself; an admin may, without the other’s credentials; nobody else', async (t) => {
    const { calls, app } = answering(Array(9).fill(500));
    const { make, admin } = await accounts(t, app);
    const [ann, ben, boss] = [await make({ max_priority: 'high' }), await make(), await make({ role: 'admin' })];
    const { id } = await ann.call({ headers: { cookie: 'a=b', 'x-run-priority': 'high' } });
    await until_ended(admin, id);
    for (const [method, last] of [['POST', 'rerun'], ['GET', 'request']])
        assertRefused(await ben.ask(method, `${RUNS}/${id}/${last}`), 403, /made/);
    assert.ok(!('request_fields' in (await ben.ask('GET', `${RUNS}/${id}`)).json()));
    for (const who of [ann, boss]) assert.ok((await who.ask('GET', `${RUNS}/${id}`)).json().request_fields.length > 3);
    for (const [who, subject, priority, cookie] of [[ann, ann.id, 'high', 'a=b'], [boss, boss.id, 'normal', undefined]]) {
        const answer = await who.ask('POST', `${RUNS}/${id}/rerun`);
        assert.equal(answer.status, 202, answer.text);
        const record = await until_ended(admin, answer.json().run_id);
        assert.deepEqual([record.subject, record.priority], [subject, priority]);
        const last = calls.at(-1).fields;
        assert.equal(last.cookie, cookie);
        assert.equal('authorization' in last, who === ann);
    }
});

test('a rerun counts for the limits of who asks for it', async (t) => {
    const { app } = answering([500]);
    const { make, admin } = await accounts(t, app);
    const ann = await make({ rate: '2/h' });
    const { id } = await ann.call();
    await until_ended(admin, id);
    assert.equal((await ann.ask('POST', `${RUNS}/${id}/rerun`)).status, 202);
    const refused = await ann.ask('POST', `${RUNS}/${id}/rerun`);
    assertRefused(refused, 429, /rate/);
    assert.match(refused.headers.ratelimit, /^"default";r=0;t=\d+$/);
});

test('max_queued holds for reruns, too', async (t) => {
    const hold = gate();
    let n = 0;
    const app = async (x) => (n++ > 0 && (await Promise.race([hold.promise, x.gone])), await x.send(n > 1 ? 200 : 500));
    const { make, admin } = await accounts(t, app, { HOOKLINE_ASYNC_CONCURRENCY: '1' });
    t.after(() => hold.open());
    const ann = await make({ max_queued: 1 });
    const { id } = await ann.call();
    await until_ended(admin, id);
    await ann.call();
    await until('one is inside', () => n === 2);
    assert.equal((await ann.ask('POST', `${RUNS}/${id}/rerun`)).status, 202);
    assertRefused(await ann.ask('POST', `${RUNS}/${id}/rerun`), 429, /max_queued/);
});
