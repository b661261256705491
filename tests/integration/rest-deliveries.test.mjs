// Deliveries of a project: the list, one with each attempt, and sending again.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { assertRefused, control, pages } from './lib/rest.mjs';
import { postgres } from './lib/postgres.mjs';
import { Receiver } from './lib/receiver.mjs';
import { RUN, shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const DELIVERIES = '/v2/projects/p/deliveries';
const NIL = '00000000-0000-0000-0000-000000000000';

/** Calls of `app` with a webhook to `url`; waits until it is delivered or dead, and answers the delivery. */
async function deliver({ call, ask, url, app = 'a' }) {
    const { id } = await call(`/v4/p/${app}/run`, { query: { async: 'true', webhookEndpoint: url } });
    return settled(ask, id, 1);
}

function settled(ask, runId, round) {
    return until(`round ${round} of ${runId} is over`, async () => {
        const answer = await ask('GET', `${DELIVERIES}?run_id=${runId}`);
        const [delivery] = answer.json().deliveries;
        return delivery?.state !== 'pending' && delivery?.round === round && delivery;
    });
}

test('the list filters by state, app, run and time, newest first', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/dead', 500);
    const good = await deliver({ call, ask, url: receiver.url('/good') });
    const dead = await deliver({ call, ask, url: receiver.url('/dead') });
    const other = await deliver({ call, ask, url: receiver.url('/good'), app: 'b' });
    const ids = async (query) =>
        (await pages(ask, DELIVERIES, 'deliveries', { ...query, limit: '2' }))
            .flat()
            .map((delivery) => delivery.delivery_id);
    assert.deepEqual(await ids({}), [other, dead, good].map((d) => d.delivery_id));
    assert.deepEqual(await ids({ state: 'dead' }), [dead.delivery_id]);
    assert.deepEqual(await ids({ state: 'delivered' }), [other, good].map((d) => d.delivery_id));
    assert.deepEqual(await ids({ state: 'pending' }), []);
    assert.deepEqual(await ids({ app: 'b' }), [other.delivery_id]);
    assert.deepEqual(await ids({ run_id: good.run_id }), [good.delivery_id]);
    assert.deepEqual(await ids({ since: other.created_at }), [other.delivery_id]);
    assert.deepEqual(await ids({ until: dead.created_at }), [good.delivery_id]);
    assertRefused(await ask('GET', `${DELIVERIES}?state=lost`), 400, /pending, delivered or dead/);
    assertRefused(await ask('GET', `${DELIVERIES}?run_id=x`), 400, /run_id/);
});

test('one delivery has its attempts with time, outcome, status, duration and error', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    receiver.script('/hook', 404, 500);
    const { delivery_id } = await deliver({ call, ask, url: receiver.url('/hook') });
    const delivery = (await ask('GET', `${DELIVERIES}/${delivery_id}`)).json();
    assert.deepEqual(
        delivery.attempts.map((a) => [a.n, a.outcome, a.status_code]),
        [
            [1, 'retry', 404],
            [2, 'failed', 500],
        ],
    );
    assert.equal(delivery.attempt_count, 2);
    for (const a of delivery.attempts) {
        assert.ok(Date.parse(a.ended_at) >= Date.parse(a.started_at));
        assert.equal(a.duration_ms, Date.parse(a.ended_at) - Date.parse(a.started_at));
    }
    const unreachable = await deliver({ call, ask, url: 'http://127.0.0.1:1/' });
    assert.equal(unreachable.state, 'dead');
    assert.equal(unreachable.attempts.length, 3);
    assert.match(unreachable.attempts[0].error, /connect/);
    assert.equal(unreachable.attempts[0].status_code, null);
});

test('a dead delivery is sent again in a new round, its history kept', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    receiver.script('/hook', 500, 200);
    const dead = await deliver({ call, ask, url: receiver.url('/hook') });
    assert.equal(dead.state, 'dead');
    const answer = await ask('POST', `${DELIVERIES}/${dead.delivery_id}/redeliver`);
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(answer.json(), { delivery_id: dead.delivery_id, state: 'pending' });
    const again = await settled(ask, dead.run_id, 2);
    assert.equal(again.state, 'delivered');
    assert.equal(again.delivery_id, dead.delivery_id);
    assert.deepEqual(
        again.attempts.map((a) => [a.round, a.n, a.outcome]),
        [
            [1, 1, 'failed'],
            [2, 1, 'delivered'],
        ],
    );
    const [first, second] = receiver.deliveries('/hook');
    assert.equal(second.get('webhook-id'), first.get('webhook-id'));
    assert.ok(second.bytes.equals(first.bytes));
});

/** The time in an id, by which lists go, in ms. */
const timeOf = (id) => parseInt(id.replace('-', '').slice(0, 12), 16);

