// Kept streams with replicas: whoever follows at another replica is passed on, or has what the database has; a lost replica takes no more with it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import https from 'node:https';
import { test } from './lib/case.mjs';
import { makePair } from './lib/certificates.mjs';
import { SSE, eventsPath, followerOf, numbered } from './lib/events.mjs';
import { connect, request } from './lib/raw.mjs';
import { RUNS, fleet } from './lib/replicas.mjs';
import { startServer } from './lib/server.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { RUN } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const ordinals = ({ events }) => events.map(({ id }) => id);
const blocks = (from, to) => {
    let text = '';
    for (let i = from; i <= to; i++) text += `data: ${i}\n\n`;
    return text;
};

/** Replicas whose apps stream what the test says. `say(text)` waits until a run is inside. */
async function streaming(t, options = {}) {
    const inside = gate();
    const over = gate();
    const all = await fleet(t, {
        ...options,
        app: async (x) => {
            await x.body();
            inside.open(x);
            await Promise.race([over.promise, x.gone]);
        },
    });
    const say = async (text) => (await inside.promise).chunk(Buffer.from(text));
    return {
        all,
        say,
        begin: async (fields = {}) => (await inside.promise).respond(200, { ...SSE, ...fields }),
        progress: async (json) => (await inside.promise).raw(Buffer.from(`HTTP/1.1 103 Early Hints\r\nX-Run-Progress: ${json}\r\n\r\n`)),
        end: async () => {
            await (await inside.promise).lastChunk();
            over.open();
        },
    };
}

const parts = (all, id) => all.rows('SELECT at, octet_length(bytes) AS n FROM ~.stream WHERE run_id = $1 ORDER BY at', [id]);
const kept = async (all, id) => (await parts(all, id)).reduce((sum, { n }) => sum + n, 0);

test('who follows at another replica is passed to the one that has the run, from where he was, to its end', async (t) => {
    const { all, begin, say, end } = await streaming(t);
    const a = await all.add('a');
    const id = await a.begin();
    await a.called(id);
    const b = await all.add('b');
    await begin();
    await say(blocks(1, 3));
    const [all3, after2] = [await followerOf(t, b.sidecar)(id), await followerOf(t, b.sidecar)(id, { lastEventId: '2' })];
    assert.deepEqual([all3.status, all3.state, after2.status], [200, 'running', 200]);
    await all3.events(3);
    await after2.events(1);
    await say(blocks(4, 4));
    await all3.events(4);
    await say(blocks(5, 6));
    await end();
    const whole = numbered(blocks(1, 6)).text;
    assert.equal(await all3.rest(), whole);
    assert.equal(await after2.rest(), whole.slice(whole.indexOf('data: 3')));
    await until('nobody follows any more', async () => (await b.sidecar.metric('hookline_followers')) === 0);
    assert.equal((await b.finished(id)).state, 'success');
    assert.equal((await followerOf(t, b.sidecar)(id)).status, 200);
    assert.equal(await (await followerOf(t, b.sidecar)(id)).rest(), whole);
});

test('replicas that speak TLS ask one another over it, with the certificate that they have in common', async (t) => {
    const pair = await makePair(await temporaryDirectory(t), 'all');
    const { all, begin, say, end } = await streaming(t, {
        env: { HOOKLINE_TLS_CERT_FILE: pair.cert, HOOKLINE_TLS_KEY_FILE: pair.key, HOOKLINE_TLS_CLIENT_CA_FILE: pair.cert },
    });
    const add = async (name) => {
        const replica = await all.add(name, { wait: '' });
        await until('it is ready', async () => (await replica.sidecar.admin('/readyz'))?.status === 200);
        return replica;
    };
    const agent = new https.Agent({ ca: pair.pem, cert: pair.pem, key: await readFile(pair.key), keepAlive: false });
    const ask = async ({ sidecar }, path, method = 'GET') => {
        const asked = https.request({ host: '127.0.0.1', port: sidecar.port, agent, path, method });
        asked.end();
        const [answer] = await once(asked, 'response');
        return answer.setEncoding('utf8');
    };
    const textOf = async (answer) => (await answer.toArray()).join('');
    const a = await add('a');
    const { run_id: id } = JSON.parse(await textOf(await ask(a, `${RUN}?async=true`, 'POST')));
    await a.called(id);
    const b = await add('b');
    await begin();
    await say(blocks(1, 2));
    const follower = await ask(b, eventsPath(id));
    assert.equal(follower.statusCode, 200);
    await until('it is passed on', async () => (await a.sidecar.metric('hookline_followers')) === 1);
    await say(blocks(3, 3));
    await end();
    assert.equal(await textOf(follower), numbered(blocks(1, 3)).text);
    assert.equal(await b.sidecar.metric('hookline_tls_handshakes_total', { outcome: 'failed' }), 0);
});

