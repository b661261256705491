// How much of streams is kept, how long, and how many may follow: what goes first, and what is refused then.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { followerOf } from './lib/events.mjs';
import { filesBelow, sizeOf } from './lib/files.mjs';
import { RUN } from './lib/stage.mjs';
import { STORES, events, streamStage, withIds } from './lib/streams.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { until } from './lib/until.mjs';
import { fill, mountVolume } from './lib/volume.mjs';

const KIB = 1024;
const event = (size) => `data: ${'x'.repeat(size - 8)}\n\n`;

/** A kept synchronous stream of that size, to its end: the caller. */
async function kept({ callStream, script, ended }, size) {
    const caller = await callStream();
    const inside = await script.call(script.calls.length);
    await inside.begin();
    await caller.answered();
    await inside.send(event(size));
    await inside.end();
    await caller.rest();
    if (!caller.head.has('x-run-kept')) await ended(caller.id);
    return caller;
}

for (const [name, env] of Object.entries(STORES)) {
    test(`a stream longer than HOOKLINE_MAX_KEPT_RESPONSE goes on for its caller and is 410 for others: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_MAX_KEPT_RESPONSE: '2KiB' } });
        const caller = await all.callStream({ path: `${RUN}?webhookEndpoint=${encodeURIComponent(all.receiver.url())}` });
        const inside = await all.script.call();
        await inside.begin();
        await inside.send(events(1, 2));
        const follower = await all.follow((await caller.answered()).id);
        await follower.events(2);
        await inside.send(event(4 * KIB));
        await caller.events(3);
        await assert.rejects(follower.rest(), 'what is missing is not passed off as the end');
        assert.equal(follower.reader.events.length, 2);
        const gone = await all.follow(caller.id);
        assert.equal(gone.status, 410);
        assert.match((await gone.problem()).detail, /HOOKLINE_MAX_KEPT_RESPONSE/);
        await inside.send(events(4, 5));
        await inside.end();
        await caller.rest();
        assert.deepEqual(caller.reader.events.map(({ id }) => id), ['1', '2', '3', '4', '5']);
        assert.equal((await all.ended(caller.id)).state, 'success');
        assert.equal((await all.follow(caller.id)).status, 410);
        assert.equal((await all.follow(caller.id, { lastEventId: '1' })).status, 410);
        const envelope = await all.receiver.envelope();
        assert.deepEqual([envelope.status, envelope.response, envelope.encoding, envelope.reason], ['success', null, 'none', 'response_too_large']);
        const id = await all.begin();
        const other = await all.script.call(1);
        await other.begin();
        await other.send(event(4 * KIB));
        await other.end();
        assert.equal((await all.ended(id)).state, 'success');
        assert.equal((await all.follow(id)).status, 410);
    });

    test(`a synchronous call’s stream stays for HOOKLINE_STREAM_RETENTION, an asynchronous one’s as long as its run: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_STREAM_RETENTION: '1s' } });
        const id = await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        await inside.send(events(1, 2));
        await inside.end();
        await all.ended(id);
        const small = await kept(all, 100);
        const large = await kept(all, 300 * KIB);
        for (const { id } of [small, large]) assert.equal((await all.follow(id)).status, 200);
        for (const { id } of [small, large]) {
            const answer = await until('it has gone', async () => {
                const one = await all.follow(id);
                return one.status !== 200 && one;
            });
            assert.equal(answer.status, 410);
            assert.match((await answer.problem()).detail, /HOOKLINE_STREAM_RETENTION/);
            assert.equal((await all.show(id)).state, 'success');
        }
        if (name === 'sqlite')
            await until('its file has gone', async () => (await filesBelow(join(all.sidecar.dataDir, 'bodies'))).length === 0);
        assert.equal(await (await all.follow(id)).rest(), withIds(1, 2));
    });

    test(`beyond HOOKLINE_STREAM_KEEP_MAX_BYTES the oldest finished synchronous streams go: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_STREAM_KEEP_MAX_BYTES: '1MiB' } });
        const id = await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        await inside.send(event(300 * KIB));
        await inside.end();
        await all.ended(id);
        const callers = [];
        for (let i = 0; i < 8; i++) {
            callers.push(await kept(all, 300 * KIB));
            assert.equal(callers.at(-1).head.has('x-run-kept'), false);
        }
        const statuses = () => Promise.all(callers.map(async (caller) => {
            const follower = await all.follow(caller.id, { method: 'HEAD' });
            follower.close();
            return follower.status;
        }));
        await until('the oldest have gone', async () => (await statuses()).join() === '410,410,410,410,410,200,200,200');
        assert.equal((await all.follow(id)).status, 200, 'an asynchronous run’s has its place elsewhere');
    });

    test(`what goes on makes the oldest that have ended go, and goes on unkept beyond that share: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_STREAM_KEEP_MAX_BYTES: '1MiB' } });
        const ended = await kept(all, 600 * KIB);
        const callers = [];
        for (let i = 0; i < 6; i++) {
            callers.push(await all.callStream());
            const inside = await all.script.call(i + 1);
            await inside.begin();
            assert.equal((await callers[i].answered()).head.has('x-run-kept'), false, 'there is room yet');
        }
        const insides = all.script.calls.slice(1);
        await insides[0].send(event(500 * KIB));
        await callers[0].events(1);
        const status = async ({ id }) => {
            const follower = await all.follow(id, { method: 'HEAD' });
            follower.close();
            return follower.status;
        };
        await until('the one that has ended is gone', async () => (await status(ended)) === 410);
        for (let i = 1; i < 6; i++) { // one after the other: of several that grow at once more may go than must
            await insides[i].send(event(400 * KIB));
            await callers[i].events(1);
        }
        const live = async () => (await Promise.all(callers.map(status))).filter((s) => s === 200).length;
        await until('two of them fit', async () => (await live()) === 2);
        if (name === 'sqlite')
            await until('the others have given their disk back', async () => (await sizeOf(join(all.sidecar.dataDir, 'tmp'))) <= KIB * KIB);
        for (const inside of insides) {
            await inside.send(events(2, 2));
            await inside.end();
        }
        for (const caller of callers) {
            await caller.rest();
            assert.deepEqual(caller.reader.events.map(({ id }) => id), ['1', '2']);
            assert.equal((await all.ended(caller.id)).state, 'success');
        }
        assert.equal(await live(), 2);
    });

    test(`when what goes on fills that share new streams are not kept, and say so: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_STREAM_KEEP_MAX_BYTES: '1MiB' } });
        const first = await all.callStream();
        const inside = await all.script.call();
        await inside.begin();
        await first.answered();
        assert.equal(first.head.has('x-run-kept'), false);
        await inside.send(event(1100 * KIB));
        await first.events(1);
        const second = await all.callStream();
        const other = await all.script.call(1);
        await other.begin();
        await second.answered();
        assert.equal(second.head.get('x-run-kept'), 'false');
        await other.send(events(1, 2));
        await other.end();
        assert.equal(await second.rest(), events(1, 2), 'as the app sends it');
        assert.equal((await all.follow(second.id)).status, 404);
        assert.equal((await all.follow(first.id)).status, 200, 'what goes on is not given up');
        await inside.end();
        await first.rest();
        await until('there is room', async () => {
            const n = all.script.calls.length;
            const third = await all.callStream();
            const next = await all.script.call(n);
            await next.begin();
            await third.answered();
            await next.end();
            await third.rest();
            return !third.head.has('x-run-kept');
        });
    });

    test(`a stream that takes most of that share is kept after its end, one that was too long has none of it: ${name}`, async (t) => {
        const all = await streamStage(t, { env: { ...env, HOOKLINE_STREAM_KEEP_MAX_BYTES: '1MiB', HOOKLINE_MAX_KEPT_RESPONSE: '1MiB' } });
        const large = await kept(all, 900 * KIB);
        assert.equal((await all.follow(large.id)).status, 200);
        const long = await all.callStream();
        const inside = await all.script.call(1);
        await inside.begin();
        await long.answered();
        await inside.send(event(3 << 20));
        await long.events(1);
        await inside.send(events(2, 2));
        await long.events(2);
        assert.equal((await kept(all, KIB)).head.has('x-run-kept'), false);
        await inside.end();
        await long.rest();
        assert.equal((await all.follow(large.id)).status, 200);
    });

    test(`a run has 100 followers at most, then 429 with Retry-After, until one goes: ${name}`, async (t) => {
        const all = await streamStage(t, { env });
        const id = await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        await inside.send(events(1, 1));
        const followers = await Promise.all(Array.from({ length: 100 }, () => all.follow(id)));
        for (const follower of followers) assert.equal(follower.status, 200);
        for (const where of [{ port: all.sidecar.port }, { port: all.sidecar.adminPort }]) {
            const refused = await followerOf(t, where)(id, { headers: { Host: '127.0.0.1' } });
            assert.equal(refused.status, 429);
            assert.match(refused.head.get('retry-after'), /^[1-9][0-9]*$/);
            assert.match((await refused.problem()).detail, /100/);
        }
        followers.pop().close();
        await until('a place is free', async () => {
            const next = await all.follow(id);
            if (next.status === 200) followers.push(next);
            return next.status === 200;
        });
        await inside.send(events(2, 2));
        await inside.end();
        for (const follower of followers) assert.equal(await follower.rest(), withIds(1, 2));
        const again = await Promise.all(Array.from({ length: 100 }, () => all.follow(id, { lastEventId: '1' })));
        for (const follower of again) assert.equal(await follower.rest(), withIds(2, 2), 'all places have come back');
    });
}

test('HOOKLINE_MAX_FOLLOWERS bounds all of them together; 0 lets nobody follow', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_MAX_FOLLOWERS: '3' } });
    const ids = [await all.begin(), await all.begin()];
    await (await all.script.call(1)).begin();
    const followers = [];
    for (const id of [ids[0], ids[1], ids[0]]) followers.push(await all.follow(id));
    for (const follower of followers) assert.equal(follower.status, 200);
    const refused = await all.follow(ids[1]);
    assert.equal(refused.status, 429);
    assert.ok(refused.head.has('retry-after'));
    assert.match((await refused.problem()).detail, /HOOKLINE_MAX_FOLLOWERS/);
    followers[0].close();
    await until('a place is free', async () => (await all.follow(ids[1])).status === 200);
    const none = await streamStage(t, { env: { HOOKLINE_MAX_FOLLOWERS: '0' } });
    assert.equal((await none.follow(await none.begin())).status, 429);
});

test('a subject has a quarter of the places', async (t) => {
    const secret = makeSecret();
    const all = await streamStage(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: secret, HOOKLINE_MAX_FOLLOWERS: '8' } });
    const token = await sign(secret, { sub: 'one' });
    const other = await sign(secret, { sub: 'two' });
    const id = await all.begin({}, { headers: { authorization: `Bearer ${token}` } });
    await (await all.script.call()).begin();
    const mine = [await all.follow(id, { token }), await all.follow(id, { token: await sign(secret, { sub: 'one' }) })];
    for (const follower of mine) assert.equal(follower.status, 200);
    const refused = await all.follow(id, { token });
    assert.equal(refused.status, 429);
    assert.match((await refused.problem()).detail, /quarter/);
    assert.equal((await all.follow(id, { token: other })).status, 200);
    mine[1].close();
    await until('his place is free', async () => (await all.follow(id, { token })).status === 200);
});

test('places come back whatever becomes of a follower', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_MAX_FOLLOWERS: '4' } });
    const id = await all.begin();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 2));
    await (await all.follow(id)).events(2);
    const ways = [
        (follower) => follower.close(),
        (follower) => follower.client.reset(),
        (follower) => follower.client.end(),
    ];
    await until('the first has gone', async () => {
        for (let i = 0; i < 24; i++) ways[i % 3](await all.follow(id, { lastEventId: ['', '1', '7'][i % 3] }));
        const refused = await all.follow(id, { lastEventId: 'unknown' });
        const head = await all.follow(id, { method: 'HEAD' });
        return [400, 429].includes(refused.status) && [200, 429].includes(head.status);
    });
    await inside.end();
    await all.ended(id);
    await until('all places are free', async () => {
        const all4 = await Promise.all(Array.from({ length: 4 }, () => all.follow(id)));
        await Promise.all(all4.map((follower) => follower.rest()));
        return all4.every(({ status }) => status === 200);
    });
});

test('a thousand followers of ten runs see each event', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_LOG_LEVEL: 'warn', HOOKLINE_ASYNC_CONCURRENCY: '10' } });
    const ids = [];
    for (let i = 0; i < 10; i++) ids.push(await all.begin());
    await all.script.call(9);
    for (const inside of all.script.calls) await inside.begin();
    const followers = [];
    for (let i = 0; i < 100; i++) followers.push(...(await Promise.all(ids.map((id) => all.follow(id)))));
    for (const follower of followers) assert.equal(follower.status, 200);
    for (let n = 1; n <= 5; n++) {
        for (const inside of all.script.calls) await inside.send(events(n, n));
        await Promise.all(followers.map((follower) => follower.events(n)));
    }
    for (const inside of all.script.calls) await inside.end();
    for (const text of await Promise.all(followers.map((follower) => follower.rest()))) assert.equal(text, withIds(1, 5));
});

test('a stream that never ends is kept up to its bound, and then goes on for its caller alone', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_MAX_KEPT_RESPONSE: '1MiB' } });
    const caller = await all.callStream();
    const inside = await all.script.call();
    await inside.begin();
    const follower = await all.follow((await caller.answered()).id);
    const reading = follower.rest().then(() => 'ended', () => 'broken off');
    let n = 0;
    while (n * KIB < 3 << 20) {
        await inside.send(event(KIB));
        await caller.events(++n);
    }
    assert.equal(await reading, 'broken off');
    assert.ok(follower.reader.events.length > 500);
    caller.close();
    const goesOn = async () => {
        await inside.send(events(n, n)).catch(() => {});
        return inside.isGone;
    };
    await until('without its caller it is for nobody', goesOn);
    await until('nothing of it is left', async () => (await filesBelow(join(all.sidecar.dataDir, 'tmp'))).length === 0);
});

test('when the disk is full a stream goes on for its caller unkept, and new ones say that they are not', async (t) => {
    const size = 96 << 20;
    const volume = await mountVolume(t, size);
    if (!volume) return t.skip('it needs the right to mount');
    const all = await streamStage(t, { env: { HOOKLINE_DATA_DIR: join(volume, 'data') } });
    const caller = await all.callStream();
    const inside = await all.script.call();
    await inside.begin();
    await inside.send(events(1, 2));
    const follower = await all.follow((await caller.answered()).id);
    await follower.events(2);
    const giveBack = await fill(volume, size);
    let [n, isOver] = [2, false];
    const reading = follower.rest().then(() => 'ended', () => 'broken off').finally(() => (isOver = true));
    while (n < 40 || !isOver) {
        await fill(volume, size); // what hookline had in reserve is room once it finds none
        await inside.send(`data: ${'x'.repeat(10_000)}\n\n`);
        await caller.events(++n);
    }
    assert.equal(await reading, 'broken off');
    assert.equal((await all.follow(caller.id)).status, 410);
    await until('hookline knows that there is no room', async () => {
        await fill(volume, size);
        const n = all.script.calls.length;
        const next = await all.callStream();
        const other = await all.script.call(n);
        await other.begin();
        await next.answered();
        await other.send(events(1, 1));
        await other.end();
        const isKept = !next.head.has('x-run-kept');
        assert.equal(await next.rest(), isKept ? withIds(1, 1) : events(1, 1));
        return !isKept;
    });
    await inside.end();
    await caller.rest();
    assert.deepEqual(caller.reader.events.map(({ id }) => Number(id)), Array.from({ length: n }, (_, i) => i + 1));
    await giveBack();
    await all.sidecar.until('readyz');
    assert.equal((await all.ended(caller.id)).state, 'success');
    assert.equal((await all.follow(caller.id)).status, 410);
    const again = await until('streams are kept again', async () => {
        const one = await kept(all, 1000);
        return !one.head.has('x-run-kept') && one;
    });
    assert.equal((await all.follow(again.id)).status, 200);
});
