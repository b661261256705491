// How runs ended, in numbers: exact over kills and restarts and over replicas, percentiles within what is promised, who sees what.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeToken } from './lib/browser.mjs';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control, pages, rest } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { sleep, until } from './lib/until.mjs';

const OVERVIEW = '/v2/projects/p/overview';
const STORES = ['sqlite', 'memory', 'postgres'];
const WIDEST = 1 / 32; /* how far the middle of a bucket may be from what is in it */

/** A stage on a store of that kind; the app answers with the status that the query names, after as many ms. */
async function stageOn(t, store, env = {}) {
    const own = { ...(store === 'postgres' && (await postgres(t)).env), ...(store === 'memory' && { HOOKLINE_STORE: 'memory' }) };
    return stage(t, { env: { ...own, ...env }, app });
}

async function app(x) {
    await x.body();
    const query = new URL(x.head.target, 'http://app').searchParams;
    await sleep(Number(query.get('ms') ?? 0));
    await x.send(Number(query.get('status') ?? 200), {}, 'ok');
}

const look = async (ask, query = '') => {
    const answer = await ask('GET', OVERVIEW + query);
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
};

const ended = ({ total }) => [total.runs, total.states.success, total.states.failure, total.states.cancelled];

for (const store of STORES)
    test(`runs of both modes are counted as they end, in ${store}`, async (t) => {
        const { call, sidecar } = await stageOn(t, store);
        const ask = control(sidecar);
        const many = Array.from({ length: 20 }, (_, i) => (i % 5 ? 200 : 503));
        for (const status of many) await call(RUN, { query: { status } });
        for (const status of many) await call(RUN, { query: { async: 'true', status } });
        await call('/v4/p/other/run', { query: { async: 'true' } });
        await call('/v4/q/a/run', {});
        const overview = await until('all are counted', async () => {
            const now = await look(ask);
            return now.total.runs === 41 && now;
        });
        assert.deepEqual(ended(overview), [41, 33, 8, 0]);
        assert.deepEqual([overview.total.sync, overview.total.async, overview.total.reasons.app_error], [20, 21, 8]);
        assert.deepEqual(overview.apps.map((one) => [one.app_name, one.runs]).sort(), [['a', 40], ['other', 1]]);
        const sum = (list) => list.reduce((a, b) => a + b, 0);
        assert.deepEqual([sum(overview.series.success), sum(overview.series.failure)], [33, 8]);
        assert.deepEqual([overview.queued, overview.running], [0, 0]);
        assert.equal((await look(ask, '?app=other')).total.runs, 1);
        assert.equal((await look(ask, '?async=false')).total.runs, 20);
        assert.equal((await look(ask, '?period=day')).total.runs, 41);
        assert.equal((await look(ask, '?period=retention')).total.runs, 41);
        await until('that of the other project is counted, too', async () =>
            (await ask('GET', '/v2/overview')).json().total.runs === 42);
    });

