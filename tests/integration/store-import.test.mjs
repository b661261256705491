// What an embedded store holds is moved into a database: nothing is lost, nothing happens twice, whenever it is cut off.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { postgres } from './lib/postgres.mjs';
import { DELIVERIES, RUNS, fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, counting, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const LARGE = Buffer.alloc(1_500_000, 'large ');
const NOTHING = 'imported: 0 accounts, 0 runs (0 queued, 0 interrupted), 0 deliveries (0 pending, 0 dead), 0 Idempotency-Keys\n';
const ONE = { HOOKLINE_ASYNC_CONCURRENCY: '1' };
const newKey = () => randomBytes(32).toString('hex');
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Answers with what came, and as much again if it is asked for; holds, or fails, calls that say so. */
const answers = (held) => async (exchange) => {
    const body = await exchange.body();
    if (exchange.get('x-held')) await Promise.race([held.promise, exchange.gone]);
    if (exchange.get('x-fails')) return exchange.send(500, { 'content-type': 'text/plain' }, 'no such order');
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
        dead: await begin({ hook: receiver.url('/dead'), headers: { 'x-fails': '1' } }),
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
    assert.equal(shown[ended.dead].error, 'no such order');
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
    assert.equal(await all.count('~.ticket WHERE lane IS NOT NULL'), 1, 'a webhook that is expected counts at its destination');

    const [a, b] = [await all.add('a'), await all.add('b')];
    for (const id of Object.values(left.queued)) assert.equal((await a.finished(id)).state, 'success');
    for (const id of Object.values(left.queued)) assert.equal(all.calls(id), 1);
    const ended = async () => (await a.ask('GET', '/v2/projects/p/overview')).json().total.states;
    const counted = await ended();
    assert.deepEqual(counted, { success: 5, failure: 1, cancelled: 0 }, 'what ended there and what ended here');
    const result = async (id) => (await b.ask('GET', `${RUNS}/${id}/result`)).text;
    assert.deepEqual(JSON.parse(await result(left.queued.small)), { digest: digest('small'), mark: 'of old', padding: '' });
    assert.equal(JSON.parse(await result(left.queued.large)).digest, digest(LARGE));
    await all.receiver.delivered('/queued');

    const { state, reason, attempts } = await b.show(left.inside);
    assert.deepEqual([state, reason, attempts], ['failure', 'interrupted', 1]);
    assert.equal((await all.receiver.envelope('/inside')).reason, 'interrupted');
    assert.equal(all.calls(left.inside), 0);
    const request = await b.ask('GET', `${RUNS}/${left.inside}/request`);
    assert.equal(request.status, 200, request.text);
    assert.equal((await b.ask('GET', `${RUNS}/${left.ended.small}/request`)).status, 410);
    const { attempt_log: log, request_fields: fields } = await b.show(left.inside);
    assert.equal(log.length, 1);
    assert.ok(fields.some(({ name }) => name.toLowerCase() === 'x-held'));
    for (const [id, before] of Object.entries(left.shown)) {
        const { deliveries: some, replica, ...after } = await a.show(id);
        const { deliveries: others, replica: none, ...then } = before;
        assert.deepEqual([after, replica], [then, null]);
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
    assert.deepEqual(await ended(), counted);
    for (const path of ['/done', '/queued', '/inside']) assert.equal(all.receiver.deliveries(path).length, 1, path);
});

test('an account at its max_running holds back the runs that were queued before an import, too', async (t) => {
    const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p' };
    const old = await stage(t, { app: (x) => x.gone, env });
    const { ask, begin } = embedded(old);
    const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), max_running: 1 };
    const { token } = (await ask('POST', '/v2/projects/p/service-accounts', { body })).json();
    for (let i = 0; i < 7; i++) await begin({ headers: { authorization: `Bearer ${token}` } });
    await until('one is inside', () => old.app.requests.length === 1);
    await old.sidecar.kill();
    const { app, seen } = counting(100);
    const all = await fleet(t, { app, env });
    assert.match((await take(all.database, old.sidecar.dataDir)).stdout, /7 runs \(6 queued/);
    await all.add('a');
    await until('all have run', () => seen.ended === 6);
    assert.equal(seen.most, 1);
});

