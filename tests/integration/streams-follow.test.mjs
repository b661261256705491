// GET …/events: a run's events from any place on, in each of its states, on each listener, for whoever may.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { Follower, eventsPath, followerOf, numbered, parse } from './lib/events.mjs';
import { filesBelow } from './lib/files.mjs';
import { connect } from './lib/raw.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { RUN } from './lib/stage.mjs';
import { STORES, events, runPath, sharedStreams, streamStage, withIds } from './lib/streams.mjs';
import { jwks, makeKey, makeSecret, sign } from './lib/tokens.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { gate, sleep, until, within } from './lib/until.mjs';

/** A finished run with that stream; its id. */
async function finished({ script, begin, ended }, text, n = script.calls.length) {
    const id = await begin();
    const inside = await script.call(n);
    await inside.begin();
    if (text) await inside.send(text);
    await inside.end();
    await ended(id);
    return id;
}

/** A running run with that stream so far. */
async function running({ script, begin }, text, n = script.calls.length) {
    const id = await begin();
    const inside = await script.call(n);
    await inside.begin();
    if (text) await inside.send(text);
    return { id, inside };
}

/* ---- states ---- */

for (const [name, env] of Object.entries(STORES)) {
    test(`a queued run is waited for, with heartbeats, and followed from its first event to its end: ${name}`, async (t) => {
        const all = await streamStage(t, {
            env: { ...env, HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_SSE_HEARTBEAT: '30ms' },
        });
        const first = await running(all, '');
        const id = await all.begin();
        const follower = await all.follow(id);
        assert.deepEqual([follower.status, follower.state], [200, 'queued']);
        assert.equal(follower.head.get('content-type'), 'text/event-stream; charset=utf-8');
        assert.equal(follower.head.get('cache-control'), 'no-cache');
        assert.equal(follower.head.get('x-accel-buffering'), 'no');
        assert.equal(follower.head.get('x-request-id'), id);
        await follower.until(({ comments }) => comments.length >= 3);
        await first.inside.end();
        const inside = await all.script.call(1);
        await follower.until(({ comments }) => comments.length >= 6); // inside the app, which has not answered
        await inside.begin();
        for (let n = 1; n <= 3; n++) {
            await inside.send(events(n, n));
            await follower.events(n);
        }
        await inside.end();
        await follower.rest();
        assert.deepEqual(follower.reader.events, parse(withIds(1, 3)).events);
        assert.equal(follower.text.replaceAll(': keep-alive\n\n', ''), withIds(1, 3));
    });

    test(`each event reaches every follower before the next one is sent, whenever he came: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const { id, inside } = await running(all, '');
        const followers = [];
        for (let n = 1; n <= 12; n++) {
            followers.push(await all.follow(id));
            assert.deepEqual([followers.at(-1).status, followers.at(-1).state], [200, 'running']);
            await inside.send(events(n, n));
            for (const follower of followers) await follower.events(n);
        }
        await inside.end();
        for (const follower of followers) assert.equal(await follower.rest(), withIds(1, 12));
        assert.equal((await all.follow(id)).state, 'success');
    });

    test(`of an ended run all is there at once: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const id = await finished(all, events(1, 5));
        const follower = await all.follow(id);
        assert.deepEqual([follower.status, follower.state], [200, 'success']);
        assert.equal(await follower.rest(), withIds(1, 5));
        const later = await all.follow(id, { lastEventId: '3' });
        assert.equal(await later.rest(), withIds(4, 5));
    });

    test(`an ended run with nothing more to send is 204, which stops an EventSource: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const whole = await finished(all, events(1, 3));
        const unfinished = await finished(all, `${events(1, 3)}: no event\n\ndata: unfinished\n`);
        const none = await finished(all, '');
        const cases = [
            [whole, '3'], [whole, '4'], [whole, '99999999999999999999999999'], [unfinished, '3'], [unfinished, '4'],
            [none, ''], [none, '1'], [none, '0'],
        ];
        for (const [id, lastEventId] of cases) {
            const follower = await all.follow(id, { lastEventId });
            assert.deepEqual([follower.status, follower.state], [204, 'success'], lastEventId);
            assert.equal(follower.head.has('content-length'), false);
        }
        for (const [id, lastEventId] of [[whole, '2'], [unfinished, '2'], [whole, '0'], [whole, '000']])
            assert.equal((await all.follow(id, { lastEventId })).status, 200, lastEventId);
    });

    test(`what failed or was cancelled before the app answered has nothing to send: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_ASYNC_CONCURRENCY: '1' } });
        const first = await running(all, '');
        const id = await all.begin();
        const waiting = await all.follow(id);
        assert.equal(waiting.state, 'queued');
        assert.equal((await all.ask('POST', `${runPath(id)}/cancel`)).status, 202);
        assert.equal(await waiting.rest(), '');
        const cancelled = await all.follow(id);
        assert.deepEqual([cancelled.status, cancelled.state], [204, 'cancelled']);
        await first.inside.end();
        const reset = await all.begin();
        const inside = await all.script.call(1);
        const follower = await all.follow(reset);
        assert.deepEqual([follower.status, follower.state], [200, 'running']);
        inside.reset();
        assert.equal(await follower.rest(), '');
        const failed = await all.follow(reset);
        assert.deepEqual([failed.status, failed.state], [204, 'failure']);
    });

    test(`who follows a run that is cancelled, or breaks, has what came of it, and the end: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        for (const [how, state] of [['cancel', 'cancelled'], ['reset', 'failure']]) {
            const { id, inside } = await running(all, events(1, 2));
            const follower = await all.follow(id);
            await follower.events(2);
            if (how === 'reset') inside.reset();
            else assert.equal((await all.ask('POST', `${runPath(id)}/cancel`)).status, 202);
            assert.equal(await follower.rest(), withIds(1, 2));
            assert.equal((await all.ended(id)).state, state);
            const after = await all.follow(id, { lastEventId: '2' });
            assert.deepEqual([after.status, after.state], [204, state]);
        }
    });

    test(`a response that is no event stream is 409, and says where it is: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const id = await all.begin();
        const inside = await all.script.call();
        const follower = await all.follow(id);
        assert.deepEqual([follower.status, follower.state], [200, 'running']);
        await inside.exchange.respond(200, { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' });
        await inside.send('data: 1\n\n');
        const early = await until('hookline has the head', async () => {
            const one = await all.follow(id);
            return one.status === 409 && one;
        });
        assert.match((await early.problem()).detail, /\/result/);
        await inside.end();
        assert.equal(await follower.rest(), '');
        await all.ended(id);
        const after = await all.follow(id);
        assert.equal(after.status, 409);
        assert.match((await after.problem()).detail, /\/result/);
        const other = await all.begin();
        await (await all.script.call(1)).answer(404, { 'Content-Type': 'text/event-stream' }, events(1, 1));
        await all.ended(other);
        assert.equal((await all.follow(other)).status, 409);
    });
}

