// Roles of replicas: a front takes calls and has no app, workers run them; the caller at a front gets what the app answered.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { FILE, test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { SSE, followerOf } from './lib/events.mjs';
import { link } from './lib/link.mjs';
import { postgres } from './lib/postgres.mjs';
import { connect, request } from './lib/raw.mjs';
import { RUNS, fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { run } from './lib/sidecar.mjs';
import { RUN, assertProblem } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const front = (env) => ({ hasApp: false, wait: 'readyz', env: { HOOKLINE_ROLE: 'front', ...env } });
const worker = (env) => ({ env: { HOOKLINE_ROLE: 'worker', ...env } });

let whole; // one front and one worker, for tests that ask nothing else of them

/** The two of them, and an app that does what the test says. */
async function both(script) {
    whole ??= makeBoth();
    const { all, a, w, app } = await whole;
    app.script = script;
    return { all, front: a, worker: w };
}

async function makeBoth() {
    const app = {};
    atEnd(FILE, () => (whole = undefined));
    const all = await fleet(FILE, { app: (x) => app.script(x) });
    return { all, app, a: await all.add('front', front()), w: await all.add('worker', worker()) };
}

const own = ({ fields }, name) => fields.filter(([n]) => n.toLowerCase() === name).map(([, value]) => value);

/** A call on a connection of its own; `stop` breaks it off. */
async function open(t, { sidecar }, { method = 'POST', fields = {}, body = '{}' } = {}) {
    const client = await connect(t, sidecar);
    await client.send(request(method, RUN, { 'Content-Length': body.length, ...fields }) + body);
    return client;
}

test('the caller at a front gets status, reason, all end-to-end fields and bytes of the app', async (t) => {
    const bytes = randomBytes(1000);
    const at = await both(async (x) => {
        await x.body();
        const fields = { 'Set-Cookie': ['a=1; Path=/', 'b=2'], 'X-Own': 'æ', 'Content-Type': 'image/png', Connection: 'x-hop', 'X-Hop': '1' };
        await x.respond(418, { ...fields, 'Content-Length': bytes.length }, 'Short and stout');
        await x.raw(bytes);
    });
    const client = await open(t, at.front);
    const answer = await client.response('POST');
    assert.deepEqual([answer.status, answer.reason], [418, 'Short and stout']);
    assert.deepEqual(own(answer, 'set-cookie'), ['a=1; Path=/', 'b=2']);
    assert.deepEqual([answer.get('x-own'), answer.get('content-type'), answer.get('x-hop')], ['æ', 'image/png', undefined]);
    assert.ok(answer.body.equals(bytes));
    const run = await at.front.finished(answer.get('x-request-id'));
    assert.deepEqual([run.state, run.reason, run.status_code, run.replica], ['failure', 'app_error', 418, 'worker']);
});

test('answers without a body have none at a front, and say what the app said of it', async (t) => {
    const at = await both(async (x) => {
        await x.body();
        const status = Number(x.get('x-status'));
        const isEmpty = status === 204 || status === 304;
        if (isEmpty) return x.respond(status, { ETag: '"a"', ...(status === 304 && { 'Content-Length': 77 }) });
        if (x.method === 'HEAD') return x.respond(status, { 'Content-Length': 1234, 'X-Own': 'head' });
        return x.send(status, { 'X-Own': 'empty' });
    });
    const call = async (method, status) => {
        const client = await open(t, at.front, { method, fields: { 'X-Status': status }, body: '' });
        return client.response(method);
    };
    const none = await call('POST', 204);
    assert.deepEqual([none.status, none.get('etag'), none.get('content-length'), none.body.length], [204, '"a"', undefined, 0]);
    const same = await call('POST', 304);
    assert.deepEqual([same.status, same.get('etag'), same.get('content-length'), same.body.length], [304, '"a"', '77', 0]);
    const empty = await call('POST', 500);
    assert.deepEqual([empty.status, empty.get('x-own'), empty.get('content-length')], [500, 'empty', '0']);
    const { headers, status, body } = await at.front.call('/v4/p/a/page', { method: 'HEAD', headers: { 'x-status': '200' } });
    assert.deepEqual([status, headers['content-length'], headers['x-own'], body.length], [200, '1234', 'head', 0]);
});

test('long bodies pass through a front both ways', async () => {
    const up = randomBytes(3 << 20);
    const down = randomBytes(3 << 20);
    const at = await both(async (x) => {
        const digest = createHash('sha256').update(await x.body()).digest('hex');
        await x.send(200, { 'Content-Type': 'application/octet-stream', 'X-Digest': digest }, down);
    });
    const answer = await at.front.call(RUN, { body: up });
    assert.equal(answer.headers['x-digest'], createHash('sha256').update(up).digest('hex'));
    assert.ok(answer.body.equals(down));
});

test('an event stream is followed live at a front, with the bytes of the app and no others', async (t) => {
    const inside = gate();
    const over = gate();
    const at = await both(async (x) => {
        await x.body();
        await x.respond(200, { ...SSE, 'X-Own': 'stream' });
        inside.open(x);
        await over.promise;
    });
    const client = await open(t, at.front);
    const head = await client.responseHead('POST');
    assert.deepEqual([head.status, head.get('x-own'), head.get('transfer-encoding')], [200, 'stream', 'chunked']);
    const app = await inside.promise;
    const pieces = client.pieces(head);
    const sent = ['data: 1\n\n', ': hm\n\n', 'id: x\ndata: 2\r\n\r\n', 'data: unfin'];
    for (const text of sent) {
        await app.chunk(text);
        assert.equal(Buffer.from((await pieces.next()).value).toString(), text);
    }
    await until('it is counted', async () => (await at.front.sidecar.metric('hookline_http_requests_in_flight')) === 1);
    await app.lastChunk();
    over.open();
    assert.equal((await pieces.next()).done, true);
    const run = await at.front.finished(head.get('x-request-id'));
    assert.deepEqual([run.state, run.replica], ['success', 'worker']);
    await until('it is over', async () => (await at.front.sidecar.metric('hookline_http_requests_in_flight')) === 0);
});

test('an event stream that breaks off at the app breaks off at a front', async (t) => {
    const seen = gate();
    const at = await both(async (x) => {
        await x.body();
        await x.respond(200, SSE);
        await x.chunk('data: 1\n\n');
        await seen.promise;
        x.reset();
    });
    const client = await open(t, at.front);
    const pieces = client.pieces(await client.responseHead('POST'));
    await pieces.next();
    seen.open();
    await assert.rejects(pieces.next());
});

test('an event stream goes on without its caller at a front if it is to be kept, and is cancelled if not', async (t) => {
    const apps = new Map();
    const over = gate();
    const inside = async (id) => until('it is inside', () => apps.get(id));
    const at = await both(async (x) => {
        await x.body();
        await x.respond(200, SSE);
        await x.chunk('data: 1\n\n');
        apps.set(x.id, x);
        await Promise.race([over.promise, x.gone]);
    });
    const keeping = await at.all.add('keeping', front({ HOOKLINE_STREAM_KEEP: 'all' }));
    for (const [replica, isKept] of [[at.front, false], [keeping, true]]) {
        const client = await open(t, replica);
        const head = await client.responseHead('POST');
        const id = head.get('x-request-id');
        const first = Buffer.from((await client.pieces(head).next()).value).toString();
        assert.equal(first, isKept ? 'data: 1\nid: 1\n\n' : 'data: 1\n\n');
        client.close();
        if (isKept) {
            const app = await inside(id);
            const follower = await followerOf(t, at.front.sidecar)(id);
            await follower.events(1);
            await app.chunk('data: 2\n\n');
            await app.lastChunk();
            over.open();
            assert.equal(await follower.rest(), 'data: 1\nid: 1\n\ndata: 2\nid: 2\n\n');
        }
        assert.equal((await at.front.finished(id)).state, isKept ? 'success' : 'cancelled');
    }
    await keeping.sidecar.stop();
});

test('a caller who leaves a front takes his run with him, in the queue and inside the app, unless it is to be finished', async (t) => {
    const inside = [];
    const at = await both(async (x) => {
        inside.push(x);
        await x.body();
        await Promise.race([at.all.held.promise, x.gone]);
        await x.json({ by: 'app' });
    });
    const client = await open(t, at.front);
    await until('it is inside', () => inside.length === 1);
    client.close();
    await inside[0].gone;
    assert.equal((await at.front.finished(inside[0].id)).state, 'cancelled');

    const patient = await at.all.add('patient', front({ HOOKLINE_ON_CALLER_GONE: 'finish' }));
    const other = await open(t, patient);
    await until('it is inside', () => inside.length === 2);
    other.close();
    await until('he has gone', async () => (await patient.sidecar.metric('hookline_callers_gone_total')) === 1);
    at.all.held.open();
    assert.equal((await at.front.finished(inside[1].id)).state, 'success');
    await patient.sidecar.stop();
});

test('two calls at fronts with one Idempotency-Key are one run, whose answer both get', async () => {
    let calls = 0;
    const held = gate();
    const at = await both(async (x) => {
        calls++;
        await x.body();
        await held.promise;
        await x.send(200, { 'Set-Cookie': 'a=1' }, 'once');
    });
    const call = (body = 'x') => at.front.call(RUN, { headers: { 'idempotency-key': 'k1' }, body });
    const first = call();
    await until('it is inside', () => calls === 1);
    const second = call();
    const answers = [];
    await until('both wait', async () => (await at.front.sidecar.metric('hookline_waiters')) === 2);
    held.open();
    answers.push(await first, await second, await call());
    for (const { text, headers } of answers) assert.deepEqual([text, headers['set-cookie']], ['once', 'a=1']);
    assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 1);
    assert.equal(calls, 1);
    assertProblem(await call('other'), 422);
});

