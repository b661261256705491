// HOOKLINE_APP_COMMAND: hookline starts the app, starts it again when it dies, passes signals on and stops it last.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { Receiver } from './lib/receiver.mjs';
import { BINARY, freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, assertProblem, caller } from './lib/stage.mjs';
import { connect } from './lib/raw.mjs';
import { control } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { until } from './lib/until.mjs';

const PLAIN = fileURLToPath(new URL('apps/plain.mjs', import.meta.url));
const NODE = JSON.stringify([process.execPath, PLAIN]);
const isRoot = process.getuid() === 0;

/** A sidecar that starts `command`, by default the app in apps/plain.mjs. */
async function supervise(t, { command = NODE, env = {}, wait, unix = false } = {}) {
    const url = unix
        ? `unix:${join(await temporaryDirectory(t), 'app.sock')}`
        : `http://127.0.0.1:${await freePort()}`;
    const sidecar = await startSidecar(t, {
        env: { HOOKLINE_APP_URL: url, HOOKLINE_APP_COMMAND: command, ...env },
        wait,
    });
    const call = caller(t, sidecar);
    return { sidecar, call, url, self: async () => (await call('/self', { method: 'GET' })).json() };
}

/** What the app has written, by stream. */
const output = (sidecar, stream = 'stdout') =>
    sidecar.log.filter((l) => l.msg === 'app' && l.stream === stream).map((l) => l.line);

/** The process that the app's command has said to have started. */
const childOf = (sidecar) =>
    until('its child', () => Number(/^child (\d+)$/m.exec(output(sidecar).join('\n'))?.[1]));

const isAlive = (pid) => {
    try {
        process.kill(pid, 0);
        return true;
    } catch {
        return false;
    }
};

const isGone = (pid) => until(`process ${pid} is gone`, () => !isAlive(pid));

/** Starts of the app, as the log tells them. */
const starts = (sidecar) => sidecar.log.filter((l) => l.msg === 'the app was started');

test('hookline starts the app, is ready when it is, and stops it', async (t) => {
    const { sidecar, self } = await supervise(t);
    const { pid, parent, environment } = await self();
    assert.equal(parent, sidecar.pid);
    assert.match(environment.PORT, /^[0-9]+$/);
    assert.equal(await sidecar.metric('hookline_app_running'), 1);
    assert.equal(await sidecar.metric('hookline_app_starts_total', { why: 'start' }), 1);
    await sidecar.stop();
    assert.equal(isAlive(pid), false);
    const end = sidecar.log.slice(sidecar.log.findIndex(({ msg }) => msg === 'signal'));
    const warnings = end.filter(({ level }) => level === 'warn' || level === 'error');
    assert.deepEqual(warnings, [], 'an end in order is nothing to warn of');
});

test('with a unix socket its path is handed over, and a dead one is not in the way', async (t) => {
    const { sidecar, self, url, call } = await supervise(t, { unix: true });
    const { environment, pid } = await self();
    assert.equal(`unix:${environment.SOCKET}`, url);
    assert.equal(environment.HOOKLINE_FUNCTION_SOCKET, environment.SOCKET);
    await call('/abort').catch(() => {});
    await isGone(pid);
    await until('the next one', () => starts(sidecar).length === 2);
    await sidecar.until('readyz');
    assert.notEqual((await self()).pid, pid);
});

for (const [what, command] of [
    ['a line of one program', `A=1 ${process.execPath} ${PLAIN} $PORT`],
    ['a line for the shell', `cd / && exec ${process.execPath} ${PLAIN} "$PORT"`],
    ['a JSON array', JSON.stringify([process.execPath, PLAIN, '$PORT'])],
]) {
    test(`the command may be ${what}`, async (t) => {
        const { sidecar, self } = await supervise(t, { command });
        const { pid, parent, environment } = await self();
        assert.equal(parent, sidecar.pid, 'nothing stands between hookline and the app');
        const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
        assert.equal(words[2], command.startsWith('[') ? '$PORT' : environment.PORT);
        assert.equal(environment.A, command.startsWith('A') ? '1' : undefined);
    });
}