test('an ended run is followed after a restart as before', async (t) => {
    const all = await streamStage(t);
    const short = await finished(all, events(1, 3));
    const long = await finished(all, events(1, 60_000));
    await all.sidecar.restart();
    assert.equal(await (await all.follow(short, { lastEventId: '1' })).rest(), withIds(2, 3));
    assert.equal(await (await all.follow(long, { lastEventId: '7' })).rest(), withIds(8, 60_000));
    assert.equal((await all.follow(long, { lastEventId: '60000' })).status, 204);
});

/* ---- ids ---- */

const NAMED = 'id: a\ndata: 1\n\ndata: 2\n\nid: b\ndata: 3\n\nid: a\ndata: 4\n\nid: 2\ndata: 5\n\ndata: 6\n\n';

for (const [name, env] of Object.entries(STORES))
    test(`a follower begins after the first event with the id that he names: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const ended = await finished(all, NAMED);
        const live = await running(all, NAMED);
        await (await all.follow(live.id)).events(6);
        for (const [lastEventId, first] of [['a', 2], ['2', 3], ['b', 4], ['1', 2], ['3', 4], ['4', 5], ['5', 6], ['0', 1]])
            for (const id of [ended, live.id]) {
                const follower = await all.follow(id, { lastEventId });
                assert.equal(follower.status, 200, lastEventId);
                await follower.events(7 - first);
                assert.deepEqual(follower.reader.events.map(({ data }) => Number(data)), [1, 2, 3, 4, 5, 6].slice(first - 1), lastEventId);
                follower.close();
            }
        for (const id of [ended, live.id])
            for (const lastEventId of ['c', '-1', '1.0', ' 1x', '+1', '1e3', '٣', 'A', 'a b']) {
                const follower = await all.follow(id, { query: { last_event_id: lastEventId } });
                assert.equal(follower.status, 400, lastEventId);
                assert.match((await follower.problem()).detail, /Last-Event-ID/);
            }
        await live.inside.end();
    });

test('an ordinal beyond a running stream waits, and begins with the next event', async (t) => {
    const all = await sharedStreams(t);
    for (const [i, lastEventId] of ['2', '7', '18446744073709551616', '9'.repeat(900)].entries()) {
        const { id, inside } = await running(all, events(1, 2), i);
        await (await all.follow(id)).events(2);
        const follower = await all.follow(id, { lastEventId });
        assert.deepEqual([follower.status, follower.state], [200, 'running']);
        await inside.send(events(3, 4));
        await follower.events(2);
        await inside.end();
        assert.equal(await follower.rest(), withIds(3, 4));
    }
});

test('before the first event a number waits for it, and a name is not known', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    const { id: ready, inside } = await running(all, '');
    const queued = await all.begin();
    for (const id of [ready, queued]) assert.equal((await all.follow(id, { lastEventId: 'x' })).status, 400);
    const followers = [await all.follow(ready, { lastEventId: '5' }), await all.follow(queued, { lastEventId: '5' })];
    for (const follower of followers) assert.equal(follower.status, 200);
    await inside.send(events(1, 2));
    await inside.end();
    assert.equal(await followers[0].rest(), withIds(1, 2));
    const next = await all.script.call(1);
    await next.begin();
    await next.send(events(1, 1));
    await next.end();
    assert.equal(await followers[1].rest(), withIds(1, 1));
});

test('the id may stand in the query, and the field wins over it', async (t) => {
    const all = await sharedStreams(t);
    const id = await finished(all, NAMED.replaceAll('id: b', 'id: b c/é?'.replace('é', '\xc3\xa9')));
    const data = async (options) => {
        const follower = await all.follow(id, options);
        assert.equal(follower.status, 200, await follower.text);
        await follower.rest();
        return follower.reader.events.map((event) => event.data).join('');
    };
    assert.equal(await data({ query: { last_event_id: '3' } }), '456');
    assert.equal(await data({ query: { last_event_id: 'b c/é?' } }), '456');
    assert.equal(await data({ lastEventId: 'b c/\xc3\xa9?' }), '456');
    assert.equal(await data({ query: { last_event_id: '' } }), '123456');
    assert.equal(await data({ query: { last_event_id: '1' }, lastEventId: '4' }), '56');
    assert.equal(await data({ query: { last_event_id: 'unknown' }, lastEventId: '4' }), '56');
    assert.equal(await data({ query: { last_event_id: '4' }, headers: { 'Last-Event-ID': '' } }), '56', 'an empty field is none');
    assert.equal((await all.follow(id, { query: { last_event_id: '1' }, lastEventId: 'unknown' })).status, 400);
});

test('what cannot be used is 400 and says what', async (t) => {
    const all = await streamStage(t);
    const id = await finished(all, events(1, 3));
    const refused = async (options, pattern) => {
        const follower = await all.follow(id, options);
        assert.equal(follower.status, 400, JSON.stringify(options));
        assert.equal(follower.head.get('content-type'), 'application/problem+json');
        assert.match((await follower.problem()).detail, pattern);
    };
    await refused({ headers: { 'Last-Event-ID': ['1', '2'] } }, /Last-Event-ID is given more than once/);
    await refused({ headers: { 'Last-Event-ID': ['1', '1'] } }, /Last-Event-ID is given more than once/);
    await refused({ lastEventId: 'x'.repeat(1025) }, /1024 bytes/);
    await refused({ lastEventId: '1'.repeat(1025) }, /1024 bytes/);
    await refused({ lastEventId: 'x'.repeat(1024) }, /neither a number/);
    await refused({ query: { last_event_id: 'x'.repeat(1025) } }, /last_event_id/);
    await refused({ query: { progress: 'yes' } }, /progress/);
    await refused({ query: { progress: '' } }, /progress/);
    await refused({ query: { from: '1' } }, /from.*last_event_id, progress/);
    await refused({ query: { wait: '1' } }, /wait/);
    for (const query of ['last_event_id=1&last_event_id=1', 'progress=true&progress=true']) {
        const follower = await Follower.open(await all.connect(), `${eventsPath(id)}?${query}`);
        assert.equal(follower.status, 400, query);
        assert.match((await follower.problem()).detail, /twice|once/);
    }
    assert.equal((await all.follow(id, { lastEventId: '1'.repeat(1024) })).status, 204);
});

test('another method is 405, a run that nobody knows 404', async (t) => {
    const all = await sharedStreams(t);
    const id = await finished(all, events(1, 1));
    for (const method of ['POST', 'PUT', 'DELETE']) {
        const answer = await rest(all.sidecar)(method, eventsPath(id));
        assertRefused(answer, 405);
        assert.match(answer.headers.allow, /GET/);
    }
    for (const path of [
        eventsPath('01a21315-c911-72e1-9dce-1106c970ba2a'),
        `/v2/projects/p/apps/other/runs/${id}/events`,
        `/v2/projects/other/apps/a/runs/${id}/events`,
        `/v2/projects/other/runs/${id}/events`,
    ])
        assertRefused(await rest(all.sidecar)('GET', path), 404);
    assertRefused(await rest(all.sidecar)('GET', eventsPath('not-an-id')), 404);
});

/* ---- who, and where ---- */

test('each listener has it: run, admin, control socket; each path, too', async (t) => {
    const all = await sharedStreams(t);
    const ended = await finished(all, events(1, 4));
    const live = await running(all, events(1, 2));
    const wheres = [{ port: all.sidecar.port }, { port: all.sidecar.adminPort }, { path: join(all.sidecar.dataDir, 'control.sock') }];
    const followers = [];
    for (const [i, where] of wheres.entries()) {
        const fields = { headers: { Host: '127.0.0.1' } };
        for (const path of [eventsPath, (id) => `/v2/projects/p/runs/${id}/events`, ...(i === 2 ? [(id) => `/v2/runs/${id}/events`] : [])]) {
            const follower = await Follower.open(await connect(t, where), path(ended), { ...fields, lastEventId: '2' });
            assert.deepEqual([follower.status, follower.state], [200, 'success']);
            assert.equal(await follower.rest(), withIds(3, 4));
            const nothing = await Follower.open(await connect(t, where), path(ended), { ...fields, lastEventId: '4' });
            assert.deepEqual([nothing.status, nothing.state], [204, 'success']);
            const bad = await Follower.open(await connect(t, where), path(ended), { ...fields, lastEventId: 'x' });
            assert.equal(bad.status, 400);
            followers.push(await Follower.open(await connect(t, where), path(live.id), fields));
        }
    }
    for (const follower of followers) await follower.events(2);
    await live.inside.send(events(3, 3));
    for (const follower of followers) await follower.events(3);
    await live.inside.end();
    for (const follower of followers) {
        assert.equal(await follower.rest(), withIds(1, 3));
        await follower.client.send(`GET ${eventsPath(ended)} HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: 3\r\n\r\n`);
        assert.equal((await follower.client.response()).text, withIds(4, 4), 'the connection goes on');
    }
});

for (const [listener, where] of Object.entries({
    run: ({ port }) => ({ port }),
    admin: ({ adminPort }) => ({ port: adminPort }),
    control: ({ dataDir }) => ({ path: join(dataDir, 'control.sock') }),
}))
    test(`a follower of HTTP/1.0 has the stream until the connection is closed, one with HEAD the head alone: ${listener}`, async (t) => {
        const all = await sharedStreams(t);
        const { id, inside } = await running(all, events(1, 2));
        const old = await connect(t, where(all.sidecar));
        await old.send(`GET ${eventsPath(id)} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n`);
        let text = '';
        await until('it has two events', async () => (text += (await old.reader.some()).toString('latin1')).endsWith(withIds(2, 2)));
        assert.match(text, /^HTTP\/1\.1 200 /);
        assert.doesNotMatch(text, /^transfer-encoding/im);
        await inside.send(events(3, 3));
        const head = await Follower.open(await connect(t, where(all.sidecar)), eventsPath(id), { method: 'HEAD', headers: { Host: '127.0.0.1' } });
        assert.deepEqual([head.status, head.state], [200, 'running']);
        assert.equal(head.head.get('content-type'), 'text/event-stream; charset=utf-8');
        await inside.end();
        text += (await old.reader.rest()).toString('latin1');
        assert.equal(text.slice(text.indexOf('\r\n\r\n') + 4), withIds(1, 3));
        await all.ended(id);
        await head.client.send(`HEAD ${eventsPath(id)} HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: 3\r\n\r\n`);
        const nothing = await head.client.response('HEAD');
        assert.deepEqual([nothing.status, nothing.get('x-run-state')], [204, 'success']);
    });

test('the role invoke of the run’s project may follow it, and nobody else', async (t) => {
    const secret = makeSecret();
    const all = await streamStage(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret } });
    const token = (claims) => sign(secret, claims);
    const mine = await token({ role: 'invoke' });
    const id = await all.begin({}, { headers: { authorization: `Bearer ${mine}` } });
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 2));
    await inside.end();
    await all.ended(id);
    for (const where of [{ port: all.sidecar.port }, { port: all.sidecar.adminPort }]) {
        const follow = (path, options) => connect(t, where).then((client) => Follower.open(client, path, { ...options, headers: { Host: '127.0.0.1' } }));
        for (const claims of [{ role: 'invoke' }, { role: 'admin' }, {}]) {
            const follower = await follow(eventsPath(id), { token: await token(claims) });
            assert.equal(await follower.rest(), withIds(1, 2));
        }
        const other = await token({ project_id: 'q' });
        assert.equal((await follow(eventsPath(id), { token: other })).status, 403);
        assert.equal((await follow(eventsPath(id).replace('/p/', '/q/'), { token: other })).status, 404);
        const nobody = await follow(eventsPath(id), {});
        assert.equal(nobody.status, 401);
        assert.ok(nobody.head.has('www-authenticate'));
        assert.equal((await follow(eventsPath(id), { token: await token({ exp: 1 }) })).status, 401);
    }
});

test('a page of an allowed origin may follow a run, name an event, and read what is said of its state', async (t) => {
    const origin = 'https://app.example';
    const all = await streamStage(t, { env: { HOOKLINE_CORS_ORIGINS: origin } });
    const id = await finished(all, events(1, 2));
    const asked = { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'last-event-id' };
    const preflight = await all.call(eventsPath(id), { method: 'OPTIONS', headers: asked });
    assert.equal(preflight.status, 204);
    assert.match(preflight.headers['access-control-allow-headers'], /last-event-id/i);
    for (const [lastEventId, status] of [['', 200], ['2', 204], ['x', 400]]) {
        const follower = await all.follow(id, { lastEventId, headers: { Origin: origin } });
        assert.equal(follower.status, status);
        assert.equal(follower.head.get('access-control-allow-origin'), origin);
        const exposed = follower.head.get('access-control-expose-headers').split(', ');
        for (const name of ['X-Request-Id', 'X-Run-State', 'X-Run-Kept']) assert.ok(exposed.includes(name), name);
    }
});

test('a body that somebody removed is 410', async (t) => {
    const all = await streamStage(t);
    const id = await finished(all, events(1, 60_000));
    for (const file of await filesBelow(join(all.sidecar.dataDir, 'bodies'))) await rm(file);
    assert.equal((await all.follow(id)).status, 410);
});

/* ---- on the way ---- */

test('heartbeats stand between events only, however they are cut', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_SSE_HEARTBEAT: '20ms' } });
    for (const [i, parts] of [
        ['data: half', ' and half\n\n'],
        ['data: 1\n', '\n'],
        ['data: 1\r\n\r', '\ndata: 2\r\n\r\n'],
        ['event: x\ndata', ': y\n\n'],
        ['data: 1\r', '\ndata: 2\r\n\r\n'],
    ].entries()) {
        const { id, inside } = await running(all, 'data: 0\n\n', i);
        const follower = await all.follow(id);
        await follower.until(({ comments }) => comments.length >= 2);
        await inside.send(parts[0]);
        const whole = numbered(`data: 0\n\n${parts.join('')}`).text;
        const bare = () => follower.text.replaceAll(': keep-alive\n\n', '');
        const before = numbered(`data: 0\n\n${parts[0]}`).text;
        await until('it has the half', async () => (await follower.piece()) && bare().startsWith(before.slice(0, -1)));
        const comments = follower.reader.comments.length;
        await sleep(120); // several heartbeats, none of which may come
        await inside.send(parts[1]);
        await until('it has the rest', async () => bare().length >= whole.length || (await follower.piece()));
        assert.equal(follower.reader.comments.length, comments, JSON.stringify(parts));
        assert.equal(bare().slice(0, whole.length), whole);
        await follower.until((reader) => reader.comments.length >= comments + 2);
        await inside.end();
        await follower.rest();
    }
});

test('a byte order mark is one, whatever went out before it', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_SSE_HEARTBEAT: '20ms' } });
    const first = await running(all, '');
    const id = await all.begin();
    const follower = await all.follow(id);
    await follower.until(({ comments }) => comments.length >= 2);
    await first.inside.end();
    const inside = await all.script.call(1);
    await inside.begin();
    await inside.send(`\xef\xbb\xbf${events(1, 2)}`);
    await inside.end();
    await follower.rest();
    assert.deepEqual(follower.reader.events, parse(withIds(1, 2)).events);
});

for (const [name, env] of Object.entries(STORES))
    test(`long streams and events of a MiB come whole, from any place on, while they go on and after: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const big = `data: ${'x'.repeat(1 << 20)}\n\n`;
        const parts = [events(1, 20_000), big, big, events(20_003, 40_000)];
        const { id, inside } = await running(all, '');
        const early = await all.follow(id);
        const reading = early.events(40_000);
        for (const part of parts) await inside.send(part);
        await reading;
        const whole = numbered(parts.join('')).text;
        const from = (n) => whole.slice(whole.indexOf(`id: ${n}\n\n`) + `id: ${n}\n\n`.length);
        const places = [1, 9_999, 20_000, 20_001, 20_002, 39_999];
        const live = [];
        for (const n of places) {
            const follower = await all.follow(id, { lastEventId: `${n}` });
            assert.equal(follower.status, 200);
            await follower.events(40_000 - n);
            live.push([n, follower]);
        }
        await inside.end();
        assert.ok((await early.rest()) === whole);
        for (const [n, follower] of live) assert.ok((await follower.rest()) === from(n), `from ${n} on`);
        await all.ended(id);
        for (const n of places) {
            const follower = await all.follow(id, { lastEventId: `${n}` });
            assert.ok((await follower.rest()) === from(n), `from ${n} on, after the end`);
        }
        const result = await all.ask('GET', `${runPath(id)}/result`);
        assert.ok(result.body.equals(Buffer.from(parts.join(''))));
    });

