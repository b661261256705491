// GET …/runs/{id}/logs: what was logged about a run, ours and the app's, oldest first; of one that failed after a restart too.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control } from './lib/rest.mjs';
import { freePort, startSidecar } from './lib/sidecar.mjs';
import { RUN, caller, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const RUNS = '/v2/projects/p/apps/a/runs';
const TALKER = fileURLToPath(new URL('apps/talker.mjs', import.meta.url));

/** The lines of a run's log, parsed; each is a line of JSON. */
async function logOf(ask, id) {
    const answer = await ask('GET', `${RUNS}/${id}/logs`);
    assert.equal(answer.status, 200, answer.text);
    if (answer.text === '') return [];
    assert.equal(answer.headers['content-type'], 'application/x-ndjson');
    assert.ok(answer.text.endsWith('\n'));
    return answer.text.split('\n').slice(0, -1).map((line) => JSON.parse(line));
}

/** Threads that log at once do so in any order. */
const sorted = (lines) => lines.map((line) => JSON.stringify(line)).sort();

const messages = (lines) => lines.map(({ msg }) => msg);

/** The id of an asynchronous run that has ended. */
async function ended({ call, ask }, path = RUN, options = {}) {
    const { id, status } = await call(path, { query: { async: 'true' }, ...options });
    assert.equal(status, 202);
    await until(`run ${id} has ended`, async () => (await ask('GET', `${RUNS}/${id}`)).json().finished_at);
    return id;
}

async function staged(t, env = {}) {
    const app = (x) => x.send(x.path === '/bad' ? 500 : 200);
    const all = await stage(t, { app, env: { HOOKLINE_LOG_LEVEL: 'info', ...env } });
    return { ...all, ask: control(all.sidecar) };
}

/** A sidecar that starts apps/talker.mjs, which says what its requests' bodies say. */
async function talking(t, env = {}) {
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: JSON.stringify([process.execPath, TALKER]),
            ...env,
        },
    });
    return { sidecar, call: caller(t, sidecar), ask: control(sidecar) };
}

test('lines that carry a run’s id are its log, as they were logged', async (t) => {
    const all = await staged(t);
    const { ask, sidecar } = all;
    for (const path of [RUN, '/v4/p/a/bad']) {
        const id = await ended(all, path);
        const lines = await logOf(ask, id);
        assert.ok(messages(lines).includes('run finished'), path);
    assert.deepEqual(sorted(lines), sorted(sidecar.log.filter(({ run_id }) => run_id === id)));
    }
    assert.equal((await logOf(ask, (await all.call()).id)).length, 0, 'nothing was logged about it');
});

test('a log in text form gives lines of JSON', async (t) => {
    const all = await staged(t, { HOOKLINE_LOG_FORMAT: 'text' });
    const lines = await logOf(all.ask, await ended(all));
    assert.ok(messages(lines).includes('run finished'));
});

test('a failed run’s log is there after a restart, another’s is not', async (t) => {
    const all = await staged(t);
    const failed = await ended(all, '/v4/p/a/bad');
    const good = await ended(all);
    const before = await logOf(all.ask, failed);
    await all.sidecar.restart();
    assert.deepEqual(await logOf(all.ask, failed), before);
    assert.deepEqual(await logOf(all.ask, good), []);
});

test('an access log’s lines are among them', async (t) => {
    const all = await staged(t, { HOOKLINE_ACCESS_LOG: 'on' });
    const { id } = await all.call();
    const lines = await until('its call is logged', async () => {
        const found = await logOf(all.ask, id);
        return found.length && found;
    });
    assert.deepEqual(messages(lines), ['call']);
});

test('a run that is not here has none', async (t) => {
    const { call, ask } = await staged(t);
    const { id } = await call(RUN, { query: { async: 'true' } });
    const nobody = '01890a5d-ac96-774b-bcce-b302099a8057';
    assertRefused(await ask('GET', `${RUNS}/${nobody}/logs`), 404);
    assertRefused(await ask('GET', `/v2/projects/q/apps/a/runs/${id}/logs`), 404);
    assertRefused(await ask('GET', `/v2/projects/p/apps/b/runs/${id}/logs`), 404);
    assertRefused(await ask('POST', `${RUNS}/${id}/logs`), 405);
    assert.equal((await ask('HEAD', `${RUNS}/${id}/logs`)).status, 200);
});

test('another replica shows the log of a run that failed, and says who has another’s', async (t) => {
    const doors = gate();
    const all = await fleet(t, {
        env: { HOOKLINE_LOG_LEVEL: 'info' },
        app: async (x) => {
            if (x.path === '/held') await Promise.race([doors.promise, x.gone]);
            await x.send(x.path === '/bad' ? 500 : 200);
        },
    });
    t.after(() => doors.open());
    const a = await all.add('a');
    const failed = await ended(a, '/v4/p/a/bad');
    const good = await ended(a);
    const { id: held } = await a.call('/v4/p/a/held', { query: { async: 'true' } });
    await a.called(held);
    const before = await logOf(a.ask, failed);
    assert.ok(messages(before).includes('run finished'));
    const b = await all.add('b');
    assert.deepEqual(await logOf(b.ask, failed), before);
    for (const id of [good, held]) assertRefused(await b.ask('GET', `${RUNS}/${id}/logs`), 409, /replica .*\ba\b/);
    assert.ok(messages(await logOf(a.ask, good)).includes('run finished'));
    await a.sidecar.kill();
    assert.deepEqual(await logOf(b.ask, failed), before);
});
