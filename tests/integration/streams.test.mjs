// Event streams that are kept: which ones are, what of their bytes changes on the way, and what ends them without a caller.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { test } from './lib/case.mjs';
import { numbered } from './lib/events.mjs';
import { filesBelow } from './lib/files.mjs';
import { request } from './lib/raw.mjs';
import { RECORDING } from './lib/recording.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { STORES, events, runPath, sharedStreams, streamStage, withIds } from './lib/streams.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { until } from './lib/until.mjs';

const WHOLE = numbered(RECORDING).text;
const KEEP = { 'x-run-keep': 'true' };

/** A stage with tokens: `as(claims)` makes the fields of a caller. */
async function withTokens(t, { env = {}, ...options } = {}) {
    const secret = makeSecret();
    const all = await streamStage(t, {
        env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret, HOOKLINE_STREAM_KEEP: 'ask', ...env },
        ...options,
    });
    return { ...all, as: async (claims) => ({ authorization: `Bearer ${await sign(secret, claims)}` }) };
}

/** The files of bodies that stand in the data directory. */
const bodies = async (sidecar) =>
    (await Promise.all(['tmp', 'bodies'].map((name) => filesBelow(join(sidecar.dataDir, name))))).flat();

/* ---- bytes ---- */

for (const [name, env] of Object.entries(STORES))
    for (const size of [1, 7, 100_000])
        test(`nothing but the ids is added, for callers and followers; result and webhook are the app’s bytes: pieces of ${size}, ${name}`, async (t) => {
            const { script, callStream, follow, ask, ended, receiver } = await sharedStreams(t, { env });
            const caller = await callStream({ path: `${RUN}?webhookEndpoint=${encodeURIComponent(receiver.url())}` });
            const inside = await script.call();
            await inside.begin();
            const follower = await follow((await caller.answered()).id);
            for (let at = 0; at < RECORDING.length; at += size) await inside.send(RECORDING.slice(at, at + size));
            await inside.end();
            assert.equal(await caller.rest(), WHOLE);
            assert.equal(await follower.rest(), WHOLE);
            await ended(caller.id);
            assert.equal(await (await follow(caller.id)).rest(), WHOLE);
            const result = await ask('GET', `${runPath(caller.id)}/result`);
            assert.equal(result.body.toString('latin1'), RECORDING);
            const envelope = await receiver.envelope();
            assert.equal(envelope.encoding, 'text');
            assert.equal(Buffer.from(envelope.response).toString('latin1'), RECORDING);
        });

test('a kept stream goes out chunked, without the app’s Content-Length, and is asked for without a coding', async (t) => {
    const type = { 'Content-Type': 'text/event-stream' };
    const { app, connect: open } = await streamStage(t, {
        app: async (x) => x.send(200, type, (await x.body()).length ? Buffer.from(RECORDING, 'latin1') : ''),
    });
    const client = await open();
    for (const [body, expected] of [['{}', WHOLE], ['', ''], ['{}', WHOLE]]) {
        await client.send(request('POST', RUN, { 'Accept-Encoding': 'gzip, br' }, body));
        const response = await client.response('POST');
        assert.equal(response.has('content-length'), false);
        assert.equal(response.get('transfer-encoding'), 'chunked');
        assert.equal(response.get('content-type'), 'text/event-stream; charset=utf-8');
        assert.equal(response.has('x-run-kept'), false);
        assert.equal(response.body.toString('latin1'), expected);
        assert.equal(app.requests.at(-1).get('accept-encoding'), 'identity');
    }
});

test('a caller of HTTP/1.0 has a kept stream until his connection is closed', async (t) => {
    const { script, connect: open, follow } = await sharedStreams(t);
    const client = await open();
    await client.send(`POST ${RUN} HTTP/1.0\r\nHost: h\r\nContent-Length: 0\r\n\r\n`);
    const inside = await script.call();
    await inside.begin();
    await inside.send(events(1, 2));
    await inside.end();
    const text = (await client.reader.rest()).toString('latin1');
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.equal(text.slice(text.indexOf('\r\n\r\n') + 4), withIds(1, 2));
    assert.equal(await (await follow(inside.id)).rest(), withIds(1, 2));
});

