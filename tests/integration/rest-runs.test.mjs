// Whoever may can ask what became of a run: the list, one run, its result, and cancelling it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import http from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { postgres } from './lib/postgres.mjs';
import { assertRefused, control, pages } from './lib/rest.mjs';
import { RUN, UUID_V7, shared, stage } from './lib/stage.mjs';
import { gate, until, within } from './lib/until.mjs';

const RUNS = '/v2/projects/p/apps/a/runs';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Calls and waits until the run has ended; answers it as REST shows it. */
async function finished(ask, id) {
    return until(`run ${id} is finished`, async () => {
        const run = (await ask('GET', `${RUNS}/${id}`)).json();
        return run.finished_at && run;
    });
}

/** Of one that has begun and ended: what it waited and ran for is what lies between its times. */
function assertSpans(run) {
    const [created, started, finished] = [run.created_at, run.started_at, run.finished_at].map(Date.parse);
    assert.deepEqual([run.queued_ms, run.run_ms], [started - created, finished - started]);
}

test('a run says how long it waited and how long it ran, so far or in all', async (t) => {
    const open = gate();
    const { app, call, sidecar } = await stage(t, {
        env: { HOOKLINE_APP_CONCURRENCY: '1' },
        app: async (x) => {
            await open.promise;
            await x.send(200);
        },
    });
    t.after(() => open.open());
    const ask = control(sidecar);
    const show = async (id) => (await ask('GET', `${RUNS}/${id}`)).json();
    const { id: inside } = await call(RUN, { query: { async: 'true' } });
    await until('it is inside', () => app.requests.length === 1);
    const { id: queued } = await call(RUN, { query: { async: 'true' } });
    const { id: cancelled } = await call(RUN, { query: { async: 'true' } });
    const answer = call(RUN);
    const { run_id: sync } = await until('the caller waits', async () =>
        (await ask('GET', `${RUNS}?state=running&async=false`)).json().runs[0]);

    const places = () => Promise.all([inside, queued, cancelled, sync].map(async (id) => (await show(id)).queue_position));
    assert.deepEqual(await places(), [null, 1, 2, null]);
    const rows = (await ask('GET', RUNS)).json().runs;
    assert.ok(rows.length === 4 && rows.every((row) => !('queue_position' in row)), 'a list does not count');
    for (const [id, grows, stays] of [[inside, 'run_ms', 'queued_ms'], [queued, 'queued_ms'], [sync, 'queued_ms']]) {
        const before = await show(id);
        const after = await until(`${grows} grows`, async () => ((run) => run[grows] > before[grows] && run)(await show(id)));
        if (stays) assert.equal(after[stays], before[stays]);
        else assert.deepEqual([after.run_ms, after.started_at], [null, null]);
    }
    assert.equal((await ask('POST', `${RUNS}/${cancelled}/cancel`)).status, 202);
    const never = await finished(ask, cancelled);
    assert.equal(never.queued_ms, Date.parse(never.finished_at) - Date.parse(never.created_at));
    assert.deepEqual([never.run_ms, never.started_at], [null, null]);

    open.open();
    await answer;
    await finished(ask, queued);
    assert.deepEqual(await places(), [null, null, null, null]);
    for (const id of [inside, queued, sync]) assertSpans(await finished(ask, id));
    assert.ok((await show(queued)).queued_ms > 0 && (await show(sync)).queued_ms > 0);
});

test('a run says how its time in the app was spent, stored or not', async (t) => {
    const { app, call, sidecar, receiver } = await stage(t, {
        env: { HOOKLINE_WORKERS: '1', HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '10ms' },
        app: (x) => x.send(app.requests.length === 3 ? 503 : 200, {}, 'a'),
    });
    const ask = control(sidecar);
    const queries = [
        {}, // on a new connection
        {}, // on the same one
        { async: 'true' }, // at its second attempt
        { webhookEndpoint: receiver.url() },
    ];
    const parts = ({ gate_ms: gated, connect_ms: connect, first_byte_ms: byte }) => [gated, connect, byte];
    for (const [i, query] of queries.entries()) {
        const { id } = await call(RUN, { query });
        const run = await finished(ask, id);
        const row = (await ask('GET', RUNS)).json().runs.find(({ run_id: other }) => other === id);
        const [gated, connect, byte] = parts(run);
        assert.deepEqual(parts(row), parts(run));
        assert.equal(gated, null, 'the app was ready');
        if (i === 0) assert.ok(connect > 0, `${connect} ms`);
        else assert.equal(connect, 0, 'it was kept');
        assert.ok(byte >= 0 && connect + byte < run.run_ms + 2, `${connect} and ${byte} of ${run.run_ms} ms`);
    }
    await app.close();
    const { id } = await call(RUN);
    assert.deepEqual(parts(await finished(ask, id))[2], null, 'nothing came');
});

test('a run says which ones repeat it, the newest first', async (t) => {
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_KEEP_REQUESTS: 'all' } });
    const ask = control(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' }, body: '{}' });
    assert.deepEqual((await finished(ask, id)).reruns, []);
    const again = [];
    for (let i = 0; i < 2; i++) again.unshift((await ask('POST', `${RUNS}/${id}/rerun`)).json().run_id);
    for (const other of again) assert.deepEqual([(await finished(ask, other)).rerun_of, (await finished(ask, other)).reruns], [id, []]);
    const { reruns } = await finished(ask, id);
    assert.deepEqual(reruns.map((one) => [one.run_id, one.state]), again.map((other) => [other, 'success']));
    assert.match(reruns[0].created_at, TIME);
});

