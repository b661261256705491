// sleep.mjs - an app that is stopped and woken again and again under mixed calls: whether the books agree (accepted = answered =
// seen by the app, once), and how much longer than the app's own start a wake takes. README.md has what it said last.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from '../../integration/lib/case.mjs';
import { control } from '../../integration/lib/rest.mjs';
import { freePort, startSidecar, temporaryDirectory } from '../../integration/lib/sidecar.mjs';
import { RUN } from '../../integration/lib/stage.mjs';
import { sleep, until } from '../../integration/lib/until.mjs';

const CYCLES = Number(process.env.HOOKLINE_BENCH_CYCLES ?? 1000);
const LOADS_MS = Number(process.env.HOOKLINE_BENCH_LOADS_MS ?? 0); // how long the app loads
const IDLE_MS = 20;
const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
const accepted = new Map(); // id: its kind, of what was answered well
const refused = [];
const extra = []; // ms of each wake that a lone call waited for, beyond the app's own start
const seconds = (ms) => (ms / 1000).toFixed(1);

/** A request to its end; `{ status, id, body }`, and what it took. */
function ask(port, kind, { path = RUN, method = 'POST', headers = {} } = {}) {
    return new Promise((resolve, reject) => {
        const began = performance.timeOrigin + performance.now();
        const end = (status, id, body) => {
            const took = performance.timeOrigin + performance.now() - began;
            if (status < 400) accepted.set(id, kind);
            else refused.push(`${kind} ${status} ${body}`);
            resolve({ status, id, body, took });
        };
        const outgoing = http.request({ host: '127.0.0.1', port, path, method, headers: { 'content-length': 0, ...headers }, agent: headers.upgrade ? false : agent });
        outgoing.on('response', (response) => {
            let body = '';
            response.setEncoding('utf8').on('data', (piece) => (body += piece));
            response.on('end', () => end(response.statusCode, response.headers['x-request-id'], body)).on('error', reject);
        });
        outgoing.on('upgrade', (response, socket) => {
            socket.on('error', () => {}).end();
            end(101, response.headers['x-request-id'], '');
        });
        outgoing.on('error', reject).end();
    });
}

const kinds = {
    sync: (port) => ask(port, 'sync'),
    async: (port) => ask(port, 'async', { path: `${RUN}?async=true` }),
    passed: (port) => ask(port, 'passed', { path: '/passed', method: 'GET' }),
    upgrade: (port) => ask(port, 'upgrade', { path: '/v4/p/a/socket', method: 'GET', headers: UPGRADE }),
};
const names = Object.keys(kinds);

const quantile = (values, q) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];

const STAGES = ['the app is woken', 'the app was started', 'the app is ready', 'the app is awake'];

/** How long its parts take, ms, by the log: the start, the wait for the app, the opening. */
function stages(log) {
    const at = {};
    const parts = STAGES.slice(1).map(() => []);
    for (const { msg, time } of log) {
        const i = STAGES.indexOf(msg);
        if (i < 0) continue;
        at[i] = Date.parse(time);
        if (i > 0 && at[0] !== undefined) parts[i - 1].push(at[i] - at[i - 1]);
        if (i === STAGES.length - 1) at[0] = undefined;
    }
    return parts.map((values, i) => `to "${STAGES[i + 1]}" p50 ${quantile(values, 0.5)} p99 ${quantile(values, 0.99)}`).join(', ');
}

test(`${CYCLES} stops and wakes under mixed calls`, { limit: 3_600_000 }, async (t) => {
    const home = await temporaryDirectory(t);
    const app = join(home, 'app');
    const book = join(home, 'book');
    execFileSync('cc', ['-O2', '-D_GNU_SOURCE', '-o', app, fileURLToPath(new URL('app.c', import.meta.url))]);
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: JSON.stringify([app, book, `${LOADS_MS}`]),
            HOOKLINE_APP_IDLE_STOP: `${IDLE_MS}ms`,
            HOOKLINE_LOG_LEVEL: 'info',
            HOOKLINE_WORKERS: '2',
        },
    });
    const { port } = sidecar;
    const began = Date.now();
    const wakes = () => sidecar.log.filter((l) => l.msg === 'the app is woken').length;
    const sleeps = () => sidecar.log.filter((l) => l.msg.startsWith('the app sleeps')).length;
    for (let n = 0; wakes() < CYCLES; n++) {
        if (n % 3 === 0) {
            // A lone call wakes it.
            const seen = sleeps();
            await until('it sleeps', () => sleeps() > seen);
            const { body, took } = await kinds.sync(port);
            const own = JSON.parse(body);
            if (own.began > performance.timeOrigin + performance.now() - took) extra.push(took - (own.listened - own.began));
            continue;
        }
        // Some of all kinds, at any moment of its going.
        await sleep(Math.random() * 4 * IDLE_MS);
        const some = [...Array(1 + Math.floor(Math.random() * 8))].map(() => kinds[names[Math.floor(Math.random() * names.length)]](port));
        await Promise.all(some);
    }
    const took = Date.now() - began;
    await until('no run is queued', async () => (await sidecar.metric('hookline_runs_queued')) + (await sidecar.metric('hookline_runs_in_flight')) === 0);
    const states = await control(sidecar)('GET', '/v2/runs?state=failure');
    const lines = (await readFile(book, 'utf8')).trim().split('\n');
    const seen = lines.filter((line) => line.startsWith('seen ')).map((line) => line.slice(5));
    const late = lines.filter((line) => line.startsWith('late '));
    const by = Object.fromEntries(names.map((name) => [name, [...accepted.values()].filter((kind) => kind === name).length]));
    console.log(`wakes ${wakes()}, calls ${accepted.size} (${names.map((name) => `${name} ${by[name]}`).join(', ')}), refused ${refused.length}, seen ${seen.length}, late ${late.length}; ${seconds(took)} s`);
    const floor = execFileSync(app, ['/dev/null', `${LOADS_MS}`, '200'], { env: { PORT: `${await freePort()}` }, encoding: 'utf8' });
    console.log(`beyond the app's own start (${LOADS_MS} ms and what a process takes), of ${extra.length} lone calls: p50 ${quantile(extra, 0.5).toFixed(1)} ms, p99 ${quantile(extra, 0.99).toFixed(1)} ms, most ${Math.max(...extra).toFixed(1)} ms`);
    const byHand = floor.trim().split('\n').map(Number);
    console.log(`the same by hand (fork, exec, connects each ms), of 200: p50 ${quantile(byHand, 0.5).toFixed(1)} ms, p99 ${quantile(byHand, 0.99).toFixed(1)} ms`);
    console.log(`in hookline's log: ${stages(sidecar.log)}`);
    assert.deepEqual(refused, []);
    assert.deepEqual(late, []);
    assert.deepEqual(states.json().runs, []);
    assert.deepEqual(seen.sort(), [...accepted.keys()].sort(), 'each once');
    assert.equal(await sidecar.metric('hookline_app_starts_total', { why: 'exit' }), 0);
    assert.equal(await sidecar.metric('hookline_app_starts_total', { why: 'wake' }), wakes());
    agent.destroy();
});
