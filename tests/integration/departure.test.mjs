// A caller that leaves before the app was called costs the app nothing, whatever of its bytes lies unread.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from './lib/case.mjs';
import { request } from './lib/raw.mjs';
import { control } from './lib/rest.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { gate, until, within } from './lib/until.mjs';

const LONG = 'x'.repeat(300_000); // longer than what is read of a body that waits

/** One slot of the app, taken by a call that stays until `doors` open; the others say who they are. */
async function busyStage(t, env = {}) {
    const doors = gate();
    const seen = [];
    const all = await stage(t, {
        app: async (x) => {
            seen.push(x.path);
            if (x.path === '/first') await doors.promise;
            await x.body();
            await x.send(200);
        },
        env: { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_WORKERS: '1', ...env },
    });
    const first = all.call('/v4/p/a/first');
    await until('the slot is taken', () => seen.length === 1);
    return { ...all, doors, seen, first };
}

const waiting = (sidecar) => sidecar.metric('hookline_app_queue_waiting');

async function leave(client, how) {
    const closed = once(client.socket, 'close');
    client[how]();
    await closed;
}

for (const how of ['close', 'reset']) {
    test(`callers that left while they waited are not given to the app: ${how}`, async (t) => {
        const { connect, sidecar, doors, seen, first, call } = await busyStage(t);
        const gone = await Promise.all(Array.from({ length: 20 }, () => connect()));
        for (const client of gone) await client.send(request('POST', '/v4/p/a/gone', {}, LONG));
        await until('all wait', async () => (await waiting(sidecar)) === gone.length);
        const last = call('/v4/p/a/last', { body: 'here' });
        await until('it waits, too', async () => (await waiting(sidecar)) === gone.length + 1);
        for (const client of gone) await leave(client, how);
        doors.open();
        assert.equal((await first).status, 200);
        assert.equal((await last).status, 200);
        assert.deepEqual(seen, ['/first', '/last']);
        await until('nothing is in the app', async () =>
            (await sidecar.metric('hookline_app_slots_in_use')) === 0,
        );
    });
}

test('the places of callers that left are free for others while the app is still busy', async (t) => {
    const { connect, sidecar, doors, first, call } = await busyStage(t, { HOOKLINE_APP_QUEUE: '3' });
    const gone = await Promise.all(Array.from({ length: 3 }, () => connect()));
    for (const client of gone) await client.send(request('POST', '/v4/p/a/gone', {}, LONG));
    await until('all wait', async () => (await waiting(sidecar)) === gone.length);
    for (const client of gone) client.close();
    await until('nobody waits', async () => (await waiting(sidecar)) === 0);
    const others = [call(), call(), call()];
    await until('others wait', async () => (await waiting(sidecar)) === others.length);
    doors.open();
    for (const { status } of await Promise.all([first, ...others])) assert.equal(status, 200);
});

const HIDDEN = [
    ['a stray CRLF', '\r\n\r'],
    ['a next request', request('POST', '/v4/p/a/second', {}, 'body')],
    ['a part of a next request', 'POST /v4/p/a/second HTTP/1.1\r\nHo'],
];
for (const [what, behind] of HIDDEN) {
    test(`a caller that leaves during its call is noticed behind ${what}`, async (t) => {
        const { app, connect } = await stage(t, { app: (x) => x.gone });
        const client = await connect();
        await client.send(request('POST', RUN, {}, 'body'));
        await client.send(behind);
        await until('the app was called', () => app.requests.length === 1);
        client.end();
        await within('the app’s connection is closed', app.requests[0].gone);
        await within('the caller’s connection is closed', client.reader.gone);
        assert.equal(app.requests.length, 1);
    });
}

test('a caller that leaves while the app takes nothing of its body is noticed', async (t) => {
    const doors = gate();
    const { app, connect, sidecar } = await stage(t, { app: () => doors.promise });
    const client = await connect();
    const sent = client.send(request('POST', RUN, {}, Buffer.alloc(64 << 20)));
    await until('the app was called', () => app.requests.length === 1);
    client.reset(); // a FIN would stand behind what the kernel cannot send
    await sent;
    await until('the call is over', async () =>
        (await sidecar.metric('hookline_http_requests_in_flight')) === 0,
    );
    doors.open();
});

test('a webhook’s call goes on when its caller leaves behind a whole request', async (t) => {
    const { connect, sidecar, doors, seen, first, receiver } = await busyStage(t);
    const client = await connect();
    const target = `/v4/p/a/hooked?webhookEndpoint=${encodeURIComponent(receiver.url('/hook'))}`;
    await client.send(request('POST', target, {}, 'x'.repeat(1000)));
    await client.send('\r\n\r');
    await until('it waits', async () => (await waiting(sidecar)) === 1);
    await leave(client, 'close');
    doors.open();
    await first;
    await receiver.delivered('/hook');
    assert.deepEqual(seen, ['/first', '/hooked']);
});

test('HOOKLINE_ON_CALLER_GONE=finish: what is inside ends as the app ends it and keeps its slot, what waits never goes in', async (t) => {
    const doors = gate();
    const cut = [];
    const { app, sidecar, connect } = await stage(t, {
        env: { HOOKLINE_ON_CALLER_GONE: 'finish', HOOKLINE_APP_CONCURRENCY: '1' },
        app: async (x) => {
            x.gone.then(() => cut.push(x.target), () => {});
            await x.respond(200, { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' });
            await x.chunk('data: 1\n\n');
            await doors.promise;
            await x.chunk('data: 2\n\n');
            await x.lastChunk();
        },
    });
    const [inside, waiting] = [await connect(), await connect()];
    await inside.send(request('POST', '/v4/p/a/inside', {}, '{}'));
    await inside.responseHead();
    await waiting.send(request('POST', '/v4/p/a/waiting', {}, '{}'));
    await until('it waits', async () => (await sidecar.metric('hookline_app_queue_waiting')) === 1);
    for (const caller of [inside, waiting]) caller.close();
    await until('both have left', async () => (await sidecar.metric('hookline_callers_gone_total')) === 2);
    assert.equal(await sidecar.metric('hookline_http_requests_in_flight'), 1);
    assert.deepEqual(cut, []);
    doors.open();
    await until('it has ended', async () => (await sidecar.metric('hookline_http_requests_in_flight')) === 0);
    assert.deepEqual(app.requests.map(({ target }) => target), ['/inside']);
    const { runs } = (await control(sidecar)('GET', '/v2/runs')).json();
    assert.deepEqual(runs.map(({ path, state }) => [path, state]).sort(), [['/inside', 'success'], ['/waiting', 'cancelled']]);
});
