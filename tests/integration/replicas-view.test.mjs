// What is seen of replicas: whose a run is, who shares the store, and the figures of each and of all.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from './lib/case.mjs';
import { assertAccessible, makeToken, openDashboard } from './lib/browser.mjs';
import { cluster } from './lib/postgres.mjs';
import { RUNS, fleet } from './lib/replicas.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { run as command } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const ONE = { HOOKLINE_ASYNC_CONCURRENCY: '1' };
const SECONDS = { age_seconds: 0, beat_seconds: 0 };

/** Two replicas whose only places are taken, and a run that waits. */
async function busy(t, options) {
    const all = await fleet(t, { env: ONE, ...options });
    const a = await all.add('a');
    const ofA = await a.begin({ isHeld: true });
    await a.called(ofA);
    const b = await all.add('b');
    const ofB = await a.begin({ isHeld: true });
    await b.called(ofB);
    return { all, a, b, ofA, ofB, queued: await a.begin() };
}

const said = async (replica) => (await replica.ask('GET', '/v2/replicas')).json().replicas;

test('a run says whose it is, and whose it was when that replica has gone', async (t) => {
    const { all, a, b, ofA, ofB, queued } = await busy(t);
    assert.equal((await b.show(ofA)).replica, 'a');
    assert.equal((await a.show(ofB)).replica, 'b');
    assert.equal((await a.show(queued)).replica, null);
    const { runs } = (await a.ask('GET', RUNS)).json();
    assert.deepEqual(runs.map((run) => [run.run_id, run.replica]), [[queued, null], [ofB, 'b'], [ofA, 'a']]);

    await b.sidecar.kill();
    const run = await a.finished(ofB);
    assert.deepEqual([run.reason, run.replica], ['interrupted', 'b'], 'not the one that found it dead');
    const c = await all.add('c');
    all.held.open();
    await c.finished(queued);
    await c.finished(ofA);
    await a.sidecar.stop();
    await all.rows(`DELETE FROM ~.node WHERE name <> 'c'`);
    assert.equal((await c.show(ofA)).replica, 'a');
    assert.equal((await c.show(ofB)).replica, 'b');
    const { stdout } = await command(['runs', 'show', ofB], { HOOKLINE_DATA_DIR: c.sidecar.dataDir });
    assert.match(stdout, /^replica +b$/m);
});

test('a synchronous run is its own replica’s, one that was cancelled in the queue nobody’s', async (t) => {
    const { a, b, queued } = await busy(t);
    const { headers } = await b.call(RUN);
    const { runs } = (await b.ask('GET', `${RUNS}?async=false`)).json();
    assert.deepEqual(runs.map((run) => [run.run_id, run.replica]), [[headers['x-request-id'], 'b']]);
    assert.equal((await b.show(headers['x-request-id'])).replica, 'b');
    for (const [method, what] of [['GET', ''], ['GET', '/result'], ['GET', '/events'], ['GET', '/logs'], ['POST', '/cancel']]) {
        const answer = await a.ask(method, `${RUNS}/${headers['x-request-id']}${what}`);
        assertRefused(answer, 404, /was synchronous at another replica/);
    }
    assert.equal((await a.ask('POST', `${RUNS}/${queued}/cancel`)).status, 202);
    assert.equal((await b.finished(queued)).replica, null);
});

test('replicas are listed as store status has them, for admins', async (t) => {
    const { all, a, b } = await busy(t, { env: { ...ONE, HOOKLINE_AUTH: 'none' } });
    const listed = await said(a);
    assert.deepEqual(listed.map(({ name, state, runs, deliveries }) => [name, state, runs, deliveries]), [
        ['a', 'alive', 1, 0],
        ['b', 'alive', 1, 0],
    ]);
    for (const { age_seconds: age, beat_seconds: beat } of listed) assert.ok(age >= beat && beat >= 0 && beat < 60);
    const status = JSON.parse((await command(['store', 'status', '--json'], all.database.env)).stdout);
    const still = (replicas) => replicas.map((replica) => ({ ...replica, ...SECONDS }));
    assert.deepEqual(still(listed), still(status.replicas));
    assert.deepEqual(Object.keys(listed[0]), Object.keys(status.replicas[0]));

    await b.sidecar.kill();
    const states = async () => (await said(a)).map(({ name, state }) => `${name} ${state}`);
    await until('the other one is dead', async () => (await states()).join() === 'a alive,b dead');
    assert.deepEqual((await a.ask('GET', '/v2/projects/p/replicas')).json().replicas.length, 2);
    assert.equal(await all.count(`~.node WHERE is_dead`), 1);
});