test('no secret of hookline’s is in its environment, and no descriptor but its own', async (t) => {
    const directory = await temporaryDirectory(t);
    const secret = join(directory, 'secret');
    const key = join(directory, 'key');
    await writeFile(secret, 'a-secret-in-a-file');
    await writeFile(key, Buffer.alloc(32, 7), { mode: 0o600 });
    const { sidecar, self, call } = await supervise(t, {
        env: {
            HOOKLINE_WEBHOOK_SECRET_FILE: secret,
            HOOKLINE_KEY_FILE: key,
            HOOKLINE_FUNCTION_CONCURRENCY: '3',
            HOOKLINE_LOG_FORMAT: 'json',
            APP_OWN: 'kept',
        },
    });
    // Connections, database and files are open on our side when the app is started again.
    await call('/exit').catch(() => {});
    await until('the next one', () => starts(sidecar).length === 2);
    await sidecar.until('readyz');
    const held = await connect(t, sidecar);
    await held.send(`POST ${RUN} HTTP/1.1\r\n`);
    const { environment, fds } = await self();
    for (const name of Object.keys(environment))
        assert.doesNotMatch(name, /SECRET|KEY_FILE/, name);
    assert.equal(environment.APP_OWN, 'kept');
    assert.equal(environment.HOOKLINE_FUNCTION_CONCURRENCY, '3');
    assert.equal(environment.HOOKLINE_LOG_FORMAT, 'json');
    assert.equal(fds[0], '/dev/null');
    assert.match(fds[1], /^pipe:/);
    assert.match(fds[2], /^pipe:/);
    const own = await readdir(`/proc/${sidecar.pid}/fd`);
    assert.ok(own.length > 15, 'hookline has more to give away');
    assertOnlyNodesOwn(fds);
});

/** What Node opens for itself: its loops, its listener and connection, no files of a data directory. */
function assertOnlyNodesOwn(fds) {
    for (const [fd, target] of Object.entries(fds)) {
        if (fd < 3) continue;
        assert.match(target, /^(anon_inode:|pipe:|socket:|\/dev\/null$|\/proc\/)/, `${fd}: ${target}`);
    }
}

test('a program that lists its descriptors finds three, and no signal blocked or ignored', async (t) => {
    const command = 'ls -l /proc/self/fd; grep Sig[BI] /proc/self/status; env; sleep 1000';
    const { sidecar } = await supervise(t, {
        command,
        env: { HOOKLINE_WEBHOOK_SECRET: 'a-secret-in-the-environment' },
        wait: 'healthz',
    });
    await until('its environment', () => output(sidecar).some((l) => l.startsWith('PORT=')));
    const fds = output(sidecar).filter((l) => l.includes(' -> '));
    // ls itself has the directory open.
    assert.deepEqual(
        fds.map((l) => / (\d+) -> (\/dev\/null|pipe|\/proc)/.exec(l)?.slice(1)),
        [
            ['0', '/dev/null'],
            ['1', 'pipe'],
            ['2', 'pipe'],
            ['3', '/proc'],
        ],
    );
    const signals = output(sidecar).filter((l) => /^Sig/.test(l));
    assert.deepEqual(signals, ['SigBlk:\t0000000000000000', 'SigIgn:\t0000000000000000']);
    assert.ok(!sidecar.stderr.includes('a-secret-in-the-environment'));
});

test('nothing of what replicas share is in its environment', async (t) => {
    const directory = await temporaryDirectory(t);
    const previous = join(directory, 'previous');
    await writeFile(previous, 'ab'.repeat(32));
    const { env } = await postgres(t);
    const { sidecar } = await supervise(t, {
        command: 'env; echo end; sleep 1000',
        env: {
            ...env,
            HOOKLINE_PREVIOUS_KEY_FILE: previous,
            PGPASSWORD: 'a-secret',
            PGPASSFILE: '/a-secret',
            PGAPPNAME: 'the-app',
        },
        wait: 'healthz',
    });
    await until('its environment', () => output(sidecar).includes('end'));
    const names = output(sidecar).map((line) => line.split('=')[0]);
    const own = names.filter((name) => /^(PG|HOOKLINE_.*(KEY|URL))/.test(name));
    assert.deepEqual(own.sort(), ['HOOKLINE_APP_URL', 'PGAPPNAME']);
    assert.ok(!sidecar.stderr.includes('a-secret'));
});

