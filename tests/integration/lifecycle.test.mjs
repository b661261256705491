// Start, ready, drain, end: what SIGTERM does, and what stops the start.
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, caller, stage } from './lib/stage.mjs';
import { connect as connectTo, request } from './lib/raw.mjs';
import { filesBelow } from './lib/files.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { gate, until, within } from './lib/until.mjs';

test('healthz and readyz answer on both listeners', async (t) => {
    const { sidecar, call } = await stage(t);
    for (const path of ['healthz', 'readyz']) {
        assert.equal((await call(`/_hookline/${path}`, { method: 'GET' })).status, 200);
        assert.equal((await sidecar.admin(`/${path}`)).status, 200);
    }
});

test('readiness follows the app; liveness does not', async (t) => {
    const port = await freePort();
    const { sidecar } = await stage(t, {
        app: null,
        env: { HOOKLINE_APP_URL: `http://127.0.0.1:${port}` },
    });
    assert.equal(await sidecar.probe('/_hookline/readyz'), 503);
    assert.equal((await sidecar.admin('/readyz')).status, 503);
    const app = await startServer(t, (x) => x.send(200), port);
    await sidecar.until('readyz');
    await app.close();
    await sidecar.until('readyz', 503);
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
});

test('HOOKLINE_APP_HEALTH_PATH decides when it is set', async (t) => {
    let status = 503;
    const { app, sidecar } = await stage(t, {
        env: { HOOKLINE_APP_HEALTH_PATH: '/health?deep=1' },
        wait: 'healthz',
        app: (x) => x.send(status),
    });
    await until('the app was asked', () => app.requests.length > 0);
    assert.equal(await sidecar.probe('/_hookline/readyz'), 503);
    status = 204;
    await sidecar.until('readyz');
    assert.equal(app.requests[0].target, '/health?deep=1');
    assert.equal(app.requests[0].method, 'GET');
});

test(
    'it listens within 100 ms of its start on an empty store',
    { skip: isSanitized },
    async (t) => {
        const { sidecar } = await stage(t);
        const times = [];
        for (let i = 0; i < 5; i++) {
            await sidecar.stop();
            const began = performance.now();
            await sidecar.start('healthz');
            times.push(performance.now() - began);
        }
        assert.ok(
            Math.min(...times) < 200,
            `${times.map(Math.round)} ms, this test's own process start included`,
        );
    },
);

test('SIGTERM: readiness turns false, calls are served with Connection: close, then it ends', async (t) => {
    const { sidecar, connect } = await stage(t, { env: { HOOKLINE_SHUTDOWN_DELAY: '3s' } });
    const kept = await connect();
    await kept.send(request('POST', RUN, {}, ''));
    await kept.response();
    sidecar.signal('SIGTERM');
    await sidecar.until('readyz', 503);
    await kept.send(request('POST', RUN, {}, 'still'));
    const response = await kept.response();
    assert.equal(response.status, 200);
    assert.equal(response.get('connection'), 'close');
    assert.ok(await kept.isClosed());
    const fresh = await connect();
    await fresh.send(request('POST', RUN, {}, 'new'));
    assert.equal((await fresh.response()).get('connection'), 'close');
    assert.deepEqual(await within('the end', sidecar.exited()), { code: 0, signal: null });
});

test('SIGTERM: running calls go on to their end, within HOOKLINE_DRAIN_TIMEOUT', async (t) => {
    const doors = gate();
    const { app, sidecar, call } = await stage(t, {
        env: { HOOKLINE_DRAIN_TIMEOUT: '20s' },
        app: async (x) => {
            await x.respond(200, { 'Transfer-Encoding': 'chunked' });
            await x.chunk('first ');
            await doors.promise;
            await x.chunk('last');
            await x.lastChunk();
        },
    });
    const running = call();
    await until('it is inside the app', () => app.requests.length === 1);
    sidecar.signal('SIGTERM');
    await until(
        'the listener is closed',
        async () => (await sidecar.probe('/_hookline/healthz')) === null,
    );
    assert.ok(sidecar.isRunning);
    doors.open();
    assert.equal((await running).text, 'first last');
    assert.deepEqual(await within('the end', sidecar.exited()), { code: 0, signal: null });
});

