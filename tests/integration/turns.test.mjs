// Whose turn it is: classes by their rule, within a class one subject after the other, then who came first.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { control } from './lib/rest.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { PATIENCE, gate, until } from './lib/until.mjs';

const CLASSES = ['high', 'normal', 'low'];
const ONE_SLOT = { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1', HOOKLINE_APP_QUEUE_TIMEOUT: '5m' };

/** One slot, held by a call of nobody's until `open` is called; `order` is what then gets in, by its body. */
async function queueBefore(t, env = {}, held = {}) {
    const doors = gate();
    const order = [];
    const secret = makeSecret();
    const all = await stage(t, {
        env: { ...ONE_SLOT, HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret, ...env },
        app: async (x) => {
            const body = `${await x.body()}`;
            if (body !== 'holder') order.push(body);
            await doors.promise;
            await x.send(200);
        },
    });
    const tokens = new Map();
    const tokenOf = async (subject) => {
        const claims = { sub: subject, project_id: 'p', exp: Math.floor(Date.now() / 1000) + 3600 };
        if (!tokens.has(subject)) tokens.set(subject, await sign(secret, claims));
        return tokens.get(subject);
    };
    const begin = async (subject, body, priority, query = { async: 'true' }) => {
        const headers = { authorization: `Bearer ${await tokenOf(subject)}` };
        if (priority) headers['x-run-priority'] = priority;
        return all.call(RUN, { headers, body, query });
    };
    const holder = begin('holder', 'holder', undefined, held).catch((error) => error); // its sidecar may be killed
    await until('the slot is taken', () => all.app.requests.length === 1);
    const through = async (n) => {
        doors.open();
        await holder;
        await until(`${n} were inside`, () => order.length === n, PATIENCE + 100 * n);
        return order;
    };
    const waiting = (n) => until(`${n} wait`, async () => (await all.sidecar.metric('hookline_app_queue_waiting')) === n);
    return { ...all, begin, through, order, waiting };
}

for (const store of ['sqlite', 'memory'])
    test(`${store}: a run of one subject does not wait for all of another`, async (t) => {
        const { begin, through } = await queueBefore(t, { HOOKLINE_STORE: store });
        for (let i = 0; i < 5; i++) assert.equal((await begin('ann', `ann ${i}`)).status, 202);
        assert.equal((await begin('ben', 'ben 0')).status, 202);
        assert.equal((await begin('cleo', 'cleo 0')).status, 202);
        assert.deepEqual(await through(7), ['ann 0', 'ben 0', 'cleo 0', 'ann 1', 'ann 2', 'ann 3', 'ann 4']);
    });

test('callers that wait take turns as queued runs do', async (t) => {
    const { begin, through, waiting } = await queueBefore(t);
    const calls = [];
    for (const who of ['ann', 'ann', 'ann', 'ben']) {
        calls.push(begin(who, `${who} ${calls.length}`, undefined, {}));
        await waiting(calls.length);
    }
    assert.deepEqual(await through(4), ['ann 0', 'ben 3', 'ann 1', 'ann 2']);
    for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
});

test('a higher class starts first, whoever came before; the eighth start is a lower one’s', async (t) => {
    const { begin, through } = await queueBefore(t, { HOOKLINE_AUTH: 'none' });
    await begin('ann', 'low', 'low');
    await begin('ann', 'normal', 'normal');
    for (let i = 0; i < 9; i++) await begin('ann', `high ${i}`, 'high');
    const order = await through(11);
    assert.deepEqual(order.slice(6), ['high 6', 'normal', 'high 7', 'high 8', 'low']);
});

for (const workers of ['1', '2'])
    test(`the end of a queued run asks who is next of all that wait, ${workers} workers`, async (t) => {
        const env = { HOOKLINE_AUTH: 'none', HOOKLINE_WORKERS: workers, HOOKLINE_ASYNC_CONCURRENCY: '1' };
        const { begin, through, waiting } = await queueBefore(t, env, { async: 'true' });
        const calls = [];
        for (const who of ['low 1', 'low 2']) {
            calls.push(begin('ann', who, 'low', {}));
            await waiting(calls.length);
        }
        for (let i = 1; i <= 3; i++) await begin('ann', `high ${i}`, 'high');
        assert.deepEqual((await through(5)).slice(0, 3), ['high 1', 'high 2', 'high 3']);
        for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
    });

test('slots that become free at once go to queued runs of a higher class first', async (t) => {
    const [holders, others] = [gate(), gate()];
    const order = [];
    const { call, app, sidecar } = await stage(t, {
        env: { ...ONE_SLOT, HOOKLINE_APP_CONCURRENCY: '4', HOOKLINE_ASYNC_CONCURRENCY: '4' },
        app: async (x) => {
            const who = x.get('x-who');
            order.push(who);
            await x.body();
            await (who.startsWith('holder') ? holders : others).promise;
            await x.send(200);
        },
    });
    const begin = (who, priority, query = {}) =>
        call(RUN, { headers: { 'x-who': who, 'x-run-priority': priority }, query });
    const calls = [1, 2, 3, 4].map((i) => begin(`holder ${i}`, 'normal'));
    await until('the slots are taken', () => app.requests.length === 4);
    for (const i of [1, 2, 3, 4]) calls.push(begin(`low ${i}`, 'low'));
    await until('they wait', async () => (await sidecar.metric('hookline_app_queue_waiting')) === 4);
    for (const i of [1, 2, 3, 4]) assert.equal((await begin(`high ${i}`, 'high', { async: 'true' })).status, 202);
    holders.open();
    await until('four others are inside', () => app.requests.length === 8);
    others.open();
    for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
    assert.deepEqual(order.slice(4, 8).sort(), ['high 1', 'high 2', 'high 3', 'high 4']);
});

test('within a class callers come first, and one start in eight is a queued run’s', async (t) => {
    const { begin, through, waiting } = await queueBefore(t, { HOOKLINE_AUTH: 'none' });
    for (let i = 0; i < 2; i++) await begin('ann', `run ${i}`);
    await begin('ann', 'high run', 'high');
    const calls = [];
    for (let i = 0; i < 9; i++) {
        calls.push(begin('ann', `call ${i}`, undefined, {}));
        await waiting(calls.length);
    }
    const order = await through(12);
    assert.equal(order[0], 'high run', 'a queued run of a higher class comes before callers');
    assert.equal(order.filter((body) => body.startsWith('call')).length, 9);
    assert.ok(order.indexOf('run 0') <= 8, order.join(', '));
    await Promise.all(calls);
});

test('turns outlive a kill', async (t) => {
    const { begin, sidecar, order, through } = await queueBefore(t);
    for (let i = 0; i < 3; i++) await begin('ann', `ann ${i}`);
    await begin('ben', 'ben 0');
    await sidecar.kill();
    await sidecar.restart();
    await until('the first is inside', () => order.length === 1);
    await begin('ben', 'ben 1');
    await begin('cleo', 'cleo 0', 'low');
    assert.deepEqual(await through(6), ['ann 0', 'ben 0', 'ann 1', 'ben 1', 'ann 2', 'cleo 0']);
});

test('the record says of which class a run is', async (t) => {
    const { call, sidecar } = await stage(t);
    const show = async (id) => (await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json().priority;
    for (const query of [{}, { async: 'true' }])
        for (const priority of [undefined, ...CLASSES]) {
            const { id } = await call(RUN, { query, headers: priority ? { 'x-run-priority': priority } : {} });
            assert.equal(await show(id), priority ?? 'normal');
        }
});

for (const auth of ['none', 'jwt'])
    test(`X-Run-Priority that is none is refused by name, HOOKLINE_AUTH=${auth}`, async (t) => {
        const secret = makeSecret();
        const { app, call } = await stage(t, { env: { HOOKLINE_AUTH: auth, HOOKLINE_JWT_SECRET: auth === 'jwt' ? secret : '' } });
        const authorization = `Bearer ${await sign(secret, { sub: 's', project_id: 'p', exp: Math.floor(Date.now() / 1000) + 60 })}`;
        for (const query of [{}, { async: 'true' }])
            for (const value of ['', 'High', '1', '0', '-1', 'high, low', ['low', 'low'], 'x'.repeat(200)]) {
                const answer = await call(RUN, { query, headers: { authorization, 'x-run-priority': value } });
                assert.match(assertProblem(answer, 400).detail, /X-Run-Priority/);
            }
        assert.equal(app.requests.length, 0);
    });

test('X-Run-Priority: high needs the right to it: 403, and the app is not called', async (t) => {
    const secret = makeSecret();
    const { app, call, sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret } });
    const create = async (limits) => {
        const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...limits };
        return (await control(sidecar)('POST', '/v2/projects/p/service-accounts', { body })).json().token;
    };
    const outside = await sign(secret, { sub: 's', project_id: 'p', exp: Math.floor(Date.now() / 1000) + 60 });
    const ask = (token, priority, query = {}) =>
        call(RUN, { query, headers: { authorization: `Bearer ${token}`, 'x-run-priority': priority }, body: '{}' });
    for (const token of [outside, await create({})])
        for (const query of [{}, { async: 'true' }]) {
            assert.match(assertProblem(await ask(token, 'high', query), 403).detail, /max_priority/);
            assert.equal(app.requests.length, 0);
        }
    const [high, low] = [await create({ max_priority: 'high' }), await create({ max_priority: 'low' })];
    assert.equal((await ask(high, 'high')).status, 200);
    assert.equal((await ask(low, 'low')).status, 200);
    assert.equal((await ask(outside, 'normal')).status, 200);

    const { length } = app.requests;
    for (const query of [{}, { async: 'true' }])
        assert.match(assertProblem(await ask(low, 'normal', query), 403).detail, /max_priority/);
    assert.equal(app.requests.length, length);
});