test('the limit of descriptors is the one that hookline was started with', async (t) => {
    const port = await freePort();
    const command = `ulimit -S -n 333; exec ${BINARY}`;
    const child = spawn('/bin/sh', ['-c', command], {
        env: {
            PATH: process.env.PATH,
            HOOKLINE_LISTEN: `127.0.0.1:${port}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_AUTH: 'none',
            HOOKLINE_DATA_DIR: await temporaryDirectory(t),
            HOOKLINE_APP_COMMAND: 'ulimit -S -n; sleep 1000',
            HOOKLINE_SHUTDOWN_DELAY: '0s',
        },
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (piece) => (text += piece));
    atEnd(t, async () => {
        child.kill('SIGTERM');
        await once(child, 'close');
    });
    await until('the limit', () => /"line":"333"/.test(text));
});

test('its output is in the log line by line, escaped, long lines cut and marked', async (t) => {
    const lines = [
        'printf "one\\ntwo\\r\\n\\nthree"',
        'printf "10%%\\r20%%\\r" >&2',
        'printf "\\033[31mred\\n"',
        'printf "{\\"json\\": \\"in json\\"}\\n"',
        'head -c 100000 /dev/zero | tr "\\0" x; echo',
        'echo after; printf "no end"',
        'sleep 0.1; printf " but this\\n"; sleep 1000',
    ];
    const { sidecar } = await supervise(t, { command: lines.join('\n'), wait: 'healthz' });
    await until('the last line', () => output(sidecar).includes('no end but this'));
    const [one, two, three, json, long, after] = output(sidecar);
    assert.deepEqual([one, two], ['one', 'two']);
    assert.equal(three, 'three\u001b[31mred', 'nothing ended the line');
    assert.equal(json, '{"json": "in json"}');
    assert.match(long, /^x{3900,4090}…$/);
    assert.equal(after, 'after');
    await until('stderr', () => output(sidecar, 'stderr').length === 2);
    assert.deepEqual(output(sidecar, 'stderr'), ['10%', '20%']);
    assert.ok(!sidecar.stderr.includes('\u001b'), 'no escape sequence reaches a terminal');
});

test('its output is logged whatever HOOKLINE_LOG_LEVEL is, and counted', async (t) => {
    const { sidecar } = await supervise(t, {
        command: 'echo one; echo two >&2; exec sleep 1000',
        env: { HOOKLINE_LOG_LEVEL: 'error' },
        wait: 'healthz',
    });
    await until('both lines', () => output(sidecar)[0] === 'one' && output(sidecar, 'stderr')[0] === 'two');
    assert.equal(await sidecar.metric('hookline_app_output_lines_total'), 2);
    assert.deepEqual([...new Set(sidecar.log.map((l) => l.msg))], ['app']);
});

test('HOOKLINE_APP_LOG=off: its output is read and dropped', async (t) => {
    const { sidecar, self } = await supervise(t, {
        command: `yes "a line of many" | head -n 20000; exec ${process.execPath} ${PLAIN}`,
        env: { HOOKLINE_APP_LOG: 'off' },
    });
    await self();
    assert.deepEqual([...output(sidecar), ...output(sidecar, 'stderr')], []);
    assert.equal(await sidecar.metric('hookline_app_output_lines_total'), 0);
    assert.equal(await sidecar.metric('hookline_app_output_dropped_lines_total'), 0);
});

test('what it wrote last is in the log before its end is', async (t) => {
    const { sidecar } = await supervise(t, {
        command: 'i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo "traceback $i"; done; exit 3',
        wait: 'healthz',
    });
    const end = await until('its end', () => sidecar.log.find((l) => l.msg === 'the app ended'));
    assert.equal(end.exit_status, 3);
    const before = sidecar.log.slice(0, sidecar.log.indexOf(end)).map((l) => l.line);
    assert.ok(before.includes('traceback 1') && before.includes('traceback 500'));
});

test('a flood of lines is dropped and counted; neither app nor hookline is held up', async (t) => {
    // More than is logged in a second, while hookline answers; then a line that shows that the app went on.
    const { sidecar, call } = await supervise(t, {
        command: `yes "a line of a flood" | head -n 400000; echo done; exec ${process.execPath} ${PLAIN}`,
        env: { HOOKLINE_LOG_LEVEL: 'info' },
        wait: 'healthz',
    });
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    await sidecar.until('readyz');
    assert.equal((await call('/self')).status, 200);
    const count = async (what) => (await sidecar.metric(`hookline_app_output_${what}lines_total`)) ?? 0;
    await until('each line is logged or dropped', async () => (await count('')) + (await count('dropped_')) >= 400_000);
    assert.ok((await count('dropped_')) > 0);
    await sidecar.logged((l) => /lines were dropped/.test(l.msg) && l.lines > 0);
});

test('a log that nobody reads holds up neither the app nor hookline', async (t) => {
    const port = await freePort();
    const appPort = await freePort();
    const child = spawn(BINARY, [], {
        env: {
            PATH: process.env.PATH,
            ASAN_OPTIONS: 'detect_leaks=0',
            HOOKLINE_LISTEN: `127.0.0.1:${port}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_AUTH: 'none',
            HOOKLINE_DATA_DIR: await temporaryDirectory(t),
            HOOKLINE_APP_URL: `http://127.0.0.1:${appPort}`,
            HOOKLINE_APP_COMMAND: `yes "nobody reads this" | head -n 20000; exec ${process.execPath} ${PLAIN}`,
            HOOKLINE_SHUTDOWN_DELAY: '0s',
        },
        stdio: ['ignore', 'ignore', 'pipe'], // never read
    });
    child.stderr.pause();
    atEnd(t, async () => {
        child.kill('SIGTERM');
        child.stderr.resume();
        await once(child, 'close');
    });
    const call = caller(t, { url: `http://127.0.0.1:${port}` });
    await until('the app answers through hookline', () =>
        call('/self').then(
            (r) => r.status === 200,
            () => false,
        ),
    );
});