test('HOOKLINE_DRAIN_TIMEOUT ends calls that do not end', async (t) => {
    const { app, sidecar, call } = await stage(t, {
        app: (x) => x.gone,
        env: { HOOKLINE_DRAIN_TIMEOUT: '400ms' },
    });
    const running = call().then(
        (r) => r.status,
        (error) => error,
    );
    await until('it is inside the app', () => app.requests.length === 1);
    sidecar.signal('SIGTERM');
    assert.equal((await within('the end', sidecar.exited())).code, 3);
    assert.notEqual(await running, 200);
});

test('when nothing runs it ends at once, idle connections or not', async (t) => {
    const { sidecar, connect } = await stage(t, { env: { HOOKLINE_DRAIN_TIMEOUT: '1h' } });
    const idle = await connect();
    await idle.send(request('POST', RUN, {}, ''));
    await idle.response();
    const unused = await connect();
    sidecar.signal('SIGTERM');
    assert.equal((await within('the end', sidecar.exited())).code, 0);
    assert.ok(await idle.isClosed());
    await unused.reader.gone;
});

for (const signal of ['SIGTERM', 'SIGINT']) {
    test(`a second signal, ${signal}, ends at once and loses nothing accepted`, async (t) => {
        const doors = gate();
        const { app, receiver, sidecar, call } = await stage(t, {
            env: {
                HOOKLINE_DRAIN_TIMEOUT: '1h',
                HOOKLINE_SHUTDOWN_DELAY: '1h',
                HOOKLINE_ASYNC_CONCURRENCY: '1',
            },
            app: async (x) => {
                await doors.promise;
                await x.send(200);
            },
        });
        const query = { async: 'true', webhookEndpoint: receiver.url() };
        const ids = [];
        for (let i = 0; i < 5; i++) ids.push((await call(RUN, { query })).id);
        await until('one is inside', () => app.requests.length === 1);
        sidecar.signal('SIGTERM');
        await sidecar.until('readyz', 503);
        sidecar.signal(signal);
        await within('the end', sidecar.exited());
        doors.open();
        await sidecar.restart({ HOOKLINE_SHUTDOWN_DELAY: '0', HOOKLINE_DRAIN_TIMEOUT: '1s' });
        await receiver.delivered('/hook', 5);
        const reported = receiver.deliveries().map(({ bytes }) => JSON.parse(bytes).run_id);
        assert.deepEqual([...new Set(reported)].sort(), ids.sort());
    });
}

test('SIGTERM while webhooks are being sent ends that, closes the store and is not a failure', async (t) => {
    const { receiver, sidecar, call } = await stage(t, { env: { HOOKLINE_WEBHOOK_TIMEOUT: '60s' } });
    receiver.script('/hook', (x) => x.gone, 200);
    const { id } = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    await until('it is being sent', () => receiver.requests.length === 1);
    sidecar.signal('SIGTERM');
    await until('the admin listener is closed', async () => (await sidecar.admin('/healthz')) === null);
    assert.ok(sidecar.isRunning);
    sidecar.signal('SIGTERM');
    assert.deepEqual(await within('the end', sidecar.exited()), { code: 0, signal: null });
    const files = await readdir(sidecar.dataDir);
    assert.deepEqual(files.filter((name) => name.endsWith('-wal')), [], 'the store is closed');
    await sidecar.start();
    assert.equal(JSON.parse((await receiver.delivered('/hook', 2)).bytes).run_id, id);
});

test('signals at any moment of the stop are not a failure', async (t) => {
    const { receiver, sidecar, call } = await stage(t);
    for (let i = 0; i < 5; i++) {
        await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() } });
        const storm = setInterval(() => {
            for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) sidecar.signal(name);
        }, 1);
        const end = await within('the end', sidecar.exited());
        clearInterval(storm);
        assert.deepEqual(end, { code: 0, signal: null });
        await sidecar.start();
    }
});

