// Bulk work that the server carries out: made by a filter, done piece by piece, stopped, and gone through once whatever is cut off.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control } from './lib/rest.mjs';
import { run } from './lib/sidecar.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

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
const ON_DISK = ['sqlite', 'postgres'];

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

for (const store of ON_DISK)
    test(`${store}: what waits and what runs is cancelled by a job, and what has ended is no part of it`, async (t) => {
        const held = gate();
        const app = async (x) => {
            const body = `${await x.body()}`;
            if (body !== 'quick') await Promise.race([held.promise, x.gone]);
            await x.send(200, {}, body);
        };
        const all = await staged(t, store, { app, env: { HOOKLINE_APP_CONCURRENCY: '1' } });
        const { ask } = all;
        t.after(held.open);
        await begin(all, ['quick']);
        await count_of(ask, 'state=success', 1);
        await begin(all, ['held', 'a', 'b', 'c']);
        await count_of(ask, 'state=running', 1);
        const job = await ended(ask, await made(ask, { what: 'cancel', filter: { app: 'a' } }));
        assert.deepEqual([job.state, job.total, job.done + job.skipped, job.failed], ['done', 4, 4, 0]);
        await count_of(ask, 'state=cancelled', 4);
        assert.equal((await listed(ask, 'state=success')).length, 1);
    });

