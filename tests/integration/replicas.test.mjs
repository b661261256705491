// Several replicas on one PostgreSQL: each takes any call, claims what anybody accepted and answers for all of it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { shiftedClock } from './lib/clock.mjs';
import { DELIVERIES, RUNS, fleet } from './lib/replicas.mjs';
import { assertRefused } from './lib/rest.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { RUN } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const FULL_HOUSE = fileURLToPath(new URL('apps/full_house.py', import.meta.url));
const ONE = { HOOKLINE_ASYNC_CONCURRENCY: '1' };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Two replicas whose only places are taken, by runs that are held. */
async function busy(t) {
    const all = await fleet(t, { env: ONE });
    const a = await all.add('a');
    await a.called(await a.begin({ isHeld: true }));
    const b = await all.add('b');
    await b.called(await a.begin({ isHeld: true }));
    return { all, a, b };
}

test('a run is run by the replica that has room, and both show it, its result and its webhook', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a', { env: ONE });
    await a.called(await a.begin({ isHeld: true }));
    const b = await all.add('b');
    const id = await a.begin({ hook: all.receiver.url() });
    const run = await b.finished(id);
    assert.equal(run.state, 'success');
    assert.deepEqual(b.app.requests.map((request) => request.id), [id]);
    const envelope = await all.receiver.envelope();
    assert.deepEqual([envelope.run_id, envelope.response], [id, { by: 'b' }]);
    const delivery = await a.settled(id);
    assert.deepEqual([delivery.state, delivery.attempt_count], ['delivered', 1]);
    for (const path of [
        RUNS,
        `${RUNS}/${id}`,
        `${RUNS}/${id}/result`,
        DELIVERIES,
        `${DELIVERIES}/${delivery.delivery_id}`,
    ]) {
        const [ofA, ofB] = [await a.ask('GET', path), await b.ask('GET', path)];
        const goesOn = /("state":"running"[^}]*"run_ms":)\d+/g; // the held one, by a clock that does, too
        assert.equal(ofA.status, 200);
        assert.equal(ofA.text.replace(goesOn, '$1'), ofB.text.replace(goesOn, '$1'), path);
    }
    assert.equal(all.receiver.requests.length, 1);
});

test('runs that wait are spread over the replicas, and each is run once', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '3' } });
    const [a, b] = [await all.add('a'), await all.add('b')];
    const ids = await Promise.all(Array.from({ length: 20 }, () => a.begin({ isHeld: true })));
    await until('both apps are full', () => [a, b].every(({ app }) => app.requests.length === 3));
    assert.equal(await all.count('~.ticket WHERE node_id IS NOT NULL'), 6);
    all.held.open();
    for (const id of ids) {
        assert.equal((await b.finished(id)).state, 'success');
        assert.equal(all.calls(id), 1);
    }
});

test('a queued run is cancelled on the other replica and never starts', async (t) => {
    const { all, a, b } = await busy(t);
    const id = await a.begin({ hook: all.receiver.url() });
    const answer = await b.ask('POST', `${RUNS}/${id}/cancel`);
    assert.equal(answer.status, 202, answer.text);
    assert.equal((await a.finished(id)).state, 'cancelled');
    assert.equal((await all.receiver.envelope()).type, 'run.cancelled');
    assertRefused(await a.ask('POST', `${RUNS}/${id}/cancel`), 409);
    const last = await a.begin();
    all.held.open();
    await b.finished(last);
    assert.equal(all.calls(id), 0);
});

test('a dead letter is sent again by a wish on the other replica', async (t) => {
    const all = await fleet(t);
    const [a, b] = [await all.add('a'), await all.add('b')];
    const id = await a.begin({ hook: all.receiver.script('/hook', 500, 200) });
    const { delivery_id, state } = await b.settled(id);
    assert.equal(state, 'dead');
    const answer = await b.ask('POST', `${DELIVERIES}/${delivery_id}/redeliver`);
    assert.equal(answer.status, 202, answer.text);
    const again = await a.settled(id, 2);
    assert.deepEqual([again.delivery_id, again.state], [delivery_id, 'delivered']);
    assert.equal(all.receiver.deliveries().length, 2);
});

test('one Idempotency-Key on two replicas at once is one run', async (t) => {
    const all = await fleet(t);
    const [a, b] = [await all.add('a'), await all.add('b')];
    const headers = { 'idempotency-key': 'same' };
    const both = Array.from({ length: 40 }, (_, i) => (i % 2 ? a : b));
    const ids = await Promise.all(both.map((replica) => replica.begin({ headers, body: '{}' })));
    assert.equal(new Set(ids).size, 1);
    await a.finished(ids[0]);
    assert.equal(await all.count('~.run'), 1);
    assert.equal(all.calls(ids[0]), 1);
});

