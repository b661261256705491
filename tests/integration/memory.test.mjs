// Memory that fails costs the call that found none: nothing acknowledged is lost, and all is well afterwards.
// CI takes every n-th allocation, from another first one each time; HOOKLINE_TEST_ALLOC_STRIDE=1 takes them all.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { SSE } from './lib/events.mjs';
import { compile, inRepository, startHost } from './lib/function.mjs';
import { postgres } from './lib/postgres.mjs';
import { RawClient, request } from './lib/raw.mjs';
import { Sidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { sleep, until, within } from './lib/until.mjs';

const STRIDE = Number(process.env.HOOKLINE_TEST_ALLOC_STRIDE ?? 23);
const CHOSEN = process.env.HOOKLINE_TEST_ALLOC_MODES?.split(',');
const RUNS = '/v2/projects/p/apps/a/runs';
const STORES = {
    memory: () => ({ HOOKLINE_STORE: 'memory' }),
    sqlite: () => ({}),
    postgres: async (t) => (await postgres(t)).env,
};
const LONG = 'x'.repeat(300_000);

/** What a process needs whose memory fails, and `fail(at, count)`: `count` allocations from the `at`-th on find none; 0: all do. */
async function scarcity(t) {
    const path = join(await temporaryDirectory(t), 'plan');
    await writeFile(path, Buffer.alloc(32));
    const shim = await compile(t, inRepository('tests/integration/lib/fail_alloc.c'), {
        flags: ['-D_GNU_SOURCE', '-Wno-pedantic'],
    });
    const env = {
        LD_PRELOAD: shim,
        FAIL_ALLOC: path,
        ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16:verify_asan_link_order=0:handle_abort=1',
        ...(process.env.FAIL_ALLOC_TRACE && { FAIL_ALLOC_TRACE: '1' }),
    };
    const plan = await open(path, 'r+');
    atEnd(t, () => plan.close());
    const put = (numbers, at) => plan.write(Buffer.from(new BigUint64Array(numbers.map(BigInt)).buffer), 0, null, at);
    const get = async (at) => Number((await plan.read(Buffer.alloc(8), 0, 8, at)).buffer.readBigUInt64LE());
    const fail = async (at, count = 1) => {
        await put([0], 0);
        await put([count, 0, 0], 8);
        await put([at], 0);
    };
    return { env, fail, seen: () => get(16), failures: () => get(24) };
}

/** As stage(), with that. */
async function scarceStage(t, options) {
    const scarce = await scarcity(t);
    const all = await stage(t, { ...options, env: { ...scarce.env, ...options.env } });
    return { ...all, ...scarce };
}

/** The app: what its path says. */
async function app(x) {
    if (x.path === '/events') {
        await x.respond(200, SSE);
        for (let i = 1; i <= 3; i++) await x.chunk(`data: ${i}\n\n`);
        await x.lastChunk();
    } else if (x.path === '/socket') {
        await x.respond(101, { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Accept': 'x' });
        const { socket, reader } = x.take();
        socket.write(await reader.some());
        socket.end();
    } else if (x.path === '/held') {
        await x.body();
        await x.gone;
    } else if (x.path === '/twice' && x.head.get('x-run-attempt') === '1') {
        await x.send(503);
    } else {
        const body = await x.body();
        await x.send(200, { 'Content-Type': 'text/plain' }, body);
    }
}

/** One request on a connection of its own: its response, or null where the connection ended before. */
async function ask(sidecar, method, target, { port = sidecar.port, fields = {}, body, then } = {}) {
    const socket = net.connect({ port, host: '127.0.0.1' });
    const client = new RawClient(socket);
    socket.on('error', () => {});
    try {
        await once(socket, 'connect');
        await client.send(request(method, target, { Connection: 'close', ...fields }, body));
        return await within(target, then ? then(client) : client.response(method));
    } catch (error) {
        if (/ms passed/.test(error.message)) throw error;
        return null;
    } finally {
        client.close();
    }
}

/** Its JSON, shown where it is none. */
function read(answer) {
    try {
        return JSON.parse(answer.text);
    } catch (error) {
        throw new Error(`${error.message}: ${answer.text}`);
    }
}

const said = (answer) => `${answer.status} ${answer.text}`;

/** How a call may end that found no memory. */
const isRefused = (answer) => answer === null || [500, 502, 503].includes(answer.status);

const WEBSOCKET = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13, 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };

/** What is called in each mode; `run` and `hook` note what was acknowledged. */
const MODES = {
    synchronous: async ({ post }) => {
        const answer = await post(RUN, { body: 'ping' });
        assert.ok(isRefused(answer) || answer.text === 'ping');
    },
    'with a long body': async ({ post }) => {
        const answer = await post(RUN, { body: LONG });
        assert.ok(isRefused(answer) || answer.text === LONG);
    },
    asynchronous: async ({ post, run }) => run(await post(`${RUN}?async=true`, { body: 'ping' })),
    'asynchronous with a long body': async ({ post, run }) => run(await post(`${RUN}?async=true`, { body: LONG })),
    waited: async ({ post }) => {
        const answer = await post(RUN, { body: 'ping', fields: { Prefer: 'wait=10' } });
        assert.ok(isRefused(answer) || answer.status === 202 || answer.text === 'ping', said(answer));
    },
    'tried again': async ({ post, run }) => run(await post('/v4/p/a/twice?async=true', { body: 'ping' })),
    'with a webhook': async ({ post, hook, url }) => hook(await post(`${RUN}?async=true&webhookEndpoint=${url}`, { body: 'ping' })),
    cancelled: async ({ post, run, inside }) => {
        const began = await post('/v4/p/a/held?async=true', { body: 'ping' });
        if (began?.status !== 202) return run(began);
        const id = read(began).run_id;
        await inside(id);
        let answer, count = 0;
        do answer = await post(`${RUNS}/${id}/cancel`);
        while (++count && isRefused(answer));
        assert.ok(answer.status === 202 || (count > 1 && answer.status === 409), said(answer)); // it is not asked for again
        run(began);
    },
    stream: async ({ post }) => {
        const answer = await post('/v4/p/a/events');
        assert.ok(isRefused(answer) || answer.text.includes('data: 3'));
    },
    'kept and followed': async ({ post, get }) => {
        const answer = await post('/v4/p/a/events', { fields: { 'X-Run-Keep': 'true' } });
        assert.ok(isRefused(answer) || answer.text.includes('data: 3'));
        if (answer) await get(`${RUNS}/${answer.get('x-request-id')}/events`);
    },
    tunnel: async ({ get }) => {
        await get('/v4/p/a/socket', {
            fields: WEBSOCKET,
            then: async (client) => {
                const head = await client.responseHead();
                if (head.status !== 101) return head;
                await client.send('ping');
                await client.reader.some();
                return head;
            },
        });
    },
    'asked to change': async ({ post }) => {
        const id = '01a201a0-7ddc-7120-be8f-0d98886c0abe';
        const body = JSON.stringify({ delivery_ids: [id, id.replace('1', '2')] });
        const answer = await post('/v2/projects/p/deliveries/redeliver', { body, isAdmin: true });
        assert.ok(isRefused(answer) || answer.status === 202, answer && said(answer));
        if (answer?.status !== 202) return;
        const { refused, left } = read(answer);
        assert.equal(refused.length + left.length, 2, said(answer));
    },
    asked: async ({ get, admin }) => {
        for (const path of [RUNS, '/v2/projects/p/overview']) {
            const answer = await admin(path);
            assert.ok(isRefused(answer) || answer.status === 200, `${path} ${answer?.status}`);
        }
        const metrics = await admin('/metrics');
        assert.ok(isRefused(metrics) || metrics.status === 200);
        await get('/_hookline/readyz');
    },
};

/** A sidecar whose memory fails on demand, and what the modes need of it. */
async function begin(t, storeOf) {
    const all = await scarceStage(t, {
        app,
        env: {
            HOOKLINE_STREAM_KEEP: 'all',
            HOOKLINE_RUN_ATTEMPTS: '3',
            HOOKLINE_RUN_RETRY_ON: '503,reset,unreachable',
            HOOKLINE_RUN_RETRY_DELAY: '10ms',
            HOOKLINE_WEBHOOK_SCHEDULE: Array(20).fill('500ms').join(), // an attempt that finds no memory is one
            HOOKLINE_LOG_LEVEL: 'info',
            ...(await storeOf(t)),
        },
    });
    const { sidecar, receiver } = all;
    const runs = [], hooks = [];
    const held = () => all.app.requests.filter((x) => x.path === '/held').map((x) => x.id);
    const acknowledge = (answer, list = []) => {
        assert.ok(isRefused(answer) || answer.status === 202, answer && said(answer));
        if (answer?.status !== 202) return;
        for (const to of [runs, list]) to.push(JSON.parse(answer.text).run_id);
    };
    const hands = {
        post: (target, { isAdmin, ...options } = {}) =>
            ask(sidecar, 'POST', target, { body: '', ...(isAdmin && { port: sidecar.adminPort, fields: { Host: 'localhost' } }), ...options }),
        get: (target, options) => ask(sidecar, 'GET', target, options),
        admin: (target) => ask(sidecar, 'GET', target, { port: sidecar.adminPort, fields: { Host: 'localhost' } }),
        run: (answer) => acknowledge(answer),
        hook: (answer) => acknowledge(answer, hooks),
        inside: (id) => until(`${id} is in the app`, () => held().includes(id)),
        url: encodeURIComponent(receiver.url()),
    };
    const state = async (id) => {
        const answer = await hands.get(`${RUNS}/${id}`);
        return answer?.status === 200 ? read(answer).state : undefined;
    };
    const ended = (id, what) => until(what, async () => ['success', 'failure', 'cancelled'].includes(await state(id)));
    const isWell = async (what) => {
        const answer = await hands.post(RUN, { body: 'well' });
        assert.equal(answer?.text, 'well', `after ${what}: ${answer ? said(answer) : 'no answer'}`);
        assert.equal((await hands.admin('/healthz'))?.status, 200, `after ${what}`);
    };
    const delivered = (id) =>
        until(`the webhook of ${id}`, () => receiver.deliveries().some((x) => JSON.parse(x.bytes).run_id === id));
    return { ...all, hands, runs, hooks, ended, isWell, delivered };
}

for (const [store, storeOf] of Object.entries(STORES)) {
    test(`an allocation that fails costs at most the call that made it: ${store}`, { limit: 900_000 }, async (t) => {
        const { sidecar, hands, runs, hooks, fail, failures, ended, isWell, delivered } = await begin(t, storeOf);
        for (const [mode, act] of Object.entries(MODES).filter(([mode]) => !CHOSEN || CHOSEN.includes(mode))) {
            for (let i = 0; i < 3; i++) await act(hands); // caches are warm
            let at = 1 + Math.floor(Math.random() * STRIDE);
            for (let hasFailed = true; hasFailed; at += STRIDE) {
                const what = `allocation ${at} of a call that is ${mode}`;
                const before = runs.length;
                await fail(at);
                await act(hands);
                if (runs.length > before) await ended(runs.at(-1), what);
                hasFailed = (await failures()) > 0;
                await fail(0);
                await isWell(what);
            }
            t.diagnostic(`${mode}: some ${at} allocations`);
        }
        for (const id of runs) await ended(id, id);
        for (const id of hooks) await delivered(id);
        await sidecar.stop(); // nothing has leaked
    });

    test(`while there is no memory nothing acknowledged is lost, and all goes on: ${store}`, { limit: 240_000 }, async (t) => {
        const { sidecar, hands, runs, hooks, fail, ended, isWell, delivered } = await begin(t, storeOf);
        const calls = [
            () => MODES.asynchronous(hands),
            () => MODES['tried again'](hands),
            () => MODES['with a webhook'](hands),
            () => hands.post('/v4/p/a/events', { fields: { 'X-Run-Keep': 'true' } }),
        ];
        for (let round = 0; round < 8; round++) {
            await fail(1 + Math.floor(Math.random() * 300), 1 + Math.floor(Math.random() * 400));
            const answers = Promise.all(Array.from({ length: 20 }, (_, i) => calls[i % calls.length]()));
            await Promise.race([answers, sleep(1000)]); // who waits for the store waits for memory
            await fail(0);
            await answers;
            await isWell(`round ${round}`);
        }
        for (const id of runs) await ended(id, id);
        for (const id of hooks) await delivered(id);
        t.diagnostic(`${runs.length} runs were acknowledged`);
        await fail(1, 20);
        await sidecar.stop(); // the end needs none
    });
}

/** How a start ends that finds no memory for one thing: by itself, with a line that says so; or it is well. */
async function beginAndEnd(sidecar, what) {
    const before = sidecar.stderr.length;
    try {
        await sidecar.start('healthz');
    } catch (error) {
        assert.match(error.message, /hookline ended/, what);
    }
    if (sidecar.isRunning) sidecar.signal('SIGTERM');
    const { code, signal } = await sidecar.exited();
    const said = sidecar.stderr.slice(before);
    assert.equal(signal, null, `${what}: ${said}`);
    assert.ok([0, 1, 2].includes(code), `${what}: ${code}: ${said}`);
    assert.ok(said.includes('\n'), `${what}: it says nothing`);
}

for (const [store, storeOf] of Object.entries(STORES).filter(([name]) => name !== 'postgres'))
    test(`a start that finds no memory says so and ends, or is well: ${store}`, { limit: 3_600_000 }, async (t) => {
        const scarce = await scarcity(t);
        const env = { HOOKLINE_APP_URL: 'http://127.0.0.1:1', ...scarce.env, ...storeOf() };
        const sidecar = new Sidecar(env, await temporaryDirectory(t));
        atEnd(t, () => sidecar.kill());
        await scarce.fail(1e15);
        await sidecar.start('healthz'); // the directory is there from now on
        const all = await scarce.seen();
        sidecar.signal('SIGTERM');
        assert.equal((await sidecar.exited()).code, 0);
        const stride = STRIDE === 1 ? 1 : Math.ceil(all / 12);
        for (let at = 1 + Math.floor(Math.random() * stride); at <= all; at += stride) {
            await scarce.fail(at);
            await beginAndEnd(sidecar, `allocation ${at} of ${all}`);
        }
        await scarce.fail(0);
        await sidecar.start('healthz');
        t.diagnostic(`${all} allocations`);
    });

test('an allocation that fails costs a function host at most the call that made it', { limit: 900_000 }, async (t) => {
    const scarce = await scarcity(t);
    const functions = await compile(t, inRepository('tests/integration/functions/probe.c'), { flags: ['-lm'] });
    const host = await startHost(t, [functions], scarce.env);
    const post = (target, options) => ask(host, 'POST', target, { body: '{}', fields: { 'Content-Type': 'application/json' }, ...options });
    const modes = {
        'a value': async () => {
            const input = { text: 'b'.repeat(100), list: [1, 2.5, null, { x: 'y' }], [`k${'k'.repeat(50)}`]: true };
            const answer = await post('/run', { body: JSON.stringify(input) });
            if (answer?.status === 200) assert.deepEqual(read(answer).input, input);
            return answer;
        },
        'what it reads': () => post('/kinds', { body: '{"a":true,"b":[1],"c":{"d":"e"}}' }),
        events: () => post('/stream', { body: '{"values":["a",1,{"b":"c"}]}', fields: { 'Content-Type': 'application/json', Accept: 'text/event-stream' } }),
        'a long body': () => post('/run', { body: JSON.stringify({ text: LONG }) }),
        'no JSON': () => post('/run', { body: '{"a":' }),
        nothing: () => post('/nowhere'),
        health: () => ask(host, 'GET', '/healthz'),
    };
    for (const [mode, act] of Object.entries(modes)) {
        for (let i = 0; i < 3; i++) await act();
        const usual = (await act())?.status;
        let at = 1 + Math.floor(Math.random() * STRIDE);
        for (let hasFailed = true; hasFailed; at += STRIDE) {
            await scarce.fail(at);
            const answer = await act();
            hasFailed = (await scarce.failures()) > 0;
            await scarce.fail(0);
            assert.ok(isRefused(answer) || answer.status === usual, `${mode}, allocation ${at}: ${answer && said(answer)}`);
            assert.equal((await act())?.status, usual, `${mode}, after allocation ${at}`);
        }
        t.diagnostic(`${mode}: ${usual}, some ${at} allocations`);
    }
});

test('a connection to the app’s unix socket that finds no memory to begin is tried again', async (t) => {
    const env = { HOOKLINE_APP_KEEPALIVE: 'off', HOOKLINE_CONNECT_TIMEOUT: '2s', HOOKLINE_STORE: 'memory' };
    const { sidecar, fail, failures } = await scarceStage(t, { app, unix: true, env });
    const post = () => ask(sidecar, 'POST', RUN, { body: 'ping' });
    for (let i = 0; i < 3; i++) await post();
    for (let at = 1, hasFailed = true; hasFailed; at++) {
        await fail(at);
        const answer = await post();
        hasFailed = (await failures()) > 0;
        await fail(0);
        assert.notEqual(answer?.status, 502, `allocation ${at}: ${answer && said(answer)}`); // its whole time was waited
    }
});
