// The key of a database is changed while replicas work: each step by itself, and nothing is refused or lost on the way.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { DELIVERIES, fleet } from './lib/replicas.mjs';
import { assertSigned } from './lib/signature.mjs';
import { run } from './lib/sidecar.mjs';
import { gate, until } from './lib/until.mjs';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const newKey = () => randomBytes(32).toString('hex');

/** Two keys, and what a process has that seals with the one and opens the other too. */
function keys(database) {
    const [old, fresh] = [database.key, newKey()];
    return {
        fresh,
        toCome: { HOOKLINE_KEY: old, HOOKLINE_PREVIOUS_KEY: fresh },
        swapped: { HOOKLINE_KEY: fresh, HOOKLINE_PREVIOUS_KEY: old },
        alone: { HOOKLINE_KEY: fresh, HOOKLINE_PREVIOUS_KEY: '' },
    };
}

const rekey = (all, env, options) => run(['store', 'rekey'], { ...all.database.env, ...env }, options);

async function rekeyed(all, env) {
    const { code, stdout, stderr } = await rekey(all, env);
    assert.deepEqual([code, stderr], [0, '']);
    const [, n] = /^(\d+) values were encrypted again; HOOKLINE_PREVIOUS_KEY can be removed\n$/.exec(stdout);
    return Number(n);
}

async function refused(all, env) {
    const { code, stdout, stderr } = await rekey(all, env);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^hookline store rekey: [^\n]+\n$/);
    return stderr;
}

/** A run that waits until `release`: nobody looks at it before. */
async function waiting(all, replica, options) {
    const id = await replica.begin({ isHeld: true, hook: all.receiver.url('/other') });
    await replica.called(id);
    const queued = await replica.begin(options);
    await all.rows("UPDATE ~.ticket SET due_at = now() + interval '1 hour' WHERE run_id = $1", [queued]);
    all.held.open();
    await replica.finished(id);
    return { id: queued, release: () => all.rows('UPDATE ~.ticket SET due_at = now() WHERE run_id = $1', [queued]) };
}

/** What a run’s webhook said goes elsewhere, too, where it is not taken. */
async function resent(all, replica, body) {
    const id = await replica.begin({ hook: all.receiver.url('/other') });
    const { delivery_id: from } = await replica.settled(id);
    const { delivery_id: made } = (await replica.ask('POST', `${DELIVERIES}/${from}/redeliver`, { body })).json();
    return until('it is dead', async () => {
        const one = (await replica.ask('GET', `${DELIVERIES}/${made}`)).json();
        return one.state === 'dead' && one;
    });
}

async function redeliver(replica, { delivery_id }) {
    const answer = await replica.ask('POST', `${DELIVERIES}/${delivery_id}/redeliver`);
    assert.equal(answer.status, 202, answer.text);
}

/** Calls through whoever is in `live`, until `stop`, which answers their ids. */
function traffic(all, live) {
    const ids = [];
    let isOver = false;
    const work = (async () => {
        while (!isOver) ids.push(await live[ids.length % live.length].begin({ hook: all.receiver.url('/traffic') }));
    })();
    const stop = async () => {
        isOver = true;
        await work;
        return ids;
    };
    return { ids, stop };
}

/** In the place of another one, with these keys; calls go to it before the other ends. */
async function replace(all, live, at, name, env) {
    const before = live[at];
    live[at] = await all.add(name, { env });
    await until('calls go to it', () => live[at].sidecar && live[at].app.requests.length > 0);
    await before.sidecar.stop();
    // One that had a delivery under way is there until its time is over.
    const counts = 'name = $1 AND NOT is_dead AND expires_at > now()';
    await until('the other is gone', async () => (await all.count(`~.node WHERE ${counts}`, [before.name])) === 0);
}

