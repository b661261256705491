// Accepts whose commit was answered to nobody: refused with their run's id, and withdrawn when the replica is back, unless they have begun.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { link } from './lib/link.mjs';
import { postgres } from './lib/postgres.mjs';
import { RUNS, fleet } from './lib/replicas.mjs';
import { RUN, assertProblem } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const LONG = 'x'.repeat(300 * 1024); // in rows of its own
const WAIT = 90_000; // an accept in doubt is refused after 30 s

/** Replicas a, c, d and e at the end of cables, and b: each has its one place taken, so that what is accepted stays queued. */
async function crowded(t) {
    const doors = { others: gate(), b: gate(), begun: gate() };
    const database = await postgres(t);
    const all = await fleet(t, {
        database,
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_REPLICA_TTL: '60s' },
        app: async (x) => {
            await x.body();
            await Promise.race([doors[x.get('x-door')]?.promise, x.gone]);
            await x.send(200);
        },
    });
    const inside = (n) => until(`${n} are inside`, async () => (await all.count('~.ticket WHERE node_id IS NOT NULL')) === n);
    const cables = {};
    for (const name of ['a', 'c', 'd', 'e']) {
        cables[name] = await link(t, database.url);
        all[name] = await all.add(name, { url: cables[name].url });
        await all[name].begin({ headers: { 'x-door': 'others' } });
    }
    await inside(4);
    all.b = await all.add('b');
    await all.b.begin({ headers: { 'x-door': 'b' } });
    await inside(5);
    all.cables = cables;
    return { all, doors };
}

/**
 * Accepts a run by a replica that does not hear of it: its id, and the answer to come. The server has it when the answers
 * stop: what else the replica asks at that moment (a beat, a look for work) does not stand in its way.
 */
async function acceptUnheard(t, all, name, { hook, ...options }) {
    const known = await all.count('~.run');
    const query = { async: 'true', webhookEndpoint: all.receiver.url(`/${hook}`) };
    const accepted = await all.whileHeld(t, () => all[name].call(RUN, { query, ...options }), () => all.cables[name].blackHole('answers'));
    await until('it is committed', async () => (await all.count('~.run')) > known);
    const [{ run_id: id }] = await all.rows('SELECT run_id FROM ~.run ORDER BY run_id DESC LIMIT 1');
    return { id, ...accepted };
}

function assertDoubt(answer, id) {
    const problem = assertProblem(answer, 503);
    assert.equal(problem.run_id, id);
    assert.match(problem.detail, /may have been accepted/);
    assert.equal(answer.headers['retry-after'], undefined);
}

test('an accept in doubt is refused and withdrawn, but for what has begun or was acknowledged', async (t) => {
    const { all, doors } = await crowded(t);
    const { b, d, e } = all;
    const begun = await acceptUnheard(t, all, 'c', { hook: 'begun', headers: { 'x-door': 'begun' } });
    const keyed = { 'idempotency-key': 'told' };
    const told = await acceptUnheard(t, all, 'e', { hook: 'told', headers: keyed });
    const free = { 'idempotency-key': 'free' };
    const withdrawn = await acceptUnheard(t, all, 'a', { hook: 'withdrawn', headers: free, body: LONG });
    const left = await acceptUnheard(t, all, 'd', { hook: 'left' });
    assert.equal(await all.count('~.body'), 1);

    doors.b.open();
    await b.called(begun.id);
    const again = { query: { async: 'true', webhookEndpoint: all.receiver.url('/told') }, headers: keyed };
    const repeated = await b.call(RUN, again);
    assert.equal(repeated.status, 202, repeated.text);
    assert.equal(repeated.json().run_id, told.id);

    for (const { id, answer } of [begun, told, withdrawn, left]) assertDoubt(await answer, id);
    await d.sidecar.kill();
    for (const cable of Object.values(all.cables)) await cable.heal();
    const gone = async () => (await b.ask('GET', `${RUNS}/${withdrawn.id}`)).status === 404;
    await until('it is withdrawn', gone, WAIT);
    assert.equal(await all.count('~.body'), 0);
    await e.logged(/whose acceptance was uncertain/);
    assert.equal((await b.show(begun.id)).state, 'running');
    for (const { id } of [told, left]) assert.equal((await b.show(id)).state, 'queued');
    const anew = await b.begin({ headers: free, body: LONG });
    assert.notEqual(anew, withdrawn.id);

    doors.begun.open();
    doors.others.open();
    for (const id of [begun.id, told.id, left.id, anew]) assert.equal((await b.finished(id)).state, 'success');
    for (const hook of ['begun', 'told', 'left']) await all.receiver.delivered(`/${hook}`);
    assert.equal(all.receiver.requests.length, 3);
    assert.equal(all.calls(withdrawn.id), 0);
});