test('the list has asynchronous and synchronous runs, newest first, with every member', async (t) => {
    const { call, sidecar } = await stage(t);
    const ask = control(sidecar);
    const { id: first } = await call(RUN, { query: { async: 'true', secret: 'x' }, body: '{}' });
    await finished(ask, first);
    const { id: second } = await call('/v4/p/a/other', { method: 'PUT', body: 'abc' });
    const { runs, next_cursor } = (await ask('GET', RUNS)).json();
    assert.equal(next_cursor, null);
    assert.deepEqual(
        runs.map((run) => run.run_id),
        [second, first],
    );
    const [sync, stored] = runs;
    assert.deepEqual(Object.keys(sync), Object.keys(stored));
    for (const run of runs) {
        assert.match(run.run_id, UUID_V7);
        for (const name of ['created_at', 'started_at', 'finished_at']) assert.match(run[name], TIME);
        assertSpans(run);
        assert.deepEqual(run.deliveries, { pending: 0, delivered: 0, dead: 0 });
        assert.deepEqual(
            [run.project_id, run.app_name, run.state, run.reason, run.status_code, run.attempts],
            ['p', 'a', 'success', null, 200, 1],
        );
    }
    assert.deepEqual(
        [sync.mode, sync.async, sync.method, sync.path, sync.request_bytes, sync.result],
        ['sync', false, 'PUT', '/other', 3, 'none'],
    );
    assert.deepEqual(
        [stored.mode, stored.async, stored.method, stored.path, stored.request_bytes],
        ['async', true, 'POST', '/run', 2],
    );
    assert.deepEqual(
        [stored.result, stored.encoding, stored.content_type],
        ['kept', 'json', 'application/json'],
    );
    assert.ok(stored.response_bytes > 0);
});

test('streams and tunnels are listed as what they were', async (t) => {
    const { call, connect, sidecar } = await stage(t, {
        app: async (x) => {
            if (x.get('upgrade')) {
                await x.respond(101, { Upgrade: 'websocket', Connection: 'Upgrade' });
                x.end();
                return;
            }
            await x.body();
            await x.send(200, { 'Content-Type': 'text/event-stream' }, 'data: 1\n\n');
        },
    });
    const ask = control(sidecar);
    const { id } = await call(RUN);
    assert.equal((await finished(ask, id)).mode, 'stream');
    const socket = await connect();
    socket.send(
        'GET /v4/p/a/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
            'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await until('the tunnel is listed', async () => {
        const { runs } = (await ask('GET', RUNS)).json();
        return runs.some((run) => run.mode === 'websocket');
    });
});

test('state, async, since and until filter', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.send(x.get('x-fails') ? 500 : 200);
        },
    });
    const ask = control(sidecar);
    const made = [];
    for (const fails of [false, true])
        for (const query of [{}, { async: 'true' }]) {
            const headers = fails ? { 'x-fails': '1' } : {};
            const { id } = await call(RUN, { query, headers });
            await finished(ask, id);
            made.push({ id, fails, isAsync: 'async' in query });
        }
    const ids = async (query) => {
        const answer = await ask('GET', `${RUNS}?${new URLSearchParams(query)}`);
        assert.equal(answer.status, 200, answer.text);
        return answer.json().runs.map((run) => run.run_id);
    };
    const those = (keep) => made.filter(keep).map((run) => run.id).reverse();
    assert.deepEqual(await ids({ state: 'failure' }), those((run) => run.fails));
    assert.deepEqual(await ids({ state: 'success', async: 'true' }), those((r) => !r.fails && r.isAsync));
    assert.deepEqual(await ids({ async: 'false' }), those((run) => !run.isAsync));
    assert.deepEqual(await ids({ async: '1' }), those((run) => run.isAsync));
    for (const state of ['queued', 'running', 'cancelled']) assert.deepEqual(await ids({ state }), []);
    const all = (await ask('GET', RUNS)).json().runs;
    const third = all[1].created_at;
    assert.deepEqual(await ids({ since: third }), those(() => true).slice(0, 2));
    assert.deepEqual(await ids({ until: third }), those(() => true).slice(2));
    assert.deepEqual(await ids({ since: String(Date.parse(third)) }), those(() => true).slice(0, 2));
    for (const start of ['1970-01-01T00:00:00Z', '0']) assert.deepEqual(await ids({ until: start }), [], 'nothing was before 1970');
    const offset = new Date(Date.parse(third) + 7_200_000).toISOString().replace('Z', '+02:00');
    assert.deepEqual(await ids({ since: offset }), those(() => true).slice(0, 2));
    const unencoded = await ask('GET', `${RUNS}?since=${offset}`);
    assert.equal(unencoded.json().runs.length, 2, 'an offset whose + was not encoded');
});

