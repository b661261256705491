// Logs: one JSON object a line, everything from outside escaped, run ids on lines about runs, and no secret anywhere.
import assert from 'node:assert/strict';
import { readFile, readlink } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { clog } from './lib/clogged.mjs';
import { filesBelow } from './lib/files.mjs';
import { request } from './lib/raw.mjs';
import { gate, until, within } from './lib/until.mjs';

test('every line is a JSON object with time, level and message', async (t) => {
    const { call, sidecar } = await stage(t);
    await call();
    await sidecar.stop();
    assert.ok(sidecar.log.length > 0);
    for (const line of sidecar.log) {
        assert.match(line.level, /^(debug|info|warn|error)$/);
        assert.equal(typeof line.msg, 'string');
        assert.ok(!Number.isNaN(Date.parse(line.time)), JSON.stringify(line));
    }
});

test('a line about a run carries its run_id', async (t) => {
    const { call, receiver, sidecar } = await stage(t, { app: (x) => x.send(500) });
    receiver.script('/hook', 400);
    const { id } = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() } });
    await until('the dead letter is logged', () =>
        sidecar.log.some((line) => line.run_id === id && isDeadLetter(line)),
    );
});

test('a webhook’s URL appears as scheme, host and port only', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    receiver.script('/secret-path', 400);
    await call(RUN, {
        query: { webhookEndpoint: `${receiver.url('/secret-path')}?token=secret-token` },
    });
    await until('the failure is logged', () => sidecar.log.some(isDeadLetter));
    await sidecar.stop();
    assert.equal(sidecar.log.find(isDeadLetter).to, new URL(receiver.url()).origin);
    assert.doesNotMatch(sidecar.stderr, /secret-path|secret-token/);
});

test('what peers and the app send is escaped', async (t) => {
    const { connect, sidecar, receiver } = await stage(t, {
        app: (x) =>
            x
                .raw(
                    Buffer.from(
                        'HTTP/1.1 200 \x1b[31mred\x07\r\nBad Header\x1b: \r\n\r\n',
                        'latin1',
                    ),
                )
                .then(() => x.end()),
    });
    for (const bytes of [
        request('POST', RUN, { 'User-Agent': 'a\x80b"\\' }, ''),
        'GET /\x1b[2J HTTP/1.1\r\n\r\n',
        '\x1b]0;title\x07\r\n\r\n',
        'GET / HTTP/1.1\r\nX: \x00\n{"level":"forged"}\r\n\r\n',
        request(
            'POST',
            `/v4/p/a/%1b%0a{"level":"forged"}?webhookEndpoint=${encodeURIComponent(receiver.url())}`,
            {},
            '',
        ),
    ]) {
        const client = await connect();
        await client.send(bytes);
        await client.response();
    }
    await sidecar.stop();
    assert.doesNotMatch(sidecar.stderr, /[\x00-\x09\x0b-\x1f\x7f]/);
    assert.ok(sidecar.log.every((line) => line.level !== 'forged'));
});

test('no secret, token, URL or body is in the logs, the metrics, the answers or the store', async (t) => {
    const doors = gate();
    const { app, call, connect, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_SECRET: 'MARKER-operator-secret' },
        app: async (x) => {
            await doors.promise;
            await x.send(400, { 'X-App': 'MARKER-response-field' }, 'an error');
        },
    });
    receiver.script('/MARKER-path', (x) => x.gone);
    const hook = `${receiver.url('/MARKER-path')}?MARKER-query=1`;
    const headers = {
        'x-webhook-secret': 'MARKER-caller-secret',
        authorization: 'Bearer MARKER-token',
        cookie: 'MARKER-cookie=1',
    };
    const answers = [];
    const client = await connect();
    for (const query of [
        `webhookEndpoint=${encodeURIComponent(hook)}&async=MARKER-async`,
        `webhookEndpoint=MARKER-endpoint`,
    ]) {
        await client.send(request('POST', `${RUN}?${query}`, headers, 'MARKER-body'));
        answers.push((await client.response()).text);
    }
    for (const mode of [{ async: 'true' }, {}]) {
        const pending = call(RUN, {
            query: { ...mode, webhookEndpoint: hook },
            headers,
            body: 'x',
        });
        if (mode.async) assert.equal((await pending).status, 202);
        else void pending.catch(() => {});
    }
    await until('both are inside the app', () => app.requests.length === 2);
    doors.open();
    await receiver.delivered('/MARKER-path', 2);
    const { text: metrics } = await sidecar.admin('/metrics');
    await sidecar.kill();
    assert.doesNotMatch(sidecar.stderr, /MARKER/);
    assert.doesNotMatch(metrics, /MARKER/);
    for (const text of answers)
        assert.doesNotMatch(text, /MARKER-(caller|token|cookie|path|query|body)/);
    for (const file of await filesBelow(sidecar.dataDir)) {
        const text = (await readFile(file)).toString('latin1');
        assert.doesNotMatch(text, /MARKER/, file);
    }
    await sidecar.start();
});