test('a pending delivery is not sent again', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/hook', (x) => x.gone);
    const query = { async: 'true', webhookEndpoint: receiver.url('/hook') };
    const { id } = await call('/v4/p/a/run', { query });
    const delivery = await until('it is there', async () => {
        const { deliveries } = (await ask('GET', `${DELIVERIES}?run_id=${id}`)).json();
        return deliveries[0]?.attempts[0]?.outcome === 'sending' && deliveries[0];
    });
    assertRefused(await ask('POST', `${DELIVERIES}/${delivery.delivery_id}/redeliver`), 409, /pending/);
});

test('all dead ones since a time are sent again', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/hook', 500, 500, 500, 200);
    const runs = [];
    for (let i = 0; i < 3; i++) runs.push(await deliver({ call, ask, url: receiver.url('/hook') }));
    const redeliver = (body) => ask('POST', `${DELIVERIES}/redeliver`, { body });
    const elsewhere = await ask('POST', '/v2/projects/q/deliveries/redeliver', {
        body: { state: 'dead', since: 0 },
    });
    assert.deepEqual(elsewhere.json(), { redelivered: 0 });
    const since = timeOf(runs[1].delivery_id);
    const listed = (await ask('GET', `${DELIVERIES}?state=dead&since=${since}`)).json();
    assert.equal(listed.deliveries.length, 2, 'what a list from then on shows');
    const answer = await redeliver({ state: 'dead', since });
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(answer.json(), { redelivered: 2 });
    for (const { run_id } of runs.slice(1))
        assert.equal((await settled(ask, run_id, 2)).state, 'delivered');
    assert.equal((await settled(ask, runs[0].run_id, 1)).state, 'dead');
    assert.deepEqual((await redeliver({ state: 'delivered', since: 0 })).json(), { redelivered: 2 });
    for (const [body, pattern] of [
        ['', /not a JSON object/],
        ['[]', /not a JSON object/],
        ['{"state":"dead","state":"dead","since":0}', /unique members/],
        [{ state: 'dead' }, /these two members/],
        [{ state: 'pending', since: 0 }, /member state/],
        [{ state: 'dead', since: 'now' }, /member since/],
        [{ state: 'dead', since: -1 }, /member since/],
        [{ state: 'dead', since: 1_700_000_000 }, /member since .*milliseconds/],
        [{ state: 'dead', since: 0, all: true }, /these two members/],
        [{ state: 'dead', since: 0, cursor: '0' }, /member cursor/],
        [{ state: 'dead', since: 0, cursor: `-1.${NIL}` }, /member cursor/],
        [{ state: 'dead', since: 0, cursor: `0.${NIL}\0` }, /member cursor/],
        [{ delivery_ids: [] }, /member delivery_ids/],
        [{ delivery_ids: NIL }, /member delivery_ids/],
        [{ delivery_ids: [runs[0].delivery_id, NIL] }, /member delivery_ids/],
        [{ delivery_ids: [`${runs[0].delivery_id} `] }, /member delivery_ids/],
        [{ delivery_ids: Array(1001).fill(runs[0].delivery_id) }, /member delivery_ids/],
        [{ delivery_ids: [runs[0].delivery_id], since: 0 }, /these two members/],
    ])
        assertRefused(await redeliver(body), 400, pattern);
});

