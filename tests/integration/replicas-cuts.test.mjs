// Replicas whose connection breaks off at each message of each kind of statement: the process lives, and all is done once.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { DELIVERIES, RUNS, fleet } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { until, within } from './lib/until.mjs';
import { wire } from './lib/wire.mjs';

/** Messages of a statement that are tried, its own and those that follow it in its transaction and in the answer. */
const MESSAGES = 16;
const ALL = process.env.HOOKLINE_TEST_CUTS === 'all';
const FEW = 8; // of each test's, else
const AT_ONCE = 6; // more than have a place in the app

const ACCOUNTS = '/v2/projects/p/service-accounts';

/** What is done while the connection breaks off, with the statements that it takes. */
const OPERATIONS = [
    [begin, ['RUN_ADD', 'RUN_CLAIM', 'RUN_FINISH', 'LEASE', 'ATTEMPT', 'OUTCOME']],
    [call, ['RUN_ADD', 'RUN_FINISH']],
    [callAgain, ['RUN_RELEASE', 'RUN_CLAIM']],
    [cancel, ['RUN_CANCEL', 'RUN_FINISH']],
    [redeliver, ['REDELIVER']],
    [changeAccounts, ['ACCOUNT_ADD', 'ACCOUNT_REVOKE']],
    [rest, ['QUEUE_PEEK', 'DELIVERY_WAKE', 'NODE_BEAT', 'COUNT', 'EVENT_READ']],
    [show, ['ASK_RUN']],
    [comeBack, ['NODE_JOIN', 'RUN_STRAYS', 'DELIVERY_STRAYS']],
];

/** Several at once, each with a webhook whose first attempt fails: all end once. */
async function begin({ all, a, n }) {
    const path = (i) => `/${n}-${i}`;
    for (let i = 0; i < AT_ONCE; i++) all.receiver.script(path(i), 404, 200);
    const each = Array.from({ length: AT_ONCE }, (_, i) => a.begin({ hook: all.receiver.url(path(i)) }));
    for (const begun of each) {
        const id = await begun;
        const { state, attempts } = await a.finished(id);
        assert.deepEqual([state, attempts, all.calls(id)], ['success', 1, 1]);
        assert.equal((await a.settled(id)).state, 'delivered');
    }
}

async function call({ all, a, n }) {
    const answer = await a.call(RUN, { query: { webhookEndpoint: all.receiver.url(`/${n}`) } });
    assert.equal(answer.status, 200);
    assert.equal((await all.receiver.envelope(`/${n}`)).run_id, answer.id);
}

async function callAgain({ a }) {
    const id = await a.begin({ headers: { 'x-fails': '1' } });
    const { state, attempts } = await a.finished(id);
    assert.deepEqual([state, attempts], ['success', 2]);
}

async function cancel({ a }) {
    const id = await a.begin({ isHeld: true });
    await a.called(id);
    const answer = await a.ask('POST', `${RUNS}/${id}/cancel`);
    assert.equal(answer.status, 202, answer.text);
    assert.equal((await a.finished(id)).state, 'cancelled');
}

async function redeliver({ a, settled }) {
    const { status } = await a.ask('POST', `${DELIVERIES}/${settled}/redeliver`);
    assert.equal(status, 202);
    await until('it is delivered again', async () => {
        const answer = await a.ask('GET', `${DELIVERIES}/${settled}`);
        return answer.status === 200 && answer.json().state === 'delivered';
    });
}

async function changeAccounts({ a, n }) {
    const body = { name: `n${n}`, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const made = await a.ask('POST', ACCOUNTS, { body });
    assert.equal(made.status, 201, made.text);
    const { id } = made.json();
    assert.equal((await a.ask('DELETE', `${ACCOUNTS}/${id}`)).status, 204);
}

async function rest() {}

/** What somebody asks is refused at worst. */
async function show({ a, broken, run }) {
    let isBroken = false;
    broken.then(() => (isBroken = true));
    await until('it is asked', async () => {
        await a.ask('GET', `${RUNS}/${run}`);
        return isBroken;
    });
}

async function comeBack({ way }) {
    way.cut();
}

/** A replica with this limit on its app, at the end of a wire. */
async function wired(t, limit) {
    const database = await postgres(t);
    const way = await wire(t, database.url);
    const failed = new Set();
    const all = await fleet(t, {
        database,
        env: {
            HOOKLINE_APP_CONCURRENCY: limit,
            HOOKLINE_RUN_ATTEMPTS: '2',
            HOOKLINE_RUN_RETRY_ON: '503',
            HOOKLINE_RUN_RETRY_DELAY: '10ms',
            HOOKLINE_WEBHOOK_SCHEDULE: '10ms,10ms,10ms',
            HOOKLINE_REPLICA_TTL: '12s',
        },
        app: async (x) => {
            await x.body();
            const fails = x.get('x-fails') && !failed.has(x.id);
            failed.add(x.id);
            if (x.get('x-held')) await x.gone;
            else await x.send(fails ? 503 : 200);
        },
    });
    const a = await all.add('a', { url: way.url });
    const run = await a.begin({ hook: all.receiver.url('/first') });
    return { all, way, a, run, settled: (await a.settled(run)).delivery_id };
}

const cuts = OPERATIONS.flatMap(([operation, statements]) =>
    statements.flatMap((name) => Array.from({ length: MESSAGES }, (_, at) => ({ operation, name, at }))),
);

for (const [what, limit, first] of [
    ['with a limit on its app', '2', 0],
    ['without a limit on its app', '0', 5],
])
    test(`a replica ${what} outlives a connection that breaks off at any message`, { limit: 3_600_000 }, async (t) => {
        const staged = await wired(t, limit);
        const stride = ALL ? 1 : Math.floor(cuts.length / FEW);
        for (let n = ALL ? 0 : first; n < cuts.length; n += stride) {
            const { operation, name, at } = cuts[n];
            const broken = staged.way.breakAt(`hl_${name}`, at);
            const what = `${operation.name}: message ${at} of ${name}`;
            await operation({ ...staged, n, broken }).catch((error) => {
                throw new Error(`${what}: ${error.message}`, { cause: error });
            });
            await within(what, broken);
            await staged.a.finished(await staged.a.begin());
        }
        await until('nothing is left', () => staged.all.count('~.ticket').then((count) => count === 0));
    });