test('who waits at another replica for a queued run is passed on when one takes it', async (t) => {
    const { all, begin, say, end } = await streaming(t);
    const b = await all.add('b', { hasApp: false });
    const id = await b.begin();
    const follower = await followerOf(t, b.sidecar)(id, { query: { progress: 'true' } });
    assert.deepEqual([follower.status, follower.state], [200, 'queued']);
    const a = await all.add('a');
    await a.called(id);
    await begin();
    await say(blocks(1, 2));
    await follower.events(2);
    await end();
    await follower.rest();
    assert.deepEqual(follower.reader.events.map(({ type }) => type), ['message', 'message', 'run']);
    assert.equal(JSON.parse(follower.reader.events[2].data).state, 'success');
});

test('a replica that cannot be reached is followed by what the database has', async (t) => {
    const { all, begin, say, end } = await streaming(t);
    const a = await all.add('a', { env: { HOOKLINE_REPLICA_URL: 'http://127.0.0.1:1' } });
    const id = await a.begin();
    await a.called(id);
    const b = await all.add('b');
    await begin();
    await say(blocks(1, 2));
    await until('the database has it', async () => (await kept(all, id)) === blocks(1, 2).length);
    const follower = await followerOf(t, b.sidecar)(id, { lastEventId: '1' });
    assert.equal(follower.status, 200);
    assert.deepEqual(ordinals({ events: await follower.events(1) }), ['2']);
    await say(blocks(3, 3));
    await follower.events(2);
    await end();
    assert.ok((await follower.rest()).endsWith('data: 3\nid: 3\n\n'));
    await b.finished(id);
    assert.deepEqual(await parts(all, id), [], 'what came is with the result');
});

test('whoever waits at another replica when the one that has the run is killed is answered once', async (t) => {
    const { all, begin, say } = await streaming(t);
    const a = await all.add('a');
    const id = await a.begin();
    await a.called(id);
    const b = await all.add('b');
    await begin();
    await say(blocks(1, 3));
    await until('the database has it', async () => (await kept(all, id)) === blocks(1, 3).length);
    const follow = followerOf(t, b.sidecar);
    const [waiting, named] = [await follow(id, { lastEventId: '3' }), await follow(id, { lastEventId: '2' })];
    assert.deepEqual([waiting.status, named.status], [200, 200]);
    await named.events(1);
    await a.sidecar.kill();
    assert.equal(await waiting.rest(), '');
    await b.finished(id);
    assert.equal((await follow(id, { lastEventId: '3' })).status, 204);
});

test('an id of any bytes is asked for at the replica that has the run, and is no part of the request there', async (t) => {
    const { all, begin, say } = await streaming(t);
    const a = await all.add('a');
    const id = await a.begin();
    await a.called(id);
    const b = await all.add('b');
    await begin();
    await say('id:  a +%20&\xe9 \ndata: 1\n\ndata: 2\n\n');
    const follow = followerOf(t, b.sidecar);
    const follower = await follow(id, { query: { last_event_id: ' a +%20&\xe9 ' } });
    assert.equal(follower.status, 200);
    assert.deepEqual(ordinals({ events: await follower.events(1) }), ['2']);
    await until('one follows there', async () => (await a.sidecar.metric('hookline_followers')) === 1);
    const other = await follow(id, { query: { last_event_id: '2\r\nX-Run-Relay: x' } });
    assert.equal(other.status, 400);
});

test('something else at the address of the replica that has the run is not followed', async (t) => {
    const { all, begin, say } = await streaming(t);
    const other = await startServer(t, async (x) => x.send(200, { 'Content-Type': 'text/event-stream' }, 'data: not ours\n\n'));
    const a = await all.add('a', { env: { HOOKLINE_REPLICA_URL: other.url } });
    const id = await a.begin();
    await a.called(id);
    const b = await all.add('b');
    await begin();
    await say(blocks(1, 1));
    const follower = await followerOf(t, b.sidecar)(id);
    assert.equal((await follower.events(1))[0].data, '1');
});

test('an id that is on its way to the database is waited for where that is all there is', async (t) => {
    const { all, begin, say } = await streaming(t);
    const a = await all.add('a', { env: { HOOKLINE_REPLICA_URL: 'http://127.0.0.1:1' } });
    const id = await a.begin();
    await a.called(id);
    const b = await all.add('b');
    await begin();
    const first = 'id: one\ndata: 1\n\n';
    await say(first);
    await until('the database has it', async () => (await kept(all, id)) === first.length);
    await say('id: two\ndata: 2\n\n');
    const home = await followerOf(t, a.sidecar)(id, { lastEventId: 'two' });
    assert.equal(home.status, 200);
    const follower = await followerOf(t, b.sidecar)(id, { lastEventId: 'two' });
    assert.equal(follower.status, 200);
    await say('id: three\ndata: 3\n\n');
    assert.deepEqual(ordinals({ events: await follower.events(1) }), ['three']);
    assert.equal((await followerOf(t, b.sidecar)(id, { lastEventId: 'four' })).status, 400);
});

