// What an embedded store holds is moved into a database: nothing is lost, nothing happens twice, whenever it is cut off.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { DELIVERIES, RUNS, fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const LARGE = Buffer.alloc(1_500_000, 'large ');
const NOTHING = 'imported: 0 accounts, 0 runs (0 queued, 0 interrupted), 0 deliveries (0 pending, 0 dead), 0 Idempotency-Keys\n';
const ONE = { HOOKLINE_ASYNC_CONCURRENCY: '1' };
const newKey = () => randomBytes(32).toString('hex');
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Answers with what came, and as much again if it is asked for; holds calls that say so. */
const answers = (held) => async (exchange) => {
    const body = await exchange.body();
    if (exchange.get('x-held')) await Promise.race([held.promise, exchange.gone]);
    const padding = exchange.get('x-large') ? LARGE.toString() : '';
    await exchange.json({ digest: digest(body), mark: exchange.get('x-mark'), padding });
};

/** `hookline store import`; fails unless it exits with `code`. */
async function take(database, directory, { env, code = 0, ...options } = {}) {
    const result = await run(['store', 'import', directory], { ...database.env, ...env }, options);
    if (!options.killed) assert.equal(result.code, code, result.stdout + result.stderr);
    return result;
}

/** A run's id, and its settled delivery, where an embedded store is. */
function embedded({ call, sidecar }) {
    const ask = control(sidecar);
    const begin = async ({ hook, headers, body } = {}) => {
        const query = { async: 'true', ...(hook && { webhookEndpoint: hook }) };
        const answer = await call(RUN, { query, headers, body });
        assert.equal(answer.status, 202, answer.text);
        return answer.json().run_id;
    };
    const show = async (id) => (await ask('GET', `${RUNS}/${id}`)).json();
    const finished = (id) => until('it has ended', async () => (await show(id)).finished_at && show(id));
    const delivery = async (id, isSo) =>
        until('its delivery is so', async () => {
            const { deliveries } = (await ask('GET', `${DELIVERIES}?run_id=${id}`)).json();
            return deliveries.find(isSo);
        });
    return { ask, begin, show, finished, delivery };
}

/** A directory with all that there can be in one, left by a process that was killed. */
async function leave(t, receiver) {
    const held = gate();
    const all = await stage(t, { app: answers(held), env: ONE });
    const { begin, finished, delivery, show, ask } = embedded(all);
    receiver.script('/dead', 400, 200);
    const ended = {
        small: await begin({ hook: receiver.url('/done'), headers: { 'idempotency-key': 'of small' }, body: 'small' }),
        large: await begin({ headers: { 'x-large': '1' }, body: LARGE }),
        dead: await begin({ hook: receiver.url('/dead') }),
    };
    for (const id of Object.values(ended)) await finished(id);
    await delivery(ended.small, (one) => one.state === 'delivered');
    await delivery(ended.dead, (one) => one.state === 'dead');
    receiver.script('/pending', (x) => x.reset(), 200);
    ended.pending = await begin({ hook: receiver.url('/pending') });
    await delivery(ended.pending, ({ attempts }) => attempts[0]?.outcome === 'retry');
    const inside = await begin({ headers: { 'x-held': '1' }, hook: receiver.url('/inside') });
    await until('the app has it', () => all.app.requests.some((one) => one.get('x-held')));
    const queued = {
        small: await begin({ hook: receiver.url('/queued'), headers: { 'x-mark': 'of old' }, body: 'small' }),
        large: await begin({ headers: { 'idempotency-key': 'of large' }, body: LARGE }),
    };
    const shown = {};
    for (const id of Object.values(ended)) shown[id] = await show(id);
    const results = {};
    for (const name of ['small', 'large']) results[ended[name]] = (await ask('GET', `${RUNS}/${ended[name]}/result`)).text;
    await all.sidecar.kill();
    return { dataDir: all.sidecar.dataDir, ended, inside, queued, shown, results };
}