test('SIGHUP, SIGUSR1 and SIGUSR2 do nothing when there is no app to pass them on to', async (t) => {
    const { sidecar, call } = await stage(t);
    for (const name of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) {
        sidecar.signal(name);
        assert.equal((await call()).status, 200, name);
    }
    assert.ok(sidecar.isRunning);
});

test('queued runs and pending deliveries stay in the store over a SIGTERM', async (t) => {
    const doors = gate();
    const { app, receiver, sidecar, call } = await stage(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_DRAIN_TIMEOUT: '300ms' },
        app: async (x) => {
            await doors.promise;
            await x.send(200);
        },
    });
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push((await call(RUN, { query })).id);
    await until('one is inside', () => app.requests.length === 1);
    await sidecar.stop();
    doors.open();
    await sidecar.start();
    await receiver.delivered('/hook', 4);
    const envelopes = receiver.deliveries().map(({ bytes }) => JSON.parse(bytes));
    assert.deepEqual(envelopes.map((e) => e.run_id).sort(), ids.sort());
    assert.equal(envelopes.filter((e) => e.status === 'success').length, 3);
    assert.deepEqual(new Set(app.callsById().values()), new Set([1]));
});

test('a stream open at SIGTERM is not cut before the drain timeout', async (t) => {
    const doors = gate();
    const { sidecar, connect } = await stage(t, {
        env: { HOOKLINE_DRAIN_TIMEOUT: '20s' },
        app: async (x) => {
            await x.respond(200, {
                'Content-Type': 'text/event-stream',
                'Transfer-Encoding': 'chunked',
            });
            await x.chunk('data: 1\n\n');
            await doors.promise;
            await x.chunk('data: 2\n\n');
            await x.lastChunk();
        },
    });
    const client = await connect();
    await client.send(request('POST', RUN, {}, ''));
    const pieces = client.pieces(await client.responseHead());
    await pieces.next();
    sidecar.signal('SIGTERM');
    await until(
        'the listener is closed',
        async () => (await sidecar.probe('/_hookline/healthz')) === null,
    );
    doors.open();
    assert.equal((await pieces.next()).value.toString(), 'data: 2\n\n');
    assert.equal((await within('the end', sidecar.exited())).code, 0);
});

/** Runs `hookline` with this environment; it has to end by itself with one line that names the trouble. */
async function assertRefusesToStart(env, pattern) {
    const { code, stderr } = await within(
        'it ends by itself',
        run([], { HOOKLINE_LOG_FORMAT: 'json', ...env }),
    );
    assert.notEqual(code, 0, stderr);
    assert.match(stderr, pattern);
    return { code, lines: stderr.trim().split('\n') };
}

test('a taken port stops the start with a clear line', async (t) => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    const { port } = server.address();
    const dir = await temporaryDirectory(t);
    const free = `127.0.0.1:${await freePort()}`;
    await assertRefusesToStart(
        {
            HOOKLINE_LISTEN: `127.0.0.1:${port}`,
            HOOKLINE_ADMIN_LISTEN: free,
            HOOKLINE_DATA_DIR: dir,
        },
        new RegExp(`127\\.0\\.0\\.1:${port}`),
    );
    await assertRefusesToStart(
        {
            HOOKLINE_LISTEN: free,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${port}`,
            HOOKLINE_DATA_DIR: dir,
        },
        new RegExp(`127\\.0\\.0\\.1:${port}`),
    );
});

test('a second hookline on the same port is refused, not given half of the calls', async (t) => {
    const { sidecar } = await stage(t);
    await assertRefusesToStart(
        {
            HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_DATA_DIR: await temporaryDirectory(t),
        },
        new RegExp(`${sidecar.port}`),
    );
});

test('a data directory that cannot be used stops the start with a clear line', async (t) => {
    const dir = await temporaryDirectory(t);
    await writeFile(join(dir, 'file'), '');
    const listen = {
        HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
    };
    for (const path of [join(dir, 'file'), join(dir, 'file', 'below'), '/proc/hookline']) {
        await assertRefusesToStart(
            { ...listen, HOOKLINE_DATA_DIR: path },
            new RegExp(path.replaceAll('.', '\\.')),
        );
    }
});

test('a file that is not a database stops the start, names the file and leaves it alone', async (t) => {
    const { sidecar } = await stage(t);
    await sidecar.stop();
    const name = (await readdir(sidecar.dataDir)).find((n) => /\.(db|sqlite3?)$/.test(n));
    const file = join(sidecar.dataDir, name);
    const garbage = Buffer.alloc(100_000, 'garbage');
    await writeFile(file, garbage);
    await assertRefusesToStart(
        {
            HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`,
            HOOKLINE_DATA_DIR: sidecar.dataDir,
        },
        new RegExp(name),
    );
    assert.ok((await readFile(file)).equals(garbage));
});

