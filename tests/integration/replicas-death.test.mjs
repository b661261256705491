// A replica that is killed, stands still or cannot be heard: the others take over what it had, and it takes nothing back.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { link } from './lib/link.mjs';
import { postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const TAKEN_OVER = /^store: took over the work of replicas that are gone/;
const COUNTED_AS_DEAD = /^store: this replica was considered dead/;
const ONE = { HOOKLINE_ASYNC_CONCURRENCY: '1' };

const outcomes = ({ attempts }) => attempts.map(({ outcome }) => outcome);

/** Reports of a run that came to the receiver. */
const reports = ({ receiver }, path) => receiver.deliveries(path).map(({ bytes }) => JSON.parse(bytes));

test('of a killed replica runs end as interrupted, webhooks go on elsewhere, queued runs are run', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a', { env: ONE });
    const slow = gate();
    const half = all.receiver.script('/half', (x) => Promise.race([slow.promise, x.gone]), 200);
    const reported = await a.begin({ hook: half });
    await all.receiver.delivered('/half');
    const inside = await a.begin({ isHeld: true, hook: all.receiver.url('/inside') });
    await a.called(inside);
    const queued = [await a.begin(), await a.begin({ hook: all.receiver.url('/queued') })];
    await a.sidecar.kill();

    const b = await all.add('b');
    for (const id of queued) assert.equal((await b.finished(id)).state, 'success');
    await all.receiver.delivered('/queued');
    const { state, reason, attempts } = await b.finished(inside);
    assert.deepEqual([state, reason, attempts], ['failure', 'interrupted', 1]);
    const envelope = await all.receiver.envelope('/inside');
    assert.deepEqual([envelope.type, envelope.reason, envelope.response], ['run.failure', 'interrupted', null]);
    const delivery = await b.settled(reported);
    assert.deepEqual([delivery.state, outcomes(delivery)], ['delivered', ['unknown', 'delivered']]);
    for (const id of [reported, inside, ...queued]) assert.equal(all.calls(id), 1);
    assert.equal((await b.logged(TAKEN_OVER)).interrupted_runs, 1);
});

test('what a replica could not finish when it stopped is taken over before its time is past', async (t) => {
    const env = { HOOKLINE_REPLICA_TTL: '30s', HOOKLINE_DRAIN_TIMEOUT: '200ms' };
    const all = await fleet(t, { env });
    const [a, b] = [await all.add('a', { env: ONE }), await all.add('b', { hasApp: false })];
    const inside = await a.begin({ isHeld: true, hook: all.receiver.url() });
    await a.called(inside);
    await a.sidecar.stop();
    const run = await b.finished(inside);
    assert.deepEqual([run.state, run.reason], ['failure', 'interrupted']);
    await all.receiver.envelope();

    const c = await all.add('c');
    const last = await c.begin({ isHeld: true });
    await c.called(last);
    await Promise.all([b, c].map(({ sidecar }) => sidecar.stop()));
    const d = await all.add('d');
    assert.equal((await d.finished(last)).reason, 'interrupted');
});

test('with two attempts a killed replica’s run is run again elsewhere, and a third time by nobody', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_RUN_ATTEMPTS: '2' } });
    const a = await all.add('a');
    const id = await a.begin({ isHeld: true, hook: all.receiver.url() });
    await a.called(id);
    const [b, c] = [await all.add('b', { env: ONE }), await all.add('c')];
    await a.sidecar.kill();
    const second = await until('it is run again', () => [b, c].find(({ app }) => app.callsById().has(id)));
    assert.equal(second.app.requests[0].get('x-run-attempt'), '2');
    await second.sidecar.kill();
    const last = second === b ? c : b;
    const { reason, attempts } = await last.finished(id);
    assert.deepEqual([reason, attempts, all.calls(id)], ['interrupted', 2, 2]);
    assert.equal((await all.receiver.envelope()).reason, 'interrupted');
});