test('calls of an account whose max_priority is low are low, without being asked', async (t) => {
    const { begin, call, sidecar, through, waiting } = await queueBefore(t, { HOOKLINE_PROJECT_ID: 'p' });
    const admin = control(sidecar);
    const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString(), max_priority: 'low' };
    const account = (await admin('POST', '/v2/projects/p/service-accounts', { body })).json();
    const headers = { authorization: `Bearer ${account.token}` };
    const of = async ({ id }) => (await admin('GET', `/v2/projects/p/apps/a/runs/${id}`)).json().priority;
    const queued = await call(RUN, { headers, body: 'low run', query: { async: 'true' } });
    assert.equal(await of(queued), 'low');
    const calls = [call(RUN, { headers, body: 'low call' })];
    await waiting(1);
    calls.push(call('/passed/through', { headers, body: 'low pass' }));
    await waiting(2);
    calls.push(begin('ann', 'normal call', undefined, {}));
    await waiting(3);
    await begin('ann', 'normal run');
    const order = await through(5);
    assert.deepEqual(order.slice(0, 2), ['normal call', 'normal run']);
    assert.deepEqual(order.slice(2, 4), ['low call', 'low pass']);
    const [low] = await Promise.all(calls);
    assert.equal(await of(low), 'low');

    await admin('PATCH', `/v2/projects/p/service-accounts/${account.id}`, { body: { max_priority: 'normal' } });
    assert.equal(await of(await call(RUN, { headers, body: 'raised' })), 'normal');
});

