// Replicas whose server goes, whose connections break and whose answers are lost: what was accepted ends once, and is reported.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from './lib/case.mjs';
import { link } from './lib/link.mjs';
import { cluster, postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { RUN, assertProblem } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';
import { wire } from './lib/wire.mjs';

const GONE = /^store: the connection to PostgreSQL is lost/;

/** A replica at the end of a cable. */
async function cabled(t, options) {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const all = await fleet(t, { database, ...options });
    const a = await all.add('a', { url: cable.url });
    await settleIn(a);
    return { all, cable, a };
}

/** What it began with is answered, its word that its app is ready too: answers come in the order of what was sent. */
async function settleIn(replica) {
    await until('its app is ready', async () => (await replica.sidecar.admin('/readyz')).status === 200);
    const body = { name: 'first', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const answer = await replica.ask('POST', '/v2/projects/p/service-accounts', { body });
    assert.equal(answer.status, 201, answer.text);
}

/** Does `change`, whose answer is lost once it is true of the database that `condition`. */
async function loseAnswer(all, cable, condition, change) {
    cable.blackHole('answers');
    const changed = change();
    await until(`it is committed: ${condition}`, () => all.count(condition));
    await cable.cut();
    await cable.heal();
    return changed;
}

test('a run whose commit was answered to nobody is accepted once, and its caller gets the 202', async (t) => {
    const { all, cable, a } = await cabled(t);
    const id = await loseAnswer(all, cable, '~.run', () => a.begin({ hook: all.receiver.url() }));
    const { state, attempts } = await a.finished(id);
    assert.deepEqual([state, attempts], ['success', 1]);
    assert.equal((await a.settled(id)).attempt_count, 1);
    assert.equal(await all.count('~.run'), 1);
    assert.equal(all.calls(id), 1);
    assert.equal(all.receiver.requests.length, 1);
});

test('an end whose commit was answered to nobody counts once', async (t) => {
    const { all, cable, a } = await cabled(t);
    const id = await a.begin({ isHeld: true, hook: all.receiver.url() });
    await a.called(id);
    await loseAnswer(all, cable, '~.run WHERE state = 2', () => all.held.open());
    assert.equal((await a.finished(id)).state, 'success');
    assert.equal((await a.settled(id)).attempt_count, 1);
    assert.equal(all.receiver.requests.length, 1);
});

test('an attempt of a webhook and its outcome whose commits were answered to nobody count once', async (t) => {
    const { all, cable, a } = await cabled(t);
    const doors = [gate(), gate()];
    const answer = (door, status) => async (x) => {
        await door.promise;
        await x.send(status);
    };
    const hook = all.receiver.script('/hook', answer(doors[0], 404), answer(doors[1], 200));
    const id = await a.begin({ hook });
    await all.receiver.delivered('/hook', 1);
    await loseAnswer(all, cable, '~.attempt WHERE verdict = 1', () => doors[0].open());
    await all.receiver.delivered('/hook', 2);
    await loseAnswer(all, cable, '~.delivery WHERE state = 1', () => doors[1].open());
    const { state, attempts } = await a.settled(id);
    assert.equal(state, 'delivered');
    assert.deepEqual(attempts.map(({ outcome, status_code }) => [outcome, status_code]), [
        ['retry', 404],
        ['delivered', 200],
    ]);
    assert.equal(all.receiver.requests.length, 2);
});

/** Claims wait in the server until `release` is called. */
async function holdClaims(t, { database }) {
    const holder = await database.connect(t);
    await holder.query('SELECT pg_advisory_lock(4711)');
    const sql = `CREATE FUNCTION ~.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM set_config('lock_timeout', '0', true), pg_advisory_xact_lock_shared(4711);
                 RETURN NEW; END $$;
                 CREATE TRIGGER hold BEFORE UPDATE ON ~.ticket FOR EACH ROW
                 WHEN (OLD.node_id IS NULL AND NEW.node_id IS NOT NULL) EXECUTE FUNCTION ~.hold()`;
    await database.superuser(sql.replaceAll('~', database.schema));
    return { release: () => holder.query('SELECT pg_advisory_unlock(4711)') };
}

test('a run whose claim is committed long after its connection was lost is called all the same', async (t) => {
    const { all, cable, a } = await cabled(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    const first = await a.begin({ isHeld: true });
    await a.called(first);
    const second = await a.begin();
    const { release } = await holdClaims(t, all);
    all.held.open();
    await until('its claim waits in the server', () => all.count("pg_locks WHERE locktype = 'advisory' AND NOT granted"));
    await cable.cut();
    await cable.heal();
    const [{ now }] = await all.rows('SELECT now()::text');
    await a.logged(/^store: connected to PostgreSQL again/);
    await until('it is among the others', () => all.count('~.node WHERE beat_at > $1::timestamptz', [now]));
    await release();
    const { state, attempts } = await a.finished(second);
    assert.deepEqual([state, attempts, all.calls(second)], ['success', 1, 1]);
    assert.equal((await a.finished(first)).state, 'success');
});

test('a claim that the server begins when its replica has connected anew finds nothing', async (t) => {
    const database = await postgres(t);
    const way = await wire(t, database.url);
    const all = await fleet(t, { database, env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_REPLICA_TTL: '12s' } });
    const a = await all.add('a', { url: way.url });
    const first = await a.begin({ isHeld: true });
    await a.called(first);
    const second = await a.begin();
    const held = way.holdAt('hl_RUN_CLAIM');
    all.held.open();
    const { deliver } = await held;
    const [{ now }] = await all.rows('SELECT now()::text');
    await until('it is among the others', () => all.count('~.node WHERE beat_at > $1::timestamptz', [now]));
    deliver();
    for (const id of [first, second]) {
        const { state, attempts } = await a.finished(id);
        assert.deepEqual([state, attempts, all.calls(id)], ['success', 1, 1]);
    }
    assert.ok(!a.sidecar.log.some(({ msg }) => /gave back work/.test(msg)), 'it was fenced, not found');
});

test('what was never sent to a server that says nothing is refused while its connection still looks up', async (t) => {
    const { cable, a } = await cabled(t);
    const begin = () => a.call(RUN, { query: { async: 'true' } });
    const inside = (n) =>
        until('the calls are there', async () => (await a.sidecar.metric('hookline_http_requests_in_flight')) === n);
    cable.blackHole();
    const begun = [];
    for (let n = 1; n <= 3; n++) { // two transactions, and one of what comes meanwhile
        begun.push(begin());
        await inside(n);
    }
    assertProblem(await begun[2], 503);
    assert.ok(!a.sidecar.log.some(({ msg }) => GONE.test(msg)));
    await cable.heal();
    for (const { status } of await Promise.all(begun.slice(0, 2))) assert.ok([202, 503].includes(status));
});

test('a replica whose coming back the server refuses, for a lock, comes back', async (t) => {
    const { all, cable, a } = await cabled(t);
    const other = await all.database.connect(t);
    const begin = () => a.begin({ hook: all.receiver.url() });
    const { answer: begun } = await all.whileHeld(t, begin, () => cable.blackHole('answers'));
    await until('it is claimed, unheard', () => all.count('~.ticket WHERE node_id IS NOT NULL'));
    await other.query('BEGIN');
    await other.query(`SELECT FROM ${all.database.schema}.ticket FOR UPDATE`);
    await cable.cut();
    await cable.heal();
    await a.sidecar.logged(({ sqlstate }) => sqlstate === '55P03');
    await other.query('ROLLBACK');
    const { state, attempts } = await a.finished(await begun);
    assert.deepEqual([state, attempts], ['success', 1]);
    await all.receiver.delivered();
});

/** A transaction of somebody else's that takes Idempotency-Keys as an accept does. */
async function keyTaker(t, { database }) {
    const other = await database.connect(t);
    const insert = `INSERT INTO ${database.schema}.idem (project, app, subject, key, run_id, fingerprint, expires_ms)
                    VALUES ('p', 'a', '', convert_to($1, 'UTF8'), gen_random_uuid(), '', 0) ON CONFLICT DO NOTHING`;
    await other.query('BEGIN');
    return { take: (key) => other.query(insert, [key]), end: () => other.query('ROLLBACK') };
}

test('accepts with several keys and somebody who takes the same ones do not wait for each other', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const lock = await all.database.connect(t);
    const waiting = (n) => until(`${n} wait`, async () => (await all.count('pg_locks WHERE NOT granted')) === n);
    const begin = (key) => a.begin({ headers: { 'idempotency-key': key } });
    const other = await keyTaker(t, all);
    await lock.query(`BEGIN; LOCK ${all.database.schema}.idem IN SHARE MODE`);
    const inside = (n) =>
        until('the calls are there', async () => (await a.sidecar.metric('hookline_http_requests_in_flight')) === n);
    const begun = [begin('first')]; // two transactions, and one of what comes meanwhile
    await waiting(1);
    begun.push(begin('second'));
    await inside(2);
    begun.push(begin('z'), begin('a'));
    await inside(4);
    const taken = other.take('a');
    await waiting(2);
    await lock.query('ROLLBACK');
    await taken;
    await waiting(1);
    await other.take('z'); // or finds it: then it was in the second
    await other.end();
    const ids = await Promise.all(begun);
    assert.equal(new Set(ids).size, 4);
});

test('an accept that somebody’s lock holds up is 503 and leaves nothing, and its repetition is taken', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const lock = await all.database.connect(t);
    await lock.query(`BEGIN; LOCK ${all.database.schema}.idem IN SHARE MODE`);
    const headers = { 'idempotency-key': 'once' };
    const answer = await a.call(RUN, { query: { async: 'true' }, headers });
    assertProblem(answer, 503);
    assert.ok(answer.headers['retry-after'], 'nobody doubts that it was refused');
    assert.doesNotMatch(answer.json().detail, /may have been/);
    await lock.query('ROLLBACK');
    assert.equal(await all.count('~.run'), 0);
    await a.finished(await a.begin({ headers }));
    assert.equal(await all.count('~.run'), 1);
});

