// The database fails over to a standby that lacks the last commits: what replicas have ended since is not done again.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { cluster } from './lib/postgres.mjs';
import { RUNS, fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { gate, until, within } from './lib/until.mjs';

const LAST_SECONDS = { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_REPLICA_TTL: '10s' };

const ACCOUNTS = '/v2/projects/p/service-accounts';

/** Replicas by these names; a call with `X-Gate: NAME` waits in the app until `open(NAME)`. */
async function failing(t, names, env) {
    const gates = new Map();
    const at = (name) => gates.get(name) ?? gates.set(name, gate()).get(name);
    const app = async (exchange, by) => {
        await exchange.body();
        const name = exchange.get('x-gate');
        if (name) await Promise.race([at(name).promise, exchange.gone]);
        await exchange.json({ by });
    };
    const database = await cluster(t);
    const all = await fleet(t, { database, env: { ...LAST_SECONDS, ...env }, app });
    for (const name of names) await all.add(name);
    const begin = (replica, name) =>
        replica.begin({ hook: all.receiver.url(`/${name}`), headers: name === 'free' ? {} : { 'x-gate': name } });
    return { all, database, begin, open: (name) => at(name).open() };
}

const running = (replica, id) => until('it runs', async () => (await replica.show(id)).state === 'running');
const stores = ({ ask }) => until('it stores', async () => (await ask('GET', '/v2/projects/p/deliveries')).status === 200);

test('what had ended, or begun, in the time that a failover lost is neither run nor sent again', async (t) => {
    const { all, database, begin, open } = await failing(t, ['one', 'two']);
    const [one, two] = all.replicas;
    const first = [];
    for (const name of ['a', 'b']) first.push(await begin(one, name));
    for (const id of first) await running(one, id);
    const queued = [];
    for (let i = 0; i < 4; i++) queued.push(await begin(one, 'free'));
    const late = [await begin(two, 'late'), await begin(two, 'late')];
    await database.keep();
    await Promise.all(all.replicas.map(stores));
    for (const name of ['a', 'b']) open(name);
    const ended = [...first, ...queued];
    for (const id of ended) assert.equal((await two.finished(id)).state, 'success');
    for (const id of ended) assert.equal((await two.settled(id)).state, 'delivered');
    for (const id of late) await running(one, id);
    await database.lose();
    await Promise.all(all.replicas.map(stores));
    open('late');
    const next = await begin(one, 'free');
    for (const id of [...late, ...ended, next]) {
        assert.equal((await two.finished(id)).state, 'success');
        assert.equal((await two.settled(id)).state, 'delivered');
        assert.equal(all.calls(id), 1, 'its app was called once');
    }
    assert.equal(all.receiver.requests.length, ended.length + late.length + 1, 'each webhook was sent once');
    assert.ok((await one.show(ended[0])).replica);
    assert.deepEqual(
        await Promise.all(ended.map(async (id) => (await one.ask('GET', `/v2/projects/p/apps/a/runs/${id}/result`)).status)),
        ended.map(() => 200),
    );
});

test('who does not come back after a failover is waited for, and counted', async (t) => {
    const { all, database, begin, open } = await failing(t, ['one', 'two']);
    const [one, two] = all.replicas;
    const first = [await begin(one, 'a'), await begin(one, 'a')];
    for (const id of first) await running(one, id);
    const queued = await begin(one, 'free');
    await database.keep();
    await Promise.all(all.replicas.map(stores));
    open('a');
    for (const id of [...first, queued]) assert.equal((await one.finished(id)).state, 'success');
    const lost = (await one.show(queued)).replica === 'two' ? two : one;
    const left = lost === one ? two : one;
    await lost.sidecar.kill();
    await database.lose();
    assert.equal((await left.finished(queued)).state, 'success');
    await left.logged(/^store: some earlier replicas have not come back/);
    assert.equal(await left.sidecar.metric('hookline_store_unheard_replicas_total'), 1);
    assert.equal(await left.sidecar.metric('hookline_store_turns_total'), 1);
    assert.equal(await left.sidecar.metric('hookline_store_recalled_runs_total'), 1);
});

test('what was cancelled or revoked in the time that a failover lost stays so', async (t) => {
    const { all, database, begin, open } = await failing(t, ['one', 'two']);
    const [one, two] = all.replicas;
    const first = [await begin(one, 'a'), await begin(one, 'a')];
    for (const id of first) await running(one, id);
    const queued = await begin(one, 'free');
    const body = { name: 'ci', role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const { id } = (await one.ask('POST', ACCOUNTS, { body })).json();
    await database.keep();
    await Promise.all(all.replicas.map(stores));
    assert.equal((await two.ask('POST', `${RUNS}/${queued}/cancel`)).status, 202);
    assert.equal((await two.ask('DELETE', `${ACCOUNTS}/${id}`)).status, 204);
    await database.lose();
    await Promise.all(all.replicas.map(stores));
    open('a');
    for (const run of first) assert.equal((await one.finished(run)).state, 'success');
    assert.equal((await one.finished(queued)).state, 'cancelled');
    assert.equal(all.calls(queued), 0);
    await until('it is revoked', async () => {
        const { service_accounts } = (await one.ask('GET', ACCOUNTS)).json();
        return service_accounts.find((account) => account.id === id)?.revoked_at;
    });
});

test('a replica that was killed, before a failover or after it, still says what it had ended and begun', async (t) => {
    const { all, database, begin, open } = await failing(t, ['one', 'two']);
    const [one, two] = all.replicas;
    const held = [await begin(one, 'a'), await begin(two, 'a')];
    for (const id of held) await running(one, id);
    const queued = [];
    for (let i = 0; i < 4; i++) queued.push(await begin(one, 'free'));
    const cut = await begin(one, 'late');
    const cancelled = await begin(one, 'never');
    await database.keep();
    await Promise.all(all.replicas.map(stores));
    assert.equal((await one.ask('POST', `${RUNS}/${cancelled}/cancel`)).status, 202);
    open('a');
    const ended = [...held, ...queued];
    for (const id of ended) assert.equal((await one.finished(id)).state, 'success');
    for (const id of ended) assert.equal((await one.settled(id)).state, 'delivered');
    const last = (await running(one, cut)) && (await one.show(cut)).replica === 'two' ? two : one;
    await last.called(cut);
    const before = last === one ? two : one;
    await before.sidecar.kill(); // before the failover
    await before.sidecar.restart();
    await database.lose();
    await last.sidecar.kill(); // after it
    await last.sidecar.restart();
    const next = await begin(one, 'free');
    for (const id of [...ended, next]) {
        assert.equal((await two.finished(id)).state, 'success');
        assert.equal((await two.settled(id)).state, 'delivered');
        assert.equal(all.calls(id), 1, 'its app was called once');
    }
    assert.equal((await two.finished(cut)).reason, 'interrupted');
    assert.equal(all.calls(cut), 1, 'its app was called once');
    assert.equal((await two.finished(cancelled)).state, 'cancelled');
    for (const id of [cut, cancelled]) assert.equal((await two.settled(id)).state, 'delivered');
    assert.equal(all.receiver.requests.length, ended.length + 3, 'each webhook was sent once');
    for (const { sidecar } of all.replicas) assert.equal(await sidecar.metric('hookline_store_unheard_replicas_total'), 0);
});

test('while a failover is waited out the slots of the app are there for callers', async (t) => {
    const { all, database, begin } = await failing(t, ['one', 'two'], { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_REPLICA_TTL: '60s' });
    const [one, two] = all.replicas;
    await database.keep();
    await Promise.all(all.replicas.map(stores));
    await two.sidecar.kill();
    await database.lose();
    await stores(one);
    const queued = await begin(one, 'free');
    assert.equal((await within('its answer', one.call(RUN))).status, 200);
    assert.equal((await one.show(queued)).state, 'queued');
});

test('a run that another replica has begun does not expire before that one had its say', async (t) => {
    const { all, database, begin, open } = await failing(t, ['one', 'two'], { HOOKLINE_REPLICA_TTL: '60s' });
    const [one, two] = all.replicas;
    const first = [await begin(one, 'a'), await begin(two, 'b')];
    for (const id of first) await running(one, id);
    const expiring = (name, within) =>
        ({ hook: all.receiver.url(`/${name}`), headers: { 'x-gate': name, 'x-run-start-timeout': within } });
    const begun = await one.begin(expiring('late', '1h'));
    await database.keep();
    await Promise.all(all.replicas.map(stores));
    open('a');
    await running(one, begun);
    const [has, other] = (await one.show(begun)).replica === 'two' ? [two, one] : [one, two];
    has.freeze();
    await database.lose();
    await stores(other);
    await all.rows('UPDATE ~.ticket SET start_by = now() WHERE run_id = $1', [begun]);
    const never = await other.begin(expiring('never', '1s'));
    const waits = () => all.count("~.ticket WHERE run_id = $1 AND start_by >= now() - interval '2 s'", [never]);
    await until('the time of both is over', async () => (await waits()) === 0);
    assert.equal((await other.show(begun)).state, 'queued');
    has.wake();
    for (const name of ['b', 'late']) open(name);
    assert.equal((await other.finished(begun)).state, 'success');
    assert.equal(all.calls(begun), 1);
    assert.equal((await other.finished(never)).reason, 'expired');
});

test('a file of what a replica remembers that is damaged, or cannot be written, is told of in a line and stops nothing', async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const file = join(a.sidecar.dataDir, 'scratch', 'diary.db');
    const restart = async (change, line) => {
        await a.sidecar.stop();
        await change();
        await a.sidecar.restart();
        await a.logged(line);
        assert.equal((await a.finished(await a.begin())).state, 'success');
        assert.equal(a.sidecar.log.filter(({ msg }) => line.test(msg)).length, 1);
    };
    await restart(() => writeFile(file, 'no database '.repeat(1000)), /record of what it ran is not usable; a new one is begun/);
    await restart(async () => {
        await rm(file);
        await mkdir(file);
    }, /is in memory only: its file cannot be written/);
});