test('runs are found by id, path, status, reason and webhook, synchronous ones too', async (t) => {
    const { call, receiver, sidecar } = await stage(t, { app: (x) => x.send(x.path.endsWith('/fails') ? 503 : 200) });
    const ask = control(sidecar);
    receiver.script('/hook', 400);
    const webhookEndpoint = receiver.url('/hook');
    const { id: sync } = await call('/v4/p/a/words/count');
    const { id: failed } = await call('/v4/p/a/words/fails', { query: { async: 'true' } });
    const { id: hooked } = await call('/v4/p/a/letters', { query: { async: 'true', webhookEndpoint } });
    for (const id of [failed, hooked]) await finished(ask, id);
    await until('the webhook is given up', async () => (await ask('GET', `${RUNS}?webhook=dead`)).json().runs.length);
    const start = failed.slice(0, 8); // that of about a minute
    for (const [query, ids] of [
        [`id_prefix=${sync}`, [sync]],
        [`id_prefix=${start}`, [hooked, failed, sync].filter((id) => id.startsWith(start))],
        [`id_suffix=${sync.slice(-8)}`, [sync]],
        [`id_suffix=${failed.slice(-8).toUpperCase()}`, [failed]],
        ['id_suffix=00000000', []],
        ['path=words', [failed, sync]],
        ['path=/letters', [hooked]],
        ['path=words&status=2xx', [sync]],
        ['status=503', [failed]],
        ['reason=app_error', [failed]],
        ['reason=timeout', []],
        ['webhook=none', [failed, sync]],
        ['webhook=dead', [hooked]],
        ['webhook=delivered', []],
        ['path=words&state=running', []],
    ]) {
        const list = (await ask('GET', `${RUNS}?${query}`)).json();
        assert.deepEqual(list.runs.map((run) => run.run_id), ids, query);
        assert.deepEqual([list.next_cursor, list.searched_to], [null, null], query);
    }
    for (const [query, pattern] of [
        ['id_prefix=xyz', /id_prefix must be the beginning of an id/],
        ['id_suffix=123', /id_suffix must be the last 8 characters of an id/],
        [`path=${'x'.repeat(256)}`, /path must be part of a path/],
        ['status=6xx', /status must be a status/],
        ['reason=bad', /reason must be app_error, timeout, /],
        ['webhook=ok', /webhook must be none, pending, delivered or dead/],
    ])
        assertRefused(await ask('GET', `${RUNS}?${query}`), 400, pattern);
});

const STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];
const HISTOGRAM = '/v2/projects/p/runs/histogram';

/** What a histogram has in all, by state; each of its totals is the sum of its points. */
function totals(histogram) {
    for (const state of STATES) {
        assert.equal(histogram[state].length, histogram.at.length);
        assert.equal(histogram[state].reduce((a, b) => a + b, 0), histogram.total[state], state);
    }
    return STATES.map((state) => histogram.total[state]);
}