for (const store of STORES)
    test(`points by app are those of the five with most runs and of the rest, and are all there is, in ${store}`, async (t) => {
        const { call, sidecar } = await stageOn(t, store);
        const ask = control(sidecar);
        const many = { a: 9, b: 8, c: 7, d: 6, e: 5, f: 2, g: 1 };
        for (const [app, n] of Object.entries(many))
            for (let i = 0; i < n; i++)
                await call(`/v4/p/${app}/run`, { query: { async: 'true', status: app === 'c' && i < 3 ? 500 : 200 } });
        await call('/v4/q/a/run', { query: { async: 'true' } });
        await until('all have ended', async () => (await look(ask)).total.runs === 38);
        const { series, series_by_app: apps } = await look(ask, '?by=app');
        const sum = (list) => list.reduce((a, b) => a + b, 0);
        assert.deepEqual(apps.map((one) => one.app_name), ['a', 'b', 'c', 'd', 'e', null]);
        assert.deepEqual(apps.map((one) => one.project_id), ['p', 'p', 'p', 'p', 'p', null]);
        assert.deepEqual(apps.map((one) => sum(one.success) + sum(one.failure)), [9, 8, 7, 6, 5, 3]);
        assert.deepEqual(apps.map((one) => sum(one.failure)), [0, 0, 3, 0, 0, 0]);
        for (const state of ['success', 'failure', 'cancelled'])
            assert.deepEqual(series.at.map((_, i) => sum(apps.map((one) => one[state][i]))), series[state]);
        const isMeasured = (one) => one.run_p50_ms.map((ms) => ms !== null);
        assert.deepEqual(apps.map((one) => isMeasured(one).includes(true)), Array(6).fill(true));
        const rest = apps.at(-1);
        assert.deepEqual(isMeasured(rest), rest.success.map((n) => n > 0), 'of none there is no time');
        assert.equal((await look(ask)).series_by_app, undefined, 'only who asks for it pays for it');
        const [one, ...others] = (await look(ask, '?by=app&app=c')).series_by_app;
        assert.deepEqual([one.app_name, others], ['c', []]);
        assert.deepEqual((await look(ask, '?by=app&app=none')).series_by_app, []);
        const all = (await ask('GET', '/v2/overview?by=app')).json().series_by_app;
        assert.deepEqual(all.slice(0, 2).map((each) => [each.project_id, each.app_name]), [['p', 'a'], ['p', 'b']]);
        assertRefused(await ask('GET', `${OVERVIEW}?by=path`), 400, /by.*app/);
    });

test('kills lose and repeat no count of what the store has ended', async (t) => {
    const { call, sidecar } = await stageOn(t, 'sqlite', { HOOKLINE_ASYNC_CONCURRENCY: '8' });
    const ask = control(sidecar);
    const ids = [];
    for (let kill = 0; kill < 5; kill++) {
        const calls = Array.from({ length: 40 }, async (_, i) => {
            const query = { async: 'true', ms: 20 + i, status: i % 4 ? 200 : 500 };
            const answer = await call(RUN, { query }).catch(() => null);
            if (answer?.status === 202) ids.push(answer.json().run_id);
        });
        if (kill === 4) await until('one is accepted', () => ids.length > 0);
        await sleep(100 + kill * 120);
        await sidecar.kill();
        await Promise.all(calls);
        await sidecar.start();
    }
    await until('all have ended', async () => {
        const { queued, running } = await look(ask);
        return queued + running === 0;
    }, 60_000);
    const runs = (await pages(ask, '/v2/projects/p/runs', 'runs', { async: 'true' })).flat();
    const of = (state) => runs.filter((run) => run.state === state).length;
    const overview = await look(ask);
    assert.ok(ids.length > 0, "none was accepted before a kill");
    assert.ok(runs.length >= ids.length, `${runs.length} runs of ${ids.length}`);
    assert.deepEqual(ended(overview), [runs.length, of('success'), of('failure'), 0]);
    const interrupted = runs.filter((run) => run.reason === 'interrupted').length;
    assert.equal(overview.total.reasons.interrupted, interrupted);
    assert.equal(overview.total.run_ms.count, runs.length - interrupted, 'nobody knows how long those took');
});

for (const store of ['sqlite', 'postgres'])
    test(`what was counted is there after a restart, synchronous calls too, in ${store}`, async (t) => {
        const { call, sidecar } = await stageOn(t, store);
        const ask = control(sidecar);
        for (let i = 0; i < 30; i++) await call(RUN, { query: { status: i % 3 ? 200 : 500 } });
        await sidecar.restart();
        assert.deepEqual(ended(await look(ask)), [30, 20, 10, 0]);
        await call(RUN);
        await sidecar.restart();
        assert.deepEqual(ended(await look(ask)), [31, 21, 10, 0]);
    });