test('one data directory belongs to one process', async (t) => {
    const { sidecar, call } = await stage(t);
    await assertRefusesToStart(
        {
            HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_DATA_DIR: sidecar.dataDir,
        },
        new RegExp(sidecar.dataDir),
    );
    assert.equal(
        (await call(RUN, { query: { async: 'true' } })).status,
        202,
        'the first is not disturbed',
    );
});

test('the data directory is made with 0700, and what is in it with 0600', async (t) => {
    const parent = await temporaryDirectory(t);
    await mkdir(join(parent, 'open'));
    await chmod(join(parent, 'open'), 0o755);
    const dataDir = join(parent, 'open', 'made');
    const app = await startServer(t, (x) => x.send(200, {}, Buffer.alloc(1 << 20)));
    const sidecar = await startSidecar(t, { dataDir, env: { HOOKLINE_APP_URL: app.url } });
    const call = caller(t, sidecar);
    await call(RUN, { query: { async: 'true' }, body: Buffer.alloc(1 << 20) });
    await until('it ran', async () => app.requests.length === 1);
    assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
    await until('its response is kept', async () => (await filesBelow(dataDir)).length > 5);
    for (const file of await filesBelow(dataDir)) {
        const gone = (error) => (error.code === 'ENOENT' ? { mode: 0 } : Promise.reject(error)); // a body that is in the store by now
        const { mode } = await stat(file).catch(gone);
        assert.equal(mode & 0o177, 0, file);
        assert.equal((await stat(dirname(file))).mode & 0o077, 0, dirname(file));
    }
});

test('a key that is not the one the store was written with stops the start', async (t) => {
    const keyFile = join(await temporaryDirectory(t), 'key');
    const { sidecar, call } = await stage(t, { env: { HOOKLINE_KEY_FILE: keyFile } });
    await call(RUN, { query: { async: 'true' } });
    await sidecar.stop();
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
    const key = await readFile(keyFile);
    key[3] = key[3] === 0x30 ? 0x31 : 0x30; // "0" or "1": an "A" is the key where an "a" was
    await writeFile(keyFile, key);
    await assertRefusesToStart(
        {
            HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`,
            HOOKLINE_DATA_DIR: sidecar.dataDir,
            HOOKLINE_KEY_FILE: keyFile,
        },
        /key/,
    );
});

test(
    'idle anonymous memory stays under 10 MiB with one worker',
    { skip: isSanitized },
    async (t) => {
        const { sidecar, call } = await stage(t, { env: { HOOKLINE_WORKERS: '1' } });
        await call();
        const bytes = await sidecar.rssAnon();
        assert.ok(bytes < 10 << 20, `${bytes >> 10} KiB`);
    },
);

test('callers of a sidecar that is killed see a broken connection, not an answer', async (t) => {
    const { app, sidecar } = await stage(t, { app: (x) => x.gone });
    const client = await connectTo(t, sidecar);
    await client.send(request('POST', RUN, {}, ''));
    await until('it is inside', () => app.requests.length === 1);
    await sidecar.kill();
    await assert.rejects(client.response());
});