for (const [store, start] of [
    ['sqlite', async () => ({})],
    ['memory', async () => ({ HOOKLINE_STORE: 'memory' })],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`a list’s histogram has what the list has, by when it was accepted, in ${store}`, async (t) => {
        const held = gate();
        t.after(() => held.open());
        const app = async (x) => {
            await x.body();
            if (x.path.endsWith('/held')) await held.promise;
            await x.send(x.path.endsWith('/fails') ? 503 : 200, {}, 'ok');
        };
        const { call, sidecar } = await stage(t, { app, env: { HOOKLINE_APP_CONCURRENCY: '1', ...(await start(t)) } });
        const ask = control(sidecar);
        const before = new Date(Date.now() - 1000).toISOString();
        await call('/v4/p/a/words/count');
        const { id: failed } = await call('/v4/p/a/words/fails', { query: { async: 'true' } });
        const { id: other } = await call('/v4/p/b/run', { query: { async: 'true' } });
        await finished(ask, failed);
        await until('the other has ended', async () => (await ask('GET', `/v2/projects/p/runs/${other}`)).json().finished_at);
        const { id: running } = await call('/v4/p/a/held', { query: { async: 'true' } });
        await until('it runs', async () => (await ask('GET', `${RUNS}/${running}`)).json().state === 'running');
        await call('/v4/p/a/held', { query: { async: 'true' } });
        await call('/v4/q/a/held', { query: { async: 'true' } });
        const look = async (query) => (await ask('GET', `${HISTOGRAM}?${query}`)).json();
        for (const [query, expected] of [
            ['', [1, 1, 2, 1, 0]],
            ['app=a', [1, 1, 1, 1, 0]],
            ['async=true', [1, 1, 1, 1, 0]],
            ['async=false', [0, 0, 1, 0, 0]],
            ['state=queued', [1, 0, 0, 0, 0]],
            ['state=running', [0, 1, 0, 0, 0]],
            ['state=failure', [0, 0, 0, 1, 0]],
            ['reason=app_error', [0, 0, 0, 1, 0]],
            ['path=words', [0, 0, 1, 1, 0]],
            ['path=held', [1, 1, 0, 0, 0]],
            ['status=2xx', [0, 0, 2, 0, 0]],
            [`id_prefix=${failed}`, [0, 0, 0, 1, 0]],
            [`id_suffix=${running.slice(-8)}`, [0, 1, 0, 0, 0]],
            ['webhook=dead', [0, 0, 0, 0, 0]],
            ['error=ok', [0, 0, 0, 1, 0]],
            ['error=ok&state=success', [0, 0, 0, 0, 0]],
            ['find=words', [0, 0, 1, 1, 0]],
            [`since=${before}`, [1, 1, 2, 1, 0]],
            ['period=hour', [1, 1, 2, 1, 0]],
            [`since=${before.replace(/^..../, '2020')}&until=${before}`, [0, 0, 0, 0, 0]],
        ]) {
            const histogram = await look(query);
            assert.deepEqual(totals(histogram), expected, query);
            assert.equal(histogram.counted_by, 'created_at');
            assert.equal(histogram.counted_since, histogram.since, query);
            assert.ok(histogram.at.length <= 120);
        }
        for (const query of [`since=${new Date(Date.now() + 60_000).toISOString()}`, 'since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z']) {
            const empty = await look(query);
            assert.deepEqual([empty.at, totals(empty)], [[], [0, 0, 0, 0, 0]], 'a list of nothing is no fault');
        }
        const fine = await look(`since=${before}`);
        assert.ok(fine.step_seconds < 60, 'a short span has short steps');
        const at = fine.failure.findIndex((n) => n > 0);
        const { created_at: created } = await finished(ask, failed);
        assert.ok(fine.at[at] <= created && (!fine.at[at + 1] || fine.at[at + 1] > created));
        for (const [query, pattern] of [
            ['limit=5', /limit/],
            ['state=lost', /state must be/],
            ['period=hour&since=2026-01-01T00:00:00Z', /period must be/],
        ])
            assertRefused(await ask('GET', `${HISTOGRAM}?${query}`), 400, pattern);
    });

test('a histogram of more than are looked at is by when they ended, and says so', async (t) => {
    const { call, sidecar } = await stage(t, { app: (x) => x.send(200) });
    const { id } = await call(RUN, { query: { async: 'true' } });
    await finished(control(sidecar), id);
    await until('it is counted', async () =>
        (await control(sidecar)('GET', '/v2/projects/p/overview')).json().total.runs === 1);
    await sidecar.stop();
    // A count is eight bytes, the lowest first: 40 bits of the number (store/tally.h).
    const file = join(sidecar.dataDir, 'hookline.db');
    await promisify(execFile)('sqlite3', [file, `UPDATE tally SET counts = x'a861000000' || substr(counts, 6);`]);
    await sidecar.start();
    const ask = control(sidecar);
    const look = async (query) => (await ask('GET', `${HISTOGRAM}?${query}`)).json();
    for (const query of ['', 'state=success', 'app=a&async=true', 'period=hour']) {
        const histogram = await look(query);
        assert.deepEqual(totals(histogram), [0, 0, 25_000, 0, 0], query);
        assert.equal(histogram.counted_by, 'finished_at');
        assert.ok(histogram.step_seconds >= 60, 'counts are by minute');
    }
    for (const query of ['state=failure', 'async=false', 'reason=timeout'])
        assert.deepEqual(totals(await look(query)), [0, 0, 0, 0, 0], query);
    assert.deepEqual(totals(await look('path=run')), [0, 0, 1, 0, 0], 'what the store does not count by is looked for');
});

/** What an app may answer when it says no, by the last part of its path, and the error of such a run. */
const ANSWERS = {
    problem: [500, 'application/problem+json', '{"title":"t","detail":"no such order"}', 'no such order'],
    nested: [404, 'application/json', '{"error":{"message":"one\\ntwo"}}', 'one'],
    text: [503, 'text/plain', '\r\n  boom  \nat line 3', 'boom'],
    markup: [500, 'text/plain', '<b onclick="alert(1)">boom</b>', '<b onclick="alert(1)">boom</b>'],
    page: [500, 'text/html', '<!doctype html>\n<title>500 Server &lt;Error&gt;</title>', '500 Server <Error>'],
    controls: [500, 'text/plain', 'a\x1b[31m\u202eb\u200f', 'a\ufffd[31m\ufffdb'],
    latin: [500, 'text/plain', Buffer.from('donn\xe9es', 'latin1'), 'donn\ufffdes'],
    line: [500, 'text/plain', '\u{1f600}'.repeat(50_000), '\u{1f600}'.repeat(160)],
    number: [500, 'application/json', '{"detail":500}', null],
    file: [500, 'text/plain', 'x'.repeat(1_000_000), 'x'.repeat(160)],
    value: [500, 'application/json', `{"title":"${'y'.repeat(300_000)}"}`, 'y'.repeat(160)],
    list: [500, 'application/json', `{"list":[${'1,'.repeat(200_000)}1],"title":"too far behind"}`, null],
    binary: [500, 'image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47]), null],
    empty: [500, 'text/plain', '', null],
    fine: [200, 'application/json', '{"detail":"fine"}', null],
};

test('a run that failed says what went wrong, in lists too, and is found by it', async (t) => {
    const answer = (x) => {
        const [status, type, body] = ANSWERS[x.path.slice(1)];
        return x.send(status, { 'content-type': type }, body);
    };
    const { call, receiver, sidecar } = await stage(t, { app: answer });
    const ask = control(sidecar);
    const ids = {};
    for (const name of Object.keys(ANSWERS)) ids[name] = (await call(`/v4/p/a/${name}`, { query: { async: 'true' } })).id;
    for (const [name, [, , , error]] of Object.entries(ANSWERS)) {
        await finished(ask, ids[name]);
        assert.equal((await ask('GET', `${RUNS}/${ids[name]}`)).json().error, error, name);
    }
    const listed = (await ask('GET', RUNS)).json().runs;
    for (const run of listed) assert.equal(run.error, ANSWERS[run.path.slice(1)][3]);

    const { id: recorded } = await call('/v4/p/a/text', { query: { webhookEndpoint: receiver.url('/hook') } });
    const { id: forgotten } = await call('/v4/p/a/text');
    await finished(ask, recorded);
    assert.equal((await ask('GET', `${RUNS}/${recorded}`)).json().error, 'boom', 'a synchronous one that is stored');
    assert.equal((await ask('GET', `${RUNS}/${forgotten}`)).json().error, null, 'one that is only remembered');

    const found = async (query) => {
        const { runs } = (await ask('GET', `${RUNS}?${new URLSearchParams(query)}`)).json();
        return runs.map((run) => run.run_id);
    };
    assert.deepEqual(await found({ error: 'boom' }), [recorded, ids.text]);
    assert.deepEqual(await found({ error: 'boom', path: 'markup' }), []);
    assert.deepEqual(await found({ error: 'boom', state: 'success' }), []);
    assert.deepEqual(await found({ error: 'no such' }), [], 'a part of it is not it');
    assert.deepEqual(await found({ error: ANSWERS.line[3] }), [ids.line]);
    assert.deepEqual(await found({ find: 'such order' }), [ids.problem]);
    assert.deepEqual(await found({ find: 'boom' }), [recorded, ids.markup, ids.text]);
    assert.deepEqual(await found({ find: 'nest' }), [ids.nested], 'its path');
    assert.deepEqual(await found({ find: 'boom', state: 'queued' }), []);
    for (const [query, pattern] of [
        ['error=', /error must be a whole error/],
        [`error=${'x'.repeat(641)}`, /error must be a whole error as runs have it, of at most 640 bytes/],
        ['error=%ff', /error must be a whole error/],
        [`find=${'x'.repeat(256)}`, /find must be part of a path, an error or tags/],
        ['find=a%00', /find must be part of a path, an error or tags/],
    ])
        assertRefused(await ask('GET', `${RUNS}?${query}`), 400, pattern);
});

test('a wrong parameter is a 400 that names it', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    const ask = control(sidecar);
    const cases = {
        'limit=0': /parameter limit .* 1 to 200/,
        'limit=201': /parameter limit/,
        'limit=x': /parameter limit/,
        'limit=1&limit=2': /parameter limit .* more than once/,
        'cursor=1': /parameter cursor .*next_cursor/,
        'cursor=00000000-0000-0000-0000-000000000000': /parameter cursor/,
        'state=done': /parameter state .*queued, running, success/,
        'async=maybe': /parameter async .*true or false/,
        'since=yesterday': /parameter since .*RFC 3339/,
        'since=1700000000': /parameter since .*milliseconds/,
        'until=2026-02-30T00:00:00Z': /parameter until/,
        'page=2': /no query parameter "page" here; supported: limit, cursor, state, async, since, until/,
        'app=b': /no query parameter "app"/,
        '%0d%0ax=1': /no query parameter/,
    };
    for (const [query, pattern] of Object.entries(cases))
        assertRefused(await ask('GET', `${RUNS}?${query}`), 400, pattern);
    assertRefused(await ask('GET', `${RUNS}/0193f0b0-0000-7000-8000-000000000000?limit=1`), 400, /limit/);
});

test('pages go on below the last run, whatever comes in meanwhile', async (t) => {
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_WORKERS: '2' } });
    const ask = control(sidecar);
    const made = [];
    for (let i = 0; i < 30; i++) {
        const query = i % 3 === 0 ? { async: 'true' } : {};
        made.push((await call(RUN, { query })).id);
    }
    const seen = [];
    let cursor;
    do {
        const query = new URLSearchParams({ limit: '7', ...(cursor && { cursor }) });
        const page = (await ask('GET', `${RUNS}?${query}`)).json();
        seen.push(...page.runs.map((run) => run.run_id));
        cursor = page.next_cursor;
        await call(RUN);
        await call(RUN, { query: { async: 'true' } });
    } while (cursor);
    assert.deepEqual(seen, made.sort().reverse());
});