test('percentiles are as far from what was measured as is promised, and no farther', async (t) => {
    const { call, sidecar } = await stageOn(t, 'sqlite', { HOOKLINE_ASYNC_CONCURRENCY: '8' });
    const ask = control(sidecar);
    await Promise.all(Array.from({ length: 100 }, (_, i) => call(RUN, { query: { async: 'true', ms: 3 * i } })));
    await until('all have ended', async () => (await look(ask)).total.runs === 100);
    const { total } = await look(ask);
    const finished = () => sidecar.log.filter((line) => line.msg === 'run finished');
    await until('the log has come', () => finished().length === 100);
    const measured = finished().map((line) => line.ms).sort((a, b) => a - b);
    assert.deepEqual([total.run_ms.count, total.queued_ms.count], [100, 100]);
    for (const p of [50, 90, 99]) {
        const exact = measured[p - 1], said = total.run_ms[`p${p}`];
        // The log has whole milliseconds.
        assert.ok(Math.abs(said - exact) <= exact * WIDEST + 1.1, `p${p}: ${said}, not ${exact}`);
    }
});

test('two replicas count together, and what one that was killed had counted stays', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a'), b = await all.add('b');
    const ids = [];
    for (let i = 0; i < 10; i++) ids.push(await a.begin(), await b.begin());
    for (const id of ids) await a.finished(id);
    for (const { call } of [a, b, b]) await call(RUN);
    const held = await b.begin({ isHeld: true });
    const counted = (runs) =>
        until(`${runs} are counted`, async () => (await look(a.ask)).total.runs === runs && look(a.ask));
    let overview = await counted(23);
    assert.deepEqual(ended(overview), [23, 23, 0, 0]);
    assert.deepEqual([overview.total.sync, overview.queued + overview.running], [3, 1]);
    assert.deepEqual(overview.replicas.map((one) => [one.name, one.state]), [['a', 'alive'], ['b', 'alive']]);
    await until('it is inside an app', async () => (await look(a.ask)).running === 1);
    const { replica } = await a.show(held);
    await (replica === 'b' ? b : a).sidecar.kill();
    const left = replica === 'b' ? a : b;
    await left.finished(held);
    overview = await look(left.ask);
    assert.deepEqual(ended(overview), [24, 23, 1, 0]);
    assert.equal(overview.total.reasons.interrupted, 1);
});

test('counts past the retention go, and with them the app that has nothing else', async (t) => {
    const { call, sidecar } = await stageOn(t, 'sqlite');
    await call(RUN);
    await sidecar.stop();
    const write = (sql) => promisify(execFile)('sqlite3', [join(sidecar.dataDir, 'hookline.db'), sql]);
    await write(
        `INSERT INTO app (app_id, project, name) VALUES (77, 'p', 'old');
         WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO tally SELECT 77, 1000 + i, x'0100000000000000' FROM n`,
    );
    await sidecar.start();
    await until('they are gone', async () => (await sidecar.sql('SELECT count(*) AS n FROM tally'))[0].n === 1);
    await until('so is the app', async () => (await sidecar.sql('SELECT count(*) AS n FROM app'))[0].n === 1, 90_000);
    assert.equal((await look(control(sidecar), '?period=retention')).total.runs, 1);
});

for (const store of STORES)
    test(`dead letters and destinations that fail are named, to admins alone, in ${store}`, async (t) => {
        const { call, receiver, sidecar } = await stageOn(t, store, { HOOKLINE_AUTH: 'jwt' });
        const admin = rest(sidecar, { token: await makeToken(sidecar) });
        const invoker = rest(sidecar, { token: await makeToken(sidecar, { role: 'invoke' }) });
        const headers = { authorization: `Bearer ${await makeToken(sidecar)}` };
        const dead = receiver.script('/dead', 410);
        const send = (url) => call(RUN, { query: { async: 'true', webhookEndpoint: url }, headers });
        await send(dead);
        for (let i = 0; i < 8; i++) await send('http://127.0.0.1:1/hook');
        const overview = await until('all are given up', async () => {
            const now = await look(admin);
            return now.deliveries.dead === 9 && now.destinations.failing === 1 && now;
        }, 60_000);
        assert.deepEqual(overview.deliveries.pending, 0);
        const [worst] = overview.destinations.worst;
        assert.deepEqual([worst.destination, worst.dead, worst.project_id], ['http://127.0.0.1:1', 8, 'p']);
        assert.match(worst.last_error, /refused/);
        const theirs = await look(invoker);
        assert.equal(theirs.total.runs, 9);
        for (const member of ['deliveries', 'destinations', 'replicas']) assert.equal(theirs[member], undefined);
        assertRefused(await rest(sidecar, { token: await makeToken(sidecar, { project: 'q' }) })('GET', OVERVIEW), 403);
        assertRefused(await invoker('GET', '/v2/overview'), 404);
    });