test('an app that dies is started again, later each time; readiness says why', async (t) => {
    const { sidecar } = await supervise(t, { command: 'exit 7', wait: 'healthz' });
    const pauses = () => sidecar.log.filter((l) => l.in_ms).map((l) => l.in_ms);
    await until('four ends', () => pauses().length >= 4);
    assert.deepEqual(pauses().slice(0, 4), [100, 200, 400, 800]);
    const { status, text } = await sidecar.admin('/readyz');
    assert.equal(status, 503);
    assert.match(text, /the app (ended|is starting)/);
});

test('an app that goes into the background is said to: it has to stay in the foreground', async (t) => {
    const { sidecar } = await supervise(t, { command: 'sleep 60 & exit 0', wait: 'healthz' });
    await until('readiness says it', async () => /status 0; .* has to stay in the foreground/.test((await sidecar.admin('/readyz')).text));
});

for (const [what, command, message, why] of [
    ['an unknown program in an array', '["no-such-program-here"]', /program does not exist/, /does not exist/],
    ['an unknown program in a line', 'no-such-program-here $PORT', /shell did not find/, /did not find/],
    ['a file that is not a program', '["/etc/passwd"]', /program does not exist or cannot/, /cannot be executed/],
    ['a program of an unknown format', (file) => `["${file}"]`, /program cannot be run/, /cannot be run/],
]) {
    test(`${what}: a clear message, readiness says it, and it is tried again`, async (t) => {
        const file = join(await temporaryDirectory(t), 'garbage');
        await writeFile(file, 'no program');
        await chmod(file, 0o755);
        const { sidecar } = await supervise(t, {
            command: typeof command === 'function' ? command(file) : command,
            wait: 'healthz',
        });
        const said = await until('a message', () => sidecar.log.find((l) => message.test(l.msg)));
        assert.ok(['error', 'warn'].includes(said.level));
        await until('readiness says why', async () => why.test((await sidecar.admin('/readyz')).text));
        await until('it is tried again', () => sidecar.log.filter((l) => message.test(l.msg)).length > 1);
        assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
        assert.equal(await sidecar.probe('/_hookline/readyz'), 503);
    });
}