test('the newest 10,000 synchronous runs are remembered over all workers', async (t) => {
    const { call, sidecar } = await stage(t);
    const ask = control(sidecar);
    const ids = [];
    const caller = async () => {
        while (ids.length < 10_300) ids.push((await call(RUN)).id);
    };
    await Promise.all(Array.from({ length: 16 }, caller));
    const listed = (await pages(ask, RUNS, 'runs', { limit: '200', async: 'false' })).flat();
    assert.ok(listed.length <= 10_000, `${listed.length} runs`);
    assert.ok(listed.length > 9_990, `${listed.length} runs`);
    assert.equal(new Set(listed.map((run) => run.run_id)).size, listed.length);
    const newest = listed.map((run) => run.run_id);
    assert.deepEqual(newest, [...newest].sort().reverse());
});

test('one run shows its deliveries and each attempt', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    receiver.script('/hook', 404, 204);
    const query = { async: 'true', webhookEndpoint: receiver.url('/hook?token=hidden') };
    const { id } = await call(RUN, { query });
    const run = await until('it is delivered', async () => {
        const found = (await ask('GET', `${RUNS}/${id}`)).json();
        return found.deliveries?.[0]?.state === 'delivered' && found;
    });
    const [delivery] = run.deliveries;
    assert.equal(delivery.destination, receiver.url('').replace(/\/$/, ''));
    assert.deepEqual(
        [delivery.run_id, delivery.type, delivery.round, delivery.max_attempts],
        [id, 'run.success', 1, 3],
    );
    assert.deepEqual(
        delivery.attempts.map((a) => [a.round, a.n, a.outcome, a.status_code]),
        [
            [1, 1, 'retry', 404],
            [1, 2, 'delivered', 204],
        ],
    );
    for (const attempt of delivery.attempts) {
        assert.match(attempt.started_at, TIME);
        assert.match(attempt.ended_at, TIME);
        assert.ok(attempt.duration_ms >= 0);
    }
    assert.equal((await ask('GET', `/v2/runs/${id}`)).json().run_id, id, 'the id is enough here');
    assert.ok(!JSON.stringify(run).includes('hidden'));
});

