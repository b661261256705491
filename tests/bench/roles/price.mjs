// price.mjs - what a synchronous call through a front costs beside an asynchronous run in the same rig: front, worker, app,
// caller and PostgreSQL on one machine. README.md has what it said last.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import { test } from '../../integration/lib/case.mjs';
import { postgres } from '../../integration/lib/postgres.mjs';
import { fleet } from '../../integration/lib/replicas.mjs';
import { RUN } from '../../integration/lib/stage.mjs';
import { until } from '../../integration/lib/until.mjs';

const TICKS = 100; // a second, of /proc's times
const BODY = Buffer.alloc(200, 'x');

/** Calls, and how many at once. */
const ROWS = [
    { kind: 'sync', n: 300, at_once: 1 },
    { kind: 'sync', n: 3000, at_once: 16 },
    { kind: 'async', n: 3000, at_once: 16 },
    { kind: 'sync', n: 6000, at_once: 128 },
    { kind: 'async', n: 6000, at_once: 128 },
];

/** What a process has used so far, seconds of a processor, and whose child it is. */
function statOf(pid) {
    try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
        return { parent: Number(fields[1]), cpu: (Number(fields[11]) + Number(fields[12])) / TICKS };
    } catch {
        return { parent: 0, cpu: 0 };
    }
}

/** Of the server with all its sessions: those that have ended are its own time no more. */
function serverCpu(postmaster) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
    return pids.map(statOf).filter(({ parent }) => parent === postmaster).reduce((sum, { cpu }) => sum + cpu, 0);
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

function call(port, query) {
    const began = performance.now();
    return new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port, path: RUN + query, agent, method: 'POST', headers: { 'content-length': BODY.length } };
        const request = http.request(options, (response) => {
            response.resume();
            response.on('end', () => resolve({ status: response.statusCode, ms: performance.now() - began }));
        });
        request.on('error', reject);
        request.end(BODY);
    });
}

/** `at_once` callers, one call after the other each. */
async function play(port, { kind, n, at_once }) {
    const [query, status] = kind === 'async' ? ['?async=true', 202] : ['', 200];
    const times = [];
    let left = n;
    const one = async () => {
        while (left-- > 0) {
            const answer = await call(port, query);
            assert.equal(answer.status, status);
            times.push(answer.ms);
        }
    };
    await Promise.all(Array.from({ length: at_once }, one));
    return times.sort((a, b) => a - b);
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
const pad = (cells) => cells.map((c, i) => (i === 0 ? `${c}`.padEnd(6) : `${c}`.padStart(9))).join(' ');

test('the price of a call through a front', { limit: 600_000 }, async (t) => {
    const database = await postgres(t);
    const all = await fleet(t, {
        database,
        env: { HOOKLINE_REPLICA_TTL: '60s', HOOKLINE_LOG_LEVEL: 'warn' },
        app: async (x) => {
            await x.body();
            await x.send(200, { 'Content-Type': 'application/octet-stream' }, BODY);
        },
    });
    const front = await all.add('front', { hasApp: false, wait: 'readyz', env: { HOOKLINE_ROLE: 'front' } });
    const worker = await all.add('worker', { env: { HOOKLINE_ROLE: 'worker' } });
    const [{ pid: session }] = await database.query('SELECT pg_backend_pid() AS pid');
    const postmaster = statOf(session).parent;
    const seen = async () => {
        const [{ commits, wal }] = await database.query(`SELECT pg_stat_get_db_xact_commit(oid) AS commits,
            pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS wal FROM pg_database WHERE datname = current_database()`);
        const cpu = [statOf(front.sidecar.pid).cpu, statOf(worker.sidecar.pid).cpu, serverCpu(postmaster)];
        return { commits, wal, cpu, ms: performance.now() };
    };
    const idle = () => until('all has ended', async () => (await all.count('~.ticket')) === 0);
    await play(front.sidecar.port, { kind: 'sync', n: 50, at_once: 4 });
    console.log(pad(['kind', 'at once', 'calls/s', 'p50 ms', 'p99 ms', 'front us', 'worker us', 'server us', 'commits', 'WAL B']));
    for (const row of ROWS) {
        await idle();
        const before = await seen();
        const times = await play(front.sidecar.port, row);
        await idle();
        const after = await seen();
        const each = (a, b) => (b - a) / row.n;
        const us = after.cpu.map((cpu, i) => Math.round(1e6 * each(before.cpu[i], cpu)));
        console.log(pad([row.kind, row.at_once, Math.round((1000 * row.n) / (after.ms - before.ms)), at(times, 0.5).toFixed(1), at(times, 0.99).toFixed(1), ...us,
            each(before.commits, after.commits).toFixed(2), Math.round(each(before.wal, after.wal))]));
    }
});