test('a delivery waits on until it is due, with all that came back; who waits for a destination that fails finds it failing', async (t) => {
    const env = { HOOKLINE_WEBHOOK_SCHEDULE: '1h', HOOKLINE_WEBHOOK_RETRY_ON: 'network,5xx' };
    const all = await fleet(t, { env });
    const old = await stage(t, { env });
    const { begin, delivery, ask } = embedded(old);
    const hook = all.receiver.script('/later', (x) => x.send(503, { 'Content-Type': 'text/plain' }, 'not now'));
    const later = await begin({ hook });
    const away = 'http://127.0.0.1:1/hook';
    const missed = await Promise.all(Array.from({ length: 20 }, () => begin({ hook: away })));
    for (const id of [later, ...missed]) await delivery(id, (one) => one.next_attempt_at);
    const record = async (asked, id) => {
        const { receiver, ...one } = (await asked('GET', `${DELIVERIES}/${id}`)).json(); // which comes from the key
        assert.match(receiver, /^[0-9a-f]{8}$/);
        return one;
    };
    const whole = async (asked, id) => {
        const { deliveries } = (await asked('GET', `${DELIVERIES}?run_id=${id}`)).json();
        return record(asked, deliveries.at(-1).delivery_id);
    };
    const { delivery_id: from } = await whole(ask, later);
    const body = { url: all.receiver.url('/later?key=other'), secret: 'another-key' };
    const { delivery_id: elsewhere } = (await ask('POST', `${DELIVERIES}/${from}/redeliver`, { body })).json();
    await until('it waits, too', async () => (await record(ask, elsewhere)).next_attempt_at);
    const failing = async (asked) => {
        const { destinations } = (await asked('GET', '/v2/projects/p/destinations')).json();
        return destinations.map((one) => [one.destination, one.failing_since]).sort();
    };
    const before = { later: await whole(ask, later), elsewhere: await record(ask, elsewhere), missed: await whole(ask, missed[0]), failing: await failing(ask) };
    assert.equal(before.later.attempts[0].answer.body, 'not now');
    assert.ok(before.failing.some(([to, since]) => to === 'http://127.0.0.1:1' && since), JSON.stringify(before.failing));
    await old.sidecar.kill();
    await take(all.database, old.sidecar.dataDir);

    const a = await all.add('a');
    const after = { later: await whole(a.ask, later), elsewhere: await record(a.ask, elsewhere), missed: await whole(a.ask, missed[0]), failing: await failing(a.ask) };
    assert.deepEqual(after, before);
    await a.settled(await a.begin({ hook: all.receiver.url('/other') }));
    assert.equal(all.receiver.deliveries('/later').length, 2);
    assert.deepEqual(await whole(a.ask, later), before.later);
    assert.deepEqual([after.elsewhere.resent, after.elsewhere.url], [true, `${all.receiver.url('/later')}?key=***`]);
});

test('a delivery whose own URL does not open goes nowhere after an import, and not to the run’s either', async (t) => {
    const all = await fleet(t);
    const old = await stage(t, { env: ONE });
    const ask = control(old.sidecar);
    const record = async (asked, id) => (await asked('GET', `${DELIVERIES}/${id}`)).json();
    const { id } = await old.call(RUN, { query: { async: 'true', webhookEndpoint: all.receiver.url('/own') } });
    const from = await until('it is delivered', async () => (await ask('GET', `${DELIVERIES}?run_id=${id}&state=delivered`)).json().deliveries[0]);
    const body = { url: 'http://127.0.0.1:1/' };
    const { delivery_id: elsewhere } = (await ask('POST', `${DELIVERIES}/${from.delivery_id}/redeliver`, { body })).json();
    await until('it waits', async () => (await record(ask, elsewhere)).next_attempt_at);
    await old.sidecar.kill();
    const damage = `UPDATE delivery SET url = CAST('damaged' AS BLOB), due_ms = 0 WHERE url IS NOT NULL`;
    await promisify(execFile)('sqlite3', [join(old.sidecar.dataDir, 'hookline.db'), damage]);
    await take(all.database, old.sidecar.dataDir);
    const a = await all.add('a');
    await until('it is a dead letter', async () => (await record(a.ask, elsewhere)).state === 'dead');
    assert.equal(all.receiver.deliveries('/own').length, 1);
});