test('a run of another project or app, or none, is 404', async (t) => {
    const { call, sidecar } = await shared(t);
    const ask = control(sidecar);
    const { id: sync } = await call(RUN);
    const { id: stored } = await call(RUN, { query: { async: 'true' } });
    await finished(ask, stored);
    for (const id of [sync, stored, '0193f0b0-0000-7000-8000-000000000000', 'nonsense', '..']) {
        const isOurs = id === sync || id === stored;
        for (const base of ['/v2/projects/q/apps/a', '/v2/projects/p/apps/b', '/v2/projects/q'])
            for (const [method, tail] of [
                ['GET', ''],
                ['GET', '/result'],
                ['POST', '/cancel'],
            ])
                assertRefused(await ask(method, `${base}/runs/${id}${tail}`), 404);
        if (isOurs) assert.equal((await ask('GET', `/v2/projects/p/runs/${id}`)).status, 200);
    }
    assert.deepEqual((await ask('GET', '/v2/projects/q/apps/a/runs')).json().runs, []);
    assert.deepEqual((await ask('GET', '/v2/projects/p/apps/b/runs')).json().runs, []);
});

test('the result has the kept bytes, their type, and nothing of the app that a browser acts on', async (t) => {
    const { call, sidecar } = await shared(t, {
        app: async (x) => {
            await x.body();
            await x.send(
                418,
                {
                    'Content-Type': 'text/html; charset=x',
                    'Content-Encoding': 'x-odd',
                    'Set-Cookie': 'a=b',
                    'Access-Control-Allow-Origin': '*',
                    'X-Own': '1',
                },
                '<script>alert(1)</script>',
            );
        },
    });
    const ask = control(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' } });
    await finished(ask, id);
    const answer = await ask('GET', `${RUNS}/${id}/result`);
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '<script>alert(1)</script>');
    const { date, ...fields } = answer.headers;
    assert.ok(date);
    assert.deepEqual(fields, {
        'content-type': 'text/html; charset=x',
        'content-encoding': 'x-odd',
        'content-length': '25',
        'cache-control': 'no-store',
        'x-request-id': id,
        'x-run-status-code': '418',
        'x-content-type-options': 'nosniff',
        'content-disposition': 'attachment',
        'content-security-policy': 'sandbox',
        connection: 'close',
    });
    const head = await ask('HEAD', `${RUNS}/${id}/result`);
    assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '25', '']);
});

test('there is a result only of a finished run that has a body', async (t) => {
    const open = gate();
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_MAX_KEPT_RESPONSE: '1KiB' },
        app: async (x) => {
            await x.body();
            const kind = x.get('x-kind');
            if (kind === 'waits') await open.promise;
            if (kind === 'none') await x.send(204);
            else if (kind === 'dead') x.reset();
            else await x.send(200, {}, Buffer.alloc(kind === 'long' ? 2048 : 10, 'x'));
        },
    });
    t.after(() => open.open());
    const ask = control(sidecar);
    const begin = async (kind) => {
        const { id } = await call(RUN, { query: { async: 'true' }, headers: { 'x-kind': kind } });
        return id;
    };
    const result = (id) => ask('GET', `${RUNS}/${id}/result`);
    for (const [kind, status, pattern] of [
        ['none', 404, /answered 204 without/],
        ['dead', 404, /did not answer \(state failure, reason upstream_reset\)/],
        ['long', 410, /2048 bytes is not kept.*HOOKLINE_MAX_KEPT_RESPONSE/],
    ]) {
        const id = await begin(kind);
        await finished(ask, id);
        const problem = assertRefused(await result(id), status, pattern);
        assert.equal(problem.run_id, id);
    }
    const { id: sync } = await call(RUN);
    assertRefused(await result(sync), 404, /went to its caller and is not kept/);
    const waiting = await begin('waits');
    await until('it runs', async () => {
        return (await ask('GET', `${RUNS}/${waiting}`)).json().state === 'running';
    });
    assertRefused(await result(waiting), 409, /is running/);
    open.open();
    assert.equal((await finished(ask, waiting)).state, 'success');
    assert.equal((await result(waiting)).text, 'x'.repeat(10));
});

test('a large result is whole, and one that is not read delays nobody', async (t) => {
    const size = 24 << 20;
    const bytes = Buffer.alloc(size, 'hookline.');
    const { call, sidecar } = await stage(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, { 'Content-Type': 'application/octet-stream' }, bytes);
        },
    });
    const ask = control(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' } });
    await finished(ask, id);
    const stalled = http.get({
        socketPath: join(sidecar.dataDir, 'control.sock'),
        path: `${RUNS}/${id}/result`,
    });
    t.after(() => stalled.destroy());
    const response = await within(
        'its head',
        new Promise((resolve) => stalled.on('response', resolve)),
    );
    response.pause();
    const answer = await ask('GET', `${RUNS}/${id}/result`);
    assert.equal(answer.status, 200);
    assert.ok(answer.body.equals(bytes));
    assert.equal((await ask('GET', RUNS)).status, 200);
});

test('a queued run that is cancelled never starts', async (t) => {
    const open = gate();
    const { app, call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_APP_CONCURRENCY: '1' },
        app: async (x) => {
            await x.body();
            await open.promise;
            await x.send(200);
        },
    });
    t.after(() => open.open());
    const ask = control(sidecar);
    const { id: first } = await call(RUN, { query: { async: 'true' } });
    await until('the app is busy', () => app.requests.length === 1);
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    const { id } = await call(RUN, { query });
    assert.equal((await ask('GET', `${RUNS}?state=queued`)).json().runs[0].run_id, id);
    const answer = await ask('POST', `${RUNS}/${id}/cancel`);
    assert.equal(answer.status, 202, answer.text);
    assert.equal((await finished(ask, id)).state, 'cancelled');
    assert.equal((await receiver.envelope()).type, 'run.cancelled');
    assertRefused(await ask('POST', `${RUNS}/${id}/cancel`), 409, /already finished/);
    open.open();
    assert.equal((await finished(ask, first)).state, 'success');
    assert.equal(app.requests.length, 1);
});

