// What the process does when the machine gives it no more descriptors, threads or memory.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { FUNCTION_BINARY, compile, inRepository } from './lib/function.mjs';
import { RUN, caller, stage } from './lib/stage.mjs';
import { BINARY, freePort, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { connect, request } from './lib/raw.mjs';
import { startServer } from './lib/server.mjs';
import { gate, until } from './lib/until.mjs';

/** The binary with this many descriptors, and no way to get more. */
const withDescriptors = (n) => ['/bin/sh', '-c', `ulimit -n ${n}; exec "$0"`, BINARY];

test('callers without end take no descriptor from health checks, and calls go on when some have left', async (t) => {
    const doors = gate();
    const { call, sidecar } = await stage(t, {
        command: withDescriptors(160),
        env: { HOOKLINE_MAX_CONNECTIONS: '10000', HOOKLINE_STREAM_KEEP: 'all' },
        app: async (x) => {
            if (x.head.target === '/calm') return x.send(200);
            await x.respond(200, { 'Content-Type': 'text/event-stream' });
            await x.chunk('data: 1\n\n');
            await doors.promise;
            await x.chunk('');
        },
    });
    const callers = [];
    for (let i = 0; i < 200; i++) {
        callers.push(await connect(t, sidecar));
        void callers[i].send(request('POST', RUN, { 'X-Run-Keep': 'true' }, ''));
    }
    for (let i = 0; i < 5; i++) {
        await sidecar.until('healthz');
        assert.equal((await sidecar.admin('/healthz')).status, 200);
        assert.equal((await sidecar.admin('/metrics')).status, 200);
    }
    for (const caller of callers) caller.socket.destroy();
    doors.open();
    await until('calls go on', async () => (await call('/v4/p/a/calm')).status === 200);
});

/** How it ends that is started so. */
async function failing(t, limits) {
    const env = {
        PATH: process.env.PATH,
        ASAN_OPTIONS: 'exitcode=99:detect_leaks=0',
        HOOKLINE_WORKERS: '2',
        HOOKLINE_AUTH: 'none',
        HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_DATA_DIR: await temporaryDirectory(t),
    };
    const child = spawn('/bin/bash', ['-c', `${limits}; exec "$0"`, BINARY], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    atEnd(t, () => child.kill('SIGKILL'));
    let said = '';
    child.stderr.on('data', (bytes) => (said += bytes));
    const [code] = await once(child, 'close');
    const lines = said.split('\n').filter((line) => line.includes('"level":"error"'));
    assert.equal(code, 1, said);
    assert.equal(lines.length, 1, said);
    assert.doesNotMatch(said, /runtime error|bug:/);
    return JSON.parse(lines[0]).msg;
}

test('limits with which no call could be served are refused at the start, and the line says what to raise', async (t) => {
    assert.match(
        await failing(t, 'ulimit -n 64'),
        /^the limit of open files is 64, and for 2 workers at least 88 are needed: raise it \(ulimit -n, .*HOOKLINE_WORKERS$/,
    );
    assert.match(await failing(t, 'ulimit -s 128'), /^the limit of a stack is 128 KiB, and at least 256 are needed: raise it \(ulimit -s/);
});

test('a start that runs out of descriptors, wherever that is, ends at once and says so', async (t) => {
    for (let left = 10; left <= 24; left += 2) {
        const why = await failing(t, `ulimit -n 100; for ((i = 0; i < ${100 - left - 4}; i++)); do exec {fd}</dev/null; done`);
        assert.match(why, /too many open files|unable to open database file/i, `${left} left`);
    }
});

/** A command without some of descriptors 0 to 2, which its first own would be otherwise. */
const without = (closed, command) => ['/bin/sh', '-c', `exec "$0" "$@" ${closed}`, command];
const CLOSED = ['<&-', '2>&-', '<&- >&- 2>&-'];

for (const closed of CLOSED) {
    test(`started with ${closed} it serves, starts its app, and ends in order`, async (t) => {
        const port = await freePort();
        const sidecar = await startSidecar(t, {
            command: without(closed, BINARY),
            env: {
                HOOKLINE_APP_URL: `http://127.0.0.1:${port}`,
                HOOKLINE_APP_COMMAND: JSON.stringify([process.execPath, '-e', APP]),
            },
        });
        const call = caller(t, sidecar);
        const answer = await call();
        assert.equal(answer.text, 'from the app');
        const accepted = await call(RUN, { query: { async: 'true' }, body: 'x'.repeat(400_000) });
        assert.equal(accepted.status, 202);
        const path = accepted.headers.location;
        await until('the run has ended', async () => (await call(path, { method: 'GET' })).json().state === 'success');
        assert.equal((await sidecar.admin('/healthz')).status, 200);
        await sidecar.stop(); // its status is 0
    });
}

/** Reads and writes standard streams as apps do. */
const APP = `
    console.log('hello'); console.error('hello');
    require('http').createServer((q, r) => q.resume().on('end', () => r.end('from the app'))).listen(process.env.PORT);
`;

test('a command without standard streams does what it can and fails where its output is lost', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'none' } });
    const env = {
        PATH: process.env.PATH,
        HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`,
        HOOKLINE_DATA_DIR: sidecar.dataDir,
    };
    const end = async (closed, ...args) => {
        const [program, ...rest] = without(closed, BINARY);
        const child = spawn(program, [...rest, ...args], { env, stdio: 'ignore' });
        return (await once(child, 'close'))[0];
    };
    for (const closed of CLOSED) assert.equal(await end(closed, 'health'), 0, closed);
    assert.equal(await end('<&- 2>&-', 'runs', 'list', '--project', 'p'), 0);
    assert.equal(await end('<&- >&- 2>&-', 'runs', 'list', '--project', 'p'), 1);
});

test('a function host without standard streams serves, and ends in order', async (t) => {
    const object = await compile(t, inRepository('tests/integration/functions/probe.c'));
    const socket = join(await temporaryDirectory(t), 'host.sock');
    const [program, ...args] = without('<&- >&- 2>&-', FUNCTION_BINARY);
    const child = spawn(program, [...args, '--socket', socket, object], { stdio: 'ignore' });
    atEnd(t, () => child.kill('SIGKILL'));
    await until('it answers', async () => {
        const client = await connect(t, { path: socket }).catch(() => null);
        if (!client) return false;
        await client.send(request('GET', '/healthz'));
        return (await client.response()).status === 200;
    });
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [0, null]);
});

const isRoot = process.getuid() === 0;

test('a start that gets too few threads says so, and one that gets them has all', { skip: !isRoot }, async (t) => {
    const uid = 61_000 + (process.pid % 4000); // the limit counts what runs as this user, and nothing else does
    const app = await startServer(t, async (x) => x.send(200, {}, String((await x.body()).length)));
    const refusals = [];
    for (let limit = 4; ; limit++) {
        const dataDir = await temporaryDirectory(t);
        await chown(dataDir, uid, uid);
        const sidecar = await startSidecar(t, {
            dataDir,
            command: ['prlimit', `--nproc=${limit}`, 'setpriv', `--reuid=${uid}`, '--clear-groups', BINARY],
            // What looks for leaks at the end is a process of its own.
            env: { HOOKLINE_APP_URL: app.url, ASAN_OPTIONS: 'exitcode=99:detect_leaks=0' },
        }).catch((error) => error);
        if (sidecar instanceof Error) {
            refusals.push(sidecar.message);
            continue;
        }
        const call = caller(t, sidecar);
        const accepted = await call(RUN, { query: { async: 'true' }, body: 'x'.repeat(400_000) });
        assert.equal(accepted.status, 202);
        const run = async () => (await call(accepted.headers.location, { method: 'GET' })).json();
        await until('the run has ended', async () => (await run()).state === 'success');
        break;
    }
    assert.ok(refusals.length > 3);
    for (const line of refusals) assert.match(line, /"level":"error".*cannot start/);
});
