// Webhooks of several replicas: retries that wait long, whoever is killed meanwhile; destinations that fail, or have too much.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { DELIVERIES, fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const outcomes = ({ attempts }) => attempts.map(({ outcome }) => outcome);
const LONG = { HOOKLINE_WEBHOOK_SCHEDULE: '12s,1s', HOOKLINE_WEBHOOK_RETRY_ON: 'network,5xx' };

/** Until a retry waits in the database and no replica has it; when it is due. */
const waits = (all) =>
    until('a retry waits', async () => {
        const [row] = await all.rows('SELECT due_at FROM ~.delivery_ticket WHERE is_waiting AND node_id IS NULL');
        return row && new Date(row.due_at).getTime();
    });

test('a retry that waits when its replica is killed is sent by another, not early, and once', async (t) => {
    const all = await fleet(t, { env: LONG });
    const hook = all.receiver.script('/hook', 503, 503, 200);
    const a = await all.add('a');
    const id = await a.begin({ hook });
    const due = await waits(all);
    const b = await all.add('b');
    const { deliveries } = (await b.ask('GET', `${DELIVERIES}?run_id=${id}`)).json();
    assert.equal(deliveries[0].state, 'pending');
    await a.sidecar.kill();
    await all.receiver.delivered('/hook', 2);
    assert.ok(Date.now() >= due - 1, 'it was due');
    const delivery = await b.settled(id);
    assert.deepEqual([delivery.state, outcomes(delivery)], ['delivered', ['retry', 'retry', 'delivered']]);
    assert.equal(all.receiver.deliveries('/hook').length, 3);
});

test('retries that wait are sent once, by one of the replicas that live', async (t) => {
    const all = await fleet(t, { env: { ...LONG, HOOKLINE_WEBHOOK_SCHEDULE: '6s' } });
    const replicas = [await all.add('a'), await all.add('b')];
    const ids = [];
    for (let i = 0; i < 20; i++) {
        const hook = all.receiver.script(`/${i}`, 503, 200);
        ids.push(await replicas[i % 2].begin({ hook }));
    }
    for (const id of ids) {
        const delivery = await replicas[0].settled(id);
        assert.deepEqual([delivery.state, outcomes(delivery)], ['delivered', ['retry', 'delivered']]);
    }
    for (let i = 0; i < 20; i++) assert.equal(all.receiver.deliveries(`/${i}`).length, 2);
});

test('a destination that fails is seen by all replicas, until it answers one of them', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1', HOOKLINE_WEBHOOK_TIMEOUT: '1s' } });
    const [a, b] = [await all.add('a'), await all.add('b')];
    let hangs = true;
    const hook = all.receiver.script('/hook', ...Array(60).fill((x) => (hangs ? x.gone : x.send(200))));
    const listed = async (replica) => {
        const { destinations } = (await replica.ask('GET', '/v2/projects/p/destinations')).json();
        return destinations[0];
    };
    const ids = await Promise.all(Array.from({ length: 40 }, () => a.begin({ hook })));
    await until('it is failing, for both', async () => {
        const seen = await Promise.all([a, b].map(listed));
        return seen.every((one) => one?.failing_since) && seen[0].failing_since === seen[1].failing_since;
    });
    for (const id of ids) await a.settled(id); // one of them that ended later would count against it again
    hangs = false;
    await until('it answers one in time', async () => (await b.settled(await b.begin({ hook }))).state === 'delivered');
    for (const replica of [a, b]) assert.equal((await listed(replica)).failing_since, null);
});

test('a destination has half of what may be pending, of all replicas together, and calls to it alone are refused', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_MAX_PENDING_DELIVERIES: '8' } });
    const [a, b] = [await all.add('a', { env: { HOOKLINE_ASYNC_CONCURRENCY: '8' } }), await all.add('b')];
    const full = all.receiver.url('/full');
    for (let i = 0; i < 4; i++) await a.begin({ hook: full, isHeld: true });
    const refused = (query) =>
        until('a call is refused', async () => (await b.call(RUN, { query })).status === 429);
    await refused({ webhookEndpoint: full });
    await refused({ webhookEndpoint: full, async: 'true' });
    await b.settled(await b.begin({ hook: 'http://127.0.0.2:9/other' }));
    all.held.open();
    await until('it is taken again', async () => (await b.call(RUN, { query: { webhookEndpoint: full } })).status === 200);
});