test('what an embedded store held goes on with replicas, and importing again changes nothing', async (t) => {
    const held = gate();
    const all = await fleet(t, { app: answers(held) });
    const left = await leave(t, all.receiver);
    const { stdout, stderr } = await take(all.database, left.dataDir);
    assert.equal(stderr, '');
    assert.equal(stdout, 'imported: 0 accounts, 7 runs (2 queued, 1 interrupted), 4 deliveries (2 pending, 1 dead), 2 Idempotency-Keys\n');
    assert.equal((await take(all.database, left.dataDir)).stdout, NOTHING);

    const [a, b] = [await all.add('a'), await all.add('b')];
    for (const id of Object.values(left.queued)) assert.equal((await a.finished(id)).state, 'success');
    for (const id of Object.values(left.queued)) assert.equal(all.calls(id), 1);
    const result = async (id) => (await b.ask('GET', `${RUNS}/${id}/result`)).text;
    assert.deepEqual(JSON.parse(await result(left.queued.small)), { digest: digest('small'), mark: 'of old', padding: '' });
    assert.equal(JSON.parse(await result(left.queued.large)).digest, digest(LARGE));
    await all.receiver.delivered('/queued');

    const { state, reason, attempts } = await b.show(left.inside);
    assert.deepEqual([state, reason, attempts], ['failure', 'interrupted', 1]);
    assert.equal((await all.receiver.envelope('/inside')).reason, 'interrupted');
    assert.equal(all.calls(left.inside), 0);
    for (const [id, before] of Object.entries(left.shown)) {
        const { deliveries: some, ...after } = await a.show(id);
        const { deliveries: others, ...then } = before;
        assert.deepEqual(after, then);
    }
    for (const [id, text] of Object.entries(left.results)) assert.equal(await result(id), text);

    const retried = await b.settled(left.ended.pending);
    assert.deepEqual([retried.state, retried.attempts.map((one) => one.outcome)], ['delivered', ['retry', 'delivered']]);
    const dead = await a.settled(left.ended.dead);
    assert.deepEqual([dead.state, dead.attempts.length], ['dead', 1]);
    assert.equal((await a.ask('POST', `${DELIVERIES}/${dead.delivery_id}/redeliver`)).status, 202);
    assert.equal((await b.settled(left.ended.dead, 2)).state, 'delivered');

    // A repeated call leaves its own body behind, which nobody names.
    const bodies = () => all.count('~.body');
    assert.equal(await all.count('~.body WHERE NOT EXISTS (SELECT FROM ~.run WHERE body_file = body_id)'), 0);
    const repeated = (key, body) => a.begin({ headers: { 'idempotency-key': key }, body });
    assert.equal(await repeated('of large', LARGE), left.queued.large);
    const before = await bodies();
    assert.equal((await take(all.database, left.dataDir)).stdout, NOTHING);
    await rm(join(left.dataDir, 'moved'));
    assert.equal((await take(all.database, left.dataDir)).stdout, NOTHING);
    assert.equal(await bodies(), before);
    for (const path of ['/done', '/queued', '/inside']) assert.equal(all.receiver.deliveries(path).length, 1, path);
});

const ACCOUNTS = '/v2/projects/p/service-accounts';
const LOCKED = { HOOKLINE_AUTH: 'jwt' };

async function account(sidecar, name) {
    const body = { name, role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const answer = await control(sidecar)('POST', ACCOUNTS, { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.json();
}

/** A stopped store with an account, another one that is revoked, and their tokens. */
async function leaveAccounts(t) {
    const { sidecar } = await stage(t, { env: LOCKED });
    const [good, revoked] = [await account(sidecar, 'good'), await account(sidecar, 'revoked')];
    assert.equal((await control(sidecar)('DELETE', `${ACCOUNTS}/${revoked.id}`)).status, 204);
    await sidecar.stop();
    return { dataDir: sidecar.dataDir, good, revoked };
}

const knock = async (replica, { token }) =>
    (await replica.call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' })).status;

test('tokens of an embedded store are good with replicas, and its key signs there if the schema has none', async (t) => {
    const all = await fleet(t, { env: LOCKED });
    const left = await leaveAccounts(t);
    const { stdout } = await take(all.database, left.dataDir);
    assert.match(stdout, /^imported: 2 accounts, 0 runs [^;]*\n$/);
    const a = await all.add('a');
    const fresh = await account(a.sidecar, 'fresh');
    assert.deepEqual([await knock(a, left.good), await knock(a, left.revoked), await knock(a, fresh)], [200, 401, 200]);
    const keyId = ({ token }) => JSON.parse(Buffer.from(token.split('.')[0], 'base64url')).kid;
    assert.equal(keyId(fresh), keyId(left.good));
});

test('where the schema has a key, tokens of both are good: at replicas that run, and at new ones', async (t) => {
    const all = await fleet(t, { env: LOCKED });
    const a = await all.add('a');
    const own = await account(a.sidecar, 'own');
    const two = [await leaveAccounts(t), await leaveAccounts(t)];
    for (const { dataDir } of two)
        assert.match((await take(all.database, dataDir)).stdout, /; its signing key only verifies: the schema has one\n$/);
    const b = await all.add('b');
    for (const replica of [a, b]) {
        for (const one of [own, ...two.map(({ good }) => good)]) assert.equal(await knock(replica, one), 200);
        for (const { revoked } of two) assert.equal(await knock(replica, revoked), 401);
    }
    const fresh = newKey();
    const env = { HOOKLINE_KEY: fresh, HOOKLINE_PREVIOUS_KEY: all.database.key };
    await a.sidecar.stop();
    await b.sidecar.stop();
    assert.equal((await run(['store', 'rekey'], { ...all.database.env, ...env })).code, 0);
    const c = await all.add('c', { env: { HOOKLINE_KEY: fresh } });
    for (const one of [own, ...two.map(({ good }) => good)]) assert.equal(await knock(c, one), 200);
});