test('far from its server a replica does all once, and nobody takes over from it', async (t) => {
    const { all, cable, a } = await cabled(t);
    await all.add('b');
    cable.delay(200); // each statement's way there
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => a.begin({ hook: all.receiver.url(`/${i}`) })));
    for (const [i, id] of ids.entries()) {
        const { state, attempts } = await a.finished(id);
        assert.deepEqual([state, attempts], ['success', 1]);
        await all.receiver.envelope(`/${i}`);
    }
    await until('each webhook has its outcome', async () => (await all.count('~.delivery_ticket')) === 0);
    assert.equal(all.receiver.requests.length, ids.length);
    assert.equal(await all.count('~.node WHERE is_dead'), 0);
});

test('a replica for which the server has no connection left waits until there is one', async (t) => {
    const server = await cluster(t, { config: { max_connections: 12 } }); // three of them are the superuser's
    const all = await fleet(t, { database: server });
    const [a, b] = [await all.add('a'), await all.add('b')];
    const others = [];
    await until('all are taken', async () => {
        const one = await server.connect(t).catch(() => null);
        if (one) others.push(one);
        return !one;
    });
    const c = await all.add('c', { wait: 'healthz' });
    await c.sidecar.logged(({ why }) => /too many|remaining connection slots/.test(why));
    assert.equal(await c.sidecar.probe('/_hookline/readyz'), 503);
    await b.finished(await a.begin());
    await Promise.all(others.map((one) => one.end()));
    await c.sidecar.until('readyz');
    await b.finished(await c.begin());
});