/** What the rule gives where all wait from the beginning on: a subject’s nth run is of its nth round. */
function* expected(runs) {
    let [passed, last] = [0, 0];
    const rounds = new Map();
    const queues = CLASSES.map(() => []);
    for (const run of runs) {
        const key = `${run.priority} ${run.subject}`;
        const round = rounds.get(key) ?? 0;
        rounds.set(key, round + 1);
        queues[run.priority].push({ ...run, round });
    }
    for (const queue of queues) queue.sort((a, b) => a.round - b.round || a.at - b.at);
    for (let left = runs.length; left > 0; left--) {
        const classes = [0, 1, 2].filter((c) => queues[c].length);
        let next = classes[0];
        if (classes.length > 1 && passed === 7) {
            do last = (last + 1) % 3;
            while (!classes.slice(1).includes(last));
            next = last;
            passed = 0;
        } else if (classes.length > 1) passed++;
        yield queues[next].shift();
    }
}

test('three classes, five subjects, 2,000 runs, one slot: the order that the rule gives', { limit: 600_000 }, async (t) => {
    const { begin, through } = await queueBefore(t, { HOOKLINE_AUTH: 'jwt', HOOKLINE_MAX_QUEUED_RUNS: '5000' });
    const subjects = ['ann', 'ben', 'cleo', 'dan', 'eve'];
    let seed = 7;
    const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
    const runs = Array.from({ length: 2000 }, (_, at) => ({
        at,
        subject: random(4) ? 0 : random(5), // one of them has most
        priority: 1 + random(2), // without a right to it nothing is high
    }));
    for (const { at, subject, priority } of runs)
        assert.equal((await begin(subjects[subject], `${at}`, CLASSES[priority])).status, 202);
    const order = await through(runs.length);
    const wanted = [...expected(runs)].map(({ at }) => `${at}`);
    assert.deepEqual(order, wanted);
    for (const [i, name] of subjects.entries()) {
        const waits = runs.filter(({ subject }) => subject === i).map(({ at }) => order.indexOf(`${at}`));
        t.diagnostic(`${name}: ${waits.length} runs, the first after ${Math.min(...waits)} starts, the last after ${Math.max(...waits)}`);
    }
});