test('the webhook of a synchronous call at a front tells what its caller gets', async () => {
    const at = await both(async (x) => {
        await x.body();
        await x.send(200, { 'Content-Type': 'text/plain' }, 'told');
    });
    const answer = await at.front.call(RUN, { query: { webhookEndpoint: at.all.receiver.url('/told') } });
    assert.deepEqual([answer.status, answer.text], [200, 'told']);
    const envelope = await at.all.receiver.envelope('/told');
    assert.deepEqual([envelope.status, envelope.response], ['success', 'told']);
    assert.equal(envelope.run_id, answer.headers['x-request-id']);
});

test('asynchronous calls, and those that prefer to wait, are at a front as ever', async () => {
    const at = await both(async (x) => {
        await x.body();
        await x.send(200, { 'Content-Type': 'text/plain', 'Set-Cookie': 'a=1' }, 'fine');
    });
    const id = await at.front.begin();
    assert.equal((await at.front.finished(id)).state, 'success');
    const answer = await at.front.call(RUN, { headers: { prefer: 'wait=20' } });
    assert.deepEqual([answer.status, answer.text, answer.headers['preference-applied']], [200, 'fine', 'wait=20']);
});

test('a front passes nothing on and upgrades nothing, a worker takes no calls, and both say so', async (t) => {
    const at = await both((x) => x.json({}));
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
    const said = async ({ sidecar }, path, fields = {}) => {
        const client = await connect(t, sidecar);
        await client.send(request('GET', path, fields));
        const answer = await client.response('GET');
        return `${answer.status} ${assertProblem(answer, answer.status).detail}`;
    };
    assert.match(await said(at.front, '/page'), /^501 .*front.*pass requests/);
    assert.match(await said(at.front, '/v4/p/a/socket', upgrade), /^501 .*front.*upgrade/);
    assert.match(await said(at.front, '/socket', upgrade), /^501 .*front.*upgrade/);
    for (const [path, fields] of [['/page'], ['/v4/p/a/page'], ['/socket', upgrade], ['/v4/p/a/socket', upgrade]])
        assert.match(await said(at.worker, path, fields), /^421 .*worker.*Send calls to a front/);
    assert.equal((await at.worker.call(RUN, { query: { async: 'true' } })).status, 421);
    const id = await at.front.begin();
    assert.equal((await at.worker.call(`${RUNS}/${id}`, { method: 'GET' })).status, 200);
    assert.equal((await at.worker.call('/_hookline/readyz', { method: 'GET' })).status, 200);
});

