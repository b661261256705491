// Where a project's webhooks go, and what came back for each attempt: who sees what of it, over HTTP and on the command line.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { assertRefused, control, pages, rest } from './lib/rest.mjs';
import { freePort, run } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const DELIVERIES = '/v2/projects/p/deliveries';
const DESTINATIONS = '/v2/projects/p/destinations';
const STORES = ['sqlite', 'memory', 'postgres'];
const HTML = '<h1>the queue is full</h1>';

/** A stage on a store of that kind. */
const stageOn = async (t, store, env = {}) =>
    stage(t, { env: { ...(store === 'postgres' && { ...(await postgres(t)).env }), ...(store === 'memory' && { HOOKLINE_STORE: 'memory' }), ...env } });

/** A call of that project with a webhook to `url`; answers the run's id. */
async function send({ call }, url, { project = 'p', headers } = {}) {
    const query = { async: 'true', webhookEndpoint: url };
    const { id, status } = await call(`/v4/${project}/a/run`, { query, headers });
    assert.equal(status, 202);
    return id;
}

/** The delivery of a run, once it is over. */
function settled(ask, runId) {
    return until(`the webhook of ${runId} is over`, async () => {
        const [delivery] = (await ask('GET', `/v2/runs/${runId}`)).json().deliveries ?? [];
        return delivery && delivery.state !== 'pending' && delivery;
    });
}

async function listed(ask, path = DESTINATIONS) {
    const { destinations } = (await ask('GET', path)).json();
    return Object.fromEntries(destinations.map((row) => [row.destination, row]));
}

for (const store of STORES)
    test(`destinations are listed with what waits, what failed and how the last hour was, in ${store}`, async (t) => {
        const here = await stageOn(t, store);
        const ask = control(here.sidecar);
        const { receiver } = here;
        const bad = await startServer(t, async (x) => x.send(500));
        const hanging = await startServer(t, async (x) => x.gone);
        for (let i = 0; i < 3; i++) await settled(ask, await send(here, receiver.url()));
        await settled(ask, await send(here, bad.url));
        await send(here, hanging.url);
        await until('it is there', () => hanging.requests.length === 1);
        await settled(ask, await send(here, receiver.url(), { project: 'q' }));

        const rows = await listed(ask);
        const [good, dead, pending] = [receiver.url(''), bad.url, hanging.url].map((url) => rows[new URL(url).origin]);
        assert.equal(Object.keys(rows).length, 3);
        assert.deepEqual([good.pending, good.dead, good.oldest_pending_at, good.failing_since], [0, 0, null, null]);
        assert.deepEqual([good.last_hour.attempts, good.last_hour.delivered, good.last_hour.success_rate], [3, 3, 1]);
        assert.ok(good.last_hour.p95_ms >= 0);
        assert.deepEqual([good.last_status_code, good.last_error], [200, null]);
        assert.deepEqual([dead.pending, dead.dead, dead.last_status_code], [0, 1, 500]);
        assert.deepEqual([dead.last_hour.attempts, dead.last_hour.delivered, dead.last_hour.success_rate], [1, 0, 0]);
        assert.ok(Date.parse(dead.last_attempt_at) <= Date.now());
        assert.deepEqual([pending.pending, pending.dead, pending.last_attempt_at], [1, 0, null]);
        assert.ok(Date.parse(pending.oldest_pending_at) <= Date.now());
        const others = await listed(ask, '/v2/projects/q/destinations');
        assert.equal(others[new URL(receiver.url()).origin].last_hour.attempts, 1, 'the project’s own');
        assert.deepEqual(await listed(ask, '/v2/projects/r/destinations'), {});
    });

for (const store of STORES)
    test(`destinations come page by page, in ${store}`, async (t) => {
        const here = await stageOn(t, store);
        const ask = control(here.sidecar);
        const origins = [];
        for (let i = 0; i < 5; i++) {
            const server = await startServer(t, async (x) => x.send(204));
            origins.push(new URL(server.url).origin);
            await settled(ask, await send(here, server.url));
        }
        const all = await pages(ask, DESTINATIONS, 'destinations', { limit: '2' });
        assert.deepEqual(all.map((page) => page.length), [2, 2, 1]);
        assert.deepEqual(all.flat().map((row) => row.destination).sort(), origins.sort());
    });

