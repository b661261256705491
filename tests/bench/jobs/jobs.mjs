// jobs.mjs - what new calls notice of a job over very many runs or webhooks: how long they take beside it and without it,
// whether any is refused; whether each item is done once, through a kill -9 in the middle; how quick pages and commands stay
// beside it, how soon it stops, how much memory it takes. README.md has what it said last.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { test } from '../../integration/lib/case.mjs';
import { postgres } from '../../integration/lib/postgres.mjs';
import { control } from '../../integration/lib/rest.mjs';
import { run, startSidecar } from '../../integration/lib/sidecar.mjs';
import { RUN } from '../../integration/lib/stage.mjs';
import { sleep, until } from '../../integration/lib/until.mjs';

const WHAT = process.env.HOOKLINE_BENCH_WHAT ?? 'redeliver';
const STORE = process.env.HOOKLINE_BENCH_STORE ?? 'sqlite'; // or postgres, with two replicas
const N = Number(process.env.HOOKLINE_BENCH_N ?? 20_000);
const PAUSE_MS = Number(process.env.HOOKLINE_BENCH_PAUSE ?? 100);
const BOUND_MS = Number(process.env.HOOKLINE_BENCH_SECONDS ?? 120) * 1000; // then the job is stopped
const PER_S = 50; // calls of each kind
const WINDOW_MS = 8000;
const PROJECT = '/v2/projects/p';
const JOBS = `${PROJECT}/jobs`;
const LONG_MS = 1_200_000;
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

/** In a process of its own, whose clock nobody else's work stops: answers each of `/held` never, and others as their path says. */
const SERVER = `const seen = new Set();
require('http').createServer((q, r) => {
    let body = '';
    q.on('data', (d) => (body += d)).on('end', () => {
        if (body === 'held') return;
        const bad = body.startsWith('bad') && !seen.has(body);
        if (bad) seen.add(body);
        r.writeHead(q.url.startsWith('/dead') ? 410 : bad ? 500 : 200, { 'content-type': 'application/json' }).end('{}');
    });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

async function serve(t) {
    const child = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    const [port] = await once(child.stdout, 'data');
    return `http://127.0.0.1:${`${port}`.trim()}`;
}