test('replicas are listed with their roles', async () => {
    const at = await both((x) => x.json({}));
    const { replicas } = (await control(at.worker.sidecar)('GET', '/v2/replicas')).json();
    const alive = replicas.filter(({ state }) => state === 'alive').map(({ name, role }) => [name, role]);
    assert.deepEqual(alive, [['front', 'front'], ['worker', 'worker']]);
    for (const [name, replica] of [['front', at.front], ['worker', at.worker]])
        assert.equal(await replica.sidecar.metric('hookline_replica_info', { name, role: name }), 1);
    const { stdout } = await run(['store', 'status'], at.all.database.env);
    assert.match(stdout, /^\S+ +front +front +\d/m);
    assert.match(stdout, /^\S+ +worker +worker +\d/m);
});

test('a run whose front is killed goes on, and a front that stops answers who waits there', async () => {
    const inside = [];
    const held = gate();
    const at = await both(async (x) => {
        inside.push(x.id);
        await x.body();
        await held.promise;
        await x.send(200, {}, 'in time');
    });
    const [doomed, leaving] = [await at.all.add('doomed', front()), await at.all.add('leaving', front({ HOOKLINE_DRAIN_TIMEOUT: '60s' }))];
    const lost = doomed.call(RUN);
    const fails = assert.rejects(lost);
    await until('it is inside', () => inside.length === 1);
    await doomed.sidecar.kill();
    await fails;
    const waits = leaving.call(RUN);
    await until('the other is inside', () => inside.length === 2);
    const stopped = leaving.sidecar.stop();
    await leaving.logged(/^listeners closed/);
    held.open();
    assert.equal((await waits).text, 'in time');
    await stopped;
    assert.equal((await at.worker.finished(inside[0])).state, 'success');
});

