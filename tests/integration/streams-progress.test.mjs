// How far a run is: what the app says in 103 Early Hints, on the run's record and to followers who ask for it.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { request } from './lib/raw.mjs';
import { rest } from './lib/rest.mjs';
import { RUN } from './lib/stage.mjs';
import { STORES, events, runPath, sharedStreams, streamStage, withIds } from './lib/streams.mjs';
import { sleep, until } from './lib/until.mjs';

const PROGRESS = { query: { progress: 'true' } };

/** A 103 with that value of X-Run-Progress, and other fields. */
const hint = (inside, value, more = '') =>
    inside.exchange.raw(Buffer.from(`HTTP/1.1 103 Early Hints\r\nX-Run-Progress: ${value}\r\n${more}\r\n`, 'latin1'));

const types = (follower) => follower.reader.events.map(({ type }) => type);

for (const [name, env] of Object.entries(STORES)) {
    test(`what the app says of its progress is on the run’s record, after its end too: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        for (const isAsync of [true, false]) {
            const n = all.script.calls.length;
            const caller = isAsync ? null : await all.callStream();
            if (isAsync) await all.begin();
            const inside = await all.script.call(n);
            assert.equal((await all.show(inside.id)).progress ?? null, null);
            for (const value of [0.25, { step: 2, of: 4, name: 'é' }, null, [1, 'x'], 'text', false]) {
                await hint(inside, Buffer.from(JSON.stringify(value)).toString('latin1'));
                await until('it is on the record', async () => {
                    const { progress } = await all.show(inside.id);
                    return JSON.stringify(progress) === JSON.stringify(value);
                });
            }
            await hint(inside, '{"step":4}');
            await inside.begin();
            await inside.send(events(1, 1));
            await inside.end();
            if (caller) await (await caller.answered()).rest();
            await all.ended(inside.id);
            assert.deepEqual((await all.show(inside.id)).progress, { step: 4 });
        }
    });

    test(`followers hear of it when they ask for it, and of the run’s end; neither has an id: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const id = await all.begin();
        const inside = await all.script.call();
        const [told, plain, no] = [await all.follow(id, PROGRESS), await all.follow(id), await all.follow(id, { query: { progress: 'false' } })];
        await hint(inside, '{"step":1}');
        await told.events(1);
        await inside.begin();
        await inside.send(events(1, 1));
        await told.events(2);
        await inside.send(events(2, 2));
        await inside.end();
        await told.rest();
        assert.equal((await all.show(id)).state, 'success', 'what it says is so');
        const expected = [
            { type: 'progress', data: '{"step":1}', id: '' },
            { type: 'message', data: '1', id: '1' },
            { type: 'message', data: '2', id: '2' },
            { type: 'run', data: JSON.stringify({ run_id: id, state: 'success', reason: null }), id: '2' },
        ];
        assert.deepEqual(told.reader.events, expected);
        assert.equal(told.text, `event: progress\ndata: {"step":1}\n\n${withIds(1, 2)}event: run\ndata: ${expected[3].data}\n\n`);
        assert.equal(await plain.rest(), withIds(1, 2));
        assert.equal(await no.rest(), withIds(1, 2));
        const later = await all.follow(id, { lastEventId: '1', ...PROGRESS });
        await later.rest();
        assert.deepEqual(types(later), ['message', 'run'], 'they are not kept');
        const result = await all.ask('GET', `${runPath(id)}/result`);
        assert.equal(result.text, events(1, 2));
    });

    test(`a failed run’s last event says why: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_ASYNC_CONCURRENCY: '1' } });
        const id = await all.begin();
        const inside = await all.script.call();
        const follower = await all.follow(id, PROGRESS);
        await inside.begin();
        await inside.send(events(1, 1));
        await follower.events(1);
        const queued = await all.begin();
        const waiting = await all.follow(queued, PROGRESS);
        assert.equal(waiting.state, 'queued');
        await all.ask('POST', `${runPath(queued)}/cancel`);
        await waiting.rest();
        assert.deepEqual(waiting.reader.events.map(({ data }) => JSON.parse(data)), [{ run_id: queued, state: 'cancelled', reason: null }]);
        inside.reset();
        await follower.rest();
        assert.deepEqual(JSON.parse(follower.reader.events.at(-1).data), { run_id: id, state: 'failure', reason: 'upstream_reset' });
        assert.deepEqual(types(follower), ['message', 'run']);
    });
}

test('the caller never sees it; other interim responses pass', async (t) => {
    const { script, connect } = await sharedStreams(t);
    const client = await connect();
    await client.send(request('POST', RUN, {}, '{}'));
    const inside = await script.call();
    await hint(inside, '1');
    await inside.exchange.raw('HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n');
    await hint(inside, '2', 'Link: </b.css>; rel=preload\r\n');
    await inside.exchange.raw('HTTP/1.1 102 Processing\r\n\r\n');
    await inside.begin();
    await inside.end();
    const response = await client.response('POST');
    assert.deepEqual(response.interim.map((head) => [head.status, head.get('link')]), [[103, '</a.css>; rel=preload'], [102, undefined]]);
    for (const head of [response, ...response.interim]) assert.equal(head.has('x-run-progress'), false);
});

test('what is no JSON, or longer than 1 KiB, is not taken', async (t) => {
    const all = await sharedStreams(t);
    const id = await all.begin();
    const inside = await all.script.call();
    const follower = await all.follow(id, PROGRESS);
    const longest = JSON.stringify('x'.repeat(1022));
    await hint(inside, longest);
    await until('the longest is', async () => (await all.show(id)).progress?.length === 1022);
    for (const bad of [`"${'x'.repeat(1023)}"`, '', 'half', '{"a":1', '{a:1}', '1 2', "'x'", 'NaN', '"\xff"']) await hint(inside, bad);
    await hint(inside, '"\xc3\xa9"');
    await until('the last is', async () => (await all.show(id)).progress === 'é');
    await follower.until(({ events }) => events.at(-1)?.data === '"\xc3\xa9"');
    assert.ok(follower.reader.events.every(({ data }) => data === longest || data === '"\xc3\xa9"'));
    await hint(inside, '{"n":18446744073709551616,"t\\u0000":"\\u0000"}');
    await until('what few readers can hold is there', async () => (await all.show(id)).progress?.n > 1.8e19);
    await inside.begin();
    await inside.end();
});

test('followers hear of it twice a second at most, and of the last one', async (t) => {
    const all = await sharedStreams(t);
    const id = await all.begin();
    const inside = await all.script.call();
    const follower = await all.follow(id, PROGRESS);
    const began = performance.now();
    let n = 0;
    while (performance.now() - began < 1600) {
        await hint(inside, `${++n}`);
        await sleep(5);
    }
    await follower.until(({ events }) => events.at(-1)?.data === `${n}`);
    const most = Math.ceil((performance.now() - began) / 500) + 1;
    assert.ok(follower.reader.events.length <= most, `${follower.reader.events.length} of ${n}`);
    await inside.begin();
    await inside.end();
});

test('it stands between events, never inside one', async (t) => {
    const all = await sharedStreams(t);
    const id = await all.begin();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send('data: 1\n\ndata: half');
    const follower = await all.follow(id, PROGRESS);
    await follower.events(1);
    await inside.send(' and half\n');
    await inside.send('\n');
    await follower.events(2);
    assert.deepEqual(types(follower), ['message', 'message']);
    await inside.end();
    await follower.rest();
    assert.deepEqual(types(follower), ['message', 'message', 'run']);
});

for (const [name, unfinished] of Object.entries({
    'a line': 'data: unfinished',
    'a block': 'id: 7\ndata: unfinished\n',
    'a long event': `data: ${'x'.repeat(300_000)}\ndata: unfinished\n`,
}))
    test(`behind a stream that stops inside ${name} the run’s end is said, and nothing of that event`, async (t) => {
        const all = await sharedStreams(t);
        const id = await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        await inside.send(`data: 1\n\ndata: ${'y'.repeat(300_000)}\n\n${unfinished}`);
        const follower = await all.follow(id, PROGRESS);
        await follower.events(2);
        const plain = await all.follow(id);
        await plain.until(({ isBetween, events }) => events.length === 2 && !isBetween);
        await inside.end();
        await all.ended(id);
        await plain.rest();
        for (const one of [follower, await all.follow(id, PROGRESS)]) {
            await one.rest();
            assert.deepEqual(types(one), ['message', 'message', 'run']);
            assert.equal(JSON.parse(one.reader.events.at(-1).data).state, 'success');
            assert.equal(one.reader.lastEventId, '2');
            assert.ok(one.reader.isBetween);
            assert.doesNotMatch(one.text, /unfinished/);
        }
        assert.ok(plain.text.endsWith(unfinished), 'who wants no progress has the bytes as they came');
    });

test('a stream whose lines end with CR has heartbeats, and the run’s end is said behind it', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_SSE_HEARTBEAT: '200ms' } });
    const caller = await all.callStream();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send('data: 1\r\r');
    const follower = await all.follow((await caller.answered()).id, PROGRESS);
    for (const one of [caller, follower]) await one.until(({ events, comments }) => events.length === 1 && comments.length > 0);
    await inside.send('data: 2\r\rdata: 3\r\r');
    for (const one of [caller, follower]) {
        await one.events(3);
        const had = one.reader.comments.length;
        await one.until(({ comments }) => comments.length > had);
    }
    await inside.send('\ndata: 4\r\n\r\n');
    await inside.end();
    for (const one of [caller, follower]) {
        await one.rest();
        assert.deepEqual(one.reader.events.slice(0, 4).map(({ id, data }) => id + data), ['11', '22', '33', '44']);
    }
    assert.deepEqual(types(follower), ['message', 'message', 'message', 'message', 'run']);
});

test('a run that is asked for through any listener shows it', async (t) => {
    const all = await sharedStreams(t);
    const id = await all.begin();
    const inside = await all.script.call();
    await hint(inside, '{"done":0.5}');
    for (const ask of [rest(all.sidecar), rest(all.sidecar, { admin: true }), all.ask])
        await until('it is there', async () => (await ask('GET', runPath(id))).json().progress?.done === 0.5);
    await inside.begin();
    await inside.end();
});