for (const [name, env] of Object.entries(STORES))
    test(`who reads a byte now and then slows neither the app nor another follower: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const { id, inside } = await running(all, '');
        const slow = await all.follow(id, { isLazy: true });
        slow.client.socket.pause();
        const quick = await all.follow(id);
        const doors = gate();
        const total = 16_000;
        const event = (n) => `data: ${n} ${'x'.repeat(1000)}\n\n`;
        const text = Array.from({ length: total }, (_, i) => event(i + 1)).join('');
        const reading = quick.events(total).then(doors.open);
        for (let at = 0; at < text.length; at += 65_536) await inside.send(text.slice(at, at + 65_536));
        await doors.promise;
        assert.ok(slow.client.socket.bytesRead < 8 << 20, 'he has read little');
        await reading;
        await inside.end();
        const whole = numbered(text).text;
        assert.ok((await quick.rest()) === whole);
        assert.equal((await all.ended(id)).state, 'success');
        assert.ok((await slow.rest()) === whole, 'and he still gets all of it');
    });

test('HOOKLINE_WRITE_TIMEOUT: a follower who took nothing for a while, and then all, stays', { waits: true }, async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_WRITE_TIMEOUT: '3s', HOOKLINE_SSE_HEARTBEAT: '1s' } });
    const { id, inside } = await running(all, '');
    const on = (listener) => followerOf(t, { port: all.sidecar[listener] })(id, { headers: { Host: '127.0.0.1' } });
    const followers = await Promise.all(['port', 'adminPort'].map(on));
    for (const { client } of followers) client.socket.pause();
    await inside.send(`data: ${'x'.repeat(50 << 20)}\n\n`); // more than the system holds for who reads nothing
    await Promise.all(followers.map((follower) => follower.events(1)));
    // Longer than the deadline that began to run: heartbeats tell the time.
    await Promise.all(followers.map((follower) => follower.until(({ comments }) => comments.length >= 17)));
    await inside.send(events(2, 2));
    await Promise.all(followers.map((follower) => follower.events(2)));
    await inside.end();
    await Promise.all(followers.map((follower) => follower.rest()));
});

test('HOOKLINE_WRITE_TIMEOUT: a follower who takes nothing is let go, one who reads slowly is not', { waits: true }, async (t) => {
    const on = async (listener) => {
        const all = await streamStage(t, { env: { HOOKLINE_WRITE_TIMEOUT: '3s', HOOKLINE_MAX_FOLLOWERS: '2' } });
        const id = await finished(all, `data: ${'x'.repeat(60 << 20)}\n\n`);
        const follow = (options) => followerOf(t, { port: all.sidecar[listener] })(id, { headers: { Host: '127.0.0.1' }, ...options });
        const still = await follow();
        still.client.socket.pause();
        const slow = await follow();
        assert.deepEqual([still.status, slow.status], [200, 200]);
        let isOver = false;
        const read = async (n) => {
            for (const end = slow.text.length + n; slow.text.length < end; ) assert.notEqual(await slow.piece(), undefined);
        };
        const reading = (async () => {
            for (; !isOver; await sleep(250)) await read(256 << 10);
        })();
        reading.catch(() => {}); // it is waited for below
        await until('the one who takes nothing has gone', async () => {
            const next = await follow({ method: 'HEAD' });
            next.close();
            return next.status === 200;
        }, 90_000);
        isOver = true;
        await reading;
        await assert.rejects(still.rest());
        await read(1 << 20);
    };
    await Promise.all(['port', 'adminPort'].map(on));
});

test('an id with blanks at its ends is found by what a client’s field says of it', async (t) => {
    const all = await sharedStreams(t);
    const id = await finished(all, 'id:  a \ndata: 1\n\nid: b c \ndata: 2\n\ndata: 3\n\n');
    for (const [lastEventId, first] of [[' a ', '2'], ['a', '2'], ['b c ', '3'], ['b c', '3']]) {
        for (const follower of [await all.follow(id, { lastEventId }), await all.follow(id, { query: { last_event_id: lastEventId } })]) {
            assert.equal(follower.status, 200, lastEventId);
            await follower.rest();
            assert.equal(follower.reader.events[0].data, first);
        }
    }
    assert.equal((await all.follow(id, { lastEventId: 'b  c' })).status, 400);
});

/* ---- as long as the token is good ---- */

test('a follower is broken off when its account is revoked or its token expires, on either listener, and is told why when it comes again', async (t) => {
    const secret = makeSecret();
    const all = await streamStage(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret } });
    const make = async (name) => {
        const body = { name, role: 'invoke', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
        const answer = await all.ask('POST', '/v2/projects/p/service-accounts', { body });
        assert.equal(answer.status, 201, answer.text);
        return answer.json();
    };
    const [gone, stays] = [await make('gone'), await make('stays')];
    const id = await all.begin({}, { headers: { authorization: `Bearer ${gone.token}` } });
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 1));
    const others = followerOf(t, { port: all.sidecar.adminPort });
    const follow = async (token) => Promise.all([all.follow(id, { token }), others(id, { token, headers: { Host: '127.0.0.1' } })]);
    const outside = await sign(secret, { sub: 'x', exp: Math.floor(Date.now() / 1000) - 55 }); // good for 5 s: the leeway
    const [expiring, left, kept] = [await follow(outside), await follow(gone.token), await follow(stays.token)];
    for (const follower of [...expiring, ...left, ...kept]) {
        assert.equal(follower.status, 200);
        await follower.events(1);
    }
    assert.equal((await all.ask('DELETE', `/v2/projects/p/service-accounts/${gone.id}`)).status, 204);
    const end = (follower) => within('its end', follower.rest().then(() => 'whole', () => 'broken off'));
    for (const follower of [...left, ...expiring]) assert.equal(await end(follower), 'broken off');
    for (const token of [gone.token, outside])
        for (const again of await follow(token)) assert.equal(again.status, 401);
    await inside.send(events(2, 2));
    await inside.end();
    for (const follower of kept) assert.equal(await follower.rest(), withIds(1, 2));
});

test('a follower is broken off when the key of its token has left the key set, and goes on under one that stays', async (t) => {
    const [gone, stays, fresh] = [await makeKey(), await makeKey(), await makeKey()];
    const file = join(await temporaryDirectory(t), 'keys.json');
    await writeFile(file, jwks(gone, stays));
    const all = await streamStage(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_JWKS_FILE: file } });
    const tokens = [await sign(gone), await sign(stays)];
    const id = await all.begin({}, { headers: { authorization: `Bearer ${tokens[1]}` } });
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 1));
    const others = followerOf(t, { port: all.sidecar.adminPort });
    const follow = async (token) => Promise.all([all.follow(id, { token }), others(id, { token, headers: { Host: '127.0.0.1' } })]);
    const [left, kept] = [await follow(tokens[0]), await follow(tokens[1])];
    for (const follower of [...left, ...kept]) await follower.events(1);
    await writeFile(file, jwks(stays, fresh));
    kept.push(...(await follow(await sign(fresh)))); // a new name makes it look at once
    for (const follower of left) await within('its end', assert.rejects(follower.rest()));
    for (const again of await follow(tokens[0])) assert.equal(again.status, 401);
    await inside.send(events(2, 2));
    await inside.end();
    for (const follower of kept) assert.equal(await follower.rest(), withIds(1, 2));
});