for (const store of ON_DISK)
    test(`${store}: dead letters are sent again by a job, each in one round more`, async (t) => {
        const all = await staged(t, store, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1' } });
        const { ask, receiver } = all;
        let status = 500;
        receiver.script('/hook', (x) => x.send(status));
        await begin(all, Array.from({ length: 5 }, (_, i) => `hook ${i}`), { webhookEndpoint: receiver.url('/hook') });
        const dead = () => ask('GET', '/v2/projects/p/deliveries/count?state=dead').then((answer) => answer.json().count);
        await until('all are dead', async () => (await dead()) === 5);
        status = 200;
        const id = await made(ask, { what: 'redeliver', filter: { state: 'dead' }, pause_ms: 0 });
        const job = await ended(ask, id);
        assert.deepEqual([job.state, job.total, job.done], ['done', 5, 5]);
        await until('all are delivered', async () => (await dead()) === 0);
        const again = await ended(ask, await made(ask, { what: 'redeliver', filter: { state: 'dead' } }));
        assert.deepEqual([again.state, again.total], ['done', 0]);
        const sent = await items(ask, id);
        for (const item of sent) {
            const delivery = (await ask('GET', `/v2/projects/p/deliveries/${item.delivery_id}`)).json();
            assert.deepEqual([item.outcome, delivery.round], ['done', 2]);
        }
    });

/** Runs that failed, `n` of them, as the app answers nothing at first: their bodies differ. */
async function many_failed(all, n) {
    for (let i = 0; i < n; i += 20) {
        const bodies = Array.from({ length: Math.min(20, n - i) }, (_, k) => `bad ${i + k}`);
        await Promise.all(bodies.map((body) => begin(all, [body])));
    }
    await until('all have failed', async () => (await counted(all.ask, { state: 'failure' })) === n);
}

const counted = async (ask, filter) =>
    (await ask('POST', JOBS, { body: { what: 'rerun', filter, dry_run: true } })).json().count;

/** How often each run was run again. */
async function reruns(ask) {
    const times = new Map();
    for (let cursor = ''; cursor !== null; ) {
        const page = (await ask('GET', `${RUNS}?limit=200${cursor && `&cursor=${cursor}`}`)).json();
        for (const { rerun_of } of page.runs) if (rerun_of) times.set(rerun_of, (times.get(rerun_of) ?? 0) + 1);
        cursor = page.next_cursor;
    }
    return times;
}

test('a job goes on where it was after kills -9, and makes one run of each', async (t) => {
    const all = await stage(t, { app: failing().app });
    const ask = control(all.sidecar);
    await many_failed({ ...all, ask }, 230);
    const id = await made(ask, { what: 'rerun', filter: { state: 'failure', until: new Date().toISOString() }, pause_ms: 40 });
    for (const least of [0, 1, 101]) {
        await until(`more than ${least} are done`, async () => {
            const job = await shown(ask, id);
            return job.ended_at || (job.done >= least && job.state !== 'waiting');
        });
        await all.sidecar.kill();
        await all.sidecar.start();
    }
    const job = await ended(ask, id);
    assert.deepEqual([job.state, job.total, job.done, job.failed], ['done', 230, 230, 0]);
    const times = await reruns(ask);
    assert.equal(times.size, 230);
    assert.deepEqual([...times.values()].filter((n) => n !== 1), []);
});

test('a job whose process is killed after each of its commits makes one run of each', async (t) => {
    const { sidecar, ...all } = await stage(t, { app: failing().app });
    const ask = control(sidecar);
    await many_failed({ ...all, ask }, 12);
    const id = await made(ask, { what: 'rerun', filter: { state: 'failure', until: Date.now() } });
    await sidecar.kill();
    for (const commits of [2, 3, 4, 3, 4, 5, 3, 4]) {
        sidecar.env.HOOKLINE_CRASH_AT = `batch-committed:${commits}`;
        await sidecar.start(null);
        const is_over = () => shown(ask, id).then((job) => job.ended_at, () => null); // it may die meanwhile
        await until('it is dead, or the job has ended', async () => !sidecar.isRunning || is_over());
        if (sidecar.isRunning) await sidecar.kill();
    }
    delete sidecar.env.HOOKLINE_CRASH_AT;
    await sidecar.start();
    const job = await ended(ask, id);
    assert.deepEqual([job.state, job.total, job.done], ['done', 12, 12]);
    const times = await reruns(ask);
    assert.equal(times.size, 12);
    assert.deepEqual([...times.values()].filter((n) => n !== 1), []);
});

test('a job whose process is killed after each of its commits tells each webhook that it sent again as done', async (t) => {
    const { sidecar, receiver, ...all } = await stage(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1', HOOKLINE_WEBHOOK_PER_HOST: '1' } });
    const ask = control(sidecar);
    let held = gate();
    held.open();
    t.after(() => held.open());
    const answer = async (x) => {
        await Promise.race([held.promise, x.gone]);
        await x.send(410);
    };
    await begin(all, Array(6).fill('{}'), { webhookEndpoint: receiver.script('/dead', answer) });
    const areDead = async () => (await ask('GET', '/v2/projects/p/deliveries/count?state=dead')).json().count === 6;
    for (let commits = 5, round = 2; commits <= 7; commits++, round++) {
        await until('all are dead', areDead);
        held = gate();
        await sidecar.kill();
        sidecar.env.HOOKLINE_CRASH_AT = `batch-committed:${commits}`;
        await sidecar.start();
        const id = await made(ask, { what: 'redeliver', filter: { state: 'dead' } });
        await until('it is dead', () => !sidecar.isRunning);
        delete sidecar.env.HOOKLINE_CRASH_AT;
        await sidecar.start();
        const job = await ended(ask, id);
        assert.deepEqual([job.total, job.done, job.skipped, job.failed], [6, 6, 0, 0], `after ${commits} commits`);
        for (const { delivery_id: key } of await items(ask, id)) assert.equal((await ask('GET', `/v2/projects/p/deliveries/${key}`)).json().round, round, key);
        held.open();
    }
});

test('a replica that dies leaves its job to another, which makes one run of each', async (t) => {
    const replicas = await fleet(t, { app: failing().app });
    const a = await replicas.add('a');
    const b = await replicas.add('b');
    await many_failed(a, 210);
    const id = await made(a.ask, { what: 'rerun', filter: { state: 'failure' }, pause_ms: 500 });
    const walks = (replica) => replica.sidecar.log.some((line) => line.msg === 'a job is carried out');
    await until('somebody has begun to do it', async () => (await shown(a.ask, id)).done >= 100);
    assert.ok(walks(a) !== walks(b), 'one of them walks it');
    const [first, other] = walks(a) ? [a, b] : [b, a];
    await first.sidecar.kill();
    const job = await ended(other.ask, id);
    assert.deepEqual([job.state, job.total, job.done], ['done', 210, 210]);
    const times = await reruns(other.ask);
    assert.equal(times.size, 210);
    assert.deepEqual([...times.values()].filter((n) => n !== 1), []);
});

for (const store of ON_DISK)
    test(`${store}: a job leaves half of the queue to new calls, also while what it made waits for its retries`, async (t) => {
        const fails = { status: 404 };
        const app = async (x) => {
            await x.body();
            await x.send(fails.status);
        };
        const env = {
            HOOKLINE_MAX_QUEUED_RUNS: '12',
            HOOKLINE_APP_CONCURRENCY: '1', // who is inside is not in the queue
            HOOKLINE_RUN_ATTEMPTS: '2',
            HOOKLINE_RUN_RETRY_ON: '503',
            HOOKLINE_RUN_RETRY_DELAY: '5m',
        };
        const all = await staged(t, store, { app, env });
        for (const n of [8, 16]) {
            await begin(all, Array(8).fill('{}'));
            await count_of(all.ask, 'state=failure', n);
        }
        fails.status = 503;
        const id = await made(all.ask, { what: 'rerun', filter: { state: 'failure' } });
        const waiting = (n) => until(`${n} wait`, async () => (await all.sidecar.metric('hookline_runs_waiting_retry')) >= n);
        await waiting(6);
        await sleep(2500); // it looks each second
        assert.ok((await shown(all.ask, id)).done <= 6 + 1);
        await begin(all, Array(4).fill('{}'));
        await waiting(10);
        fails.status = 200;
        const { job_id } = (await all.ask('POST', JOBS, { body: { what: 'cancel', filter: { state: 'queued' } } })).json();
        await ended(all.ask, job_id);
        assert.deepEqual([(await ended(all.ask, id)).done, (await reruns(all.ask)).size], [16, 16]);
    });

test('a job is stopped, what was done stays done, and the rest waits for ever', async (t) => {
    const all = await stage(t, { app: failing().app });
    const ask = control(all.sidecar);
    await many_failed({ ...all, ask }, 130);
    const id = await made(ask, { what: 'rerun', filter: { state: 'failure' }, pause_ms: 60000 });
    await until('one piece is done', async () => (await shown(ask, id)).done === 100);
    assert.equal((await ask('POST', `${JOBS}/${id}/stop`)).status, 202);
    const job = await ended(ask, id);
    assert.deepEqual([job.state, job.total, job.done, job.skipped, job.failed], ['stopped', 130, 100, 0, 0]);
    assert.equal((await items(ask, id, '&outcome=waiting')).length, 30);
    assertRefused(await ask('POST', `${JOBS}/${id}/stop`), 409, /has ended/);
    const rows = (await ask('GET', '/v2/projects/p/audit?limit=10')).json().audit.map((row) => row.action);
    assert.deepEqual(rows.slice(0, 3), ['job_ended', 'job_stopped', 'job_made']);
});

test('a job of what was before 1970 is one of nothing', async (t) => {
    const all = await staged(t, 'memory', { app: failing().app });
    await begin(all, ['a', 'b']);
    await count_of(all.ask, 'state=success', 2);
    for (const start of ['1970-01-01T00:00:00Z', 0]) {
        const answer = await all.ask('POST', JOBS, { body: { what: 'rerun', filter: { until: start }, dry_run: true } });
        assert.equal(answer.json().count, 0, answer.text);
    }
});

test('what is no job is refused with why, and so is a fifth that goes on', async (t) => {
    const all = await stage(t, { app: failing().app });
    const ask = control(all.sidecar);
    const refused = async (body, status, why) => assertRefused(await ask('POST', JOBS, { body }), status, why);
    await refused('no', 400, /not a JSON object/);
    await refused({ what: 'rerun', filter: {}, more: 1 }, 400, /no other member/);
    await refused({ what: 'burn', filter: {} }, 400, /"cancel", "rerun" or "redeliver"/);
    await refused({ what: 'rerun' }, 400, /filter is not an object/);
    await refused({ what: 'rerun', filter: { limit: 3 } }, 400, /without limit and cursor/);
    await refused({ what: 'rerun', filter: { state: { a: 1 } } }, 400, /filter is not an object/);
    await refused({ what: 'rerun', filter: { stat: 'failure' } }, 400, /stat/);
    await refused({ what: 'rerun', filter: { state: 'dead' } }, 400, /queued, running, success/);
    await refused({ what: 'cancel', filter: { state: 'failure' } }, 400, /cannot be cancelled/);
    await refused({ what: 'cancel', filter: { state: ['failure'] } }, 400, /cannot be cancelled/);
    await refused({ what: 'cancel', filter: { tag: [] } }, 400, /filter is not an object/);
    await refused({ what: 'redeliver', filter: { path: '/x' } }, 400, /path/);
    await refused({ what: 'rerun', filter: {}, pause_ms: 60001 }, 400, /pause_ms/);
    await refused({ what: 'rerun', filter: {}, expected: -1 }, 400, /expected/);
    await begin(all, ['bad', 'good']);
    await count_of(ask, 'state=failure', 1);
    await begin(all, Array.from({ length: 110 }, (_, i) => `bad ${i}`));
    await count_of(ask, 'state=failure', 111);
    for (let i = 0; i < 4; i++) await made(ask, { what: 'rerun', filter: { state: 'failure', until: Date.now() }, pause_ms: 60000 });
    await refused({ what: 'rerun', filter: {} }, 429, /4 jobs that go on/);
    assertRefused(await ask('GET', `${JOBS}/01a21e5c-289e-74b5-ac54-ebafff73604c`), 404, /job/);
    assertRefused(await ask('POST', `${JOBS}/01a21e5c-289e-74b5-ac54-ebafff73604c/stop`), 404, /job/);
    assertRefused(await ask('GET', `${JOBS}/01a21e5c-289e-74b5-ac54-ebafff73604c/items`), 404, /job/);
});

test('--all asks first, does it as a job, and says what was not done; jobs are listed, shown and stopped', async (t) => {
    const all = await stage(t, { app: failing().app });
    const ask = control(all.sidecar);
    const cli = (words, options) => run(words.split(' '), { HOOKLINE_DATA_DIR: all.sidecar.dataDir }, options);
    await begin(all, ['bad 0', 'bad 1', 'bad 2', 'good']);
    await count_of(ask, 'state=failure', 3);
    await all.call(RUN, { body: 'bad, and synchronous' });
    const unasked = await cli('runs rerun --all --project p --state failure');
    assert.deepEqual([unasked.code, unasked.stdout], [2, '']);
    assert.match(unasked.stderr, /4 runs would be run again, and there is no terminal to ask on: --yes does it/);
    assert.equal((await cli('jobs list --json')).stdout, '');
    const done = await cli('runs rerun --all --project p --state failure --yes');
    assert.deepEqual([done.code, done.stdout], [0, '3 runs are run again\n'], done.stderr);
    const [, id] = done.stderr.match(/1 are not: hookline jobs show ([0-9a-f-]+) says why/);
    const shown = (await cli(`jobs show ${id}`)).stdout;
    for (const part of [/^what +rerun$/m, /^state +done$/m, /^skipped +1$/m, /skipped {2}synchronous$/m, /"state":"failure"/]) assert.match(shown, part);
    assert.equal(JSON.parse((await cli(`jobs show ${id.slice(0, 18)} --json`)).stdout).job_id, id);
    assert.match((await cli(`jobs stop ${id}`)).stderr, /has ended/);
    assert.equal((await cli('runs cancel --all --project p --app other --yes')).stdout, '0 runs are cancelled\n');
    assert.match((await cli('runs cancel --all --project p --state failure --yes')).stderr, /queued\|running|queued or running/);
    assert.equal((await cli('deliveries redeliver --all --project p --yes')).stdout, '0 deliveries are sent again\n');
});

test('Ctrl-C leaves a job to go on, and says so', async (t) => {
    const all = await stage(t, { app: failing().app });
    const ask = control(all.sidecar);
    await many_failed({ ...all, ask }, 101);
    const interrupted = until('it is done in part', async () => (await ask('GET', JOBS)).json().jobs[0]?.done >= 100);
    const left = await run(['runs', 'rerun', '--all', '--project', 'p', '--state', 'failure', '--yes', '--pause', '2s'],
        { HOOKLINE_DATA_DIR: all.sidecar.dataDir }, { interrupted });
    assert.equal(left.code, 1, left.stderr);
    assert.match(left.stderr, /the job goes on without this command: hookline jobs show [0-9a-f-]+ says how far it is/);
    const [{ job_id }] = (await ask('GET', JOBS)).json().jobs;
    assert.deepEqual((({ state, done }) => [state, done])(await ended(ask, job_id)), ['done', 101]);
});

test('what goes, ends or begins meanwhile is skipped with why', async (t) => {
    const all = await stage(t, { app: failing().app });
    const ask = control(all.sidecar);
    const held = gate();
    t.after(held.open);
    all.receiver.script('/held', async (x) => {
        await held.promise;
        await x.send(200);
    });
    await begin(all, ['good'], { webhookEndpoint: all.receiver.url('/there') });
    await begin(all, ['better'], { webhookEndpoint: all.receiver.url('/held') });
    await until('one is delivered', async () => (await ask('GET', '/v2/projects/p/deliveries?state=delivered')).json().deliveries.length === 1);
    const sent = await made(ask, { what: 'redeliver', filter: {} });
    const job = await ended(ask, sent);
    assert.deepEqual([job.total, job.done, job.skipped], [2, 1, 1]);
    assert.deepEqual((await items(ask, sent, '&outcome=skipped')).map((item) => item.reason), ['pending']);
});