for (const [store, start] of [
    ['sqlite', async () => ({})],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`many dead ones are sent again in pieces, which leave room for new webhooks (${store})`, async (t) => {
        const env = { ...(await start(t)), HOOKLINE_MAX_PENDING_DELIVERIES: '8', HOOKLINE_WEBHOOK_CONCURRENCY: '8' };
        const { call, receiver, sidecar } = await stage(t, { env });
        const ask = control(sidecar);
        receiver.script('/dead', 400);
        const runs = [];
        for (let i = 0; i < 6; i++) runs.push(await deliver({ call, ask, url: receiver.url('/dead') }));
        const held = gate();
        receiver.script('/dead', async (x) => {
            await held.promise;
            await x.send(200);
        });
        const redeliver = (cursor) =>
            ask('POST', `${DELIVERIES}/redeliver`, { body: { state: 'dead', since: 0, ...(cursor && { cursor }) } });
        const first = (await redeliver()).json();
        assert.deepEqual({ ...first, cursor: '' }, { redelivered: 4, has_more: true, cursor: '' });
        const other = await Receiver.start(t);
        assert.equal((await call(RUN, { query: { webhookEndpoint: other.url() } })).status, 200);
        await other.envelope();
        const refused = await redeliver(first.cursor);
        assertRefused(refused, 429, /other half/);
        assert.ok(Number(refused.headers['retry-after']) > 0);
        held.open();
        const rest = [];
        await until('there is room for all', async () => {
            const answer = await redeliver(rest.at(-1)?.cursor ?? first.cursor);
            if (answer.status === 202) rest.push(answer.json());
            return rest.length > 0 && !rest.at(-1).has_more;
        });
        assert.equal(rest.reduce((sum, { redelivered }) => sum + redelivered, 0), 2);
        assert.deepEqual(Object.keys(rest.at(-1)), ['redelivered']);
        for (const { run_id } of runs) assert.notEqual((await settled(ask, run_id, 2)).state, 'pending');
    });

for (const [store, start] of [
    ['sqlite', async () => ({})],
    ['memory', async () => ({ HOOKLINE_STORE: 'memory' })],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`those that are named are sent again, refused, or left for want of room (${store})`, async (t) => {
        const env = { ...(await start(t)), HOOKLINE_MAX_PENDING_DELIVERIES: '8', HOOKLINE_WEBHOOK_CONCURRENCY: '8' };
        const { call, receiver, sidecar } = await stage(t, { env });
        const ask = control(sidecar);
        receiver.script('/dead', 400);
        const dead = [];
        for (let i = 0; i < 6; i++) dead.push((await deliver({ call, ask, url: receiver.url('/dead') })).delivery_id);
        const held = gate();
        receiver.script('/dead', async (x) => {
            await held.promise;
            await x.send(200);
        });
        const redeliver = (...ids) => ask('POST', `${DELIVERIES}/redeliver`, { body: { delivery_ids: ids } });
        const unknown = NIL.replace(/0$/, '1');
        const elsewhere = await ask('POST', '/v2/projects/q/deliveries/redeliver', { body: { delivery_ids: [dead[0]] } });
        assert.deepEqual(elsewhere.json(), { redelivered: 0, refused: [{ delivery_id: dead[0], reason: 'not_found' }], left: [] });
        const first = await redeliver(dead[0], dead[0], unknown, dead[1]);
        assert.equal(first.status, 202, first.text);
        assert.deepEqual(first.json(), {
            redelivered: 2,
            refused: [{ delivery_id: dead[0], reason: 'pending' }, { delivery_id: unknown, reason: 'not_found' }],
            left: [],
        });
        const second = (await redeliver(...dead.slice(2), dead[0])).json();
        assert.equal(second.redelivered, 2, 'half is for new ones');
        assert.deepEqual(second.left.slice(0, 2), dead.slice(4));
        const other = await Receiver.start(t);
        assert.equal((await call(RUN, { query: { webhookEndpoint: other.url() } })).status, 200);
        const refused = await redeliver(...dead.slice(4));
        assertRefused(refused, 429, /other half/);
        assert.ok(Number(refused.headers['retry-after']) > 0);
        held.open();
        let left = dead.slice(4);
        await until('there is room for all', async () => {
            const answer = await redeliver(...left);
            if (answer.status === 202) left = answer.json().left;
            return left.length === 0;
        });
    });

test('deliveries are found by destination and by the last status, and counted', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/bad', 400);
    receiver.script('/worse', 500, 500, 500);
    await deliver({ call, ask, url: receiver.url('/bad') });
    await deliver({ call, ask, url: receiver.url('/worse') });
    const good = await deliver({ call, ask, url: receiver.url('/good') });
    const nobody = await deliver({ call, ask, url: 'http://127.0.0.1:1/' });
    const here = encodeURIComponent(receiver.url('/any'));
    for (const [query, n] of [
        ['', 4],
        [`destination=${here}`, 3],
        [`destination=${here}&state=dead`, 2],
        [`destination=${here}&status=5xx`, 1],
        ['status=none', 1],
        ['status=400', 1],
        ['status=4xx&state=delivered', 0],
        [`status=200&since=${timeOf(good.delivery_id)}`, 1],
        [`until=${timeOf(nobody.delivery_id)}`, 3],
        ['destination=http://127.0.0.1:1', 1],
    ]) {
        const list = (await ask('GET', `${DELIVERIES}?${query}`)).json();
        assert.equal(list.deliveries.length, n, query);
        assert.equal(list.searched_to, null, 'to the end');
        assert.deepEqual((await ask('GET', `${DELIVERIES}/count?${query}`)).json(), { count: n, has_more: false }, query);
    }
    for (const [query, pattern] of [
        ['destination=example.com', /destination must be a destination \(https:/],
        ['status=9', /status must be a status \(404\), a class \(5xx\) or none/],
        ['path=/x', /no query parameter "path"/],
    ])
        assertRefused(await ask('GET', `${DELIVERIES}?${query}`), 400, pattern);
    assertRefused(await ask('GET', `${DELIVERIES}/count?limit=1`), 400, /no query parameter "limit"/);
});

test('a delivery of another project is 404', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    const { delivery_id } = await deliver({ call, ask, url: receiver.url() });
    const path = `/v2/projects/q/deliveries/${delivery_id}`;
    assertRefused(await ask('GET', path), 404);
    assertRefused(await ask('POST', `${path}/redeliver`), 404);
    assertRefused(await ask('POST', `${DELIVERIES}/${NIL}/redeliver`), 404);
    assert.deepEqual((await ask('GET', '/v2/projects/q/deliveries')).json().deliveries, []);
    assert.equal((await ask('GET', `/v2/deliveries/${delivery_id}`)).status, 200);
});
