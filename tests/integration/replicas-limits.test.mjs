// Limits with replicas: changed at one they hold at the others; the queue's, rates and calls at once are shared.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { FILE, onFailure, test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { link } from './lib/link.mjs';
import { postgres } from './lib/postgres.mjs';
import { fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { RUN, assertProblem, caller, counting, stage } from './lib/stage.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { gate, until } from './lib/until.mjs';

const ACCOUNTS = '/v2/projects/p/service-accounts';

/** Two replicas with one app, and an account with those limits; `call` and `callNear` use its token. */
async function pair(t, limits, { app, env = {} } = {}) {
    const database = await postgres(t);
    const shared = { ...database.env, HOOKLINE_AUTH: 'jwt', ...env };
    const all = await stage(t, { app, env: { ...shared, HOOKLINE_REPLICA: 'far' } });
    const near = await startSidecar(t, { env: { HOOKLINE_APP_URL: all.app.url, ...shared, HOOKLINE_REPLICA: 'near' } });
    const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...limits };
    const made = await control(near)('POST', ACCOUNTS, { body });
    assert.equal(made.status, 201, made.text);
    const { id, token } = made.json();
    const with_ = (call) => (options = {}) =>
        call(RUN, { body: '{}', ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
    const change = async (to) => {
        const answer = await control(near)('PATCH', `${ACCOUNTS}/${id}`, { body: to });
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    };
    return { ...all, near, far: all.sidecar, id, change, call: with_(all.call), callNear: with_(caller(t, near)) };
}

test('limits that are changed at one replica hold at another, though it knows the token', async (t) => {
    const { far, call, callNear, change } = await pair(t, { max_priority: 'low' });
    for (let i = 0; i < 3; i++) assert.equal((await call()).status, 200);
    const changed = await change({ rate: '1/d', max_running: 5 });
    const [row] = (await control(far)('GET', ACCOUNTS)).json().service_accounts;
    assert.deepEqual({ ...row, last_used_at: null }, { ...changed, last_used_at: null });
    assert.equal(row.max_priority, 'low');
    let refused;
    await until('far has heard of it', async () => (refused = await call()).status === 429);
    assertProblem(refused, 429);
    assert.match(refused.headers.ratelimit, /^"default";r=0;t=\d+$/);
    assert.equal((await callNear()).status, 429, 'the rate is of all together');
    await change({ rate: null });
    assert.equal((await callNear()).status, 200, 'at once where it was asked for');
    await until('far has heard of it', async () => (await call()).status === 200);
});

test('max_queued is of all replicas together; a known key is answered by either', async (t) => {
    const doors = gate();
    let inside = 0;
    const app = async (x) => {
        inside++;
        await x.body();
        await doors.promise;
        await x.send(200, {}, 'ok');
    };
    const { call, callNear } = await pair(t, { max_queued: 2 }, { app, env: { HOOKLINE_ASYNC_CONCURRENCY: '1' } });
    const accept = (with_, key) => with_({ query: { async: 'true' }, headers: key ? { 'idempotency-key': key } : {} });
    assert.equal((await accept(call)).status, 202);
    assert.equal((await accept(callNear)).status, 202);
    await until('one is inside at each', () => inside === 2);
    const first = await accept(call, 'k');
    assert.equal(first.status, 202);
    assert.equal((await accept(callNear)).status, 202);
    for (const with_ of [call, callNear]) {
        for (const key of [undefined, 'new']) {
            const refused = await accept(with_, key);
            assertProblem(refused, 429);
            assert.equal(refused.headers['ratelimit-policy'], '"max_queued";q=2');
            assert.equal(refused.headers.ratelimit, '"max_queued";r=0');
        }
        assert.equal((await accept(with_, 'k')).json().run_id, first.json().run_id);
    }
    doors.open();
    await until('there is room again', async () => (await accept(call, 'new')).status === 202);
});

test('max_running of queued runs holds while the key is being changed', async (t) => {
    const { app, seen } = counting(50);
    const all = await fleet(t, { app, env: { HOOKLINE_AUTH: 'jwt' } });
    const before = all.database.env.HOOKLINE_KEY;
    const after = randomBytes(32).toString('hex');
    const replicas = [
        await all.add('a', { env: { HOOKLINE_PREVIOUS_KEY: after } }),
        await all.add('b', { env: { HOOKLINE_KEY: after, HOOKLINE_PREVIOUS_KEY: before } }),
    ];
    const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), max_running: 2 };
    const { token } = (await replicas[0].ask('POST', ACCOUNTS, { body })).json();
    const headers = { authorization: `Bearer ${token}` };
    for (const { call } of replicas) assert.equal((await call(RUN, { headers })).status, 200); // both know the account
    await Promise.all(Array.from({ length: 24 }, (_, i) => replicas[i % 2].begin({ headers })));
    await until('all have run', () => seen.ended === 26);
    assert.ok(seen.most <= 2, `${seen.most} at once`);
});

