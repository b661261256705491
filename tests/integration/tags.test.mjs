// X-Run-Tag: what a run is marked with goes with it to records, lists, webhooks, reruns and the log, and never to the app.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { assertRefused, control } from './lib/rest.mjs';
import { RUN, assertProblem, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

const RUNS = '/v2/projects/p/apps/a/runs';
const KEPT = { HOOKLINE_ACCESS_LOG: 'on', HOOKLINE_KEEP_REQUESTS: 'all' };
const TAGS = { tier: 'gold', order: '17 b' };
const tagged = { 'x-run-tag': 'tier=gold , order = 17 b' };

/** A run's record, once it has ended. */
const ended = (sidecar, id) =>
    until(`run ${id} has ended`, async () => {
        const { status, json } = await control(sidecar)('GET', `${RUNS}/${id}`);
        return status === 200 && json().finished_at && json();
    });

/** The records of a list, all pages. */
async function list(sidecar, query, limit = 2) {
    const runs = [];
    for (let cursor = ''; ; ) {
        const page = (await control(sidecar)('GET', `${RUNS}?limit=${limit}&${query}${cursor}`)).json();
        runs.push(...page.runs);
        if (!page.next_cursor) return runs;
        cursor = `&cursor=${page.next_cursor}`;
    }
}

for (const [mode, query] of [['synchronous', {}], ['asynchronous', { async: 'true' }]])
    test(`tags of a ${mode} call are in its record, its webhook and the log, and not at the app`, async (t) => {
        const { app, call, receiver, sidecar } = await shared(t, { env: KEPT });
        for (const hook of [undefined, receiver.url('/hook')]) {
            const { id } = await call(RUN, { query: { ...query, ...(hook && { webhookEndpoint: hook }) }, headers: tagged });
            assert.deepEqual((await ended(sidecar, id)).tags, TAGS);
            const [row] = await list(sidecar, `id_prefix=${id}`);
            assert.deepEqual(row.tags, TAGS);
            assert.deepEqual(Object.keys(row.tags), ['tier', 'order'], 'as they were written');
            assert.equal(app.requests.find((x) => x.id === id).head.has('x-run-tag'), false);
            const line = await until('its line', () => sidecar.log.find((x) => x.msg === 'call' && x.run_id === id));
            assert.equal(line.tags, 'tier=gold,order=17 b');
            if (!hook) continue;
            const envelope = await receiver.envelope();
            assert.deepEqual([envelope.run_id, envelope.tags], [id, TAGS]);
            for (const msg of ['run finished', 'webhook delivered']) {
                const told = await until(msg, () => sidecar.log.find((x) => x.msg === msg && x.run_id === id));
                assert.equal(told.tags, 'tier=gold,order=17 b', msg);
            }
        }
    });

test('without tags a record has none, and neither webhook nor log says anything of any', async (t) => {
    const { call, receiver, sidecar } = await shared(t, { env: KEPT });
    const { id } = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url('/hook') } });
    assert.deepEqual((await ended(sidecar, id)).tags, {});
    assert.equal('tags' in (await receiver.envelope()), false);
    for (const msg of ['call', 'run finished', 'webhook delivered']) {
        const line = await until(msg, () => sidecar.log.find((x) => x.msg === msg && x.run_id === id));
        assert.equal('tags' in line, false, msg);
    }
});

test('tags of a stream and of a tunnel are in their records', async (t) => {
    const { call, connect, sidecar } = await shared(t, {
        env: KEPT,
        app: async (x) => {
            if (x.get('upgrade'))
                return x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Accept': 'x' });
            return x.send(200, { 'Content-Type': 'text/event-stream' }, 'data: 1\n\n');
        },
    });
    const { id } = await call(RUN, { headers: tagged });
    const stream = await ended(sidecar, id);
    assert.deepEqual([stream.mode, stream.tags], ['stream', TAGS]);
    const client = await connect();
    await client.send(request('GET', '/v4/p/a/ws', {
        Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13,
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==', 'X-Run-Tag': 'kind=tunnel',
    }));
    const [tunnel] = await until('it is listed', async () => {
        const found = await list(sidecar, 'tag=kind=tunnel');
        return found.length > 0 && found;
    });
    assert.deepEqual(tunnel.tags, { kind: 'tunnel' });
    client.close();
    await ended(sidecar, tunnel.run_id);
});