test('what is no question about destinations is refused with the reason', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    const ask = control(sidecar);
    for (const cursor of ['1', 'g'.repeat(16), 'A'.repeat(16), '0193f0b0-1234-7000-8000-0123456789ab'])
        assertRefused(await ask('GET', `${DESTINATIONS}?cursor=${cursor}`), 400, /next_cursor of the previous page/);
    assertRefused(await ask('GET', `${DESTINATIONS}?limit=201`), 400, /limit/);
    assertRefused(await ask('GET', `${DESTINATIONS}?state=dead`), 400, /limit, cursor/);
    const refused = await ask('POST', DESTINATIONS);
    assertRefused(refused, 405);
    assert.equal(refused.headers.allow, 'GET, HEAD');
});

for (const store of STORES)
    test(`a destination that does not answer is failing, until it does, in ${store}`, async (t) => {
        const port = await freePort();
        const here = await stageOn(t, store, { HOOKLINE_WEBHOOK_ATTEMPTS: '1' });
        const ask = control(here.sidecar);
        const url = `http://127.0.0.1:${port}/`;
        for (let i = 0; i < 20; i++) await settled(ask, await send(here, url));
        const origin = new URL(url).origin;
        const row = await until('it is failing', async () => {
            const found = (await listed(ask))[origin];
            return found.failing_since && found;
        });
        assert.ok(Date.parse(row.failing_since) <= Date.now());
        assert.match(row.last_error, /^connect_failed/);
        await startServer(t, async (x) => x.send(500), { port });
        await settled(ask, await send(here, url));
        await until('it is not', async () => (await listed(ask))[origin].failing_since === null);
    });