test('a key is changed with live replicas: nothing is refused, and what was sealed before goes on', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_WEBHOOK_SECRET: SECRET, HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    const { fresh, toCome, swapped, alone } = keys(all.database);
    const a = await all.add('a');
    all.receiver.script('/dead', 400, 200);
    const run_id = await a.begin({ hook: all.receiver.url('/dead') });
    const dead = await a.settled(run_id);
    assert.equal(dead.state, 'dead');
    const queued = await waiting(all, a, { hook: all.receiver.url('/queued'), headers: { 'x-mark': 'of old' } });
    const elsewhere = await resent(all, a, { url: all.receiver.script('/elsewhere', 400, 200), secret: 'secret-of-elsewhere' });
    const b = await all.add('b');
    const live = [a, b];
    const calls = traffic(all, live);

    for (const [at, name] of ['a1', 'b1'].entries()) await replace(all, live, at, name, toCome);
    await replace(all, live, 0, 'a2', swapped);
    assert.match(await refused(all, swapped), /HOOKLINE_KEY: the replica b1 still encrypts with another key/);
    await replace(all, live, 1, 'b2', swapped);
    assert.ok((await rekeyed(all, swapped)) > 0);
    assert.equal(await rekeyed(all, swapped), 0);
    const told = await all.rows(`SELECT count, convert_from(told, 'UTF8') AS told FROM ~.audit WHERE action = 8 AND count >= 0 ORDER BY audit_id`);
    assert.deepEqual(told.map((row) => [Number(row.count) === 0, JSON.parse(row.told).via]), [[false, 'command'], [true, 'command']]);
    for (const [at, name] of ['a3', 'b3'].entries()) await replace(all, live, at, name, alone);

    const ids = await calls.stop();
    for (const id of ids) assert.equal((await live[0].finished(id)).state, 'success');
    await all.receiver.delivered('/traffic', ids.length);
    await queued.release();
    assert.equal((await live[1].finished(queued.id)).state, 'success');
    const taken = live.map(({ app }) => app.requests.find((one) => one.get('x-request-id') === queued.id)).find(Boolean);
    assert.equal(taken.get('x-mark'), 'of old');
    assertSigned(await all.receiver.delivered('/queued'), SECRET);
    await redeliver(live[0], dead);
    assert.equal((await live[1].settled(run_id, 2)).state, 'delivered');
    assertSigned(await all.receiver.delivered('/dead', 2), SECRET);
    await redeliver(live[0], elsewhere);
    assertSigned(await all.receiver.delivered('/elsewhere', 2), 'secret-of-elsewhere');

    const [{ v }] = await all.rows("SELECT v FROM ~.meta WHERE k = 'key_check'");
    const [node] = await all.rows('SELECT key_check FROM ~.node WHERE NOT is_dead LIMIT 1');
    assert.deepEqual(v, node.key_check);
    assert.notEqual(fresh, all.database.key);
    const late = await run(['store', 'rekey'], { ...all.database.env, HOOKLINE_PREVIOUS_KEY: newKey() });
    assert.match(late.stderr, /HOOKLINE_KEY: \*{4} is not the key that this schema was made with, nor is HOOKLINE_PREV/);
});

test('sealing anew that is killed in the middle goes on when it is run again', async (t) => {
    const all = await fleet(t);
    const { swapped, alone } = keys(all.database);
    const a = await all.add('a');
    const ids = [];
    const deliveries = [];
    for (let i = 0; i < 2; i++) {
        ids.push(await a.begin({ hook: all.receiver.url() }));
        deliveries.push(await a.settled(ids[i]));
    }
    await a.sidecar.stop();
    const url = async (id) => (await all.rows('SELECT url FROM ~.run WHERE run_id = $1', [id]))[0].url;
    const before = await Promise.all(ids.map(url));

    const client = await all.database.connect(t);
    await client.query('BEGIN');
    await client.query(`SELECT FROM ${all.database.schema}.run WHERE run_id = $1 FOR UPDATE`, [ids[0]]);
    const kill = gate();
    const cut = rekey(all, swapped, { killed: kill.promise });
    await until('the other one is sealed anew', async () => !(await url(ids[1])).equals(before[1]));
    kill.open();
    assert.equal((await cut).signal, 'SIGKILL');
    await client.query('ROLLBACK');
    assert.deepEqual(await url(ids[0]), before[0]);

    assert.ok((await rekeyed(all, swapped)) > 0);
    assert.equal(await rekeyed(all, swapped), 0);
    assert.ok(!(await url(ids[0])).equals(before[0]));
    const b = await all.add('b', { env: alone });
    for (const delivery of deliveries) await redeliver(b, delivery);
    for (const id of ids) assert.equal((await b.settled(id, 2)).state, 'delivered');
});

test('sealing anew says in one line what it lacks, and changes nothing', async (t) => {
    const database = await postgres(t);
    const all = { database };
    assert.match(await refused(all, {}), /HOOKLINE_PREVIOUS_KEY: not set/);
    assert.match(await refused(all, { HOOKLINE_PREVIOUS_KEY: newKey() }), /does not exist in this version/);
    const embedded = await run(['store', 'rekey'], {});
    assert.deepEqual([embedded.code, embedded.stdout], [2, '']);
    assert.match(embedded.stderr, /store rekey: this command is for HOOKLINE_STORE=postgres/);
});
