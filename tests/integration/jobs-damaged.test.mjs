// Jobs whose rows are not as they were left: what cannot be read is said once and can be ended, and the others go on.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const JOBS = '/v2/projects/p/jobs';
const RUNS = '/v2/projects/p/runs';

async function staged(t, options) {
    const replicas = await fleet(t, options);
    const a = await replicas.add('a');
    return { replicas, a, ask: a.ask };
}

async function made(ask, job) {
    const answer = await ask('POST', JOBS, { body: job });
    assert.equal(answer.status, 202, answer.text);
    return answer.json().job_id;
}

const shown = async (ask, id) => (await ask('GET', `${JOBS}/${id}`)).json();
const ended = (ask, id) =>
    until(`job ${id} has ended`, async () => {
        const job = await shown(ask, id);
        return job.ended_at && job;
    });

async function begin(a, body) {
    const answer = await a.call(RUN, { body, query: { async: 'true' } });
    assert.equal(answer.status, 202, answer.text);
    return answer.json().run_id ?? answer.json().id;
}

const count_of = async (ask, state) => (await ask('GET', `${RUNS}?limit=200&state=${state}`)).json().runs.length;

/** Failed runs of the app, `n` of them, each with a body of its own. */
async function failed(a, ask, n) {
    for (let i = 0; i < n; i += 20) await Promise.all(Array.from({ length: Math.min(20, n - i) }, (_, k) => begin(a, `${i + k}`)));
    const count = async () => (await ask('POST', JOBS, { body: { what: 'rerun', filter: { state: 'failure' }, dry_run: true } })).json().count;
    await until(`${n} have failed`, async () => (await count()) === n);
}

/** As a piece keeps items that wait: store/job.c. */
const waiting = (...ids) => Buffer.concat(ids.map((id) => Buffer.concat([Buffer.from(id.replaceAll('-', ''), 'hex'), Buffer.alloc(22)])));

test('a run that was listed while it waited, and runs when those that run are listed, is one of a cancel’s', async (t) => {
    const held = gate();
    const app = async (x) => {
        await Promise.race([held.promise, x.gone]);
        await x.send(200);
    };
    const { replicas, a, ask } = await staged(t, { app });
    t.after(held.open);
    await Promise.all(['one', 'two', 'three'].map((body) => begin(a, body)));
    await until('all run', async () => (await count_of(ask, 'running')) === 3);
    const runs = (await ask('GET', `${RUNS}?state=running`)).json().runs.map((run) => run.run_id);
    const id = await made(ask, { what: 'cancel', filter: { app: 'none' } });
    await ended(ask, id);
    // Its first pass is over: one of them was written down then.
    const [{ plan }] = await replicas.rows(`SELECT plan FROM ~.job WHERE job_id = $1`, [id]);
    const all = JSON.stringify({ ...JSON.parse(plan), filter: {} });
    const progress = JSON.stringify({ phase: 1, pass: 1, cursor: null, pieces: 1, next: 0, is_acting: false, total: 1, settled: [0, 0, 0, 0], shown: [0, 0, 0, 0], began_ms: 1 });
    await replicas.rows(`INSERT INTO ~.job_piece (job_id, n, fates, items) VALUES ($1, 0, 1, $2)`, [id, waiting(runs[0])]);
    await replicas.rows(`UPDATE ~.job SET plan = $2, progress = $3, ended_ms = 0, lease_until = now() WHERE job_id = $1`, [id, Buffer.from(all), Buffer.from(progress)]);
    const job = await ended(ask, id);
    assert.deepEqual([job.state, job.total, job.done, job.skipped], ['done', 3, 3, 0]);
    const items = (await ask('GET', `${JOBS}/${id}/items`)).json().items;
    assert.deepEqual(items.map((item) => item.run_id).sort(), [...runs].sort());
});

test('a job that cannot be read is said so once, in its list too; others go on, and a stop ends it', async (t) => {
    const { replicas, a, ask } = await staged(t, { app: (x) => x.send(500) });
    await failed(a, ask, 101);
    const filter = { state: 'failure', until: Date.now() };
    const broken = await made(ask, { what: 'rerun', filter, pause_ms: 60_000 });
    const odd = await made(ask, { what: 'rerun', filter, pause_ms: 60_000 });
    for (const id of [broken, odd]) await until('its first piece is done', async () => (await shown(ask, id)).done === 100);
    await a.sidecar.kill();
    await replicas.rows(`UPDATE ~.job SET plan = 'damage' WHERE job_id = $1`, [broken]);
    await replicas.rows(`UPDATE ~.job SET progress = 'damage' WHERE job_id = $1`, [odd]);
    await replicas.rows(`UPDATE ~.job SET lease_until = now()`);
    await a.sidecar.start();
    const said = () => a.sidecar.log.filter((line) => /^a job cannot be read/.test(line.msg)).map((line) => line.job_id);
    await until('both are said to be unreadable', () => said().length >= 2);
    const { state, what, filter: shownFilter, who, done } = await shown(ask, broken);
    assert.deepEqual([state, what, shownFilter, who, done], ['unreadable', null, null, null, 100]);
    assert.deepEqual((({ state, what, done }) => [state, what, done])(await shown(ask, odd)), ['unreadable', 'rerun', 0]);
    const other = await made(ask, { what: 'rerun', filter: { app: 'none' } });
    assert.equal((await ended(ask, other)).state, 'done');
    const listed = (await ask('GET', JOBS)).json().jobs.map((job) => [job.job_id, job.state]);
    assert.deepEqual(listed, [[other, 'done'], [odd, 'unreadable'], [broken, 'unreadable']]);
    assert.deepEqual((await ask('GET', `${JOBS}/${broken}/items`)).json(), { items: [], next_cursor: null });
    for (const id of [broken, odd]) {
        assert.equal((await ask('POST', `${JOBS}/${id}/stop`)).status, 202);
        assert.equal((await ended(ask, id)).state, 'stopped');
    }
    assert.deepEqual(said().sort(), [broken, odd].sort(), 'each is said once, though jobs were looked for several times');
});

test('a piece of a job that is damaged is passed over, and the log says which', async (t) => {
    const { replicas, a, ask } = await staged(t, { app: (x) => x.send(500) });
    await failed(a, ask, 201);
    const id = await made(ask, { what: 'rerun', filter: { state: 'failure' }, pause_ms: 60_000 });
    await until('its first piece is done', async () => (await shown(ask, id)).done === 100);
    await a.sidecar.kill();
    await replicas.rows(`UPDATE ~.job_piece SET items = 'damage' WHERE job_id = $1 AND n = 1`, [id]);
    const [{ plan }] = await replicas.rows(`SELECT plan FROM ~.job WHERE job_id = $1`, [id]);
    await replicas.rows(`UPDATE ~.job SET plan = $2, lease_until = now() WHERE job_id = $1`, [id, Buffer.from(`${plan}`.replace('60000', '1'))]);
    await a.sidecar.start();
    const job = await ended(ask, id);
    assert.deepEqual([job.state, job.total, job.done, job.skipped, job.failed], ['done', 201, 101, 0, 0]);
    const lines = a.sidecar.log.filter((line) => /^a piece of a job is damaged/.test(line.msg));
    assert.deepEqual(lines.map((line) => [line.job_id, line.piece]), [[id, 1]]);
    const items = (await ask('GET', `${JOBS}/${id}/items?limit=200`)).json().items;
    assert.equal(items.length, 101);
});