test('the app dies with calls inside: they are upstream_reset, others wait for the next one', async (t) => {
    const receiver = await Receiver.start(t);
    const { sidecar, call, self } = await supervise(t);
    const { pid } = await self();
    const hanging = call('/hang', { body: '{}' });
    const run1 = await call('/v4/p/a/hang', {
        body: '{}',
        query: { async: 'true', webhookEndpoint: receiver.url('/inside') },
    });
    assert.equal(run1.status, 202);
    await until('both are inside', () => output(sidecar).filter((l) => /^hanging/.test(l)).length === 2);
    process.kill(pid, 'SIGKILL');
    assertProblem(await hanging, 502);
    await receiver.delivered('/inside');
    assert.equal((await receiver.envelope('/inside')).reason, 'upstream_reset');
    await until('it is gone', () => sidecar.log.some((l) => /terminated by a signal/.test(l.msg)));
    const queued = call('/v4/p/a/later', {
        body: '{}',
        query: { async: 'true', webhookEndpoint: receiver.url('/later') },
    });
    const waiting = call('/self');
    assert.equal((await queued).status, 202);
    assert.equal((await waiting).status, 200);
    await receiver.delivered('/later');
    assert.equal((await receiver.envelope('/later')).type, 'run.success');
    assert.equal(starts(sidecar).length, 2);
});

test('an asynchronous run waits for an app that is down for longer than a caller would', async (t) => {
    const directory = await temporaryDirectory(t);
    const receiver = await Receiver.start(t);
    const { call, sidecar } = await supervise(t, {
        command: `test -e ${directory}/go || exit 1; exec ${process.execPath} ${PLAIN}`,
        env: { HOOKLINE_CONNECT_TIMEOUT: '200ms' },
        wait: 'healthz',
    });
    await call(RUN, { body: '{}', query: { async: 'true', webhookEndpoint: receiver.url('/done') } });
    assertProblem(await call('/self'), 502);
    await until('the run waits', () => sidecar.metric('hookline_runs_queued'));
    await writeFile(join(directory, 'go'), '');
    await receiver.delivered('/done');
    assert.equal((await receiver.envelope('/done')).type, 'run.success');
});

test('signals go to the app: SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH', async (t) => {
    const { sidecar, self } = await supervise(t);
    await until('it listens', () => output(sidecar).includes('listening'));
    const names = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGWINCH'];
    for (const name of names) {
        sidecar.signal(name);
        await until(name, () => output(sidecar).includes(`got ${name}`));
    }
    assert.deepEqual((await self()).seen, names);
    assert.equal(starts(sidecar).length, 1);
});

test('stopping: running calls end first, then the app gets SIGTERM, and its children too', async (t) => {
    const { sidecar, call, self } = await supervise(t, {
        command: `sleep 1000 & echo child $!; ${process.execPath} ${PLAIN}; echo the shell went on`,
        env: { HOOKLINE_DRAIN_TIMEOUT: '10s' },
    });
    const { pid } = await self();
    const child = await childOf(sidecar);
    const slow = call('/self?ms=700');
    await until('it is inside', async () => (await sidecar.metric('hookline_http_requests_in_flight')) === 1);
    sidecar.signal('SIGTERM');
    assert.equal((await slow).status, 200);
    assert.equal((await sidecar.exited()).code, 0);
    const order = sidecar.log.map((l) => l.msg);
    assert.ok(order.indexOf('listeners closed; running calls may finish') < order.indexOf('the app is being stopped'));
    for (const p of [pid, child]) assert.equal(isAlive(p), false);
    assert.ok(!sidecar.log.some((l) => /is killed/.test(l.msg)));
});

