// jobs.mjs - what new calls notice of a job that sends very many webhooks again: how long they take beside it and without
// it, in turns, and whether any is refused. README.md has what it said last.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { test } from '../../integration/lib/case.mjs';
import { control } from '../../integration/lib/rest.mjs';
import { stage, RUN } from '../../integration/lib/stage.mjs';
import { sleep, until } from '../../integration/lib/until.mjs';

const DEAD = Number(process.env.HOOKLINE_BENCH_DEAD ?? 20_000);
const PER_S = 50; // calls of each kind
const WINDOW_MS = 8000;
const JOBS = '/v2/projects/p/jobs';
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

function call(port, path) {
    const began = performance.now();
    return new Promise((resolve, reject) => {
        const request = http.request({ host: '127.0.0.1', port, path, agent, method: 'POST', headers: { 'content-length': 2 } }, (response) => {
            response.resume();
            response.on('end', () => resolve({ status: response.statusCode, ms: performance.now() - began }));
        });
        request.on('error', reject);
        request.end('{}');
    });
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];

/** Calls of both kinds, whether they are answered or not, for `ms`, or while `goesOn` says so. */
async function play(port, hook, goesOn = () => true) {
    const calls = { synchronous: [], asynchronous: [] };
    const paths = { synchronous: RUN, asynchronous: `${RUN}?async=true&webhookEndpoint=${encodeURIComponent(hook)}` };
    const began = performance.now();
    for (let ms = 0; ms < WINDOW_MS && goesOn(); ms = performance.now() - began) {
        for (const kind of Object.keys(calls)) while (calls[kind].length < (ms * PER_S) / 1000) calls[kind].push(call(port, paths[kind]));
        await sleep(5);
    }
    const sum = {};
    for (const [kind, all] of Object.entries(calls)) {
        const ended = await Promise.all(all);
        sum[kind] = { ms: ended.map((e) => e.ms), refused: ended.filter((e) => e.status >= 400).length };
    }
    return sum;
}

const told = (all, kind) => {
    const ms = all.flatMap((sum) => sum[kind].ms).sort((a, b) => a - b);
    return { n: ms.length, p50: at(ms, 0.5), p99: at(ms, 0.99), refused: all.reduce((n, sum) => n + sum[kind].refused, 0) };
};

/** Answers 410 to all, in a process of its own: the caller's clock is not to feel it. */
async function refuser(t) {
    const code = `const s = require('http').createServer((q, r) => { q.resume(); r.writeHead(410).end(); }).listen(0, '127.0.0.1', () => console.log(s.address().port))`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    const [port] = await once(child.stdout, 'data');
    return `http://127.0.0.1:${`${port}`.trim()}/`;
}

test('calls beside a job', { limit: 1_200_000 }, async (t) => {
    const app = (x) => x.send(200, {}, '{}');
    const all = await stage(t, { app, env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1', HOOKLINE_LOG_LEVEL: 'warn' } });
    const { receiver, sidecar } = all;
    const ask = control(sidecar);
    const dead = await refuser(t), good = receiver.url('/good');
    let left = DEAD;
    const begin = async () => {
        while (left-- > 0) {
            const { status } = await call(sidecar.port, `${RUN}?async=true&webhookEndpoint=${encodeURIComponent(dead)}`);
            if (status === 429) (left++, await sleep(50));
        }
    };
    await Promise.all(Array.from({ length: 32 }, begin));
    const count = async (state) => (await ask('GET', `/v2/projects/p/deliveries/count?state=${state}`)).json().count;
    await until('all are dead', async () => (await count('dead')) >= Math.min(DEAD, 100_000) && (await count('pending')) === 0, 600_000);

    const without = [], beside = [];
    let job, done = 0, took = 0;
    const show = async () => (job = (await ask('GET', `${JOBS}/${job.job_id}`)).json());
    for (let turn = 0; turn < 3; turn++) {
        without.push(await play(sidecar.port, good));
        job = (await ask('POST', JOBS, { body: { what: 'redeliver', filter: { state: 'dead' } } })).json();
        const began = performance.now();
        beside.push(await play(sidecar.port, good));
        await ask('POST', `${JOBS}/${job.job_id}/stop`);
        await until('it has ended', async () => (await show()).ended_at);
        took += performance.now() - began;
        done += job.done;
        await until('what was sent is dead again', async () => (await count('pending')) === 0, 600_000);
    }
    console.log('call            n  without p50      p99  beside p50      p99  ratio p99  refused');
    for (const kind of ['synchronous', 'asynchronous']) {
        const [a, b] = [told(without, kind), told(beside, kind)];
        const cells = [a.n + b.n, a.p50, a.p99, b.p50, b.p99, b.p99 / a.p99].map((n, i) => (i ? n.toFixed(2) : `${n}`));
        console.log(kind.padEnd(12), cells.map((cell, i) => cell.padStart([5, 12, 9, 11, 9, 10][i])).join(''), `${a.refused + b.refused}`.padStart(8));
        assert.equal(a.refused + b.refused, 0, 'no new call is refused');
    }
    console.log(`of ${DEAD} dead letters ${done} were sent again, ${Math.round((1000 * done) / took)} a second`);
});