test('several fields are one list; what is no tag is a 400 that says which it is, and the app is not called', async (t) => {
    const { app, call, sidecar } = await shared(t, { env: KEPT });
    const { id } = await call(RUN, { headers: ['x-run-tag', 'a=1,b=2', 'X-Run-Tag', 'c=3'] });
    assert.deepEqual((await ended(sidecar, id)).tags, { a: '1', b: '2', c: '3' });
    const called = app.requests.length;
    for (const [value, told] of [
        ['', /empty at tag 1/],
        ['a=1,,b=2', /empty at tag 2/],
        ['gold', /`gold`/],
        ['a b=1', /`a b=1`.*name/],
        ['a=', /`a=`.*value/],
        ['a="1"', /`a="1"`.*value/],
        [`a=${'x'.repeat(65)}`, /value is not 1 to 64/],
        ['a=1,a=2', /`a=2`.*once/],
        ['a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1', /`i=1` is the ninth/],
    ])
        for (const query of [{}, { async: 'true' }]) {
            const { detail } = assertProblem(await call(RUN, { query, headers: { 'x-run-tag': value } }), 400);
            assert.match(detail, /^X-Run-Tag /);
            assert.match(detail, told);
        }
    assert.equal(app.requests.length, called);
});

test('a rerun keeps the tags, and the same Idempotency-Key with others is the run that there is', async (t) => {
    const { call, sidecar } = await shared(t, { env: KEPT });
    const query = { async: 'true' };
    const key = { 'idempotency-key': 'k' };
    const { id } = await call(RUN, { query, body: '{}', headers: { ...tagged, ...key } });
    const again = await call(RUN, { query, body: '{}', headers: { 'x-run-tag': 'tier=silver', ...key } });
    assert.equal(again.json().run_id, id);
    assert.deepEqual((await ended(sidecar, id)).tags, TAGS);
    const { run_id: rerun } = (await control(sidecar)('POST', `${RUNS}/${id}/rerun`)).json();
    assert.deepEqual((await ended(sidecar, rerun)).tags, TAGS);
});

test('runs are found by tags and names of tags, synchronous ones too', async (t) => {
    const { call, sidecar } = await stage(t);
    const ask = control(sidecar);
    const begin = async (tags, query = {}, path = RUN) => (await call(path, { query, headers: { 'x-run-tag': tags } })).id;
    const a = await begin('tier=gold,order=1', { async: 'true' });
    const b = await begin('tier=gold,order=2');
    const c = await begin('tier=silver,order=1', { async: 'true' });
    await call(RUN, { query: { async: 'true' } });
    const d = await begin('tier=gold', {}, '/v4/p/other/run');
    for (const id of [a, c]) await ended(sidecar, id);
    for (const [query, ids] of [
        ['tag=tier=gold', [b, a]],
        ['tag=tier%3Dgold', [b, a]],
        ['tag=tier', [c, b, a]],
        ['tag=tier=gold&tag=order=1', [a]],
        ['tag=order&tag=tier=silver', [c]],
        ['tag=tier=gold&async=false', [b]],
        ['tag=tier=gold&state=success', [b, a]],
        ['tag=tier=gold&state=running', []],
        ['tag=tier=gold&path=nowhere', []],
        ['tag=tier=gol', []],
        ['tag=gold', []],
    ])
        assert.deepEqual((await list(sidecar, query)).map((run) => run.run_id), ids, query);
    const whole = (await ask('GET', '/v2/projects/p/runs?tag=tier=gold')).json();
    assert.deepEqual(whole.runs.map((run) => run.run_id), [d, b, a]);
    for (const query of ['tag=', 'tag==x', 'tag=a=', 'tag=a,b', `tag=${'x'.repeat(65)}`, 'tag=a&'.repeat(9)])
        assertRefused(await ask('GET', `${RUNS}?${query}`), 400, /parameter tag/);
});