test('a front takes calls while no worker is there, and the first one that is ready runs them', async (t) => {
    const all = await fleet(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, {}, 'at last');
        },
    });
    const a = await all.add('front', front({ HOOKLINE_FRONT_TIMEOUT: '200ms' }));
    const b = await all.add('patient', front());
    const id = await a.begin();
    const waits = b.call(RUN);
    const expires = await b.call(RUN, { headers: { 'x-run-start-timeout': '100ms' } });
    assert.match(assertProblem(expires, 429).detail, /X-Run-Start-Timeout/);
    const late = await a.call(RUN);
    assert.match(assertProblem(late, 504).detail, /HOOKLINE_FRONT_TIMEOUT/);
    assert.equal((await a.finished(late.headers['x-request-id'])).state, 'cancelled');
    await until('all of it is queued', async () => (await a.sidecar.metric('hookline_runs_queued')) === 2);
    const w = await all.add('worker', worker());
    const ready = performance.now();
    assert.equal((await waits).text, 'at last');
    t.diagnostic(`answered ${Math.round(performance.now() - ready)} ms after the worker was ready`);
    assert.equal((await w.finished(id)).state, 'success');
});

test('a worker that is killed with a call inside: its run is tried again where that is allowed, else its caller is told', async (t) => {
    const inside = [];
    const all = await fleet(t, {
        env: { HOOKLINE_RUN_ATTEMPTS: '2' },
        app: async (x, name) => {
            inside.push({ x, name });
            await x.body();
            if (x.get('x-stream')) {
                await x.respond(200, SSE);
                await x.chunk('data: 1\n\n');
            }
            if (inside.length < 4 || x.get('x-stream')) await x.gone;
            await x.send(200, { 'Set-Cookie': 'a=1' }, `by ${name}`);
        },
    });
    const a = await all.add('front', front());
    const first = await all.add('first', worker());
    const again = a.call(RUN);
    const once = a.call(RUN, { headers: { 'x-run-attempts': '1' } });
    const stream = await open(t, a, { fields: { 'X-Stream': 1 } });
    const head = await stream.responseHead('POST');
    const pieces = stream.pieces(head);
    await pieces.next();
    await until('all are inside', () => inside.length === 3);
    await first.sidecar.kill();
    await assert.rejects(pieces.next());
    await all.add('second', worker());
    const [good, bad] = [await again, await once];
    assert.deepEqual([good.status, good.text, good.headers['set-cookie']], [200, 'by second', 'a=1']);
    assert.match(assertProblem(bad, 502).detail, /interrupted/);
    const { state } = await a.finished(head.get('x-request-id'));
    assert.equal(state, 'cancelled', 'nobody would see the second attempt of a stream that was cut off');
});

