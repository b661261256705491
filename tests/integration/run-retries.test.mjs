// Asynchronous runs that are tried again: on which ends, when, and what is known of it.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { run } from './lib/sidecar.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const AGAIN = { HOOKLINE_RUN_ATTEMPTS: '3', HOOKLINE_RUN_RETRY_DELAY: '50ms' };

/** An app that does what `steps` say, one a call, then answers 200. */
async function staged(t, steps, env) {
    const calls = [];
    const all = await stage(t, {
        env: { ...AGAIN, ...env },
        app: async (x) => {
            const step = steps[calls.length];
            calls.push({ attempt: x.head.get('x-run-attempt'), body: `${await x.body()}` });
            if (typeof step === 'function') await step(x);
            else if (step) await x.send(step, {}, 'not now');
            else await x.send(200, {}, 'done');
        },
    });
    const show = async (id) => (await control(all.sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
    const begin = (options = {}) => all.call(RUN, { query: { async: 'true' }, body: 'ping', ...options });
    const ended = async (id) => {
        await until('it has ended', async () => ['success', 'failure', 'cancelled'].includes((await show(id)).state));
        return show(id);
    };
    return { ...all, calls, show, begin, ended };
}

for (const [on, step, end] of [
    ['503', 503, { status_code: 503, reason: 'app_error' }],
    ['5xx', 500, { status_code: 500, reason: 'app_error' }],
    ['timeout,429', 429, { status_code: 429, reason: 'app_error' }],
    ['reset', (x) => x.reset(), { status_code: null, reason: 'upstream_reset' }],
    ['timeout', () => new Promise(() => {}), { status_code: null, reason: 'timeout' }],
])
    test(`HOOKLINE_RUN_RETRY_ON=${on}: the run is called again, with its body, and its log says why`, async (t) => {
        const env = { HOOKLINE_RUN_RETRY_ON: on, ...(on === 'timeout' && { HOOKLINE_RESPONSE_GRACE_PERIOD: '1s' }) };
        const { calls, begin, ended } = await staged(t, [step, step], env);
        const { id } = await begin();
        const record = await ended(id);
        assert.deepEqual([record.state, record.attempts, record.next_attempt_at], ['success', 3, null]);
        assert.deepEqual(calls.map(({ attempt, body }) => [attempt, body]), [['1', 'ping'], ['2', 'ping'], ['3', 'ping']]);
        assert.deepEqual(
            record.attempt_log.map(({ attempt, status_code, reason }) => ({ attempt, status_code, reason })),
            [{ attempt: 1, ...end }, { attempt: 2, ...end }, { attempt: 3, status_code: 200, reason: null }],
        );
        for (const { started_at, finished_at } of record.attempt_log) assert.ok(started_at <= finished_at);
    });

test('an end that is not in the list is the last, and no status of success ever is', async (t) => {
    const { calls, begin, ended } = await staged(t, [404], { HOOKLINE_RUN_RETRY_ON: '5xx,unreachable' });
    const record = await ended((await begin()).id);
    assert.deepEqual([record.state, record.status_code, record.attempts], ['failure', 404, 1]);
    assert.equal(calls.length, 1);
});

test('an app that is away is tried again when unreachable is in the list', async (t) => {
    const { sidecar, call } = await stage(t, {
        app: null,
        env: { ...AGAIN, HOOKLINE_RUN_RETRY_ON: 'unreachable', HOOKLINE_CONNECT_TIMEOUT: '100ms', HOOKLINE_APP_START_TIMEOUT: '100ms' },
    });
    const { id } = await call(RUN, { query: { async: 'true' } });
    const show = async () => (await control(sidecar)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
    await until('it has ended', async () => (await show()).state === 'failure');
    const { reason, attempts } = await show();
    assert.deepEqual([reason, attempts], ['upstream_unreachable', 3]);
});

test('after the last attempt the run ends as that did, with one webhook', async (t) => {
    const { calls, begin, ended, receiver } = await staged(t, [503, 503, 503, 503], { HOOKLINE_RUN_RETRY_ON: '503' });
    const { id } = await begin({ query: { async: 'true', webhookEndpoint: receiver.url() } });
    const record = await ended(id);
    assert.deepEqual([record.state, record.reason, record.status_code, record.attempts], ['failure', 'app_error', 503, 3]);
    await until('the webhook has come', () => receiver.requests.length === 1);
    assert.equal(calls.length, 3);
    assert.equal(receiver.requests.length, 1);
});

test('X-Run-Attempts lowers the number for a call, and raises it never', async (t) => {
    const { calls, begin, ended } = await staged(t, [503, 503, 503, 503, 503, 503], { HOOKLINE_RUN_RETRY_ON: '503' });
    assert.equal((await ended((await begin({ headers: { 'x-run-attempts': '1' } })).id)).attempts, 1);
    assert.equal((await ended((await begin({ headers: { 'x-run-attempts': '2' } })).id)).attempts, 2);
    assert.equal((await ended((await begin({ headers: { 'x-run-attempts': '99999999999' } })).id)).attempts, 3);
    assert.equal(calls.length, 6);
});

test('X-Run-Attempts that is none is refused by name, the app is not called', async (t) => {
    const { call, app } = await stage(t);
    for (const query of [{}, { async: 'true' }])
        for (const value of ['', '0', '-1', '1.5', 'many', '1, 2', ['1', '1']])
            assert.match(assertProblem(await call(RUN, { query, headers: { 'x-run-attempts': value } }), 400).detail, /X-Run-Attempts/);
    assert.equal(app.requests.length, 0);
});

test('the app’s Retry-After is heeded; between two attempts the run is queued and holds no slot', async (t) => {
    const busy = (x) => x.send(503, { 'Retry-After': '240' }, 'later');
    const { call, begin, show, calls, sidecar } = await staged(t, [busy], { HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_APP_CONCURRENCY: '1' });
    const { id } = await begin();
    await until('it waits', async () => (await show(id)).next_attempt_at !== null);
    const record = await show(id);
    assert.equal(record.state, 'queued');
    const wait = Date.parse(record.next_attempt_at) - Date.parse(record.attempt_log[0].finished_at);
    assert.ok(wait > 200_000 && wait <= 300_000, `${wait}`);
    assert.equal((await call(RUN)).status, 200, 'the slot is free');
    await until('it is counted', async () => (await sidecar.metric('hookline_runs_waiting_retry')) === 1);
    assert.equal(await sidecar.metric('hookline_runs_queued'), 0);
    const cancelled = await control(sidecar)('POST', `/v2/projects/p/apps/a/runs/${id}/cancel`);
    assert.ok(cancelled.status < 300, cancelled.text);
    assert.equal((await show(id)).state, 'cancelled');
    assert.equal(calls.length, 2);
});

test('a run that waits for its next attempt outlives a kill', async (t) => {
    const { begin, ended, show, sidecar, calls } = await staged(t, [503], { HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '2s' });
    const { id } = await begin();
    await until('it has been tried', async () => (await show(id)).attempt_log[0]?.finished_at);
    await sidecar.kill();
    await sidecar.restart();
    const record = await ended(id);
    assert.deepEqual([record.state, record.attempts], ['success', 2]);
    assert.deepEqual(calls.map(({ body }) => body), ['ping', 'ping']);
});

test('interrupted is an end like others: only in the list it is tried again', async (t) => {
    for (const [on, attempts, state] of [['503', 1, 'failure'], ['interrupted', 2, 'success']]) {
        const doors = gate();
        const { begin, ended, sidecar, calls } = await staged(t, [() => doors.promise], { HOOKLINE_RUN_RETRY_ON: on });
        const { id } = await begin();
        await until('it is inside', () => calls.length === 1);
        await sidecar.kill();
        doors.open();
        await sidecar.restart();
        const record = await ended(id);
        assert.deepEqual([record.state, record.attempts], [state, attempts]);
        assert.equal(record.attempt_log[0].reason, 'interrupted');
    }
});

test('on PostgreSQL another replica makes the next attempt', async (t) => {
    const isThere = gate();
    const all = await fleet(t, {
        env: { ...AGAIN, HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '4s' },
        app: async (x, name) => {
            await x.body();
            if (name === 'a') await isThere.promise;
            await x.send(name === 'a' ? 503 : 200);
        },
    });
    const a = await all.add('a');
    const id = await a.begin();
    await until('it is inside', () => all.calls(id) === 1);
    const b = await all.add('b');
    isThere.open();
    await until('it waits', async () => (await b.show(id)).next_attempt_at !== null);
    await a.sidecar.stop();
    const record = await b.finished(id);
    assert.equal(record.replica, 'b');
    assert.deepEqual(record.attempt_log.map(({ status_code }) => status_code), [503, 200]);
});

test('settings that contradict each other stop the start', async () => {
    const config = (env) => run(['config', 'check'], { HOOKLINE_STORE: 'memory', ...env });
    const one = await config({ HOOKLINE_RUN_RETRY_ON: '5xx' });
    assert.notEqual(one.code, 0);
    assert.match(one.stderr + one.stdout, /HOOKLINE_RUN_RETRY_ON: has no effect with HOOKLINE_RUN_ATTEMPTS=1/);
    for (const bad of ['2xx', '200', '6xx', 'never', '5xx,', ',', 'reset reset'])
        assert.match((await config({ HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_RUN_RETRY_ON: bad })).stderr, /HOOKLINE_RUN_RETRY_ON/);
});