test('a cancel that was accepted holds, also of a run whose end is on its way, and its webhook says so', async (t) => {
    const app = async (exchange) => {
        await exchange.body();
        await exchange.send(200, { 'Content-Type': 'text/plain' }, 'done');
        all.cancel(exchange.id);
    };
    const all = await stage(t, { app, env: { HOOKLINE_ASYNC_CONCURRENCY: '8' } });
    const ask = control(all.sidecar);
    const cancels = new Map();
    all.cancel = (id) => cancels.set(id, ask('POST', `${RUNS}/${id}/cancel`));
    for (let i = 0; i < 120; i++) await all.call(RUN, { query: { async: 'true', webhookEndpoint: all.receiver.url() }, body: '{}' });
    const said = { 202: 0, 409: 0 };
    await until('all have been cancelled', () => cancels.size === 120);
    for (const [id, answer] of cancels) {
        const { status } = await answer;
        said[status]++;
        assert.equal((await finished(ask, id)).state, status === 202 ? 'cancelled' : 'success');
    }
    t.diagnostic(`${said[202]} were accepted, ${said[409]} came too late`);
    await all.receiver.delivered('/hook', 120);
    const types = all.receiver.deliveries().map(({ bytes }) => JSON.parse(bytes).type);
    assert.equal(types.filter((type) => type === 'run.cancelled').length, said[202]);
});

test('a running run that is cancelled is cut off', async (t) => {
    const { app, call, sidecar } = await shared(t, {
        app: async (x) => {
            await x.body();
            await x.gone;
        },
    });
    const ask = control(sidecar);
    const { id } = await call(RUN, { query: { async: 'true' } });
    await until('the app has it', () => app.requests.length === 1);
    assert.equal((await ask('POST', `${RUNS}/${id}/cancel`)).status, 202);
    await within('the app sees the end', app.requests[0].gone);
    assert.equal((await finished(ask, id)).state, 'cancelled');
});

test('a cancelled synchronous caller gets 410 if nothing was answered yet', async (t) => {
    for (const query of [{}, { webhookEndpoint: true }]) {
        const { app, call, receiver, sidecar } = await shared(t, {
            app: async (x) => {
                await x.body();
                await x.gone;
            },
        });
        const ask = control(sidecar);
        if (query.webhookEndpoint) query.webhookEndpoint = receiver.url();
        const answered = call(RUN, { query });
        await until('the app has it', () => app.requests.length === 1);
        const id = app.requests[0].get('x-request-id');
        await until('it is known', async () => (await ask('GET', `${RUNS}/${id}`)).status === 200);
        assert.equal((await ask('POST', `${RUNS}/${id}/cancel`)).status, 202);
        const answer = await answered;
        assertRefused(answer, 410, /cancelled/);
        assert.equal(answer.id, id);
        await within('the app sees the end', app.requests[0].gone);
        assert.equal((await finished(ask, id)).state, 'cancelled');
        assertRefused(await ask('POST', `${RUNS}/${id}/cancel`), 409);
    }
});

test('a synchronous call with a webhook is known while it waits for the app, and can be cancelled', async (t) => {
    const open = gate();
    const { app, call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_APP_CONCURRENCY: '1' },
        app: async (x) => {
            await x.body();
            await open.promise;
            await x.send(200);
        },
    });
    t.after(() => open.open());
    const ask = control(sidecar);
    const holding = call(RUN);
    await until('the app is busy', () => app.requests.length === 1);
    const query = { webhookEndpoint: receiver.url() };
    const answers = [call(RUN, { query }), call(RUN, { query })];
    const waiting = await until('both are listed', async () => {
        const { runs } = (await ask('GET', `${RUNS}?state=running`)).json();
        const those = runs.filter((run) => run.run_id !== app.requests[0].get('x-request-id'));
        return those.length === 2 && those;
    });
    const cancelled = waiting[0].run_id;
    assert.equal((await ask('GET', `${RUNS}/${cancelled}`)).json().finished_at, null);
    assert.equal((await ask('POST', `${RUNS}/${cancelled}/cancel`)).status, 202);
    const answer = await Promise.race(answers);
    assertRefused(answer, 410, /cancelled/);
    assert.equal(answer.id, cancelled);
    assert.equal((await finished(ask, cancelled)).state, 'cancelled');
    open.open();
    await holding;
    const [all] = [await Promise.all(answers)];
    const other = waiting[1].run_id;
    assert.deepEqual(all.map(({ status }) => status).sort(), [200, 410]);
    assert.equal((await receiver.envelope()).run_id, other);
    assert.equal((await finished(ask, other)).state, 'success');
    assert.equal(app.requests.length, 2);
    const { runs } = (await ask('GET', RUNS)).json();
    assert.equal(new Set(runs.map((run) => run.run_id)).size, 3);
    assert.equal(runs.length, 3, 'each once, whoever knows it');
    assert.equal(receiver.requests.length, 1, 'what never began has no webhook');
});