test('accounts have their limits at a front, where a call that waits is a queued run', async (t) => {
    const inside = gate();
    const held = gate();
    const all = await fleet(t, {
        env: { HOOKLINE_AUTH: 'jwt' },
        app: async (x) => {
            assert.equal(x.get('authorization'), undefined);
            await x.body();
            inside.open();
            await held.promise;
            await x.send(200, {}, 'fine');
        },
    });
    const a = await all.add('front', front());
    const body = { name: 'one', expires_at: new Date(Date.now() + 3_600_000).toISOString(), max_queued: 1 };
    const { token } = (await a.ask('POST', '/v2/projects/p/service-accounts', { body })).json();
    const headers = { authorization: `Bearer ${token}` };
    assertProblem(await a.call(RUN), 401);
    const first = a.call(RUN, { headers });
    await until('it is queued', async () => (await all.count('~.ticket')) === 1);
    assert.match(assertProblem(await a.call(RUN, { headers }), 429).detail, /max_queued/);
    assertProblem(await a.call(RUN, { headers: { ...headers, 'x-run-priority': 'high' } }), 403);
    await all.add('worker', worker());
    await inside.promise;
    const second = a.call(RUN, { headers });
    held.open();
    for (const answer of [await first, await second]) assert.deepEqual([answer.status, answer.text], [200, 'fine']);
});

test('a fleet moves from replicas of one kind to fronts and workers without a call that fails', async (t) => {
    let isOver = false;
    const all = await fleet(t, {
        env: { HOOKLINE_DRAIN_TIMEOUT: '60s' },
        app: async (x, name) => {
            await x.body();
            await x.send(200, { 'X-By': name }, 'fine');
        },
    });
    const old = await all.add('old');
    const a = await all.add('front', front());
    const calls = async () => {
        const by = new Set();
        while (!isOver) {
            const answer = await a.call(RUN);
            assert.deepEqual([answer.status, answer.text], [200, 'fine']);
            by.add(answer.headers['x-by']);
        }
        return by;
    };
    const callers = Array.from({ length: 4 }, calls);
    await until('the old one runs them', () => old.app.requests.length > 0);
    const w = await all.add('worker', worker());
    await old.sidecar.stop();
    await until('the worker runs them', () => w.app.requests.length > 0);
    isOver = true;
    for (const by of await Promise.all(callers)) assert.ok(by.has('old') || by.has('worker'));
});

test('a front is not ready without the database, and takes calls when it is back', async (t) => {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const all = await fleet(t, { database });
    const a = await all.add('front', { ...front(), url: cable.url });
    await all.add('worker', worker());
    await cable.cut();
    await until('it says so', async () => {
        const { status, text } = await a.sidecar.admin('/readyz');
        return status === 503 && /^the database cannot be reached/.test(text);
    });
    assertProblem(await a.call(RUN), 503);
    await cable.heal();
    await a.sidecar.until('readyz');
    assert.equal((await a.call(RUN)).status, 200);
});

test('roles that cannot be are named at the start', async () => {
    const said = async (env) => {
        const { code, stderr } = await run(['config', 'check'], env);
        assert.equal(code, 2, stderr);
        return stderr;
    };
    const postgres = { HOOKLINE_STORE: 'postgres', HOOKLINE_POSTGRES_URL: 'postgres://a@127.0.0.1:1/a', HOOKLINE_KEY: '0'.repeat(64) };
    for (const role of ['front', 'worker'])
        assert.match(await said({ HOOKLINE_ROLE: role }), new RegExp(`^.*HOOKLINE_ROLE: "${role}" needs HOOKLINE_STORE=postgres.*\n$`));
    assert.match(await said({ HOOKLINE_ROLE: 'both' }), /HOOKLINE_ROLE/);
    assert.match(await said({ ...postgres, HOOKLINE_ROLE: 'front', HOOKLINE_APP_COMMAND: 'true' }), /HOOKLINE_APP_COMMAND: .*HOOKLINE_ROLE=front/);
    assert.match(await said({ HOOKLINE_FRONT_TIMEOUT: '5m' }), /HOOKLINE_FRONT_TIMEOUT: .*HOOKLINE_ROLE=front/);
});