for (const store of ['sqlite', 'postgres'])
    test(`a destination is failing after 20 attempts without an answer, a restart between them or not, in ${store}`, async (t) => {
        const here = await stageOn(t, store, { HOOKLINE_WEBHOOK_ATTEMPTS: '1' });
        const { sidecar } = here;
        const ask = control(sidecar);
        const [url, other] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}/`);
        const since = async (to) => (await listed(ask))[new URL(to).origin].failing_since;
        for (let i = 0; i < 12; i++) await settled(ask, await send(here, url));
        for (let i = 0; i < 4; i++) await settled(ask, await send(here, other));
        const { attempts } = await settled(ask, await send(here, url));
        await sidecar.kill();
        await sidecar.start();
        for (let i = 0; i < 7; i++) await settled(ask, await send(here, url));
        for (let i = 0; i < 7; i++) await settled(ask, await send(here, other));
        await until('it is failing', () => since(url));
        assert.ok((await since(url)) < attempts[0].started_at, 'since the first of them');
        assert.equal(await since(other), null);
    });

for (const store of STORES)
    test(`an admin sees what came back for an attempt, others when and how it ended, in ${store}`, async (t) => {
        const here = await stageOn(t, store, { HOOKLINE_AUTH: 'jwt' });
        const ask = control(here.sidecar);
        const token = async (role) => {
            const body = { name: role, role, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
            return (await ask('POST', '/v2/projects/p/service-accounts', { body })).json().token;
        };
        const [invoke, admin] = [await token('invoke'), await token('admin')];
        here.receiver.script('/full', async (x) => x.send(503, { 'content-type': 'text/html' }, HTML));
        const id = await send(here, here.receiver.url('/full?key=k'), { headers: { authorization: `Bearer ${invoke}` } });
        const { delivery_id } = await settled(ask, id);
        const as = (role) => rest(here.sidecar, { admin: true, token: role });

        const one = (await as(admin)('GET', `${DELIVERIES}/${delivery_id}`)).json();
        const { url, next_attempt: next, ...withoutUrl } = one;
        assert.equal(url, here.receiver.url('/full?key=***'));
        assert.equal(next, null, 'it has ended');
        assert.equal(one.destination, new URL(here.receiver.url()).origin);
        const [attempt] = one.attempts;
        assert.deepEqual(attempt.answer, { content_type: 'text/html', encoding: 'text', body: HTML, truncated: false });
        assert.equal(attempt.address, new URL(here.receiver.url()).host);
        assert.deepEqual([attempt.duration.tls], [null]);
        assert.ok(attempt.duration.connect >= 0 && attempt.duration.first_byte >= 0);
        assert.deepEqual((await as(admin)('GET', `/v2/projects/p/runs/${id}`)).json().deliveries, [withoutUrl]);

        const told = await run(['runs', 'show', id], { HOOKLINE_DATA_DIR: here.sidecar.dataDir });
        assert.match(told.stdout, /^its answer +<h1>the queue is full<\/h1>$/m);
        const [{ attempts }] = (await as(admin)('GET', DELIVERIES)).json().deliveries;
        assert.ok(!JSON.stringify(attempts).includes('key=k'));
        for (const name of ['answer', 'address', 'duration']) assert.ok(!(name in attempts[0]), `${name} in a list`);

        for (const where of [as(invoke), rest(here.sidecar, { token: invoke })]) {
            const text = (await where('GET', `/v2/projects/p/runs/${id}`)).text;
            const [seen] = JSON.parse(text).deliveries[0].attempts;
            assert.deepEqual(Object.keys(seen), ['round', 'n', 'started_at', 'ended_at', 'outcome', 'status_code', 'duration_ms', 'duration']);
            assert.equal(seen.status_code, 503);
            assert.ok(!text.includes('queue is full') && !text.includes('key=k'));
            assertRefused(await where('GET', `${DELIVERIES}/${delivery_id}`), 403);
            assertRefused(await where('GET', DESTINATIONS), 403);
        }
    });

for (const store of STORES)
    test(`an answer that is not text, or long, is kept as far as it goes, in ${store}`, async (t) => {
        const here = await stageOn(t, store);
        const ask = control(here.sidecar);
        const answers = {
            '/bytes': [Buffer.from([0xff, 0, 1]), { encoding: 'base64', body: '/wAB', truncated: false }],
            '/long': [Buffer.from('é'.repeat(5000)), { encoding: 'text', body: 'é'.repeat(512), truncated: true }],
            '/shifted': [Buffer.from(`a${'é'.repeat(5000)}`), { encoding: 'text', body: `a${'é'.repeat(511)}`, truncated: true }],
        };
        for (const [path, [bytes, expected]] of Object.entries(answers)) {
            here.receiver.script(path, async (x) => x.send(410, { 'content-type': 'text/plain' }, bytes));
            const { attempts } = await settled(ask, await send(here, here.receiver.url(path)));
            assert.deepEqual(attempts[0].answer, { content_type: 'text/plain', ...expected }, path);
        }
    });

for (const store of STORES)
    test(`a delivery that waits says when it is tried again, in ${store}`, async (t) => {
        const here = await stageOn(t, store);
        const ask = control(here.sidecar);
        here.receiver.script('/later', 404, 200);
        const id = await send(here, here.receiver.url('/later'));
        const waiting = await until('it waits', async () => {
            const [delivery] = (await ask('GET', `/v2/runs/${id}`)).json().deliveries ?? [];
            return delivery?.next_attempt_at && delivery;
        });
        const [first] = waiting.attempts;
        const delay = Date.parse(waiting.next_attempt_at) - Date.parse(first.ended_at);
        assert.ok(delay > 0 && delay <= 5000, `${delay} ms`);
        assert.equal((await settled(ask, id)).next_attempt_at, null);
    });

for (const store of ['sqlite', 'postgres'])
    test(`deliveries destinations is a table, and JSON lines with --json, in ${store}`, async (t) => {
        const here = await stageOn(t, store);
        const ask = control(here.sidecar);
        here.receiver.script('/dead', 500);
        await settled(ask, await send(here, here.receiver.url('/dead')));
        const cli = async (...words) => {
            const result = await run(['deliveries', 'destinations', ...words], { ...here.sidecar.env, HOOKLINE_DATA_DIR: here.sidecar.dataDir });
            assert.equal(result.code, 0, result.stderr);
            return result.stdout;
        };
        const origin = new URL(here.receiver.url()).origin;
        const [head, row] = (await cli('--project', 'p')).split('\n');
        assert.match(head, /^DESTINATION +PENDING +DEAD +OLDEST +FAILING SINCE +TRIED 1H +OK +P95 MS +LAST +LAST ERROR$/);
        assert.match(row, new RegExp(`^${origin} +0 +1 +- +- +1 +0% +\\S+ +\\S+Z `));
        const lines = (await cli('--project', 'p', '--json')).trim().split('\n').map((line) => JSON.parse(line));
        assert.deepEqual(lines, (await ask('GET', DESTINATIONS)).json().destinations);
        await here.sidecar.stop();
        assert.deepEqual(JSON.parse(await cli('--project', 'p', '--json')).destination, origin, 'without a sidecar');
    });