test('HOOKLINE_APP_STOP_TIMEOUT: an app that does not end is killed', async (t) => {
    const { sidecar, self } = await supervise(t, {
        env: { HOOKLINE_APP_STOP_TIMEOUT: '300ms', TEST_IGNORES_SIGTERM: '1' },
    });
    const { pid } = await self();
    await sidecar.stop();
    assert.ok(output(sidecar).includes('SIGTERM is ignored'));
    assert.ok(sidecar.log.some((l) => /HOOKLINE_APP_STOP_TIMEOUT has passed/.test(l.msg)));
    assert.equal(isAlive(pid), false);
});

test('a second SIGTERM ends everything at once, at any stage', async (t) => {
    for (const stage of ['drain', 'app']) {
        const { sidecar, call, self } = await supervise(t, {
            command: `trap "" TERM; sleep 1000 & echo child $!; ${process.execPath} ${PLAIN}`,
            env: {
                HOOKLINE_APP_STOP_TIMEOUT: '10m',
                HOOKLINE_DRAIN_TIMEOUT: '10m',
                TEST_IGNORES_SIGTERM: '1',
            },
        });
        const { pid } = await self();
        const child = await childOf(sidecar);
        if (stage === 'drain') call('/hang').catch(() => {});
        await until('it is inside', async () =>
            stage !== 'drain' || (await sidecar.metric('hookline_http_requests_in_flight')) === 1,
        );
        sidecar.signal('SIGTERM');
        await until('it stops', () =>
            sidecar.log.some((l) => l.msg === (stage === 'drain' ? 'listeners closed; running calls may finish' : 'the app is being stopped')),
        );
        sidecar.signal('SIGTERM');
        assert.equal((await sidecar.exited()).code, 0, stage);
        for (const p of [pid, child]) assert.equal(isAlive(p), false, stage);
    }
});

test('hookline is killed: its app goes with it', async (t) => {
    const { sidecar, self } = await supervise(t, { command: `${process.execPath} ${PLAIN}` });
    const { pid } = await self();
    await sidecar.kill();
    await isGone(pid);
});

test('what the app leaves behind is reaped, and nothing of it outlives hookline', async (t) => {
    // A daemon in a session of its own, whose parent has ended, and orphans that end at once.
    const { sidecar } = await supervise(t, {
        command: `sh -c 'setsid sleep 1001 & echo daemon $!'; for i in 1 2 3; do sh -c 'sleep 0.05 &'; done; exec ${process.execPath} ${PLAIN}`,
    });
    const daemon = Number(/^daemon (\d+)$/.exec(output(sidecar)[0])[1]);
    const children = async () => {
        const list = await readFile(`/proc/${sidecar.pid}/task/${sidecar.pid}/children`, 'utf8');
        return list.trim().split(' ').map(Number);
    };
    await until('the orphans are reaped', async () => (await children()).length === 2);
    assert.ok((await children()).includes(daemon));
    assert.ok(isAlive(daemon));
    await sidecar.stop();
    assert.equal(isAlive(daemon), false);
});

