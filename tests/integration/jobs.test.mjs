// Bulk work that the server carries out: made by a filter, done piece by piece, stopped, and gone through once whatever is cut off.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control } from './lib/rest.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const JOBS = '/v2/projects/p/jobs';
const RUNS = '/v2/projects/p/runs';

/** An app that fails a call whose path ends in /fails the first time that it comes, and says how often each body came. */
function failing() {
    const seen = new Map();
    const app = async (x) => {
        const body = `${await x.body()}`;
        seen.set(body, (seen.get(body) ?? 0) + 1);
        await x.send(body.startsWith('bad') && seen.get(body) === 1 ? 500 : 200, {}, body);
    };
    return { seen, app };
}

const STORES = ['sqlite', 'memory', 'postgres'];

async function staged(t, store, { app, env = {} } = {}) {
    if (store === 'postgres') {
        const replicas = await fleet(t, { app, env });
        const one = await replicas.add('a');
        return { sidecar: one.sidecar, call: one.call, ask: one.ask, receiver: replicas.receiver, replicas };
    }
    const all = await stage(t, { app, env: { HOOKLINE_STORE: store, ...env } });
    return { ...all, ask: control(all.sidecar) };
}

async function begin(all, bodies, query = {}) {
    for (const body of bodies) {
        const answer = await all.call(RUN, { body, query: { async: 'true', ...query } });
        assert.equal(answer.status, 202, answer.text);
    }
}

const listed = async (ask, query) => (await ask('GET', `${RUNS}?${query}`)).json().runs;
const count_of = (ask, query, n) => until(`${n} runs are ${query}`, async () => (await listed(ask, `limit=200&${query}`)).length === n);

async function made(ask, job) {
    const answer = await ask('POST', JOBS, { body: job });
    assert.equal(answer.status, 202, answer.text);
    assert.equal(answer.headers.location, `${JOBS}/${answer.json().job_id}`);
    return answer.json().job_id;
}

const shown = async (ask, id) => (await ask('GET', `${JOBS}/${id}`)).json();

async function ended(ask, id) {
    return until(`job ${id} has ended`, async () => {
        const job = await shown(ask, id);
        return job.ended_at && job;
    });
}

async function items(ask, id, query = '') {
    const all = [];
    for (let cursor = ''; cursor !== null; ) {
        const answer = await ask('GET', `${JOBS}/${id}/items?limit=3${query}${cursor && `&cursor=${cursor}`}`);
        assert.equal(answer.status, 200, answer.text);
        const page = answer.json();
        all.push(...page.items);
        cursor = page.next_cursor;
    }
    return all;
}

for (const store of STORES)
    test(`${store}: runs that failed are run again by a job, each once, and what the job makes is not matched again`, async (t) => {
        const { seen, app } = failing();
        const all = await staged(t, store, { app });
        const { ask } = all;
        const bad = Array.from({ length: 7 }, (_, i) => `bad ${i}`);
        await begin(all, [...bad, 'good']);
        await count_of(ask, 'state=failure', 7);
        await count_of(ask, 'state=success', 1);
        const filter = { state: 'failure', app: 'a' };
        const dry = await ask('POST', JOBS, { body: { what: 'rerun', filter, dry_run: true } });
        assert.equal(dry.status, 200, dry.text);
        assert.deepEqual([dry.json().what, dry.json().count, dry.json().has_more], ['rerun', 7, false]);
        assertRefused(await ask('POST', JOBS, { body: { what: 'rerun', filter, expected: 6 } }), 409, /matches 7, .* expected \(6\)/);
        const id = await made(ask, { what: 'rerun', filter, expected: 7 });
        assert.match(id, UUID_V7);
        const job = await ended(ask, id);
        assert.deepEqual([job.state, job.total, job.is_total, job.done, job.skipped, job.failed], ['done', 7, true, 7, 0, 0]);
        assert.deepEqual(job.filter, filter);
        await count_of(ask, 'state=success', 8);
        assert.ok(bad.every((body) => seen.get(body) === 2), JSON.stringify([...seen]));
        const done = await items(ask, id);
        assert.equal(done.length, 7);
        for (const item of done) {
            assert.deepEqual([item.outcome, item.reason], ['done', null]);
            const again = (await ask('GET', `${RUNS}/${item.rerun_id}`)).json();
            assert.equal(again.rerun_of, item.run_id);
        }
        assert.deepEqual(await items(ask, id, '&outcome=failed'), []);
        const rows = (await ask('GET', '/v2/projects/p/audit')).json().audit.filter((row) => row.target?.id === id);
        assert.deepEqual(rows.map((row) => [row.action, row.count]), [['job_ended', 7], ['job_made', null]]);
        assert.equal((await ask('GET', `/v2/projects/p/audit?action=run_rerun`)).json().audit.length, 0);
        assert.deepEqual((await ask('GET', JOBS)).json().jobs.map((row) => row.job_id), [id]);
        assert.deepEqual((await ask('GET', '/v2/jobs')).json().jobs.map((row) => row.job_id), [id]);
    });
