// A call that waits for its token's check, the health gate, a slot or the store leaves nothing behind, however it is framed and ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from './lib/case.mjs';
import { chunk, connect, request } from './lib/raw.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { stage } from './lib/stage.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { gate, until } from './lib/until.mjs';

const CHUNKED = { 'Transfer-Encoding': 'chunked' };
const TRAILER = '0\r\nChecksum: 9\r\n\r\n';

/** By name, a request's method, fields, what of its body comes with the head, and the rest: null, never. */
const FRAMINGS = {
    none: ['GET', {}, '', ''],
    empty: ['POST', { 'Content-Length': 0 }, '', ''],
    length: ['POST', { 'Content-Length': 5 }, 'hello', ''],
    'half a length': ['POST', { 'Content-Length': 5 }, 'he', 'llo'],
    chunked: ['POST', CHUNKED, `${chunk('hello')}${TRAILER}`, ''],
    'half a chunk': ['POST', CHUNKED, '5\r\nhe', `llo\r\n${TRAILER}`],
    'half a trailer': ['POST', CHUNKED, `${chunk('hello')}0\r\nChecks`, 'um: 9\r\n\r\n'],
    'a bad chunk': ['POST', CHUNKED, 'hello', null],
    'a body that never comes': ['POST', { ...CHUNKED, Expect: '100-continue' }, '', null],
};
const ENDS = ['close', 'reset', 'answer'];

/** One slot, a gate that a test shuts and a slot that it takes, and callers in each framing. */
async function waitingRoom(t) {
    const secret = makeSecret();
    const room = { health: 200, holders: 0, doors: gate() };
    const all = await stage(t, {
        app: async (x) => {
            if (x.path === '/health') return x.send(room.health);
            await x.body();
            if (x.path === '/holder') {
                room.holders++;
                await room.doors.promise;
            }
            await x.send(200);
        },
        env: {
            HOOKLINE_AUTH: 'jwt',
            HOOKLINE_JWT_SECRET: secret,
            HOOKLINE_WORKERS: '1',
            HOOKLINE_APP_CONCURRENCY: '1',
            HOOKLINE_APP_HEALTH_PATH: '/health',
            HOOKLINE_APP_HEALTH_GATE: 'always',
            HOOKLINE_APP_QUEUE_TIMEOUT: '5m',
            HOOKLINE_CONNECT_TIMEOUT: '5m', // until the last of them waits the first goes on waiting
            HOOKLINE_ACCESS_LOG: 'on',
            HOOKLINE_LOG_LEVEL: 'info',
        },
    });
    const known = await sign(secret);
    const headers = { authorization: `Bearer ${known}` };
    assert.equal((await all.call('/v4/p/a/first', { headers })).status, 200);

    const begin = async (framing, { target = '/v4/p/a/x', token = known, fields = {}, isAdmin = false } = {}) => {
        const [method, framed, first, rest] = FRAMINGS[framing];
        const client = isAdmin ? await connect(t, { port: all.sidecar.adminPort }) : await all.connect();
        await client.send(request(method, target, { Host: '127.0.0.1', Authorization: `Bearer ${token}`, ...fields, ...framed }));
        if (first) await client.send(first);
        return { client, method, rest };
    };
    const isOpen = () => all.sidecar.metric('hookline_app_gate_open');
    Object.assign(room, {
        newToken: (isGood) => sign(isGood ? secret : makeSecret()),
        begin,
        shut: async () => {
            room.health = 503;
            await until('the gate is shut', async () => (await isOpen()) === 0);
        },
        open: async () => {
            room.health = 200;
            await until('the gate is open', async () => (await isOpen()) === 1);
        },
        empty: () => until('nothing is queued', async () => (await all.sidecar.metric('hookline_runs_queued')) === 0),
        hold: async () => {
            room.doors = gate();
            const before = room.holders;
            room.holder = all.call('/v4/p/a/holder', { headers });
            await until('the slot is taken', () => room.holders > before);
        },
        letGo: async () => {
            room.doors.open();
            await room.holder;
        },
    });
    return { ...all, room };
}

/** Ends one call; an answered one is sent what its body lacks, one that expires is whole. */
async function end({ client, method, rest }, how) {
    if (how === 'expiry' && rest !== '') how = 'close';
    if (how === 'close' || how === 'reset') {
        const closed = once(client.socket, 'close');
        client[how]();
        return closed;
    }
    if (rest) await client.send(rest);
    const { status } = rest === null ? {} : await client.response(method);
    if (how === 'answer' && status) assert.ok(status < 500, status);
    client.close();
}

const QUESTION = '/v2/projects/p/service-accounts';

/** What calls wait for: what makes them, what each says, and what lets them go. `metric` counts them. */
const WAITS = {
    'a good token': { said: async (room) => ({ token: await room.newToken(true) }) },
    'a bad token': { said: async (room) => ({ token: await room.newToken(false) }) },
    'a question’s token': { said: async (room) => ({ token: await room.newToken(true), target: QUESTION }) },
    'an admin’s token': { said: async (room) => ({ token: await room.newToken(false), target: QUESTION, isAdmin: true }) },
    'the gate': { from: (room) => room.shut(), to: (room) => room.open(), metric: 'hookline_app_gate_waiting' },
    'a slot': { from: (room) => room.hold(), to: (room) => room.letGo(), metric: 'hookline_app_queue_waiting' },
    'the store': { said: () => ({ target: '/v4/p/a/x?async=true' }) },
    'a result': {
        from: async (room) => {
            await room.empty();
            await room.hold();
        },
        to: (room) => room.letGo(),
        said: () => ({ fields: { Prefer: 'wait=60' } }),
        metric: 'hookline_runs_queued',
    },
};

test('nothing stays of calls that waited', { skip: !isSanitized && 'a build with a leak check sees it' }, async (t) => {
    const { room, sidecar } = await waitingRoom(t);
    const beginAll = async ({ said, metric }, expires = false) => {
        const before = metric && (await sidecar.metric(metric));
        const calls = [];
        for (const framing of Object.keys(FRAMINGS)) {
            const { fields = {}, ...more } = (await said?.(room)) ?? {};
            if (expires) fields['X-Run-Start-Timeout'] = '300ms';
            calls.push(await room.begin(framing, { ...more, fields }));
        }
        const whole = Object.values(FRAMINGS).filter(([, , , rest]) => rest === '').length;
        if (metric && !expires) await until('they wait', async () => (await sidecar.metric(metric)) >= before + whole);
        return calls;
    };
    for (const wait of Object.values(WAITS)) {
        await wait.from?.(room);
        const calls = {};
        for (const how of ENDS) calls[how] = await beginAll(wait);
        calls.expiry = await beginAll(wait, true);
        for (const how of ['close', 'reset', 'expiry', 'answer']) {
            if (how === 'answer') await wait.to?.(room);
            await Promise.all(calls[how].map((call) => end(call, how)));
        }
    }
    await until('all connections are closed', async () => (await sidecar.metric('hookline_connections_open')) === 0);
    for (const name of ['app_gate_waiting', 'app_queue_waiting', 'app_slots_in_use', 'runs_queued', 'http_requests_in_flight'])
        await until(`${name} is 0`, async () => !(await sidecar.metric(`hookline_${name}`)));
    assert.equal((await room.begin('none').then(({ client }) => client.response())).status, 200);

    await room.hold();
    for (const name of ['a bad token', 'a slot', 'the store', 'a result']) await beginAll(WAITS[name]);
    room.holder.catch(() => {});
    await sidecar.stop(); // with all that wait
});