test('of two requests with one Idempotency-Key on two replicas at once one is refused', async (t) => {
    const all = await fleet(t);
    const [a, b] = [await all.add('a'), await all.add('b')];
    for (let round = 0; round < 10; round++) {
        const ask = ({ name, call }) =>
            call(RUN, { query: { async: 'true' }, headers: { 'idempotency-key': `${round}` }, body: name });
        const answers = await Promise.all([a, b, a, b].map(ask));
        const accepted = answers.filter(({ status }) => status === 202);
        assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 202, 422, 422]);
        assert.equal(new Set(accepted.map(({ id }) => id)).size, 1);
    }
    assert.equal(await all.count('~.run'), 10);
});

test('an orderly stop gives back at once what was claimed and not begun, and leaves no replica behind', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a', {
        hasApp: false,
        env: {
            HOOKLINE_APP_URL: `unix:${join(await temporaryDirectory(t), 'app.sock')}`,
            HOOKLINE_APP_COMMAND: JSON.stringify(['/usr/bin/python3', FULL_HOUSE]),
        },
        wait: 'readyz',
    });
    a.call('/v4/p/a/hold').catch(() => {}); // while one is inside, an app that is not reached may just be busy
    await a.sidecar.logged((line) => line.msg === 'app' && line.line === 'full');
    const ids = await Promise.all([a.begin(), a.begin(), a.begin()]);
    await until('they are claimed', () => all.count('~.ticket WHERE node_id IS NOT NULL').then((n) => n === 3));
    const b = await all.add('b');
    await a.sidecar.stop();
    assert.deepEqual(await all.rows('SELECT name FROM ~.node'), [{ name: 'b' }]);
    for (const id of ids) {
        const { state, attempts } = await b.finished(id);
        assert.deepEqual([state, attempts], ['success', 1]);
        assert.equal(all.calls(id), 1);
    }
});

test('an orderly stop that takes a while does not come back as a replica', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const client = await all.database.connect(t);
    await client.query('BEGIN');
    await client.query(`SELECT * FROM ${all.database.schema}.node FOR UPDATE`);
    const stopped = a.sidecar.stop();
    // Not asked by the client: a transaction sees what others do as it was when it looked first.
    const waits = `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%node%'`;
    await until('it waits', async () => (await all.count(waits)) > 0);
    await sleep(600); // a beat is due by now
    await client.query('ROLLBACK');
    await stopped;
    assert.deepEqual(await all.rows('SELECT name FROM ~.node'), []);
    assert.equal(a.sidecar.stderr.includes('considered dead'), false);
});

test('an orderly stop leaves the webhook that it was sending to the others', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const slow = gate();
    const hook = all.receiver.script('/hook', (x) => Promise.race([slow.promise, x.gone]), 200);
    const id = await a.begin({ hook });
    await all.receiver.delivered();
    const b = await all.add('b');
    await a.sidecar.stop();
    assert.deepEqual(await all.rows('SELECT name FROM ~.node'), [{ name: 'b' }]);
    const { state, attempts } = await b.settled(id);
    assert.equal(state, 'delivered');
    assert.deepEqual(attempts.map(({ outcome }) => outcome), ['abandoned', 'delivered']);
});

test('a replica whose clock is a day ahead or behind goes by the clock of the database, but for its log', async (t) => {
    const all = await fleet(t);
    const b = await all.add('b');
    for (const shift of [DAY, -DAY]) {
        const clock = await shiftedClock(t);
        await clock.set(shift);
        const a = await all.add(`a${shift}`, { env: clock.env });
        const began = Date.now() - 5_000;
        const id = await a.begin({ hook: all.receiver.url() });
        const run = await b.finished(id);
        const delivery = await b.settled(id);
        const [attempt] = delivery.attempts;
        const times = [run.created_at, run.started_at, run.finished_at, delivery.created_at, attempt.started_at];
        for (const time of [...times, attempt.ended_at]) {
            assert.ok(Date.parse(time) > began && Date.parse(time) < Date.now() + 5_000, JSON.stringify(times));
        }
        assert.equal(parseInt(id.replace('-', '').slice(0, 12), 16), Date.parse(run.created_at));
        for (const { time } of a.sidecar.log) assert.ok(Math.abs(Date.parse(time) - shift - Date.now()) < HOUR, time);
        await a.logged(/^store: the clock of this machine or of the database is wrong/);
        const offset = await a.sidecar.metric('hookline_clock_offset_seconds');
        assert.ok(Math.abs(offset * 1000 + shift) < 5_000, `${offset} s`);
        await a.sidecar.stop();
    }
    assert.ok(Math.abs(await b.sidecar.metric('hookline_clock_offset_seconds')) < 5);
    assert.ok(!b.sidecar.log.some(({ msg }) => /clock/.test(msg)));
});

test('replicas with a limit on their apps take all that they have room for', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_APP_CONCURRENCY: '4' } });
    const replicas = [await all.add('a'), await all.add('b'), await all.add('c')];
    for (let round = 0; round < 4; round++) {
        const ids = [];
        for (let i = 0; i < 12; i++) ids.push(await replicas[i % 3].begin({ isHeld: true }));
        await until('all are inside', () => ids.every((id) => all.calls(id) === 1));
        all.held.open();
        for (const id of ids) assert.equal((await replicas[0].finished(id)).state, 'success');
        all.held = gate();
    }
});