test('without PostgreSQL calls go on, new runs are refused, and what ends meanwhile is written when it is back', async (t) => {
    const doors = { meanwhile: gate(), afterwards: gate() };
    const server = await cluster(t);
    const cable = await link(t, server.url);
    const all = await fleet(t, {
        database: server,
        app: async (x) => {
            await x.body();
            await doors[x.get('x-door')]?.promise;
            await x.send(200);
        },
    });
    const [a, b] = [await all.add('a', { url: cable.url }), await all.add('b')];
    const insideOf = async ({ sidecar }) => sidecar.metric('hookline_runs_in_flight');
    const inside = async () => (await insideOf(a)) + (await insideOf(b));
    const ids = [];
    for (const door of [...Object.keys(doors), 'meanwhile']) {
        ids.push(await a.begin({ headers: { 'x-door': door }, hook: all.receiver.url(`/${ids.length}`) }));
    }
    await until('all are inside the apps', async () => (await inside()) === 3);
    await server.stop();
    await Promise.all([a.logged(GONE), b.logged(GONE)]);

    const refused = await Promise.all([a, b].map(({ call }) => call(RUN, { query: { async: 'true' } })));
    for (const answer of refused) {
        assertProblem(answer, 503);
        assert.match(answer.headers['retry-after'], /^[1-9]\d*$/);
    }
    const reported = await a.call(RUN, { query: { webhookEndpoint: all.receiver.url('/sync') } });
    assert.equal(reported.status, 200);
    for (const { call } of [a, b]) assert.equal((await call(RUN)).status, 200);
    doors.meanwhile.open();
    await until('one is inside', async () => (await inside()) === 1);
    // By then they have been silent for longer than a replica may be.
    assertProblem(await b.call(RUN, { query: { async: 'true' } }), 503);

    await cable.cut();
    await server.start();
    await until('b is back', () => all.count("~.node WHERE name = 'b' AND expires_at > now()"));
    await cable.heal();
    doors.afterwards.open();
    for (const [i, id] of ids.entries()) {
        assert.equal((await b.finished(id)).state, 'success');
        assert.equal((await all.receiver.envelope(`/${i}`)).status, 'success');
    }
    assert.equal((await all.receiver.envelope('/sync')).run_id, reported.id);
    await a.finished(await a.begin());
    assert.equal(await all.count('~.node WHERE is_dead'), 0);
    assert.equal(all.receiver.requests.length, 4);
});