test('a delivery whose replica is killed at each attempt is dead after the last', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '2' } });
    const last = await all.add('last', { env: { HOOKLINE_WEBHOOK_CONCURRENCY: '1' } });
    const slow = gate();
    const never = (x) => Promise.race([slow.promise, x.gone]);
    all.receiver.script('/never', never);
    // Its only place is taken: it sends nothing else.
    await last.begin({ hook: all.receiver.url('/never') });
    await all.receiver.delivered('/never');
    const hook = all.receiver.script('/hook', never);
    const a = await all.add('a');
    const id = await a.begin({ hook });
    await all.receiver.delivered('/hook', 1);
    const b = await all.add('b');
    await a.sidecar.kill();
    await all.receiver.delivered('/hook', 2);
    await b.sidecar.kill();
    const delivery = await last.settled(id);
    assert.deepEqual([delivery.state, outcomes(delivery)], ['dead', ['unknown', 'unknown']]);
    assert.equal(all.receiver.deliveries('/hook').length, 2);
});

test('a replica that stood still for too long says so, changes nothing of what it had and takes new work', async (t) => {
    const doors = [gate(), gate(), gate()];
    const all = await fleet(t, {
        app: async (x) => {
            await x.body();
            await doors[x.get('x-door')].promise;
            await x.send(200);
        },
    });
    const a = await all.add('a', { env: { HOOKLINE_ASYNC_CONCURRENCY: '2' } });
    const hook = all.receiver.url();
    const begin = (door) => a.begin({ hook, headers: { 'x-door': door } });
    const old = [await begin('0'), await begin('1')];
    for (const id of old) await a.called(id);
    const b = await all.add('b');
    a.freeze();
    for (const id of old) assert.equal((await b.finished(id)).reason, 'interrupted');
    doors[0].open(); // it finds the answer when it wakes, before it can know
    a.wake();
    await a.logged(COUNTED_AS_DEAD);
    doors[1].open();
    await until('its calls have ended', async () => (await a.sidecar.metric('hookline_runs_in_flight')) === 0);
    await b.sidecar.stop();
    doors[2].open();
    const id = await begin('2');
    assert.equal((await a.finished(id)).state, 'success');
    await a.settled(id);
    for (const one of old) assert.equal((await a.show(one)).reason, 'interrupted');
    assert.deepEqual(
        reports(all).map(({ run_id, status }) => [run_id, status]).sort(),
        [...old.map((one) => [one, 'failure']), [id, 'success']].sort(),
    );
});

test('a webhook that a replica was sending when it stood still is sent again by another, and once', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const slow = gate();
    const hook = all.receiver.script('/hook', async (x) => {
        await slow.promise;
        await x.send(404);
    }, 200);
    const id = await a.begin({ hook });
    await all.receiver.delivered();
    const b = await all.add('b');
    a.freeze();
    const delivery = await b.settled(id);
    slow.open();
    a.wake();
    await a.logged(COUNTED_AS_DEAD);
    assert.deepEqual([delivery.state, outcomes(delivery)], ['delivered', ['unknown', 'delivered']]);
    await a.settled(await a.begin({ hook: all.receiver.url('/other') }));
    assert.deepEqual(await b.settled(id), delivery);
    assert.equal(all.receiver.deliveries().length, 2);
});

test('a synchronous call of a replica that does not know yet that it counts as dead has its webhook', async (t) => {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const all = await fleet(t, { database });
    const a = await all.add('a', { url: cable.url });
    const b = await all.add('b');
    a.freeze();
    await b.logged(TAKEN_OVER);
    cable.delay(300);
    a.wake();
    const answers = await Promise.all(
        Array.from({ length: 5 }, (_, i) => a.call(RUN, { query: { webhookEndpoint: all.receiver.url(`/${i}`) } })),
    );
    for (const [i, { status, id }] of answers.entries()) {
        assert.equal(status, 200);
        assert.equal((await all.receiver.envelope(`/${i}`)).run_id, id);
    }
    await a.logged(COUNTED_AS_DEAD);
});