/* ---- what is kept ---- */

const UNKEPT = {
    'with ask and no field': [{ HOOKLINE_STREAM_KEEP: 'ask' }, {}],
    'with ask and false': [{ HOOKLINE_STREAM_KEEP: 'ask' }, { 'x-run-keep': 'false' }],
    'with all and false': [{ HOOKLINE_STREAM_KEEP: 'all' }, { 'x-run-keep': 'false' }],
    'with off': [{ HOOKLINE_STREAM_KEEP: 'off' }, {}],
    'with off and false': [{ HOOKLINE_STREAM_KEEP: 'off' }, { 'x-run-keep': 'FALSE' }],
};
for (const [what, [env, fields]] of Object.entries(UNKEPT))
    test(`a stream that is not kept is as the app sends it, and touches no disk: ${what}`, async (t) => {
        const { script, callStream, follow, sidecar } = await streamStage(t, { env });
        const caller = await callStream({ fields: { ...fields, 'accept-encoding': 'br' } });
        const inside = await script.call();
        await inside.begin();
        await caller.answered();
        assert.equal(caller.head.has('x-run-kept'), false);
        assert.equal(inside.exchange.get('accept-encoding'), 'br');
        for (let at = 0; at < RECORDING.length; at += 997) {
            await inside.send(RECORDING.slice(at, at + 997));
            assert.equal(await caller.piece(), RECORDING.slice(at, at + 997));
        }
        assert.deepEqual(await bodies(sidecar), []);
        assert.equal((await follow(caller.id)).status, 404);
        await inside.end();
        assert.equal(await caller.rest(), RECORDING);
        assert.match((await (await follow(caller.id)).problem()).detail, /X-Run-Keep/);
        assert.deepEqual(await bodies(sidecar), []);
        await sidecar.stop();
        assert.deepEqual(await sidecar.sql('SELECT run_id FROM run'), []);
    });

test('what is not kept ends with its caller, what is kept goes on', async (t) => {
    const { script, callStream, ended, ask, sidecar } = await sharedStreams(t);
    const [left, kept] = [{ 'x-run-keep': 'false' }, {}].map((fields) => callStream({ fields }));
    const callers = [await left, await kept];
    const insides = [await script.call(0), await script.call(1)];
    for (const inside of insides) await inside.begin();
    for (const caller of callers) await caller.answered();
    const mine = insides.find(({ id }) => id === callers[1].id);
    const other = insides.find((inside) => inside !== mine);
    await mine.send(events(1, 1));
    await callers[1].events(1);
    await until('it is on the disk', async () => (await bodies(sidecar)).length === 1);
    for (const caller of callers) caller.close();
    await until('the app’s side of what is not kept is closed', () => other.isGone);
    await mine.send(events(2, 3));
    await mine.end();
    const record = await ended(mine.id);
    assert.deepEqual([record.state, record.reason, record.async], ['success', null, false]);
    assert.equal((await ask('GET', `${runPath(mine.id)}/result`)).text, events(1, 3));
});

test('with ask X-Run-Keep: true keeps a stream, in any case of its letters', async (t) => {
    const { as, script, callStream, follow } = await withTokens(t);
    const token = await as({});
    for (const [i, value] of ['true', 'True', 'TRUE'].entries()) {
        const caller = await callStream({ fields: { ...token, 'x-run-keep': value } });
        const inside = await script.call(i);
        await inside.begin();
        await inside.send(events(1, 1));
        await inside.end();
        assert.equal((await caller.answered()).head.has('x-run-kept'), false);
        assert.equal(await caller.rest(), withIds(1, 1));
        assert.equal(await (await follow(caller.id, { headers: token })).rest(), withIds(1, 1));
    }
});