function call(port, path, body = '{}') {
    const began = performance.now();
    return new Promise((resolve, reject) => {
        const headers = { 'content-length': Buffer.byteLength(body) };
        const request = http.request({ host: '127.0.0.1', port, path, agent, method: 'POST', headers }, (response) => {
            response.resume();
            response.on('end', () => resolve({ status: response.statusCode, ms: performance.now() - began }));
        });
        request.on('error', reject);
        request.end(body);
    });
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
const sorted = (times) => [...times].sort((a, b) => a - b);

/** Calls of both kinds for a while, whether they are answered or not. */
async function play(port, hook) {
    const calls = { synchronous: [], asynchronous: [] };
    const paths = { synchronous: RUN, asynchronous: `${RUN}?async=true&webhookEndpoint=${encodeURIComponent(hook)}` };
    const began = performance.now();
    for (let ms = 0; ms < WINDOW_MS; ms = performance.now() - began) {
        for (const kind of Object.keys(calls)) while (calls[kind].length < (ms * PER_S) / 1000) calls[kind].push(call(port, paths[kind]));
        await sleep(5);
    }
    const sum = {};
    for (const [kind, all] of Object.entries(calls)) {
        const ended = await Promise.all(all);
        sum[kind] = { ms: ended.map((e) => e.ms), refused: ended.filter((e) => e.status >= 400).map((e) => e.status) };
    }
    return sum;
}

const told = (all, kind) => {
    const ms = sorted(all.flatMap((sum) => sum[kind].ms));
    return { n: ms.length, p50: at(ms, 0.5), p99: at(ms, 0.99), refused: all.flatMap((sum) => sum[kind].refused) };
};

/** One sidecar, or two replicas. */
async function start(t) {
    const app = await serve(t);
    const env = {
        HOOKLINE_APP_URL: app,
        HOOKLINE_WEBHOOK_ATTEMPTS: '1',
        HOOKLINE_LOG_LEVEL: 'warn',
        HOOKLINE_MAX_QUEUED_RUNS: `${3 * N + 20_000}`,
        HOOKLINE_MAX_PENDING_DELIVERIES: `${3 * N + 20_000}`,
        ...(WHAT === 'rerun' && { HOOKLINE_KEEP_REQUESTS: 'all' }),
        ...(WHAT === 'cancel' && { HOOKLINE_ASYNC_CONCURRENCY: '1' }),
    };
    const database = STORE === 'postgres' ? await postgres(t) : { env: { HOOKLINE_STORE: STORE } };
    const sidecars = [];
    for (const name of STORE === 'postgres' ? ['a', 'b'] : [''])
        sidecars.push(await startSidecar(t, { env: { ...database.env, ...env, ...(name && { HOOKLINE_REPLICA: name, HOOKLINE_REPLICA_TTL: '5s' }) } }));
    return { app, sidecars };
}

/** What the job is to do something to: its filter, and how many there are. */
async function fill(app, sidecar, ask) {
    const { port } = sidecar;
    const count = async (path) => (await ask('GET', path)).json();
    const path = `${RUN}?async=true${WHAT === 'redeliver' ? `&webhookEndpoint=${encodeURIComponent(`${app}/dead`)}` : ''}`;
    if (WHAT === 'cancel') await call(port, path, 'held');
    let left = N;
    const begin = async () => {
        while (left-- > 0) {
            const { status } = await call(port, path, WHAT === 'redeliver' ? '{}' : `bad ${left}`);
            if (status === 429) (left++, await sleep(50));
        }
    };
    await Promise.all(Array.from({ length: 48 }, begin));
    if (WHAT === 'cancel') return { app: 'a', state: 'queued' };
    const wanted = WHAT === 'rerun' ? 'failure' : 'dead';
    const waits = WHAT === 'rerun' ? ['hookline_runs_queued', 'hookline_runs_in_flight'] : ['hookline_runs_queued', 'hookline_deliveries_pending'];
    await until('all have ended', async () => {
        const { text } = await sidecar.admin('/metrics');
        return waits.every((name) => !new RegExp(`^${name} [1-9]`, 'm').test(text));
    }, LONG_MS);
    assert.ok((await count(`${PROJECT}/${WHAT === 'rerun' ? 'runs' : 'deliveries'}?limit=1&state=${wanted}`))[WHAT === 'rerun' ? 'runs' : 'deliveries'].length);
    return { state: wanted };
}

const rssMb = (sidecar) => Number(readFileSync(`/proc/${sidecar.pid}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)[1]) / 1024;

/** How long pages and a command take, each in its turn, until what is returned is called. `id`: of the job, if there is one. */
function watch(sidecar, ask, id) {
    const ofJob = id && { job: `${JOBS}/${id}`, items: `${JOBS}/${id}/items?limit=100&outcome=done` };
    const paths = { ...ofJob, jobs: JOBS, runs: `${PROJECT}/runs?limit=50`, deliveries: `${PROJECT}/deliveries?limit=50` };
    const took = { ...Object.fromEntries(Object.keys(paths).map((name) => [name, []])), '/metrics': [], 'hookline jobs list': [] };
    let isOver = false, mostMb = 0, handled = 0;
    const timed = async (name, act) => {
        const began = performance.now();
        const answer = await act();
        took[name].push(performance.now() - began);
        return answer;
    };
    const turn = async () => {
        while (!isOver) {
            for (const [name, path] of Object.entries(paths)) {
                const answer = await timed(name, () => ask('GET', path));
                assert.equal(answer.status, 200, answer.text);
                if (name !== 'job') continue;
                const job = answer.json();
                const is = job.done + job.skipped + job.failed;
                assert.ok(is >= handled && is <= job.total, `progress goes on: ${handled}, ${answer.text}`);
                handled = is;
            }
            await timed('/metrics', () => sidecar.admin('/metrics'));
            const { code, stderr } = await timed('hookline jobs list', () => run(['jobs', 'list'], { HOOKLINE_DATA_DIR: sidecar.dataDir }));
            assert.equal(code, 0, stderr);
            mostMb = Math.max(mostMb, rssMb(sidecar));
            await sleep(1000);
        }
    };
    const turning = turn();
    return async () => {
        isOver = true;
        await turning;
        return { took, mostMb };
    };
}

/** All pages of a list. */
async function* pages(ask, path, member) {
    for (let cursor = ''; cursor !== null; ) {
        const page = (await ask('GET', `${path}${cursor && `&cursor=${cursor}`}`)).json();
        yield* page[member];
        cursor = page.next_cursor;
    }
}

/** That each that is said to be done was done once, and nothing else. */
async function check(ask, job) {
    const ids = new Set();
    for await (const item of pages(ask, `${JOBS}/${job.job_id}/items?limit=200&outcome=done`, 'items')) ids.add(item.rerun_id ?? item.run_id ?? item.delivery_id);
    assert.equal(ids.size, job.done, 'each item is there once');
    let n = 0;
    if (WHAT === 'redeliver') {
        for await (const { delivery_id: id, round } of pages(ask, `${PROJECT}/deliveries?limit=200`, 'deliveries')) {
            assert.equal(round, ids.has(id) ? 2 : 1, `${id} is in round ${round}`);
            n += ids.has(id);
        }
    } else {
        for await (const { run_id: id, rerun_of: of, state } of pages(ask, `${PROJECT}/runs?limit=200`, 'runs')) {
            if (WHAT === 'cancel') assert.equal(state === 'cancelled', ids.has(id), `${id} is ${state}`);
            else assert.equal(Boolean(of), ids.has(id), `${id} is of the job`);
            n += ids.has(id);
        }
    }
    assert.equal(n, job.done);
}

test(`${STORE}: calls beside a job that does ${WHAT} to ${N}`, { limit: 2 * LONG_MS }, async (t) => {
    const { app, sidecars } = await start(t);
    const [first, other = first] = sidecars;
    const ask = control(first), hook = `${app}/good`;
    let since = performance.now();
    const lap = (what) => (console.log(`${what}: ${Math.round((performance.now() - since) / 100) / 10} s`), (since = performance.now()));
    const filter = await fill(app, other, control(other));
    lap(`${N} made`);
    const before = rssMb(first);
    let stop = watch(first, ask);
    const without = [await play(other.port, hook), await play(other.port, hook)];
    const calm = await stop();
    lap('calls without it');
    const made = await ask('POST', JOBS, { body: { what: WHAT, filter, pause_ms: PAUSE_MS } });
    assert.equal(made.status, 202, made.text);
    const id = made.json().job_id;
    const show = async () => (await ask('GET', `${JOBS}/${id}`)).json();
    const began = performance.now();
    let job = await show();
    stop = watch(first, ask, id);
    const beside = [await play(other.port, hook)];
    await until('it is under way', async () => (job = await show()).done > 0, LONG_MS);
    const seen = [await stop()];
    lap(`gathered, ${job.done} done`);
    await first.kill(); // who made it walks it
    await first.start();
    await until('it goes on', async () => (await show()).done > job.done || (await show()).ended_at, LONG_MS);
    lap('killed, and it goes on');
    stop = watch(first, ask, id);
    do beside.push(await play(other.port, hook));
    while (!(job = await show()).ended_at && performance.now() - began < BOUND_MS);
    seen.push(await stop());
    if (!job.ended_at) {
        const asked = performance.now();
        await ask('POST', `${JOBS}/${id}/stop`);
        await until('it has ended', async () => (job = await show()).ended_at);
        console.log(`stopped within ${Math.round(performance.now() - asked)} ms`);
    }
    const tookS = (Date.parse(job.ended_at) - Date.parse(job.began_at)) / 1000;
    lap(`the job is ${job.state}`);
    console.log('call            n  without p50      p99  beside p50      p99  ratio p99  refused');
    for (const kind of ['synchronous', 'asynchronous']) {
        const [a, b] = [told(without, kind), told(beside, kind)];
        const cells = [a.n + b.n, a.p50, a.p99, b.p50, b.p99, b.p99 / a.p99].map((n, i) => (i ? n.toFixed(2) : `${n}`));
        console.log(kind.padEnd(12), cells.map((cell, i) => cell.padStart([5, 12, 9, 11, 9, 10][i])).join(''), `  ${[a, b].map(({ refused }) => refused.join(' ') || 0).join(', ')}`);
        assert.ok(a.refused.length || !b.refused.length, 'none is refused that would not be refused without it');
    }
    for (const name of Object.keys(seen[0].took)) {
        const ms = sorted(seen.flatMap(({ took }) => took[name]));
        const was = calm.took[name] && at(sorted(calm.took[name]), 0.5).toFixed(1);
        console.log(name.padEnd(20), `p50 ${at(ms, 0.5).toFixed(1)} ms${was ? `, without the job ${was} ms` : ''}`);
    }
    console.log(`memory: ${before.toFixed(1)} MiB before, at most ${Math.max(...seen.map(({ mostMb }) => mostMb)).toFixed(1)} MiB`);
    console.log(`of ${job.total} ${job.done} done, ${job.skipped} skipped, ${job.failed} failed in ${tookS} s: ${Math.round(job.done / tookS)} a second`);
    await check(ask, job);
    lap('each is done once');
});