test('of a killed replica a stream is kept as far as it came to the database, and whoever follows hears the end', async (t) => {
    const { all, begin, say } = await streaming(t, { env: { HOOKLINE_REPLICA_TTL: '3s' } });
    const a = await all.add('a', { env: { HOOKLINE_REPLICA_URL: 'http://127.0.0.1:1' } });
    const id = await a.begin({ hook: all.receiver.url() });
    await a.called(id);
    const b = await all.add('b');
    await begin();
    const long = `data: ${'x'.repeat(700_000)}\n\n`;
    await say(`${blocks(1, 2)}${long}`);
    const size = blocks(1, 2).length + long.length;
    await until('the database has it', async () => (await kept(all, id)) === size);
    for (const { n } of await parts(all, id)) assert.ok(n <= 256 * 1024);
    const follower = await followerOf(t, b.sidecar)(id);
    await follower.events(3);
    await a.sidecar.kill();
    assert.equal(await follower.rest(), numbered(`${blocks(1, 2)}${long}`).text);
    const run = await b.finished(id);
    assert.deepEqual([run.state, run.reason], ['failure', 'interrupted']);
    const again = await followerOf(t, b.sidecar)(id, { lastEventId: '1' });
    assert.deepEqual([again.status, again.state], [200, 'failure']);
    await again.rest();
    assert.deepEqual(ordinals(again.reader), ['2', '3']);
    const { text } = await b.ask('GET', `${RUNS}/${id}/result`);
    assert.equal(text, `${blocks(1, 2)}${long}`);
    const envelope = await all.receiver.envelope();
    assert.deepEqual([envelope.reason, envelope.response.length], ['interrupted', size]);
    assert.deepEqual(await parts(all, id), []);
});

test('a stream that is in the database counts on in the next attempt, elsewhere', async (t) => {
    const seen = [];
    const all = await fleet(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '2' },
        app: async (x) => {
            await x.body();
            seen.push(x);
            await x.gone;
        },
    });
    const a = await all.add('a');
    const id = await a.begin();
    await a.called(id);
    await seen[0].respond(200, SSE);
    await seen[0].chunk(Buffer.from(blocks(1, 3)));
    await until('the database has it', async () => (await kept(all, id)) === blocks(1, 3).length);
    const b = await all.add('b');
    const first = await followerOf(t, b.sidecar)(id);
    await first.events(3);
    await a.sidecar.kill();
    await first.rest().catch(() => {}); // it breaks off with the replica that had it
    await b.called(id);
    await seen[1].respond(200, SSE);
    await seen[1].chunk(Buffer.from(blocks(1, 1)));
    const second = await followerOf(t, b.sidecar)(id, { lastEventId: '3' });
    const [{ id: next }] = await second.events(1);
    assert.ok(Number(next) > 3, `${next}: no id is used twice`);
});

test('a synchronous call’s kept stream is followed and found through any replica', async (t) => {
    const { all, begin, say, end } = await streaming(t, { env: { HOOKLINE_STREAM_KEEP: 'all' } });
    const [a, b] = [await all.add('a'), await all.add('b')];
    const call = a.call('/v4/p/a/run', { headers: { accept: 'text/event-stream' } });
    await begin();
    await say(blocks(1, 2));
    const id = await until('it is inside', () => [...a.app.callsById().keys()][0]);
    await until('the other knows it', async () => (await b.ask('GET', `${RUNS}/${id}`)).status === 200);
    const follower = await followerOf(t, b.sidecar)(id);
    await follower.events(2);
    await say(blocks(3, 3));
    await end();
    const whole = numbered(blocks(1, 3)).text;
    assert.equal(await follower.rest(), whole);
    assert.equal((await call).text, whole);
    await b.finished(id);
    assert.equal(await (await followerOf(t, b.sidecar)(id)).rest(), whole);
});

test('progress is on every replica’s record, and stays there', async (t) => {
    const { all, begin, progress, end } = await streaming(t);
    const [a, b] = [await all.add('a'), await all.add('b', { hasApp: false })];
    const id = await b.begin();
    await a.called(id);
    await progress('{"done":1}');
    assert.deepEqual(await until('the other has it', async () => (await b.show(id)).progress), { done: 1 });
    await progress('"almost"');
    assert.equal((await until('it is news', async () => (await a.show(id)).progress !== null && (await a.show(id)))).progress, 'almost');
    await begin();
    await end();
    await b.finished(id);
    assert.equal((await b.show(id)).progress, 'almost');
});

test('what one replica shows another is of no use to anybody else', async (t) => {
    const { all } = await streaming(t);
    const a = await all.add('a');
    const id = await a.begin();
    const ask = async (pass) => {
        const client = await connect(t, a.sidecar);
        await client.send(request('GET', `${RUNS}/${id}/events`, { 'X-Run-Relay': pass }));
        return (await client.responseHead('GET')).status;
    };
    for (const pass of ['', 'x', `${id}.${Date.now() + 10_000}.${'0'.repeat(64)}`, 'y'.repeat(2000)]) assert.equal(await ask(pass), 403);
});