test('a replica whose session the database does not have joins anew, and what it records and claims goes on', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    await all.rows('UPDATE ~.node SET session = gen_random_uuid()');
    const { status, id } = await a.call(RUN, { query: { webhookEndpoint: all.receiver.url('/sync') } });
    assert.equal(status, 200);
    assert.equal((await all.receiver.envelope('/sync')).run_id, id);
    assert.equal((await a.finished(await a.begin())).state, 'success');
});

test('a claim that finds no descriptor is given back with a beat, and not asked for again before', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_REPLICA_TTL: '12s' } });
    const a = await all.add('a');
    const descriptors = (n) => execFileSync('prlimit', ['--pid', `${a.sidecar.pid}`, `--nofile=${n}:`]);
    const first = await a.begin({ isHeld: true });
    await a.called(first);
    const long = await a.begin({ body: 'x'.repeat(400_000) });
    const look = async () =>
        (await all.rows('SELECT t.epoch, n.beat_at::text AS beat FROM ~.ticket t, ~.node n WHERE t.run_id = $1', [long]))[0];
    descriptors(8);
    all.held.open();
    await until('it was given back', async () => (await look()).epoch >= 2);
    const { epoch } = await look();
    const beats = new Set();
    await until('three beats have been', async () => beats.add((await look()).beat).size > 3);
    const claimed = (await look()).epoch - epoch;
    assert.ok(claimed <= 2 * (beats.size + 1), `its epoch grew by ${claimed} in ${beats.size} beats`);
    descriptors(4096);
    const { state, attempts } = await a.finished(long);
    assert.deepEqual([state, attempts], ['success', 1]);
});