/** hookline as process 1 of a namespace of its own, as in a container: `{ pid, line }`. */
async function startAsFirst(t, command) {
    const child = spawn('unshare', ['--pid', '--fork', '--kill-child', BINARY], {
        env: {
            PATH: process.env.PATH,
            ASAN_OPTIONS: 'detect_leaks=0',
            HOOKLINE_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
            HOOKLINE_AUTH: 'none',
            HOOKLINE_LOG_FORMAT: 'json',
            HOOKLINE_DATA_DIR: await temporaryDirectory(t),
            HOOKLINE_SHUTDOWN_DELAY: '0s',
            HOOKLINE_DRAIN_TIMEOUT: '500ms',
            HOOKLINE_APP_COMMAND: command,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (piece) => (text += piece));
    const ended = once(child, 'close');
    await until('it runs', () => /"listening"/.test(text));
    const [pid] = await childrenOf(child.pid);
    atEnd(t, async () => {
        process.kill(pid, 'SIGTERM');
        assert.deepEqual(await ended, [0, null], text);
    });
    await until('its app says so', () => !command || /"line":"ready"/.test(text));
    return { pid };
}

/** The process ids of its children, zombies included. */
async function childrenOf(pid) {
    const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return list.trim().split(' ').filter(Boolean).map(Number);
}

for (const command of ['', 'trap "exit 0" TERM; echo ready; while :; do sleep 0.1; done']) {
    test(`as process 1 ${command ? 'with' : 'without'} an app of its own it reaps whatever ends`, { skip: !isRoot }, async (t) => {
        const { pid } = await startAsFirst(t, command);
        const own = await childrenOf(pid);
        assert.equal(own.length, command ? 1 : 0);
        // As by `docker exec`: processes that lose their parent, some of them already dead.
        const script = 'for i in 1 2 3 4 5; do sh -c "sleep 0.$i &"; done; sleep 1005 & echo $$';
        const other = spawn('nsenter', ['-t', `${pid}`, '-p', 'sh', '-c', script]);
        await once(other, 'exit');
        const left = await until('one is left', async () => {
            const orphans = (await childrenOf(pid)).filter((p) => !own.includes(p));
            return orphans.length === 1 && orphans;
        });
        process.kill(left[0], 'SIGKILL');
        await until('none is left', async () => (await childrenOf(pid)).length === own.length);
    });
}

test('the rest of its group does not outlive the app’s first process', async (t) => {
    const { sidecar } = await supervise(t, {
        command: 'sleep 1002 & echo child $!; exit 1',
        wait: 'healthz',
    });
    const [line] = await until('a child', () => output(sidecar).length && output(sidecar));
    await isGone(Number(/^child (\d+)$/.exec(line)[1]));
});

test('HOOKLINE_APP_USER: it runs as that user, with that user’s groups', { skip: !isRoot }, async (t) => {
    for (const [user, uid, gid, groups] of [
        ['daemon', 1, 1, '1'],
        ['12345:23456', 12345, 23456, '23456'],
    ]) {
        const { self } = await supervise(t, {
            command: `exec ${process.execPath} --input-type=module - < ${PLAIN}`,
            env: { HOOKLINE_APP_USER: user },
        });
        const seen = await self();
        assert.equal(seen.uid, Array(4).fill(uid).join('\t'));
        assert.equal(seen.gid, Array(4).fill(gid).join('\t'));
        assert.equal(seen.groups, groups);
        if (user === 'daemon') assert.equal(seen.environment.USER, 'daemon');
    }
});

test('HOOKLINE_APP_USER cannot read the data directory, and goes when hookline is killed', { skip: !isRoot }, async (t) => {
    const { sidecar } = await supervise(t, {
        command: 'ls "$HOOKLINE_DATA_DIR" || echo refused; cat /proc/$PPID/environ || echo refused; echo me $$; exec sleep 1003',
        env: { HOOKLINE_APP_USER: 'daemon' },
        wait: 'healthz',
    });
    await until('it says who it is', () => output(sidecar).some((l) => /^me/.test(l)));
    assert.equal(output(sidecar).filter((l) => l === 'refused').length, 2);
    await sidecar.kill();
    await isGone(Number(/^me (\d+)$/.exec(output(sidecar).find((l) => /^me/.test(l)))[1]));
});

test('what cannot be is refused at the start, in one line that says why', async (t) => {
    const directory = await temporaryDirectory(t);
    for (const [env, expected] of [
        [{ HOOKLINE_APP_COMMAND: '["node"' }, /^hookline: HOOKLINE_APP_COMMAND: .* is not allowed; allowed: .*JSON array/],
        [{ HOOKLINE_APP_COMMAND: 'true', HOOKLINE_APP_USER: 'no-such-user' }, /HOOKLINE_APP_USER: "no-such-user" is not a user/],
        [{ HOOKLINE_APP_USER: 'daemon' }, /HOOKLINE_APP_USER: "daemon" has no effect without HOOKLINE_APP_COMMAND/],
    ]) {
        const { code, stderr } = await run([], { HOOKLINE_DATA_DIR: directory, ...env });
        assert.notEqual(code, 0);
        assert.match(stderr, expected);
        assert.equal(stderr.trim().split('\n').length, 1, stderr);
    }
});

test('HOOKLINE_APP_USER is refused when hookline is not root', { skip: !isRoot }, async (t) => {
    const directory = await temporaryDirectory(t);
    const child = spawn(BINARY, [], {
        uid: 1,
        gid: 1,
        env: {
            PATH: process.env.PATH,
            HOOKLINE_DATA_DIR: directory,
            HOOKLINE_APP_COMMAND: 'true',
            HOOKLINE_APP_USER: 'daemon',
        },
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (piece) => (text += piece));
    const [code] = await once(child, 'close');
    assert.notEqual(code, 0);
    assert.match(text, /HOOKLINE_APP_USER: "daemon" needs root/);
});

test('HOOKLINE_APP_RESTART_AFTER: an app that hangs is started again, and its call is 502', async (t) => {
    const { sidecar, call, self } = await supervise(t, {
        env: { HOOKLINE_APP_HEALTH_PATH: '/self', HOOKLINE_APP_RESTART_AFTER: '1s', HOOKLINE_APP_STOP_TIMEOUT: '100ms' },
    });
    const { pid } = await self();
    process.kill(pid, 'SIGSTOP');
    const inside = call(RUN, { body: '{}' });
    await isGone(pid);
    assertProblem(await inside, 502);
    await sidecar.until('readyz');
    assert.notEqual((await self()).pid, pid);
    assert.equal(await sidecar.metric('hookline_app_starts_total', { why: 'unhealthy' }), 1);
    assert.equal(await sidecar.metric('hookline_app_starts_total', { why: 'exit' }), 0);
});

test('HOOKLINE_APP_START_LIMIT: an app that is not ready by then is killed and started again', async (t) => {
    const { sidecar } = await supervise(t, { command: 'sleep 1000', wait: 'healthz', env: { HOOKLINE_APP_START_LIMIT: '50ms' } });
    await until('it was started again', () => starts(sidecar).length >= 3);
    assert.ok((await sidecar.metric('hookline_app_starts_total', { why: 'start_timeout' })) >= 2);
    assert.ok(sidecar.log.some(({ msg }) => msg.includes('HOOKLINE_APP_START_LIMIT')));
});

test('HOOKLINE_APP_WARMUP: each start is warmed up before calls go in, which is no run', async (t) => {
    const body = join(await temporaryDirectory(t), 'warm.json');
    await writeFile(body, '{"prompt":"warm"}');
    const seen = [];
    let status = 503;
    const app = await startServer(t, async (x) => {
        seen.push({ path: x.target, warm: x.head.get('x-run-warmup'), type: x.head.get('content-type'), body: (await x.body()).toString() });
        await x.send(x.target === '/warm?x=1' ? status : 200, {}, 'an answer with a body');
    });
    const sidecar = await startSidecar(t, {
        env: { HOOKLINE_APP_URL: app.url, HOOKLINE_APP_WARMUP: 'POST /warm?x=1', HOOKLINE_APP_WARMUP_BODY_FILE: body },
        wait: 'healthz',
    });
    await until('it was asked', () => seen.length > 0);
    assert.deepEqual(seen[0], { path: '/warm?x=1', warm: 'true', type: 'application/json', body: '{"prompt":"warm"}' });
    assert.match((await sidecar.admin('/readyz')).text, /HOOKLINE_APP_WARMUP/);
    const waits = caller(t, sidecar)(RUN, { body: '{}' });
    assert.ok(seen.every(({ path }) => path !== '/run'));
    status = 201;
    assert.equal((await waits).status, 200);
    assert.equal(seen.findIndex(({ path }) => path === '/run'), seen.length - 1);
    assert.deepEqual((await control(sidecar)('GET', '/v2/runs')).json().runs.map(({ path }) => path), ['/run']);
    assert.equal(seen.filter(({ path }) => path === '/warm?x=1').length, seen.length - 1);
});