test('max_running of queued runs is of all replicas together', async (t) => {
    const { app, seen } = counting(20);
    const { call, callNear, change } = await pair(t, { max_running: 2 }, { app });
    const accept = async (with_) => assert.equal((await with_({ query: { async: 'true' } })).status, 202);
    await accept(call);
    await until('far knows the account', () => seen.ended === 1);
    await Promise.all(Array.from({ length: 24 }, (_, i) => accept(i % 2 ? call : callNear)));
    await until('all have run', () => seen.ended === 25);
    assert.ok(seen.most <= 2, `${seen.most}`);
    await change({ max_running: null });
    await accept(call);
    await until('it has run', () => seen.ended === 26);
});

const THREE = { secret: makeSecret() };

/** Three replicas for all tests, a at the end of a cable. `account(limits)`: a `call(replica)` with its token, and its id. */
async function three(t) {
    if (!THREE.shared) atEnd(FILE, () => (THREE.shared = null));
    THREE.shared ??= startThree(FILE);
    const set = await THREE.shared;
    for (const { sidecar } of set.replicas) onFailure(t, () => sidecar.tail());
    return set;
}

async function startThree(t) {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const env = {
        HOOKLINE_AUTH: 'jwt',
        HOOKLINE_JWT_SECRET: THREE.secret,
        HOOKLINE_JWT_LIMITS: 'rate=30/h',
        HOOKLINE_JWT_LIMIT_CLAIMS: 'max_running=app_running,rate=app_rate',
        HOOKLINE_REPLICA_TTL: '60s',
    };
    const doors = new Map();
    const app = async (x) => {
        await x.body();
        if (x.get('x-held')) {
            const door = gate();
            doors.set(x.get('x-held'), door);
            await Promise.race([door.promise, x.gone]);
        }
        await x.json({});
    };
    const all = await fleet(t, { database, env, app });
    const replicas = await Promise.all([all.add('a', { url: cable.url }), all.add('b'), all.add('c')]);
    const as = (token) => (replica, options = {}) =>
        replica.call(RUN, { body: '{}', ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
    const account = async (limits) => {
        const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...limits };
        const made = await replicas[0].ask('POST', ACCOUNTS, { body });
        assert.equal(made.status, 201, made.text);
        const { id, token } = made.json();
        const taken = async () => (await all.rows('SELECT taken FROM ~.rate WHERE subject = $1', [id]))[0].taken;
        const limit = async (to) => {
            const answer = await replicas[0].ask('PATCH', `${ACCOUNTS}/${id}`, { body: to });
            assert.equal(answer.status, 200, answer.text);
        };
        return { id, call: as(token), taken, limit };
    };
    const total = async (name) => {
        const values = await Promise.all(replicas.map((r) => r.sidecar.metric(name)));
        return values.reduce((a, b) => a + b, 0);
    };
    return { all, cable, replicas, as, account, total, doors };
}

let held = 0;

/** A call that is inside its app until it leaves; `refused`: the answer, where it is not let in. */
async function enter({ doors }, call, replica) {
    const key = `${++held}`;
    const answer = call(replica, { headers: { 'x-held': key } });
    const door = await Promise.race([answer.then(() => null), until('it is inside', () => doors.get(key))]);
    const leave = async () => {
        door.open();
        const { status, text } = await answer;
        assert.equal(status, 200, text);
    };
    return door ? { leave } : { refused: await answer };
}

/** As many as are let in; then one is refused. */
async function fill(set, call, replica) {
    const inside = [];
    let next;
    while (!(next = await enter(set, call, replica)).refused) inside.push(next);
    assertProblem(next.refused, 429);
    return { n: inside.length, leave: () => Promise.all(inside.map((one) => one.leave())) };
}

/** So many are let in, whatever was said of the limit before. */
async function enterAll(set, call, replica, n) {
    const inside = [];
    await until(`${n} are inside`, async () => {
        const next = await enter(set, call, replica);
        if (!next.refused) inside.push(next);
        return inside.length === n;
    });
    return { leave: () => Promise.all(inside.map((one) => one.leave())) };
}

/** So many calls in turn at these replicas, several at once; how many got in, the others are 429. */
async function hammer(call, replicas, n) {
    let made = 0;
    let admitted = 0;
    const one = async () => {
        while (made < n) {
            const { status } = await call(replicas[made++ % replicas.length]);
            if (status === 200) admitted++;
            else assert.equal(status, 429);
        }
    };
    await Promise.all(Array.from({ length: 12 }, one));
    return admitted;
}

test('three replicas let as many calls in as a rate says, and no more', async (t) => {
    const { replicas, account } = await three(t);
    const { call, taken, limit } = await account({ rate: '240/h' });
    assert.equal(await hammer(call, replicas, 300), 240);
    const refused = await call(replicas[1]);
    assertProblem(refused, 429);
    assert.equal(refused.headers['ratelimit-policy'], '"default";q=240;w=3600');
    assert.match(refused.headers.ratelimit, /^"default";r=0;t=\d+$/);
    assert.equal(await taken(), 240);
    await limit({ rate: '250/h' });
    let more = 0;
    await until('what was used before counts', async () => {
        more += await hammer(call, replicas, 6);
        return more >= 10;
    });
    assert.equal(more + (await hammer(call, replicas, 6)), 10);
});

test('replicas ask the database less than once for 100 calls of a rate', async (t) => {
    const { replicas, account, total } = await three(t);
    const { call } = await account({ rate: '100000/h' });
    const asked = await total('hookline_rate_questions_total');
    const lent = await total('hookline_rate_lent_calls_total');
    assert.equal(await hammer(call, replicas, 600), 600);
    const questions = (await total('hookline_rate_questions_total')) - asked;
    assert.ok(questions > 0 && questions <= 9, `${questions}: three that each begin, and one ahead for each 100`);
    assert.ok((await total('hookline_rate_lent_calls_total')) - lent >= 600);
    assert.equal(await total('hookline_rate_shares'), 0);
});

test('replicas share the rate of a subject from outside', async (t) => {
    const { replicas, as } = await three(t);
    const call = as(await sign(THREE.secret, { sub: 'me' }));
    assert.equal(await hammer(call, replicas, 45), 30);
    assert.equal(await hammer(as(await sign(THREE.secret, { sub: 'me' })), replicas, 3), 0, 'another token of its');
    assert.equal(await hammer(as(await sign(THREE.secret, { sub: 'you' })), replicas, 3), 3);
});

test('a replica that is cut off lets its share of a rate in, which counts when it is back', async (t) => {
    const { cable, replicas, account } = await three(t);
    const [a, b, c] = replicas;
    const { call, taken } = await account({ rate: '330/h' });
    assert.equal((await call(a)).status, 200);
    assert.equal(await taken(), 100, 'what it has borrowed');
    await cable.cut();
    assert.equal(await hammer(call, [a], 120), 109, 'a third');
    assert.equal(await a.sidecar.metric('hookline_rate_shares'), 1);
    assert.equal(await hammer(call, [b, c], 280), 230, 'the rest');
    await cable.heal();
    await until('it has said so', async () => (await taken()) === 340);
    await until('it has been answered', async () => (await a.sidecar.metric('hookline_rate_shares')) === 0);
    assert.equal(await hammer(call, replicas, 6), 0);
});

test('three replicas let as many calls in at once as max_running says, and what is left is for any of them', async (t) => {
    const set = await three(t);
    const { replicas, account } = set;
    const [a, b, c] = replicas;
    const { call } = await account({ max_running: 5 });
    const atA = await enterAll(set, call, a, 2);
    const atB = await enterAll(set, call, b, 2);
    const atC = await enterAll(set, call, c, 1);
    for (const replica of replicas) {
        const refused = await call(replica);
        assertProblem(refused, 429);
        assert.equal(refused.headers['ratelimit-policy'], '"max_running";q=5');
        assert.equal(refused.headers.ratelimit, '"max_running";r=0');
    }
    await atA.leave();
    const last = await enterAll(set, call, c, 2);
    for (const replica of replicas) assertProblem(await call(replica), 429);
    await Promise.all([atB.leave(), atC.leave(), last.leave()]);
});

test('a max_running of one moves to the replica that is called, whichever that is', async (t) => {
    const { replicas, account } = await three(t);
    const { call } = await account({ max_running: 1 });
    for (let i = 0; i < 6; i++) await until('it has moved', async () => (await call(replicas[i % 3])).status === 200);
});

test('callers and queued runs count together for max_running, at whichever replica they are', async (t) => {
    const set = await three(t);
    const { all, replicas, account, doors } = set;
    const [a, b] = replicas;
    const { id, call } = await account({ max_running: 1 });
    const caller = await enterAll(set, call, a, 1);
    const keys = ['run at a', 'run at b'];
    for (const [i, key] of keys.entries())
        assert.equal((await call(replicas[i], { query: { async: 'true' }, headers: { 'x-held': key } })).status, 202);
    await until('others wish its place', () => all.count('~.event WHERE kind = 6 AND subject = $1', [id]));
    assert.ok(!keys.some((key) => doors.has(key)));
    await caller.leave();
    const first = await until('one of them is inside', () => keys.find((key) => doors.has(key)));
    assertProblem(await call(a), 429);
    assertProblem(await call(b), 429);
    const other = keys.find((key) => key !== first);
    assert.ok(!doors.has(other));
    doors.get(first).open();
    (await until('the other one is inside', () => doors.get(other))).open();
    await until('they are out', async () => (await call(b)).status === 200);
});

test('a run that is claimed while a caller takes the last place of max_running waits until he leaves', async (t) => {
    const set = await three(t);
    const { all, replicas, account, doors } = set;
    const [a] = replicas;
    const { call } = await account({ max_running: 1 });
    await until('a has the permit', async () => (await call(a)).status === 200);
    let caller;
    const { answer } = await all.whileHeld(
        t,
        () => call(a, { query: { async: 'true' }, headers: { 'x-held': 'claimed' } }),
        async () => (caller = await enterAll(set, call, a, 1)),
        'AFTER UPDATE OF node_id ON ~.ticket FOR EACH ROW',
    );
    const { run_id: id } = (await answer).json();
    const isBack = () => all.count('~.ticket WHERE run_id = $1 AND epoch >= 2 AND node_id IS NULL', [id]);
    await until('it is claimed', async () => doors.has('claimed') || (await isBack()));
    assert.ok(!doors.has('claimed'));
    await caller.leave();
    (await until('it is inside', () => doors.get('claimed'))).open();
});

test('another max_running holds at all replicas, for who is inside too', async (t) => {
    const set = await three(t);
    const [a, b] = set.replicas;
    const { call, limit } = await set.account({ max_running: 6 });
    const atA = await enterAll(set, call, a, 2);
    const atB = await enterAll(set, call, b, 2);
    await limit({ max_running: 3 });
    const isThree = async () => (await call(b)).headers['ratelimit-policy'] === '"max_running";q=3';
    await until('b has heard of it', isThree);
    assertProblem(await call(a), 429);
    await atA.leave();
    const one = await enterAll(set, call, a, 1);
    for (const replica of [a, b]) assertProblem(await call(replica), 429);
    await limit({ max_running: null });
    await until('b has heard of it', async () => (await call(b)).status === 200);
    await Promise.all([one.leave(), atB.leave()]);
});

test('replicas share the max_running of a subject from outside', async (t) => {
    const set = await three(t);
    const [a, b, c] = set.replicas;
    const call = set.as(await sign(THREE.secret, { sub: 'busy', app_running: 2, app_rate: '1000/h' }));
    const atA = await enterAll(set, call, a, 1);
    const atB = await enterAll(set, call, b, 1);
    for (const replica of [a, b, c]) assertProblem(await call(replica), 429);
    await Promise.all([atA.leave(), atB.leave()]);
});

test('replicas ask the database less than once for 100 calls of an account with a max_running', async (t) => {
    const { replicas, account, total } = await three(t);
    const { call } = await account({ max_running: 60 });
    const asked = await total('hookline_permit_questions_total');
    assert.equal(await hammer(call, replicas, 1200), 1200);
    const questions = (await total('hookline_permit_questions_total')) - asked;
    assert.ok(questions > 0 && questions <= 12 + 6, `${questions}: three that each begin, and what goes back of other accounts`);
});

test('a replica that is cut off lets its share of max_running in, which counts when it is back', async (t) => {
    const set = await three(t);
    const { all, cable, replicas, account } = set;
    const [a, b] = replicas;
    const { id, call } = await account({ max_running: 6 });
    assert.equal((await call(a)).status, 200);
    await cable.cut();
    await until('it knows', async () => {
        await (await fill(set, call, a)).leave();
        return (await a.sidecar.metric('hookline_rate_shares')) === 1;
    });
    const atA = await fill(set, call, a);
    assert.equal(atA.n, 2, 'a third');
    await cable.heal();
    await until('it has been answered', async () => (await a.sidecar.metric('hookline_rate_shares')) === 0);
    await until('it has said so', () => all.count("~.permit WHERE subject = $1 AND used = '{2}'", [id]));
    const atB = await enterAll(set, call, b, 4);
    for (const replica of replicas) assertProblem(await call(replica), 429);
    await Promise.all([atA.leave(), atB.leave()]);
});

test('a replica that leaves gives back what it has borrowed of a rate', async (t) => {
    const { replicas, account } = await three(t);
    const { call, taken } = await account({ rate: '300/h' });
    assert.equal((await call(replicas[2])).status, 200);
    assert.equal(await taken(), 100);
    await replicas[2].sidecar.stop(); // from here on there are two
    assert.equal(await taken(), 1);
});

test('what a killed replica held of max_running is for the others when it counts as dead', async (t) => {
    const set = await three(t);
    const { all, replicas, account } = set;
    const [a, b] = replicas; // the last test of the file
    const { call } = await account({ max_running: 2 });
    await enterAll(set, call, b, 2);
    await b.sidecar.kill();
    assertProblem(await call(a), 429);
    await all.rows("UPDATE ~.node SET expires_at = now() WHERE name = 'b'"); // as a minute later
    const atA = await enterAll(set, call, a, 2);
    assertProblem(await call(a), 429);
    await atA.leave();
});