test('a body in a row goes over with its SHA-256, and damaged bytes with what they do not fit', async (t) => {
    const held = gate();
    const all = await fleet(t);
    const old = await stage(t, { app: answers(held), env: ONE });
    const { begin, finished } = embedded(old);
    const [good, bad] = [await begin({ body: 'good' }), await begin({ body: 'bad' })];
    for (const id of [good, bad]) await finished(id);
    await begin({ headers: { 'x-held': '1' }, body: 'inside' });
    await begin({ body: 'queued' });
    await until('the app has it', () => old.app.requests.some((one) => one.get('x-held')));
    await old.sidecar.kill();
    const damage = `UPDATE result SET body_bytes = CAST(replace(body_bytes, 'digest', 'dagest') AS BLOB)
        WHERE run_id = x'${bad.replaceAll('-', '')}'`;
    await promisify(execFile)('sqlite3', [join(old.sidecar.dataDir, 'hookline.db'), damage]);
    await take(all.database, old.sidecar.dataDir);
    assert.equal(await all.count('~.run WHERE request_sha256 = sha256(request_bytes)'), 2);
    assert.equal(await all.count(`~.run WHERE body_sha256 = sha256(body_bytes) AND run_id = '${good}'`), 1);
    assert.equal(await all.count(`~.run WHERE body_sha256 <> sha256(body_bytes) AND run_id = '${bad}'`), 1);
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
    const job = (await control(sidecar)('POST', '/v2/projects/p/jobs', { body: { what: 'cancel', filter: { app: 'a' } } })).json();
    await until('the job has ended', async () => (await control(sidecar)('GET', `/v2/projects/p/jobs/${job.job_id}`)).json().ended_at);
    await sidecar.stop();
    return { dataDir: sidecar.dataDir, good, revoked, job };
}

const knock = async (replica, { token }) =>
    (await replica.call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' })).status;

test('tokens of an embedded store are good with replicas, and its key signs there if the schema has none', async (t) => {
    const all = await fleet(t, { env: LOCKED });
    const left = await leaveAccounts(t);
    const { stdout } = await take(all.database, left.dataDir);
    assert.match(stdout, /^imported: 2 accounts, 0 runs [^;]*\n$/);
    const a = await all.add('a');
    const { audit } = (await control(a.sidecar)('GET', '/v2/projects/p/audit?limit=200')).json();
    assert.deepEqual(audit.filter((row) => row.target?.kind === 'account').map((row) => [row.action, row.target.name]),
        [['account_revoked', 'revoked'], ['account_made', 'revoked'], ['account_made', 'good']], 'who did it went along');
    const { jobs } = (await control(a.sidecar)('GET', '/v2/projects/p/jobs')).json();
    assert.deepEqual(jobs.map((job) => [job.job_id, job.state, job.filter]), [[left.job.job_id, 'done', { app: 'a' }]], 'jobs, too');
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
    const rekeyed = await run(['store', 'rekey'], { ...all.database.env, ...env });
    assert.equal(rekeyed.code, 0, rekeyed.stderr);
    const c = await all.add('c', { env: { HOOKLINE_KEY: fresh } });
    for (const one of [own, ...two.map(({ good }) => good)]) assert.equal(await knock(c, one), 200);
});

/** An embedded store of `n` runs that wait, with webhooks, behind one that is inside the app. */
async function leaveQueue(t, n, receiver) {
    const all = await stage(t, { app: answers(gate()), env: ONE });
    const { begin } = embedded(all);
    await begin({ headers: { 'x-held': '1' } });
    await until('the app has it', () => all.app.requests.length > 0);
    const ids = [];
    for (let i = 0; i < n; i++) ids.push(await begin({ hook: receiver.url(`/${i}`), headers: { 'idempotency-key': `${i}` } }));
    await all.sidecar.kill();
    return { dataDir: all.sidecar.dataDir, ids };
}

test('an import that is killed between two batches goes on behind the first when it is run again', async (t) => {
    const all = await fleet(t);
    const { dataDir, ids } = await leaveQueue(t, 300, all.receiver);
    const sorted = [...ids].sort();
    await run(['store', 'migrate'], all.database.env);
    // Somebody is about to put the last run there: the batch that has it waits for him.
    const client = await all.database.connect(t);
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${all.database.schema}.run (run_id, project, app, is_async, has_webhook, created_ms, method,
        path, request_where, request_size) VALUES ($1, 'p', 'a', true, false, 1, '', '', 0, 0)`, [sorted.at(-1)]);
    const kill = gate();
    const cut = take(all.database, dataDir, { killed: kill.promise });
    await until('the first batch is there', async () => (await all.count('~.run')) > 0);
    const first = await all.count('~.run');
    kill.open();
    assert.equal((await cut).signal, 'SIGKILL');
    await client.query('ROLLBACK');
    assert.ok(first < ids.length, `${first} are there`);

    // What was taken over may run, end and go before the import goes on.
    const a = await all.add('a');
    await a.finished(sorted[0]);
    await all.receiver.delivered('/0');
    await all.rows('DELETE FROM ~.run WHERE run_id = $1', [sorted[0]]);
    const { stdout } = await take(all.database, dataDir);
    const left = ids.length + 1 - first;
    assert.match(stdout, new RegExp(`^imported: 0 accounts, ${left} runs \\(${left} queued, 0 interrupted\\)`));
    for (const id of sorted.slice(1)) assert.equal((await a.finished(id)).state, 'success');
    for (const id of ids) assert.equal(all.calls(id), 1);
    for (let i = 0; i < ids.length; i++) await all.receiver.delivered(`/${i}`);
    assert.equal(all.receiver.requests.length, ids.length);
});

test('a directory that was moved starts no more, and says why', async (t) => {
    const database = await postgres(t);
    const { sidecar } = await stage(t);
    await sidecar.stop();
    await take(database, sidecar.dataDir);
    const env = { HOOKLINE_DATA_DIR: sidecar.dataDir, HOOKLINE_APP_URL: 'http://127.0.0.1:1' };
    const admin = `127.0.0.1:${await freePort()}`;
    for (const words of [[], ['config', 'check']]) {
        const { code, stderr } = await run(words, { ...env, HOOKLINE_LISTEN: '127.0.0.1:0', HOOKLINE_ADMIN_LISTEN: admin });
        assert.notEqual(code, 0);
        assert.match(stderr, /HOOKLINE_DATA_DIR: the store in [^\n]* was moved to PostgreSQL[^\n]*HOOKLINE_STORE=postgres/);
    }
    await rm(join(sidecar.dataDir, 'moved'));
    const again = await startSidecar(t, { env, dataDir: sidecar.dataDir, wait: 'healthz' });
    await again.stop();
});

test('an import says in one line what is wrong, and changes nothing', async (t) => {
    const database = await postgres(t);
    const { sidecar } = await stage(t);
    const refused = async (directory, pattern, env) => {
        const { stdout, stderr } = await take(database, directory, { env, code: 1 });
        assert.equal(stdout, '');
        assert.match(stderr, pattern);
        assert.match(stderr, /^hookline store import: [^\n]+\n$/);
        assert.equal(existsSync(join(directory, 'moved')), false);
    };
    await refused(sidecar.dataDir, /DATA_DIR: the data directory .* is in use by process \d+/);
    await sidecar.stop();
    const elsewhere = await temporaryDirectory(t);
    await refused(join(elsewhere, 'none'), /DATA_DIR: .*none is not there/);
    await refused(elsewhere, /DATA_DIR: .* holds no store: there is no hookline.db in it/);
    await writeFile(join(elsewhere, 'file'), '');
    await refused(join(elsewhere, 'file'), /DATA_DIR: .*file is not a directory/);
    await mkdir(join(elsewhere, 'other'), { mode: 0o700 });
    await writeFile(join(elsewhere, 'other', 'hookline.db'), 'no database at all, but some text'.repeat(99));
    await refused(join(elsewhere, 'other'), /DATA_DIR: .*hookline.db.* is damaged|not a database/);

    const key = join(sidecar.dataDir, 'key');
    const itsKey = (await readFile(key, 'utf8')).trim();
    await rename(key, join(elsewhere, 'key'));
    await refused(sidecar.dataDir, /DATA_DIR: .* was made with a key other than those given/);
    await writeFile(key, newKey(), { mode: 0o600 });
    await refused(sidecar.dataDir, /DATA_DIR: .* was made with a key other than those given/);
    await rm(key);
    assert.deepEqual(await database.query('SELECT FROM pg_namespace WHERE nspname = $1', [database.schema]), []);
    const away = { HOOKLINE_POSTGRES_URL: 'postgres://nobody@127.0.0.1:1/none', HOOKLINE_PREVIOUS_KEY: itsKey };
    await refused(sidecar.dataDir, /HOOKLINE_POSTGRES_URL: /, away);
    await take(database, sidecar.dataDir, { env: { HOOKLINE_PREVIOUS_KEY: itsKey } });

    const bare = await run(['store', 'import'], database.env);
    assert.equal(bare.code, 2);
    assert.match(bare.stderr, /^hookline store import: it needs the data directory of a hookline that does not run/);
    const embeddedStore = await run(['store', 'import', elsewhere], {});
    assert.match(embeddedStore.stderr, /store import: this command is for HOOKLINE_STORE=postgres/);
    assert.equal(embeddedStore.code, 2);
});

test('a store of a newer hookline is refused', async (t) => {
    const database = await postgres(t);
    const { sidecar } = await stage(t);
    await sidecar.stop();
    await promisify(execFile)('sqlite3', [join(sidecar.dataDir, 'hookline.db'), 'PRAGMA user_version = 99']);
    const { stderr } = await take(database, sidecar.dataDir, { code: 1 });
    assert.match(stderr, /^hookline store import: DATA_DIR: [^\n]*written by a newer hookline[^\n]*\n$/);
});

/** A role that reads and writes the rows of a schema and owns nothing of it. */
async function makeRole(t, database) {
    const name = `${database.schema}_clerk`;
    await database.superuser(`CREATE ROLE ${name} LOGIN PASSWORD 'its-password'`);
    atEnd(t, async () => {
        await database.superuser(`DROP OWNED BY ${name}`);
        await database.superuser(`DROP ROLE ${name}`);
    });
    assert.equal((await run(['store', 'migrate', '--role', name], database.env)).code, 0);
    const url = new URL(database.url);
    url.username = name;
    url.password = 'its-password';
    return { HOOKLINE_POSTGRES_URL: url.href };
}

test('what is older than the schema’s history is imported by the schema’s owner', async (t) => {
    const all = await fleet(t);
    const { dataDir, ids } = await leaveQueue(t, 2, all.receiver);
    const clerk = await makeRole(t, all.database);
    // The history begins with the partition behind the first one.
    for (const kind of ['run', 'delivery', 'attempt', 'body', 'tag']) {
        const parts = await all.rows(`SELECT inhrelid::regclass::text AS name FROM pg_inherits
            WHERE inhparent = '~.${kind}'::regclass ORDER BY 1`);
        await all.rows(`DROP TABLE ${parts[0].name}`);
    }
    const denied = await take(all.database, dataDir, { env: clerk, code: 1 });
    assert.match(denied.stderr, /^hookline store import: DATA_DIR: [^\n]* from before the schema's history: run this as the role that owns/);
    assert.equal(existsSync(join(dataDir, 'moved')), false);
    assert.match((await take(all.database, dataDir)).stdout, /^imported: 0 accounts, 3 runs /);
    const a = await all.add('a', { env: clerk });
    for (const id of ids) assert.equal((await a.finished(id)).state, 'success');
});

test('what comes from days to come is refused', async (t) => {
    const database = await postgres(t);
    const all = await stage(t);
    await embedded(all).begin();
    await all.sidecar.stop();
    const late = (Date.now() + 60 * 24 * 3_600_000).toString(16).padStart(12, '0').padEnd(32, '0');
    await promisify(execFile)('sqlite3', [join(all.sidecar.dataDir, 'hookline.db'), `UPDATE run SET run_id = x'${late}'`]);
    const { stderr } = await take(database, all.sidecar.dataDir, { code: 1 });
    assert.match(stderr, /^hookline store import: DATA_DIR: [^\n]*holds runs dated in the future[^\n]*\n$/);
});

test('an import tries again what somebody holds', async (t) => {
    const all = await fleet(t);
    const { dataDir, ids } = await leaveQueue(t, 3, all.receiver);
    await run(['store', 'migrate'], all.database.env);
    const client = await all.database.connect(t);
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${all.database.schema}.run (run_id, project, app, is_async, has_webhook, created_ms, method,
        path, request_where, request_size) VALUES ($1, 'p', 'a', true, false, 1, '', '', 0, 0)`, [ids[0]]);
    const importing = take(all.database, dataDir);
    const held = async () =>
        (await all.database.superuser(`SELECT query_start FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND datname = current_database() AND query LIKE 'WITH input AS MATERIALIZED%'`))[0]?.query_start;
    const first = await until('it waits for us', held);
    await until('it waits once more', async () => {
        const now = await held();
        return now && now > first;
    });
    await client.query('ROLLBACK');
    assert.match((await importing).stdout, new RegExp(`^imported: 0 accounts, ${ids.length + 1} runs `));
});