test('a cancelled stream is cut', async (t) => {
    const { app, connect, sidecar } = await shared(t, {
        app: async (x) => {
            await x.body();
            await x.respond(200, {
                'Content-Type': 'text/event-stream',
                'Transfer-Encoding': 'chunked',
            });
            await x.chunk('data: 1\n\n');
            await x.gone;
            x.isRaw = true;
        },
    });
    const ask = control(sidecar);
    const caller = await connect();
    caller.send(`POST ${RUN} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    const head = await caller.responseHead();
    const events = caller.pieces(head);
    assert.equal(String((await events.next()).value), 'data: 1\n\n');
    const id = app.requests[0].get('x-request-id');
    assert.equal((await ask('POST', `${RUNS}/${id}/cancel`)).status, 202);
    await within('the connection ends, and not as a whole stream does', assert.rejects(events.next()));
});

test('another method is 405 with Allow, another path 404, a long body 413', async (t) => {
    const { sidecar } = await stage(t, { app: null });
    const ask = control(sidecar);
    const id = '0193f0b0-0000-7000-8000-000000000000';
    for (const [method, path, allow] of [
        ['POST', RUNS, 'GET, HEAD'],
        ['DELETE', `${RUNS}/${id}`, 'GET, HEAD'],
        ['GET', `${RUNS}/${id}/cancel`, 'POST'],
        ['PUT', '/v2/projects/p/deliveries/redeliver', 'POST'],
    ]) {
        const answer = await ask(method, path);
        assertRefused(answer, 405, /Allow/);
        assert.equal(answer.headers.allow, allow, path);
    }
    for (const path of ['/v2', '/v2/projects/', '/v2/projects/p/nothing', `${RUNS}/`])
        assertRefused(await ask('GET', path), 404);
    for (const method of ['GET', 'PUT']) assertRefused(await ask(method, `${RUNS}/no-id`), 404, /ids here/);
    assertRefused(await ask('GET', '/v2/projects/a%2Fb/runs'), 400, /project in the path/);
    assertRefused(
        await ask('POST', '/v2/projects/p/deliveries/redeliver', { body: 'x'.repeat(70_000) }),
        413,
        /64 KiB/,
    );
});

test('the project says who asks and which apps have runs', async (t) => {
    const { call, sidecar } = await stage(t);
    const ask = control(sidecar);
    for (const app of ['b', 'a']) await call(`/v4/p/${app}/run`, { query: { async: 'true' } });
    assert.deepEqual((await ask('GET', '/v2/projects/p')).json(), {
        project_id: 'p',
        role: 'admin',
        subject: null,
        apps: ['a', 'b'],
        app_name: null,
        run_port: Number(new URL(sidecar.url).port),
        run_scheme: 'http',
    });
});

test('a cursor of another list is 400 and named, a time that no id can hold too', async (t) => {
    const { call, sidecar } = await stage(t, {
        app: (x) => x.gone,
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_DRAIN_TIMEOUT: '1ms' },
    });
    const ask = control(sidecar);
    for (let i = 0; i < 5; i++) await call(RUN, { query: { async: 'true' } });
    const cursorOf = async (query) => {
        const page = (await ask('GET', `${RUNS}?limit=2&${query}`)).json();
        assert.equal(page.runs.length, 2);
        return page.next_cursor;
    };
    await until('one runs', async () => {
        return (await ask('GET', `${RUNS}?state=queued&limit=200`)).json().runs.length === 4;
    });
    const [queued, all] = [await cursorOf('state=queued'), await cursorOf('async=true')];
    const next = (await ask('GET', `${RUNS}?state=queued&limit=2&cursor=${queued}`)).json();
    assert.equal(next.runs.length, 2, 'its own list goes on');
    for (const [path, query] of [
        [RUNS, `state=queued&cursor=${all}`],
        [RUNS, `cursor=${queued}`],
        [RUNS, `state=running&cursor=${queued}`],
        ['/v2/projects/p/deliveries', `cursor=${queued}`],
        ['/v2/projects/p/service-accounts', `cursor=${queued}`],
    ])
        assertRefused(await ask('GET', `${path}?${query}`), 400, /cursor/);
    for (const path of [RUNS, '/v2/projects/p/deliveries'])
        for (const name of ['since', 'until'])
            for (const time of [
                String(2 ** 48),
                String(2 ** 48 + Date.now()),
                '4611686018427387903',
                '18446744073709551615',
                '1960-01-01T00:00:00Z',
            ])
                assertRefused(
                    await ask('GET', `${path}?${name}=${encodeURIComponent(time)}`),
                    400,
                    new RegExp(`parameter ${name}`),
                );
    const body = JSON.stringify({ state: 'dead', since: 2 ** 48 });
    assertRefused(
        await ask('POST', '/v2/projects/p/deliveries/redeliver', { body }),
        400,
        /member since/,
    );
});

for (const [store, start] of [
    ['sqlite', async () => ({})],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`parameters that are no text are refused (${store})`, async (t) => {
        const { sidecar } = await stage(t, { env: await start(t) });
        const ask = control(sidecar);
        const no = ['%ff%fe', 'a%c3', '%ed%a0%80', '%c0%80', '%00', 'a%00'];
        for (const text of no) {
            for (const name of ['path', 'cursor', 'state', 'since', 'reason', 'id_prefix'])
                assertRefused(await ask('GET', `${RUNS}?${name}=${text}`), 400, new RegExp(`parameter ${name} must be`));
            for (const path of ['runs', 'deliveries', 'deliveries/count', 'overview'])
                assertRefused(await ask('GET', `/v2/projects/p/${path}?app=${text}`), 400, /parameter app must be/);
        }
        for (const text of ['a/b', '..', 'a%20b', '%c3%a4', 'x'.repeat(129)]) // what no app is called
            assertRefused(await ask('GET', `/v2/projects/p/runs?app=${text}`), 400, /parameter app must be an app's name: 1 to 128 of/);
        for (const text of ['%c3%a4', '%f0%9f%98%80']) {
            const answer = await ask('GET', `${RUNS}?path=${text}`);
            assert.deepEqual([answer.status, answer.json().runs], [200, []]);
        }
    });