test('a store that is not shared has no replicas, and its runs say nothing of them', async (t) => {
    const { sidecar, call } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const ask = control(sidecar);
    assert.deepEqual((await ask('GET', '/v2/replicas')).json(), { replicas: [] });
    const token = await makeToken(sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const { headers: answer } = await call(RUN, { headers });
    const run = (await ask('GET', `${RUNS}/${answer['x-request-id']}`)).json();
    assert.ok(run.run_id && !('replica' in run));
    const asAdmin = await rest(sidecar, { token })('GET', '/v2/projects/p/replicas');
    assert.deepEqual([asAdmin.status, asAdmin.json()], [200, { replicas: [] }]);
    const guest = await makeToken(sidecar, { role: 'invoke' });
    assertRefused(await rest(sidecar, { token: guest })('GET', '/v2/projects/p/replicas'), 403);
    assert.equal((await rest(sidecar, { admin: true, token })('GET', '/v2/replicas')).status, 404);
    assert.equal(await sidecar.metric('hookline_store_up'), 1);
    for (const { name } of await sidecar.metrics()) assert.doesNotMatch(name, /replica|postgres|clock/);
});

test('each replica exports what all have queued, and what it has itself', async (t) => {
    const { a, b } = await busy(t);
    const both = async (name) => [await a.sidecar.metric(name), await b.sidecar.metric(name)];
    await until('the queue is known', async () => (await both('hookline_runs_queued')).join() === '1,1');
    await until('both know both', async () => (await both('hookline_replicas')).join() === '2,2');
    assert.deepEqual(await both('hookline_runs_in_flight'), [1, 1]);
    assert.deepEqual(await both('hookline_store_up'), [1, 1]);
    assert.equal(await b.sidecar.metric('hookline_replica_info', { name: 'b', role: 'all' }), 1);
    for (const table of ['ticket', 'delivery_ticket'])
        assert.ok((await a.sidecar.metric('hookline_postgres_dead_tuples', { table })) >= 0);
    const help = (await a.sidecar.metrics()).find(({ name }) => name === 'hookline_runs_queued').help;
    assert.match(help, /for all of them: use max\(\), never sum\(\)/);
    await b.sidecar.kill();
    await until('one is left', async () => (await a.sidecar.metric('hookline_replicas')) === 1);
});

test('the age of a snapshot that somebody holds is a figure', { waits: true }, async (t) => {
    const all = await fleet(t);
    const a = await all.add('a');
    const age = () => a.sidecar.metric('hookline_postgres_oldest_xmin_age_seconds');
    const holder = await all.database.connect(t, all.database.url);
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await holder.query('SELECT count(*) FROM pg_class');
    await until('it is seen', async () => (await age()) > 1);
    await holder.query('ROLLBACK');
    await until('it is gone', async () => (await age()) < 1);
});

test('a store that is gone is down in the figures until it is back', async (t) => {
    const database = await cluster(t);
    const all = await fleet(t, { database });
    const a = await all.add('a');
    assert.equal(await a.sidecar.metric('hookline_store_up'), 1);
    await database.stop();
    await until('it is down', async () => (await a.sidecar.metric('hookline_store_up')) === 0);
    await database.start();
    await until('it is up', async () => (await a.sidecar.metric('hookline_store_up')) === 1);
});

test('a schema of version 1 learns whose a run is, and keeps its runs', async (t) => {
    const all = await fleet(t);
    const old = await all.add('old');
    const before = await old.begin();
    await old.finished(before);
    await old.sidecar.stop();
    await all.rows('ALTER TABLE ~.run DROP COLUMN replica, DROP COLUMN priority, DROP COLUMN log, DROP COLUMN attempt_log, DROP COLUMN identity, DROP COLUMN keeps, DROP COLUMN rerun_of, DROP COLUMN progress, DROP COLUMN answer_head, DROP COLUMN error, DROP COLUMN tags, DROP COLUMN gate_us, DROP COLUMN connect_us, DROP COLUMN first_byte_us');
    await all.rows('ALTER TABLE ~.node DROP COLUMN key_check, DROP COLUMN role');
    await all.rows('ALTER TABLE ~.ticket DROP COLUMN timeout_ms, DROP COLUMN start_by, DROP COLUMN class, DROP COLUMN subject, DROP COLUMN turn, DROP COLUMN max_attempts, DROP COLUMN progress, DROP COLUMN lane, DROP COLUMN has_caller');
    await all.rows('ALTER TABLE ~.delivery_ticket DROP COLUMN is_waiting');
    await all.rows('ALTER TABLE ~.attempt DROP COLUMN name_us, DROP COLUMN connect_us, DROP COLUMN tls_us, DROP COLUMN first_byte_us, DROP COLUMN address, DROP COLUMN content_type, DROP COLUMN body, DROP COLUMN sent_size, DROP COLUMN retry_after_s');
    await all.rows('ALTER TABLE ~.delivery DROP COLUMN url, DROP COLUMN secret');
    await all.rows('DROP TABLE ~.failing');
    await all.rows('DROP INDEX ~.delivery_by_lane, ~.delivery_by_lane_state, ~.delivery_since');
    await all.rows('DROP TABLE ~.stream');
    await all.rows('DROP FUNCTION ~.escaped_size');
    await all.rows('DROP INDEX ~.run_stream');
    await all.rows('ALTER TABLE ~.node DROP COLUMN app_at, DROP COLUMN session');
    await all.rows('DROP TABLE ~.tally, ~.tally_source, ~.audit, ~.rate, ~.permit, ~.tag, ~.job, ~.job_piece');
    await all.rows('DROP FUNCTION ~.add_up, ~.lend, ~.hold');
    await all.rows(`DELETE FROM ~.meta WHERE k = 'counted_ms'`);
    const limits = ['max_running', 'max_queued', 'rate_count', 'rate_window_s', 'max_priority', 'limits_revision'];
    await all.rows(`ALTER TABLE ~.account ${limits.map((name) => `DROP COLUMN ${name}`).join(', ')}`);
    await all.rows(`UPDATE ~.meta SET v = '1' WHERE k = 'version'`);

    const a = await all.add('a');
    const after = await a.begin();
    assert.equal((await a.finished(after)).replica, 'a');
    assert.deepEqual([(await a.show(before)).state, (await a.show(before)).replica], ['success', null]);
    assert.equal((await all.rows(`SELECT convert_from(v, 'UTF8') AS v FROM ~.meta WHERE k = 'version'`))[0].v, '23');
});

test('what the pages about replicas say of figures is exported by one', async (t) => {
    const a = await (await fleet(t)).add('a');
    const names = new Set((await a.sidecar.metrics()).map(({ name }) => name));
    const families = (await a.sidecar.metrics()).filter(({ type }) => type === 'histogram');
    for (const { name } of families) for (const part of ['bucket', 'sum', 'count']) names.add(`${name}_${part}`);
    for (const file of ['replicas.md', 'kubernetes-replicas.yaml', 'keda.yaml', 'kubernetes.md']) {
        const text = await readFile(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
        const named = text.match(/\bhookline_[a-z_]+/g);
        assert.ok(named.length > 0);
        for (const name of named) assert.ok(names.has(name), `${file}: ${name}`);
    }
});

test('the autoscalers ask for the whole queue once, and for what is in flight everywhere', async () => {
    for (const file of ['kubernetes-replicas.yaml', 'keda.yaml', 'replicas.md']) {
        const text = await readFile(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
        assert.match(text, /max\(hookline_runs_queued\b/, file);
        assert.doesNotMatch(text, /sum\(hookline_runs_queued\b/, file);
        assert.doesNotMatch(text, /max\(hookline_runs_in_flight\b/, file);
    }
});

test('the dashboard shows who shares the store, and whose a run is', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const a = await all.add('first');
    const token = await makeToken(a.sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const id = await a.begin({ headers, isHeld: true });
    await a.called(id);
    const b = await all.add('second');
    const page = await openDashboard(t, b.sidecar, { token, hash: '#/now' });
    const row = (name) => page.getByRole('table', { name: 'Replicas' }).getByRole('row').filter({ hasText: name });
    assert.match(await row('first').innerText(), /alive\s+\d+\.\d+\.\d+\s.*\s1\s+0$/s);
    await row('second').getByText('alive', { exact: true }).waitFor();
    await assertAccessible(page, 'replicas');
    await a.sidecar.kill();
    await row('first').getByText('dead', { exact: true }).waitFor();

    await page.evaluate((to) => (location.hash = to), `#/runs/${id}`);
    await page.locator('.facts div').filter({ hasText: /^Replica\s*first$/ }).waitFor();
    await page.getByText('interrupted').first().waitFor();
});