test('X-Run-Keep: true is 403 where it may not be asked, and the app is not called', async (t) => {
    for (const [env, pattern] of [
        [{ HOOKLINE_STREAM_KEEP: 'ask' }, /HOOKLINE_AUTH/],
        [{ HOOKLINE_STREAM_KEEP: 'off' }, /HOOKLINE_STREAM_KEEP/],
    ]) {
        const { app, call } = await stage(t, { env });
        assert.match(assertProblem(await call(RUN, { headers: KEEP }), 403).detail, pattern);
        assert.equal((await call(RUN, { headers: { 'x-run-keep': 'false' } })).status, 200);
        assert.equal(app.requests.length, 1);
        assert.equal(app.requests[0].head.has('x-run-keep'), false);
    }
    const { as, app, call } = await withTokens(t, { env: { HOOKLINE_STREAM_KEEP: 'off' } });
    assertProblem(await call(RUN, { headers: { ...(await as({})), ...KEEP } }), 403);
    assert.equal(app.requests.length, 0);
});

test('X-Run-Keep that is neither true nor false is 400, synchronous or not, whatever is kept', async (t) => {
    for (const keep of ['ask', 'all', 'off']) {
        const { app, call } = await stage(t, { env: { HOOKLINE_STREAM_KEEP: keep } });
        for (const query of [{}, { async: 'true' }])
            for (const value of ['', '1', '0', 'yes', 'on', 'true, true', ['true', 'true'], ['false', 'true'], '"true"'])
                assert.match(assertProblem(await call(RUN, { query, headers: { 'x-run-keep': value } }), 400).detail, /X-Run-Keep/);
        assert.equal(app.requests.length, 0);
    }
});

test('on asynchronous calls X-Run-Keep is only checked: their streams are kept in any case', async (t) => {
    for (const keep of ['ask', 'all', 'off']) {
        const { script, begin, follow, ended } = await streamStage(t, { env: { HOOKLINE_STREAM_KEEP: keep } });
        for (const [i, value] of ['true', 'false', undefined].entries()) {
            const id = await begin({}, { headers: value ? { 'x-run-keep': value } : {} });
            const inside = await script.call(i);
            await inside.begin();
            await inside.send(events(1, 2));
            await inside.end();
            assert.equal(await (await follow(id)).rest(), withIds(1, 2));
            assert.equal((await ended(id)).state, 'success');
            assert.equal(await (await follow(id)).rest(), withIds(1, 2));
        }
    }
});

test('what is passed through is not kept, and X-Run-Keep there is dropped unread', async (t) => {
    const { app, call } = await stage(t, { env: { HOOKLINE_STREAM_KEEP: 'all' } });
    const answer = await call('/elsewhere', { headers: { 'x-run-keep': 'whatever' } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['x-run-kept'], undefined);
    assert.equal(app.requests[0].head.has('x-run-keep'), false);
});

/** Answers that cannot be kept as streams; `says`: whether X-Run-Kept: false stands there with all, without having been asked for. */
const OTHERS = {
    'coded': { says: true, answer: (x) => x.send(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'gzip' }, gzipSync(events(1, 3))) },
    'of another status': { says: true, answer: (x) => x.send(404, { 'Content-Type': 'text/event-stream' }, events(1, 3)) },
    'not an event stream': { says: false, answer: (x) => x.send(200, { 'Content-Type': 'application/json' }, '{}') },
    'without a type': { says: false, answer: (x) => x.send(200, {}, events(1, 3)) },
    'without a body': { says: true, answer: (x) => x.send(204, { 'Content-Type': 'text/event-stream' }) },
};
for (const [what, { says, answer }] of Object.entries(OTHERS))
    test(`an answer ${what} that was asked to be kept says X-Run-Kept: false, and is passed on unchanged`, async (t) => {
        const bare = async (x) => {
            await x.body();
            if (x.method === 'HEAD' || what !== 'without a body') await answer(x);
            else await x.respond(204, { 'Content-Type': 'text/event-stream' });
        };
        const { as, call, follow, sidecar } = await withTokens(t, { app: bare });
        const token = await as({});
        const [kept, plain] = [await call(RUN, { headers: { ...token, ...KEEP } }), await call(RUN, { headers: token })];
        assert.equal(kept.headers['x-run-kept'], 'false');
        assert.equal(plain.headers['x-run-kept'], undefined);
        assert.deepEqual([kept.status, kept.body], [plain.status, plain.body]);
        for (const name of ['content-encoding', 'content-type', 'content-length'])
            assert.equal(kept.headers[name], plain.headers[name]);
        assert.equal((await follow(kept.id, { headers: token })).status, 404);
        assert.deepEqual(await bodies(sidecar), []);
        const all = await streamStage(t, { app: bare });
        assert.equal((await all.call(RUN)).headers['x-run-kept'], says ? 'false' : undefined);
    });

