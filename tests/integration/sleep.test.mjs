// The app sleeps while nobody uses it, and whoever comes wakes it: HOOKLINE_APP_IDLE_STOP and HOOKLINE_APP_IDLE_SLEEP.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { connect, request } from './lib/raw.mjs';
import { fleet } from './lib/replicas.mjs';
import { control, rest } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, assertProblem, caller } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const SLEEPER = JSON.stringify([process.execPath, fileURLToPath(new URL('apps/sleeper.mjs', import.meta.url))]);
const ASYNC = { query: { async: 'true' } };
const UPGRADE = {
    Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13, 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const CALLS = { HOOKLINE_APP_IDLE_SLEEP: '100ms', HOOKLINE_APP_SLEEP_CALL: 'POST /sleep?level=1', HOOKLINE_APP_WAKE_CALL: 'POST /wake_up' };
const BY_CALL = { HOOKLINE_APP_IDLE_STOP: '', HOOKLINE_APP_HEALTH_PATH: '/health', ...CALLS };

/** A sidecar that starts apps/sleeper.mjs, and stops it after 100 ms without use. */
async function sleeper(t, { env = {}, unix = false, wait } = {}) {
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: unix
                ? `unix:${join(await temporaryDirectory(t), 'app.sock')}`
                : `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: SLEEPER,
            HOOKLINE_APP_IDLE_STOP: '100ms',
            ...env,
        },
        wait,
    });
    return { sidecar, call: caller(t, sidecar), seen: () => output(sidecar) };
}

/** What the app has written. */
const output = (sidecar) => sidecar.log.filter((l) => l.msg === 'app').map((l) => l.line);
const count = (sidecar, fits) => sidecar.log.filter((l) => fits.test(l.msg)).length;
const starts = (sidecar, why) => sidecar.metric('hookline_app_starts_total', { why });
const wakes = (sidecar) => sidecar.metric('hookline_app_wake_seconds_count');

/** It sleeps, and is told apart from the sleeps before. */
const asleep = (sidecar) => until('the app sleeps', async () => (await sidecar.metric('hookline_app_asleep')) === 1);

/** Nobody came too late, or into an app that sleeps. */
function assertNoneLost(sidecar) {
    assert.deepEqual(output(sidecar).filter((line) => /^(too late|asleep)/.test(line)), []);
}

/** What it was asked first, which is told through a pipe and a log. */
const asked = ({ seen }, lines) =>
    until(lines.join(', '), () => seen().filter((line) => /^POST/.test(line)).slice(0, lines.length).join() === lines.join());

/** Until the run has ended; its record. */
const ended = (sidecar, id) =>
    until(`run ${id} has ended`, async () => {
        const record = (await control(sidecar)('GET', `/v2/runs/${id}`)).json();
        return record.finished_at && record;
    });

// ---- stopped, and started ----

test('an unused app is stopped; a call, a queued run, an upgrade and what is passed through start it', async (t) => {
    const { sidecar, call } = await sleeper(t);
    for (const [n, come] of [
        async () => assert.equal((await call()).status, 200),
        async () => assert.equal((await ended(sidecar, (await call(RUN, ASYNC)).id)).state, 'success'),
        async () => {
            const upgrade = await connect(t, sidecar);
            await upgrade.send(request('GET', '/v4/p/a/socket', UPGRADE));
            assert.equal((await upgrade.response()).status, 101);
            upgrade.close();
        },
        async () => assert.equal((await call('/passed', { method: 'GET' })).status, 200),
    ].entries()) {
        await asleep(sidecar);
        assert.equal(await sidecar.metric('hookline_app_running'), 0);
        const ready = await sidecar.admin('/readyz');
        assert.deepEqual([ready.status, ready.text], [200, 'ready: the app sleeps\n']);
        await come();
        assert.equal(await starts(sidecar, 'wake'), n + 1);
    }
    await asleep(sidecar);
    assert.deepEqual([await starts(sidecar, 'start'), await starts(sidecar, 'exit'), await wakes(sidecar)], [1, 0, 4]);
    assert.equal(count(sidecar, /^the app is woken/), 4);
    assert.equal(count(sidecar, /^the app is awake/), 4);
    assert.equal(count(sidecar, /will be restarted|^the app is not ready/), 0);
    assertNoneLost(sidecar);
});

test('twenty that come at once wake it once, and all are answered', async (t) => {
    const { sidecar, call } = await sleeper(t, { unix: true, env: { HOOKLINE_APP_CONCURRENCY: '1' } });
    await asleep(sidecar);
    const runs = [1, 2, 3, 4].map(() => call(RUN, ASYNC));
    const answers = await Promise.all([...Array(16)].map(() => call(RUN, { body: '{}' })));
    assert.deepEqual(answers.map(({ status }) => status), Array(16).fill(200));
    assert.equal(new Set(answers.map(({ text }) => text.split(' ')[0])).size, 1, 'by one process');
    for (const { id } of await Promise.all(runs)) assert.equal((await ended(sidecar, id)).state, 'success');
    assertNoneLost(sidecar);
});

test('who comes while the app is being stopped waits for the end of that, and wakes the next one', async (t) => {
    const { sidecar, call, seen } = await sleeper(t, { env: { TEST_GOES_MS: '300' } });
    await until('it is being stopped', () => seen().includes('SIGTERM'));
    const accepted = await call(RUN, ASYNC);
    assert.equal((await call()).status, 200);
    assert.equal((await ended(sidecar, accepted.id)).state, 'success');
    assert.equal(await starts(sidecar, 'wake'), 1);
    assertNoneLost(sidecar);
});

test('an app that ignores SIGTERM is killed, and the caller who waits for that is answered', async (t) => {
    const { sidecar, call, seen } = await sleeper(t, {
        env: { TEST_IGNORES_SIGTERM: 'yes', HOOKLINE_APP_STOP_TIMEOUT: '200ms' },
    });
    await until('it is being stopped', () => seen().includes('SIGTERM'));
    assert.equal((await call()).status, 200);
    await sidecar.logged((l) => /HOOKLINE_APP_STOP_TIMEOUT has passed/.test(l.msg));
    assertNoneLost(sidecar);
});

test('nothing of a stopped app is left, not what it had made either', async (t) => {
    const { sidecar, seen } = await sleeper(t, {
        env: { HOOKLINE_APP_COMMAND: `setsid sleep 1000 & echo "child $!"; exec ${process.execPath} ${JSON.parse(SLEEPER)[1]}` },
    });
    await asleep(sidecar);
    const pid = await until('its child', () => Number(/^child (\d+)$/m.exec(seen().join('\n'))?.[1]));
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('a caller waits for HOOKLINE_APP_WAKE_TIMEOUT, then 503 with Retry-After, and the start goes on', async (t) => {
    const { sidecar, call } = await sleeper(t, {
        env: { TEST_STARTS_MS: '700', HOOKLINE_APP_WAKE_TIMEOUT: '100ms', HOOKLINE_CONNECT_TIMEOUT: '10m', HOOKLINE_APP_IDLE_STOP: '300ms' },
    });
    await asleep(sidecar);
    const refused = await call();
    assert.match(assertProblem(refused, 503).detail, /HOOKLINE_APP_WAKE_TIMEOUT/);
    assert.match(refused.headers['retry-after'], /^\d+$/);
    await sidecar.logged((l) => /^the app is awake/.test(l.msg));
    assert.equal((await call()).status, 200);
    assert.equal(await starts(sidecar, 'wake'), 1);
});

test('a caller waits for an app that slept for longer than HOOKLINE_CONNECT_TIMEOUT', async (t) => {
    const { sidecar, call } = await sleeper(t, { env: { TEST_STARTS_MS: '300', HOOKLINE_CONNECT_TIMEOUT: '20ms', HOOKLINE_APP_HEALTH_GATE: 'off' } });
    await asleep(sidecar);
    const first = call();
    await sidecar.logged((l) => /^the app was started/.test(l.msg) && count(sidecar, /^the app is woken/) > 0);
    const ready = await sidecar.admin('/readyz');
    assert.deepEqual([ready.status, ready.text], [200, 'ready: the app is being woken\n']);
    assert.equal((await control(sidecar)('GET', '/v2/now')).json().app_state, 'waking');
    for (const { status } of await Promise.all([first, call()])) assert.equal(status, 200);
});

test('a long body waits for the app to wake, however long that takes', async (t) => {
    const { sidecar, call } = await sleeper(t, { env: { TEST_STARTS_MS: '800', HOOKLINE_BODY_TIMEOUT: '100ms', HOOKLINE_HEAD_TIMEOUT: '100ms' } });
    await asleep(sidecar);
    const answers = await Promise.all([call(RUN, { body: 'x'.repeat(2_000_000) }), call(RUN, { body: 'x' }), call('/passed', { body: 'x'.repeat(2_000_000) })]);
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200]);
});

test('the end of hookline is at once: while the app sleeps, while it is being stopped, while it starts', async (t) => {
    const { sidecar, call, seen } = await sleeper(t, { env: { TEST_GOES_MS: '100' } });
    await asleep(sidecar);
    await sidecar.stop();
    await sidecar.restart({ TEST_GOES_MS: '300' });
    await until('it is being stopped', () => seen().filter((line) => line === 'SIGTERM').length === 2);
    await sidecar.stop();
    await sidecar.restart({ TEST_STARTS_MS: '600000' }, 'healthz');
    await sidecar.stop();
    await sidecar.restart({ TEST_STARTS_MS: '0' });
    await asleep(sidecar);
    // A run is queued when it ends, and starts with the next one.
    const waits = call(RUN, ASYNC);
    const { id } = await waits;
    await sidecar.restart();
    assert.equal((await ended(sidecar, id)).state, 'success');
});

test('what is no use of the app does not keep it awake, and does not wake it', async (t) => {
    const { sidecar, call } = await sleeper(t, { env: { HOOKLINE_PASSTHROUGH: 'off' } });
    let isAsleep = 0;
    for (let i = 0; i < 500 && !isAsleep; i++) {
        await sidecar.probe('/_hookline/readyz');
        await call('/nothing', { method: 'GET' });
        await control(sidecar)('GET', '/v2/runs');
        isAsleep = await sidecar.metric('hookline_app_asleep');
    }
    assert.equal(isAsleep, 1);
    assert.equal((await call('/nothing', { method: 'GET' })).status, 404);
    assert.equal((await call(RUN, { method: 'GET', headers: { Host: '' } })).status >= 400, true);
    assert.equal(count(sidecar, /^the app is woken/), 0);
});

test('a tunnel and a call inside are use, however long', async (t) => {
    const { sidecar, call } = await sleeper(t);
    const upgrade = await connect(t, sidecar);
    await upgrade.send(request('GET', '/v4/p/a/socket', UPGRADE));
    assert.equal((await upgrade.response()).status, 101);
    await sleep(400);
    assert.equal((await call(RUN, { query: { ms: 400 } })).status, 200);
    assert.equal(count(sidecar, /^the app is stopped/), 0);
    upgrade.close();
    await asleep(sidecar);
});

test('a run that waits for its retry lets the app sleep, and wakes it when it is due', async (t) => {
    const { sidecar, call } = await sleeper(t, {
        env: { HOOKLINE_RUN_RETRY_ON: '5xx', HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_RUN_RETRY_DELAY: '1s' },
    });
    const { id } = await call('/v4/p/a/fails', ASYNC);
    await asleep(sidecar);
    const { attempt_log: attempts } = await ended(sidecar, id);
    assert.deepEqual(attempts.map(({ status_code: status }) => status), [500, 500]);
    assert.equal(await starts(sidecar, 'wake'), 1);
});

test('while it drains by call a queued run does not wake the app, a call does', async (t) => {
    const { sidecar, call } = await sleeper(t);
    const ask = rest(sidecar, { admin: true });
    await asleep(sidecar);
    await ask('POST', '/drain');
    const { id } = await call(RUN, ASYNC);
    await sleep(200);
    assert.equal(count(sidecar, /^the app is woken/), 0);
    const record = (await control(sidecar)('GET', `/v2/runs/${id}`)).json();
    assert.deepEqual([record.state, record.app_state], ['queued', 'asleep']);
    assert.ok(Date.parse(record.app_since) <= Date.now());
    const shown = await run(['runs', 'show', id], { HOOKLINE_DATA_DIR: sidecar.dataDir });
    assert.match(shown.stdout, new RegExp(`^the app is +asleep since ${record.app_since}$`, 'm'));
    const now = (await control(sidecar)('GET', '/v2/now')).json();
    assert.deepEqual([now.ready, now.app_state, now.app_since], [false, 'asleep', record.app_since]);
    assert.equal((await call()).status, 200);
    await asleep(sidecar); // what it may not claim does not keep it awake
    assert.equal((await control(sidecar)('GET', `/v2/runs/${id}`)).json().state, 'queued');
    await ask('DELETE', '/drain');
    const { state, app_state: app } = await ended(sidecar, id);
    assert.deepEqual([state, app], ['success', null]);
});

test('HOOKLINE_IDLE_EXIT ends hookline while its app sleeps', async (t) => {
    const { sidecar } = await other(t, { HOOKLINE_IDLE_EXIT: '2s' });
    assert.equal((await sidecar.exited()).code, 0);
    assert.equal(count(sidecar, /^the app sleeps/), 1);
});

test('a stopped app is warmed up by each wake, one that sleeps is not', async (t) => {
    const warm = { HOOKLINE_APP_WARMUP: 'POST /warm' };
    const stopped = await sleeper(t, { env: warm });
    await asleep(stopped.sidecar);
    assert.equal((await stopped.call()).status, 200);
    await asked(stopped, ['POST /warm', 'POST /warm', 'POST /run']);
    const dozing = await sleeper(t, { env: { ...warm, ...BY_CALL } });
    await asleep(dozing.sidecar);
    assert.equal((await dozing.call()).status, 200);
    await asked(dozing, ['POST /warm', 'POST /sleep?level=1', 'POST /wake_up', 'POST /run']);
});

// ---- asked to sleep, and to wake ----

/** A server that can sleep, and is not ours. `answers[path]`: what it is asked with and answers. */
class Server {
    paths = [];
    isAsleep = false;
    answers = { '/sleep': 200, '/wake_up': 200 };
    handle = async (x) => {
        await x.body();
        if (x.path === '/health' && !this.isAsleep) return x.send(200);
        this.paths.push(`${x.method} ${x.target}${this.isAsleep && x.path !== '/wake_up' ? ' asleep' : ''}`);
        const status = this.answers[x.path] ?? 200;
        if (status === 200 && x.path === '/sleep') this.isAsleep = true;
        if (status === 200 && x.path === '/wake_up') this.isAsleep = false;
        return status ? x.send(status) : x.reset();
    };
    count = (path) => this.paths.filter((line) => line.endsWith(path)).length;
}

async function other(t, env = {}) {
    const server = new Server();
    const app = await startServer(t, server.handle);
    const sidecar = await startSidecar(t, { env: { HOOKLINE_APP_URL: app.url, ...BY_CALL, ...env } });
    return { server, app, sidecar, call: caller(t, sidecar) };
}

test('a server that is not ours is asked to sleep and to wake, and is left alone between', async (t) => {
    const { server, sidecar, call } = await other(t);
    await asleep(sidecar);
    assert.deepEqual(server.paths, ['POST /sleep?level=1']);
    await sleep(300);
    assert.deepEqual(server.paths, ['POST /sleep?level=1'], 'no health checks');
    assert.equal((await sidecar.admin('/readyz')).text, 'ready: the app sleeps\n');
    const { id } = await call(RUN, ASYNC);
    await ended(sidecar, id);
    assert.deepEqual(server.paths.slice(0, 3), ['POST /sleep?level=1', 'POST /wake_up', 'POST /run']);
    await asleep(sidecar);
    const answers = await Promise.all([...Array(20)].map(() => call()));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal(server.count('POST /wake_up'), 2);
    assert.deepEqual((await control(sidecar)('GET', '/v2/runs?state=success')).json().runs.map(({ path }) => path), Array(21).fill('/run'));
    assert.equal(await wakes(sidecar), 2);
});

test('a sleep call that fails is a warning, the app goes on, and is asked again', async (t) => {
    const { server, sidecar, call } = await other(t);
    server.answers['/sleep'] = 500;
    await until('it was asked twice', () => server.count('/sleep?level=1') >= 2);
    await sidecar.logged((l) => l.level === 'warn' && /HOOKLINE_APP_SLEEP_CALL/.test(l.msg) && l.status === 500);
    assert.equal((await call()).status, 200);
    assert.equal(await sidecar.metric('hookline_app_asleep'), 0);
    server.answers['/sleep'] = 0; // the connection breaks
    await sidecar.logged((l) => /HOOKLINE_APP_SLEEP_CALL/.test(l.msg) && /broke off/.test(l.cause));
    server.answers['/sleep'] = 200;
    await asleep(sidecar);
    assert.equal(server.count('/wake_up'), 0);
});

test('a call that comes while the app is asked to sleep waits for the answer, and wakes it', async (t) => {
    const held = gate();
    const { server, app, sidecar, call } = await other(t);
    app.handler = async (x) => {
        if (x.path === '/sleep') await held.promise;
        await server.handle(x);
    };
    await sidecar.logged((l) => /^the app is asked to sleep/.test(l.msg));
    const waits = call();
    await until('it waits', async () => (await sidecar.metric('hookline_app_gate_waiting')) === 1);
    held.open();
    assert.equal((await waits).status, 200);
    assert.ok(server.paths.every((line) => !line.endsWith(' asleep')), server.paths.join(', '));
});

test('a wake call that fails is asked again while somebody waits, and then no more', async (t) => {
    const { server, sidecar, call } = await other(t, { HOOKLINE_APP_WAKE_TIMEOUT: '700ms' });
    await asleep(sidecar);
    server.answers['/wake_up'] = 503;
    assertProblem(await call(), 503);
    await asleep(sidecar);
    const asked = server.count('/wake_up');
    assert.ok(asked >= 2, `${asked} times`);
    await sleep(300);
    assert.equal(server.count('/wake_up'), asked);
    server.answers['/wake_up'] = 200;
    assert.equal((await call()).status, 200);
    assert.equal(await wakes(sidecar), 1);
});

test('an app of ours that does not wake, three times, is started anew', async (t) => {
    const { sidecar, call, seen } = await sleeper(t, { env: { ...BY_CALL, TEST_WAKE_FAILURES: '3' } });
    await asleep(sidecar);
    assert.equal((await call()).status, 200);
    await asked({ seen }, ['POST /sleep?level=1', 'POST /wake_up', 'POST /wake_up', 'POST /wake_up', 'POST /run']);
    assert.deepEqual([await starts(sidecar, 'wake'), await starts(sidecar, 'exit')], [1, 0]);
    assertNoneLost(sidecar);
});

test('an app of ours that dies in its sleep counts as stopped', async (t) => {
    const { sidecar, call, seen } = await sleeper(t, { env: BY_CALL });
    const [pid] = (await call()).text.split(' ');
    await asleep(sidecar);
    process.kill(Number(pid), 'SIGKILL');
    await sidecar.logged((l) => /terminated by a signal/.test(l.msg));
    assert.equal((await sidecar.admin('/readyz')).text, 'ready: the app sleeps\n');
    assert.notEqual((await call()).text.split(' ')[0], pid);
    assert.deepEqual([await starts(sidecar, 'wake'), await starts(sidecar, 'exit')], [1, 0]);
    assert.equal(seen().filter((line) => /wake_up/.test(line)).length, 0);
});

test('with both times the app sleeps first, and is stopped later', async (t) => {
    const { sidecar, call, seen } = await sleeper(t, { env: { ...BY_CALL, HOOKLINE_APP_IDLE_STOP: '400ms' } });
    await until('it is stopped', async () => (await sidecar.metric('hookline_app_running')) === 0);
    await asked({ seen }, ['POST /sleep?level=1']);
    await asleep(sidecar);
    assert.equal((await call()).status, 200);
    assert.equal(await starts(sidecar, 'wake'), 1);
    assert.equal(seen().filter((line) => /wake_up/.test(line)).length, 0);
});

// ---- replicas ----

/** Two replicas whose apps sleep when they may; `hold`: the app that its calls wait in until it opens. */
async function pair(t, env) {
    const held = gate();
    const woken = { one: 0, two: 0 };
    const group = await fleet(t, {
        app: async (x, name) => {
            await x.body();
            if (x.path === '/wake_up') woken[name]++;
            if (x.get('x-held')) await Promise.race([held.promise, x.gone]);
            await x.json({ by: name });
        },
    });
    const [one, two] = [await group.add('one', { env: { HOOKLINE_APP_CONCURRENCY: '1', ...env } }), await group.add('two', { env: CALLS })];
    return { one, two, woken, held };
}

const by = async (replica, id) => {
    await ended(replica.sidecar, id);
    return (await control(replica.sidecar)('GET', `/v2/runs/${id}/result`)).json().by;
};

test('a queued run wakes no replica’s app while another one that is up has room, and does when it has none', async (t) => {
    const { one, two, woken, held } = await pair(t, {});
    await asleep(two.sidecar);
    await until('it is known who is up', async () => (await two.call(RUN, ASYNC)).status === 202);
    for (let i = 0; i < 3; i++) assert.equal(await by(two, (await two.call(RUN, ASYNC)).id), 'one');
    assert.equal(woken.two, 0);
    const full = one.call(RUN, { headers: { 'X-Held': 'yes' } });
    await until('it has no room', async () => (await one.sidecar.metric('hookline_app_slots_in_use')) === 1);
    assert.equal(await by(two, (await one.call(RUN, ASYNC)).id), 'two');
    assert.equal(woken.two, 1);
    held.open();
    await full;
});

test('where all replicas’ apps sleep a queued run wakes that of who accepted it', async (t) => {
    const { one, two, woken } = await pair(t, CALLS);
    for (const replica of [one, two]) await asleep(replica.sidecar);
    assert.equal(await by(two, (await two.call(RUN, ASYNC)).id), 'two');
    assert.deepEqual(woken, { one: 0, two: 1 });
});