test('a log that nobody reads holds nothing up: calls, health, metrics, SIGTERM', async (t) => {
    const { command } = await clog(t);
    const { sidecar, call } = await stage(t, { command, app: (x) => x.gone.then(() => x.end()) });
    const left = new AbortController();
    const running = call(RUN, { signal: left.signal }).catch(() => {});
    assert.equal((await sidecar.admin('/healthz')).status, 200);
    assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    assert.equal((await call(RUN, { method: 'GET' })).status, 405);
    left.abort();
    await running;
    assert.equal(await sidecar.metric('hookline_log_dropped_lines_total'), 0);
    sidecar.signal('SIGTERM'); // the run inside the app is cut
    assert.deepEqual(await within('the end', sidecar.exited()), { code: 3, signal: null });
});

test('lines for which there is no room are counted, and said once there is', async (t) => {
    const { command, read } = await clog(t);
    const env = { HOOKLINE_ACCESS_LOG: 'on' };
    const { sidecar, call } = await stage(t, { command, env });
    const dropped = () => sidecar.metric('hookline_log_dropped_lines_total');
    await until('lines are dropped', async () => {
        await Promise.all(Array.from({ length: 400 }, () => call().catch(() => {})));
        return (await dropped()) > 0;
    });
    const { log, noise } = read();
    const said = await until('it is said', () => log.find((l) => /lines were dropped/.test(l.msg)));
    assert.equal(said.level, 'warn');
    assert.equal(said.lines, await dropped());
    const { id } = await call();
    await until('the next line is logged', () => log.some((l) => l.run_id === id));
    await sidecar.stop();
    await until('the last line is there', () => log.some((l) => /listeners closed/.test(l.msg)));
    assert.deepEqual(noise, []);
});

test('why it does not start is in a log that is read late', async (t) => {
    const { sidecar } = await stage(t);
    const { command, path, read } = await clog(t);
    const [program, ...args] = command;
    const child = spawn(program, args, {
        env: {
            PATH: process.env.PATH,
            HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`,
            HOOKLINE_DATA_DIR: sidecar.dataDir,
        },
        stdio: 'ignore',
    });
    const ended = once(child, 'close');
    const holds = () => readlink(`/proc/${child.pid}/fd/2`).catch(() => null);
    await until('it has the full pipe', async () => (await holds()) === path);
    const { log } = read();
    assert.deepEqual(await within('the end', ended), [1, null]);
    await until('the error is there', () => log.some((l) => /cannot listen/.test(l.msg)));
});

test('what is odd in the settings keeps nobody from starting, and is in a log that is read late', async (t) => {
    const { command, read } = await clog(t);
    const { sidecar } = await stage(t, { command, env: { HOOKLINE_LOGLEVEL: 'info' } });
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    const { noise } = read();
    await until('the warning is there', () => noise.some((line) => /HOOKLINE_LOGLEVEL/.test(line)));
});

test('a call that failed through no fault of its caller leaves a warning with its run id', async (t) => {
    const { call, connect, sidecar } = await stage(t, {
        env: {
            HOOKLINE_LOG_LEVEL: 'info',
            HOOKLINE_WORKERS: '1',
            HOOKLINE_APP_HEAD_TIMEOUT: '4s', // another call comes before that
            HOOKLINE_APP_CONCURRENCY: '1',
            HOOKLINE_APP_QUEUE: '0',
        },
        app: async (x) => {
            if (x.path === '/reset') x.reset();
            else if (x.path === '/silent') await x.gone;
            else {
                await x.respond(200, { 'Content-Length': 100 });
                await x.raw('half');
                x.reset();
            }
        },
    });
    const warned = (id) => sidecar.log.filter((line) => line.run_id === id);
    const lineOf = async (id, status, msg) => {
        await until(`a line about ${msg}, ${status}`, () => warned(id).length > 0);
        const [line, ...more] = warned(id);
        assert.deepEqual(more, []);
        assert.equal(line.level, 'warn');
        assert.equal(line.msg, msg);
        assert.equal(line.status, status);
        assert.equal(typeof line.detail, 'string');
        return line;
    };
    const { id } = await call('/v4/p/a/reset');
    assert.equal((await lineOf(id, 502, 'a call failed')).reason, 'upstream_reset');
    const late = call('/v4/p/a/silent');
    await until(
        'it is inside',
        async () => (await sidecar.metric('hookline_app_slots_in_use')) === 1,
    );
    const refused = await call();
    assert.equal(refused.status, 429);
    await lineOf(refused.id, 429, 'a call failed');
    await lineOf((await late).id, 504, 'a call failed');
    const client = await connect();
    await client.send(request('POST', '/v4/p/a/half'));
    await assert.rejects(client.response());
    await until('the cut response', () =>
        sidecar.log.some((line) => line.msg === 'a response was cut' && line.run_id),
    );
    const caller = await call(RUN, { query: { async: 'maybe' } });
    assert.equal(caller.status, 400);
    await sidecar.stop();
    assert.deepEqual(warned(caller.id), [], 'its own fault');
});

test('many failures are one line of their kind a second, and a count', async (t) => {
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_LOG_LEVEL: 'info', HOOKLINE_WORKERS: '1' },
        app: (x) => x.reset(),
    });
    const answers = await Promise.all(Array.from({ length: 200 }, () => call()));
    assert.ok(answers.every(({ status }) => status === 502));
    const lines = () => sidecar.log.filter((line) => line.msg === 'a call failed');
    const said = () => lines().reduce((sum, line) => sum + (line.left_out ?? 1), 0);
    await until('each is in a line or a count', () => said() === 200);
    assert.ok(lines().length < 100, `${lines().length} lines`);
});

const isDeadLetter = (line) => line.level === 'error' && /delivery failed/.test(line.msg);
