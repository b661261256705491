// How long a call may wait for its start, how long it may be inside the app, and what silence ends a stream.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { PeerGone } from './lib/http1.mjs';
import { request } from './lib/raw.mjs';
import { control } from './lib/rest.mjs';
import { RUN, assertProblem, shared, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

const SSE = { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' };

/** An app that answers when it is told to. */
function waiting() {
    const doors = gate();
    const app = async (x) => {
        await x.body();
        await doors.promise;
        await x.send(200, {}, 'done');
    };
    return { doors, app };
}

async function endOf(sidecar, id) {
    const { state, reason } = (await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
    return `${state}: ${reason}`;
}

/** What came of a response until it was cut. */
async function untilCut(client, head) {
    let text = '';
    const read = async () => {
        for await (const piece of client.pieces(head)) text += piece;
    };
    await assert.rejects(read(), PeerGone);
    return text;
}

test('X-Run-Timeout ends a synchronous call with 504, and the app knows until when it has', async (t) => {
    const { doors, app: handler } = waiting();
    const { app, call, sidecar } = await shared(t, { app: handler });
    const before = Math.floor(Date.now() / 1000);
    const answer = await call(RUN, { headers: { 'x-run-timeout': '1s' }, body: '{}' });
    assert.match(assertProblem(answer, 504).detail, /X-Run-Timeout/);
    const deadline = Number(app.requests[0].get('x-run-deadline'));
    assert.ok(deadline >= before && deadline <= Date.now() / 1000, `${deadline}`);
    assert.equal(await endOf(sidecar, answer.id), 'failure: timeout');
    doors.open();
});

test('an answer that came while hookline was stopped is passed on, though the limit has passed since', { waits: true }, async (t) => {
    const { doors, app: handler } = waiting();
    const { app, call, sidecar } = await stage(t, { app: handler });
    const answer = call(RUN, { headers: { 'x-run-timeout': '10s' }, body: '{}' });
    await until('the app has the call', () => app.requests.length > 0);
    const limit = Number(app.requests[0].get('x-run-deadline')) * 1000;
    sidecar.signal('SIGSTOP');
    doors.open();
    await until('the limit has passed', () => Date.now() > limit + 1500);
    sidecar.signal('SIGCONT');
    assert.equal((await answer).text, 'done');
});

test('without a limit the app is told of none', async (t) => {
    const { app, call } = await shared(t);
    await call(RUN, { headers: { 'x-run-deadline': '1' } });
    assert.equal(app.requests[0].get('x-run-deadline'), undefined);
});

test('HOOKLINE_SYNC_TIMEOUT bounds what the call asks for', async (t) => {
    const { doors, app } = waiting();
    const { call } = await stage(t, { app, env: { HOOKLINE_SYNC_TIMEOUT: '300ms' } });
    for (const headers of [{}, { 'x-run-timeout': '1h' }])
        assert.match(assertProblem(await call(RUN, { headers }), 504).detail, /HOOKLINE_SYNC_TIMEOUT/);
    doors.open();
});

test('HOOKLINE_SYNC_TIMEOUT cuts an open stream, but no tunnel', async (t) => {
    const { connect } = await stage(t, {
        env: { HOOKLINE_SYNC_TIMEOUT: '1s' },
        app: async (x) => {
            if (x.head.has('upgrade')) {
                await x.raw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
                await sleep(1500);
                await x.raw('still here');
                return;
            }
            await x.respond(200, SSE);
            for (let isGone = false; !isGone; ) {
                await x.chunk('data: 1\n\n');
                isGone = await Promise.race([x.gone.then(() => true), sleep(50)]);
            }
        },
    });
    const stream = await connect();
    await stream.send(request('POST', RUN, {}, '{}'));
    assert.match(await untilCut(stream, await stream.responseHead()), /^(data: 1\n\n)+$/);
    const tunnel = await connect();
    const fields = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
    await tunnel.send(request('GET', '/v4/p/a/ws', { ...fields, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' }));
    assert.equal((await tunnel.responseHead()).status, 101);
    assert.equal(`${await tunnel.reader.exactly(10)}`, 'still here');
});

test('X-Run-Timeout counts from the slot on: waiting for one is not being inside', async (t) => {
    const { doors, app } = waiting();
    const { app: inside, call } = await stage(t, { app, env: { HOOKLINE_APP_CONCURRENCY: '1' } });
    const first = call(RUN);
    await until('it is inside', () => inside.requests.length === 1);
    const second = call(RUN, { headers: { 'x-run-timeout': '2s' } });
    await sleep(2500);
    doors.open();
    assert.equal((await first).status, 200);
    assert.equal((await second).status, 200);
});

test('X-Run-Start-Timeout: a caller that waited too long gets 429, and the app is not called', async (t) => {
    const { doors, app: handler } = waiting();
    const { app, call, sidecar } = await stage(t, { app: handler, env: { HOOKLINE_APP_CONCURRENCY: '1' } });
    const first = call(RUN);
    await until('one is inside', () => app.requests.length === 1);
    const refused = await call(RUN, { headers: { 'x-run-start-timeout': '200ms' } });
    assert.match(assertProblem(refused, 429).detail, /X-Run-Start-Timeout/);
    assert.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
    assert.equal(await endOf(sidecar, refused.id), 'failure: expired');
    doors.open();
    assert.equal((await first).status, 200);
    assert.equal(app.requests.length, 1);
});

for (const heartbeat of ['40ms', '0'])
    test(`HOOKLINE_STREAM_IDLE_TIMEOUT cuts a stream that went silent, heartbeat ${heartbeat}`, async (t) => {
        const { connect, sidecar } = await stage(t, {
            env: { HOOKLINE_STREAM_IDLE_TIMEOUT: '1500ms', HOOKLINE_SSE_HEARTBEAT: heartbeat },
            app: async (x) => {
                await x.respond(200, SSE);
                for (let i = 0; i < 8; i++) {
                    await x.chunk(`data: ${i}\n\n`);
                    await sleep(250); // in all longer than the silence that is allowed
                }
                await x.gone;
            },
        });
        const client = await connect();
        await client.send(request('POST', RUN, {}, '{}'));
        const head = await client.responseHead();
        assert.match(await untilCut(client, head), /data: 7/);
        assert.equal(await endOf(sidecar, head.get('x-request-id')), 'failure: timeout');
    });

test('an asynchronous run is cut by its X-Run-Timeout', async (t) => {
    const { doors, app: handler } = waiting();
    const { app, call, sidecar } = await shared(t, { app: handler });
    const { id } = await call(RUN, { query: { async: 'true' }, headers: { 'x-run-timeout': '1s' } });
    await until('it has ended', async () => (await endOf(sidecar, id)) === 'failure: timeout');
    const deadline = Number(app.requests[0].get('x-run-deadline'));
    assert.ok(deadline <= Date.now() / 1000, `${deadline}`);
    doors.open();
});