test('hookline’s own answers in the app’s place say X-Run-Kept: false, too', async (t) => {
    const { as, call } = await withTokens(t, {
        app: (x) => x.raw('garbage\r\n\r\n').then(() => x.end()),
        env: { HOOKLINE_APP_HEAD_TIMEOUT: '20s' },
    });
    const token = await as({});
    const kept = await call(RUN, { headers: { ...token, ...KEEP } });
    assertProblem(kept, 502);
    assert.equal(kept.headers['x-run-kept'], 'false');
    assert.equal((await call(RUN, { headers: token })).headers['x-run-kept'], undefined);
});

test('Content-Encoding: identity is none', async (t) => {
    const { call, follow } = await streamStage(t, {
        app: (x) => x.send(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'identity' }, events(1, 2)),
    });
    const answer = await call(RUN);
    assert.deepEqual([answer.text, answer.headers['x-run-kept']], [withIds(1, 2), undefined]);
    assert.equal(await (await follow(answer.id)).rest(), withIds(1, 2));
});

test('the answer to HEAD is not kept', async (t) => {
    const { as, app, call } = await withTokens(t, {
        app: (x) => x.respond(200, { 'Content-Type': 'text/event-stream' }),
    });
    const options = { method: 'HEAD', headers: { ...(await as({})), ...KEEP } };
    const answer = await call('/v4/p/a/other', options);
    assert.deepEqual([answer.status, answer.headers['x-run-kept'], answer.text], [200, 'false', '']);
    assert.equal(app.requests.length, 1);
});

/* ---- without a caller ---- */

for (const [name, env] of Object.entries(STORES))
    test(`a caller who leaves before the app’s head has his stream kept all the same: ${name}`, async (t) => {
        const { script, callStream, follow, ended, receiver } = await sharedStreams(t, { env });
        const caller = await callStream({ path: `${RUN}?webhookEndpoint=${encodeURIComponent(receiver.url())}` });
        const inside = await script.call();
        caller.close();
        await inside.begin();
        await inside.send(events(1, 1));
        const follower = await until('it can be followed', async () => {
            const one = await follow(inside.id);
            return one.status === 200 && one;
        });
        await follower.events(1);
        await inside.send(events(2, 2));
        await inside.end();
        assert.equal(await follower.rest(), withIds(1, 2));
        assert.equal((await ended(inside.id)).state, 'success');
        assert.equal((await receiver.envelope()).response, events(1, 2));
    });