test('a span is an hour unless another is asked for, and no other than there can be', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_RETENTION: '720h' } });
    const ask = control(sidecar);
    const hours = ({ since, until: to }) => Math.round((Date.parse(to) - Date.parse(since)) / 3_600_000);
    const day = 24 * 3_600_000;
    for (const [query, span, step] of [
        ['', 1, 60],
        ['?period=hour', 1, 60],
        ['?period=day', 24, 900],
        ['?period=retention', 720, 43_200],
        [`?since=${Date.now() - 2 * day}&until=${Date.now() - day}`, 24, 900],
        ['?since=1973-11-22T08:00:00Z', 720, 43_200],
    ]) {
        const overview = await look(ask, query);
        assert.equal(hours(overview), span, query);
        assert.equal(overview.series.step_seconds, step, query);
        for (const list of Object.values(overview.series).filter(Array.isArray)) {
            assert.ok(list.length <= 120, query);
            assert.equal(list.length, overview.series.at.length);
        }
        assert.equal(overview.total.run_ms.p50, null);
    }
    for (const [query, said] of [
        ['?period=week', /period.*hour, day or retention/],
        ['?period=day&since=1973-11-22T08:00:00Z', /period.*without since/],
        [`?since=${Date.now() + day}`, /since/],
        [`?since=${Date.now() - day}&until=${Date.now() - 2 * day}`, /until/],
        ['?limit=3', /limit/],
    ])
        assertRefused(await ask('GET', OVERVIEW + query), 400, said);
});

test('errors are counted with the runs that have them, the most frequent first', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: (x) => (x.path === '/cut' ? x.reset() : x.send(500, { 'content-type': 'text/plain' }, `no ${x.path.slice(1)}`)),
        env: { HOOKLINE_RUN_ATTEMPTS: '1' },
    });
    const ask = control(sidecar);
    const began = Date.now() - 1;
    for (const path of ['a/order', 'a/order', 'b/order', 'a/cut', 'a/order'])
        assert.equal((await call(`/v4/p/${path}`, { query: { async: 'true' } })).status, 202);
    const errors = async (query = '', path = '/v2/projects/p/errors') => {
        const answer = await ask('GET', path + query);
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    };
    const all = await until('all have failed', async () => {
        const now = await errors();
        return now.failures === 5 && now;
    });
    assert.deepEqual(
        all.errors.map(({ app_name: app, error, reason, count }) => [app, error, reason, count]).sort(),
        [['a', null, 'upstream_reset', 1], ['a', 'no order', 'app_error', 3], ['b', 'no order', 'app_error', 1]],
    );
    assert.deepEqual([all.errors[0].count, all.more, all.counted_since], [3, 0, all.since]);
    const { runs } = (await ask('GET', '/v2/projects/p/runs?error=no%20order&app=a')).json();
    const [{ first_at: first, last_at: last }] = all.errors;
    assert.deepEqual([runs.length, runs[0].created_at, runs[2].created_at], [3, last, first]);
    assert.equal((await errors('?app=b&period=day')).failures, 1);
    assert.equal((await errors(`?until=${began}`)).failures, 0);
    assert.equal((await errors('', '/v2/projects/q/errors')).failures, 0);
    assert.equal((await errors('', '/v2/errors')).failures, 5);
    for (const [query, said] of [
        [`?since=${Date.now() + 3_600_000}`, /since/],
        [`?since=${Date.now()}&until=${Date.now() - 60_000}`, /until/],
        ['?limit=3', /limit/],
    ])
        assertRefused(await ask('GET', `/v2/projects/p/errors${query}`), 400, said);
});