test('a caller who leaves before the head of what is no stream has his call cut', async (t) => {
    const { script, callStream, follow, show } = await sharedStreams(t);
    const caller = await callStream();
    const inside = await script.call();
    caller.close();
    await until('hookline knows', async () => (await show(inside.id)).state !== undefined);
    await inside.exchange.respond(200, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' });
    await until('the app’s side is closed', () => inside.isGone);
    await until('the run has ended', async () => (await show(inside.id)).state === 'cancelled');
    assert.equal((await follow(inside.id)).status, 404);
});

for (const [name, env] of Object.entries(STORES))
    test(`without its caller a run is bounded by the grace period, from its start: ${name}`, async (t) => {
        const { script, callStream, follow, ended } = await streamStage(t, {
            env: { ...env, HOOKLINE_RESPONSE_GRACE_PERIOD: '3s' },
        });
        const began = performance.now();
        const caller = await callStream();
        const inside = await script.call();
        await inside.begin();
        await inside.send(events(1, 1));
        const follower = await follow((await caller.answered()).id);
        await follower.events(1);
        caller.close();
        await follower.rest();
        const ms = performance.now() - began;
        assert.ok(ms >= 2900, `it ended after ${ms} ms`);
        assert.equal(follower.text, withIds(1, 1));
        const record = await ended(inside.id);
        assert.deepEqual([record.state, record.reason], ['failure', 'timeout']);
        await until('the app’s side is closed', () => inside.isGone);
    });

test('with its caller it is not, and ends at once when he leaves after that time', async (t) => {
    const { script, callStream, ended } = await streamStage(t, { env: { HOOKLINE_RESPONSE_GRACE_PERIOD: '400ms' } });
    const began = performance.now();
    const caller = await callStream();
    const inside = await script.call();
    await inside.begin();
    await caller.answered();
    for (let i = 1; performance.now() - began < 1200; i++) {
        await inside.send(events(i, i));
        await caller.events(i);
    }
    caller.close();
    const record = await ended(inside.id);
    assert.deepEqual([record.state, record.reason], ['failure', 'timeout']);
});

test('a caller who leaves before the head has the grace period’s bound, too', async (t) => {
    const { script, callStream, ended } = await streamStage(t, { env: { HOOKLINE_RESPONSE_GRACE_PERIOD: '1s' } });
    const caller = await callStream();
    const inside = await script.call();
    caller.close();
    await until('the app’s side is closed', () => inside.isGone);
    const { state, reason } = await ended(inside.id);
    assert.deepEqual([state, reason], ['failure', 'timeout']);
});

test('X-Run-Timeout holds with a caller and without', async (t) => {
    const { script, callStream, follow, ended } = await sharedStreams(t);
    for (const [i, leaves] of [false, true].entries()) {
        const caller = await callStream({ fields: { 'x-run-timeout': '700ms' } });
        const inside = await script.call(i);
        await inside.begin();
        await inside.send(events(1, 1));
        const follower = await follow((await caller.answered()).id);
        if (leaves) caller.close();
        else await assert.rejects(caller.rest());
        await follower.rest();
        const { state, reason } = await ended(inside.id);
        assert.deepEqual([state, reason], ['failure', 'timeout']);
        assert.equal(await (await follow(inside.id)).rest(), withIds(1, 1));
    }
});

test('a stream of any length is kept once, and a kept one costs the caller none of its speed', async (t) => {
    const { script, callStream, follow, sidecar } = await streamStage(t, { env: { HOOKLINE_MAX_KEPT_RESPONSE: '64MiB' } });
    const event = `data: ${'x'.repeat((1 << 20) - 8)}\n\n`;
    const caller = await callStream();
    const inside = await script.call();
    await inside.begin();
    const follower = await follow((await caller.answered()).id);
    const reading = Promise.all([caller, follower].map((one) => one.events(24)));
    for (let i = 0; i < 24; i++) await inside.send(event);
    await reading;
    await inside.end();
    for (const one of [caller, follower]) {
        const text = await one.rest();
        assert.equal(text.length, numbered(event.repeat(24)).text.length);
        assert.ok(one.reader.events.every(({ data }) => data.length === (1 << 20) - 8));
        assert.deepEqual(one.reader.events.map(({ id }) => Number(id)), Array.from({ length: 24 }, (_, i) => i + 1));
    }
    const [file, ...more] = await bodies(sidecar);
    assert.ok(file);
    assert.deepEqual(more, []);
});
