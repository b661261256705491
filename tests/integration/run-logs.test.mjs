// GET …/runs/{id}/logs: what was logged about a run, ours and the app's, oldest first; of one that failed after a restart too.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { assertAccessible, assertFits, makeToken, openDashboard } from './lib/browser.mjs';
import { test } from './lib/case.mjs';
import { fleet } from './lib/replicas.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';
import { BINARY, freePort, run, startSidecar } from './lib/sidecar.mjs';
import { RUN, caller, stage } from './lib/stage.mjs';
import { gate, sleep, until } from './lib/until.mjs';

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
            HOOKLINE_LOG_LEVEL: 'info',
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
        const logged = () => sidecar.log.filter(({ run_id }) => run_id === id);
        const lines = await until('it is on both sides', async () => {
            const found = await logOf(ask, id);
            return messages(found).includes('run finished') && found.length === logged().length && found;
        });
        assert.deepEqual(sorted(lines), sorted(logged()), path);
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
    const [ofA, ofB] = [await follow(a.ask, { limit: 200 }), await follow(b.ask, { limit: 200 })];
    assert.deepEqual([ofA.replica, ofB.replica], ['a', 'b']);
    assert.ok(ofA.lines.some(({ run_id, app_name }) => run_id === failed && app_name === 'a'));
    assert.ok(!ofB.lines.some(({ run_id }) => run_id === failed), 'each has its own lines');
    for (const id of [good, held]) assertRefused(await b.ask('GET', `${RUNS}/${id}/logs`), 409, /replica .*\ba\b/);
    assert.ok(messages(await logOf(a.ask, good)).includes('run finished'));
    await a.sidecar.kill();
    assert.deepEqual(await logOf(b.ask, failed), before);
});

/** What the app said, as the lines of a run's log have it. */
const said = (lines) => lines.filter(({ msg }) => msg === 'app').map(({ line }) => line);

/** What is said within 20 ms of another run is nobody's: it may be the other's. */
const apart = () => sleep(200);

const tell = (what) => ({ body: JSON.stringify(what) });

test('what the app says while a run alone is inside is its log, up to its last words', async (t) => {
    const all = await talking(t);
    for (let i = 0; i < 8; i++) {
        const failed = await ended(all, RUN, tell({ out: [`out ${i}`], err: [`Traceback ${i}`], status: 500 }));
        const lines = await logOf(all.ask, failed);
        assert.deepEqual(said(lines), [`out ${i}`, `Traceback ${i}`]);
        assert.deepEqual(lines.filter(({ msg }) => msg === 'app').map(({ stream }) => stream), ['stdout', 'stderr']);
        await apart();
    }
    const { id } = await all.call(RUN, tell({ out: ['synchronous'] }));
    await until('it is there', async () => said(await logOf(all.ask, id)).includes('synchronous'));
});

test('a failed run’s last words are in the store', async (t) => {
    const all = await talking(t);
    const id = await ended(all, RUN, tell({ err: ['Traceback', 'ValueError: no'], status: 500 }));
    await all.sidecar.restart();
    assert.deepEqual(said(await logOf(all.ask, id)), ['Traceback', 'ValueError: no']);
});

test('what the app says while two are inside is nobody’s, unless it names the run', async (t) => {
    const all = await talking(t);
    const long = await all.call(RUN, { query: { async: 'true' }, ...tell({ out: ['alone'], ms: 3000 }) });
    await until('it speaks', async () => said(await logOf(all.ask, long.id)).includes('alone'));
    const named = JSON.stringify({ level: 'info', msg: 'named', run_id: long.id });
    const { id } = await all.call(RUN, tell({ out: ['together', named] }));
    await until('it is said', () => all.sidecar.log.some(({ line }) => line === 'named'));
    assert.deepEqual(said(await logOf(all.ask, id)), []);
    assert.deepEqual(said(await logOf(all.ask, long.id)), ['alone', 'named']);
});

test('runs one after the other in one slot: nobody gets another’s words', async (t) => {
    const all = await talking(t, { HOOKLINE_APP_CONCURRENCY: '1', HOOKLINE_APP_LOG: 'on' });
    const calls = Array.from({ length: 60 }, (_, i) =>
        all.call(RUN, tell({ out: [`begin ${i}.`], err: [`end ${i}.`], ms: i % 3 ? 0 : 50, status: i % 2 ? 500 : 200 })),
    );
    const ids = (await Promise.all(calls)).map(({ id }) => id);
    await until('all is said', () => all.sidecar.log.filter(({ msg }) => msg === 'app').length >= 120);
    let theirs = 0;
    for (const [i, id] of ids.entries()) {
        for (const line of said(await logOf(all.ask, id))) {
            assert.match(line, new RegExp(`^(begin|end) ${i}\\.$`));
            theirs++;
        }
    }
    t.diagnostic(`${theirs} of 120 lines have a run`);
});

test('with HOOKLINE_APP_LOG=off nothing of the app’s is kept', async (t) => {
    const all = await talking(t, { HOOKLINE_APP_LOG: 'off', HOOKLINE_LOG_LEVEL: 'info' });
    const id = await ended(all, RUN, tell({ out: ['quiet'], status: 500 }));
    const lines = await logOf(all.ask, id);
    assert.ok(lines.length > 0);
    assert.deepEqual(said(lines), []);
});

test('the last 200 lines of a run are kept, and 64 KiB', async (t) => {
    const all = await talking(t, { HOOKLINE_LOG_LEVEL: 'warn' });
    const many = Array.from({ length: 300 }, (_, i) => `line ${i}`);
    const long = await ended(all, RUN, tell({ out: many, status: 500 }));
    assert.deepEqual(said(await logOf(all.ask, long)), many.slice(-200));
    await apart();
    const wide = Array.from({ length: 40 }, (_, i) => `${i} `.padEnd(3000, 'x'));
    const heavy = await ended(all, RUN, tell({ out: wide, status: 500 }));
    const answer = await all.ask('GET', `${RUNS}/${heavy}/logs`);
    assert.ok(answer.body.length <= 65536 && answer.body.length > 60000, `${answer.body.length}`);
    assert.ok(said(await logOf(all.ask, heavy)).at(-1).startsWith('39 '));
});

test('hookline runs logs prints it, beside a sidecar and without one', async (t) => {
    const all = await staged(t);
    const id = await ended(all, '/v4/p/a/bad');
    const { text } = await all.ask('GET', `${RUNS}/${id}/logs`);
    const logs = (of) => run(['runs', 'logs', of], { HOOKLINE_DATA_DIR: all.sidecar.dataDir });
    assert.equal((await logs(id)).stdout, text);
    const nobody = await logs('01890a5d-ac96-774b-bcce-b302099a8057');
    assert.equal(nobody.code, 1);
    assert.match(nobody.stderr, /^hookline runs logs: .*run/);
    await all.sidecar.stop();
    assert.equal((await logs(id)).stdout, text);
});

test('hookline logs prints the last lines of all runs, and with --follow those that come', async (t) => {
    const all = await talking(t, { HOOKLINE_LOG_LEVEL: 'info' });
    const env = { HOOKLINE_DATA_DIR: all.sidecar.dataDir };
    const id = await ended(all, RUN, tell({ out: ['one'], err: [JSON.stringify({ level: 'error', msg: 'bad' })] }));
    await all.call('/v4/p/b/run', tell({ out: ['two', 'three'] }));
    const logs = async (...more) => {
        const { code, stdout, stderr } = await run(['logs', ...more], env);
        assert.equal(code, 0, stderr);
        return said(stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line).line));
    };
    await until('all is there', async () => (await logs('--limit', '200')).length === 4);
    assert.deepEqual(await logs('--app', 'b', '--limit', '1'), ['three']);
    assert.deepEqual(await logs('--run', id), ['one', 'bad']);
    assert.deepEqual(await logs('--level', 'error', '--project', 'p'), ['bad']);
    for (const [args, why] of [[['--level', 'loud'], /debug, info, warn or error|debug\|info/], [['--limit', '0'], /--limit/], [['word'], /word/]]) {
        const bad = await run(['logs', ...args], env);
        assert.equal(bad.code, 2);
        assert.match(bad.stderr, why);
    }
    let text = '';
    const child = spawn(BINARY, ['logs', '--follow', '--app', 'b', '--limit', '1'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece));
    await until('it has begun', () => text.includes('three'));
    await all.call('/v4/p/b/run', tell({ out: ['four'] }));
    await until('it goes on', () => text.includes('four'));
    assert.ok(!text.includes('two'));
    await all.sidecar.stop();
    const alone = await run(['logs'], env);
    assert.equal(alone.code, 1);
    assert.match(alone.stderr, /no hookline is running here/);
});

test('what became of its webhook is told to admins alone: where a name led, and why nobody was there', async (t) => {
    const all = await staged(t, { HOOKLINE_AUTH: 'jwt', HOOKLINE_WEBHOOK_ATTEMPTS: '1' });
    const tokens = {};
    for (const role of ['admin', 'invoke']) tokens[role] = await makeToken(all.sidecar, { role });
    const headers = { authorization: `Bearer ${tokens.invoke}` };
    const query = { async: 'true', webhookEndpoint: 'http://127.0.0.1:1/' };
    const { id } = await all.call('/v4/p/a/bad', { query, headers });
    await until('it is given up', async () => {
        const { deliveries } = (await all.ask('GET', `${RUNS}/${id}`)).json();
        return deliveries[0]?.state === 'dead';
    });
    const shown = async (role) => {
        const ask = caller(t, { url: all.sidecar.url });
        const answer = await ask(`${RUNS}/${id}/logs`, { method: 'GET', headers: { authorization: `Bearer ${tokens[role]}` } });
        return answer.text;
    };
    assert.match(await shown('admin'), /webhook delivery failed for good.*127\.0\.0\.1:1/);
    assert.match(await shown('invoke'), /run finished/);
    assert.doesNotMatch(await shown('invoke'), /webhook delivery|127\.0\.0\.1:1"|refused/);
});

test('the dashboard shows it to admins', async (t) => {
    const all = await talking(t, { HOOKLINE_AUTH: 'jwt' });
    const admin = await makeToken(all.sidecar, { role: 'admin' });
    const headers = { authorization: `Bearer ${admin}` };
    const id = await ended(all, RUN, { ...tell({ err: ['<b>Traceback</b>'], status: 500 }), headers });
    const page = await openDashboard(t, all.sidecar, { token: admin, hash: `#/runs/${id}` });
    const log = page.getByRole('region', { name: 'Log' });
    await log.getByText('<b>Traceback</b>').waitFor();
    await log.getByText('run finished').waitFor();
    await assertAccessible(page, 'a run’s log');
});

/** What has come, and where to go on. */
async function follow(ask, query, path = '/v2/projects/p/logs') {
    const answer = await ask('GET', `${path}?${new URLSearchParams(query)}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
}

test('the log goes on: the last lines, then what comes, of an app, a run, a level', async (t) => {
    const all = await talking(t, { HOOKLINE_LOG_LEVEL: 'info', HOOKLINE_PROJECT_ID: 'p' });
    const { ask } = all;
    const id = await ended(all, RUN, tell({ out: ['hello'], err: [JSON.stringify({ level: 'error', msg: 'bad' })] }));
    const { id: other } = await all.call('/v4/p/b/run', tell({ out: ['from b'] }));
    await until('all is there', async () => {
        const lines = said((await follow(ask, {})).lines.map(({ line }) => line));
        return ['hello', 'bad', 'from b'].every((text) => lines.includes(text));
    });
    const { lines, next, missed, replica } = await follow(ask, { limit: 200 });
    assert.equal(missed, 0);
    assert.equal(replica, null);
    assert.ok(lines.some(({ run_id, line }) => run_id === null && line.msg === 'listening'), 'hookline’s own');
    const mine = lines.find(({ line }) => line.line === 'hello');
    assert.deepEqual([mine.run_id, mine.project_id, mine.app_name, mine.line.stream], [id, 'p', 'a', 'stdout']);
    const texts = async (query, path) => said((await follow(ask, query, path)).lines.map(({ line }) => line));
    assert.deepEqual(await texts({ app: 'b' }), ['from b'], 'a synchronous run’s, too');
    assert.deepEqual(await texts({ run_id: other }), ['from b']);
    assert.deepEqual(await texts({ level: 'error' }), ['bad']);
    assert.deepEqual(await texts({ app: 'nobody' }), []);
    assert.ok((await texts({}, '/v2/logs')).includes('from b'));
    assert.deepEqual(lines.slice(-1), (await follow(ask, { limit: 1 })).lines, 'the last one');
    assert.deepEqual((await follow(ask, { after: next })).lines, []);
    const waiting = follow(ask, { after: next, wait: 20, app: 'a' });
    await all.call('/v4/p/b/run', tell({ out: ['not this one'] }));
    await apart();
    await all.call(RUN, tell({ out: ['this one'] }));
    const come = await waiting;
    assert.deepEqual(said(come.lines.map(({ line }) => line)), ['this one']);
    assert.notEqual(come.next, next);
    const first = await follow(ask, { after: `${next.split('-')[0]}-1`, limit: 1 });
    assert.equal(first.has_more, true);
    assert.equal((await follow(ask, { after: '1-1', limit: 1 })).lines.length, 1, 'of a process that was before');
});

test('a burst of long lines about many runs says of each whose it is', async (t) => {
    const all = await talking(t, { HOOKLINE_ACCESS_LOG: 'on' });
    const app = 'a'.repeat(120);
    const from = (await follow(all.ask, {})).next;
    const path = `/v4/p/${app}/${'x'.repeat(1500)}`;
    for (let i = 0; i < 60; i++) await all.call(path);
    await until('all are logged', () => all.sidecar.log.filter(({ msg }) => msg === 'call').length === 60);
    const shown = [];
    for (let after = from; ; ) {
        const page = await follow(all.ask, { after, app, limit: 200 });
        shown.push(...page.lines);
        after = page.next;
        if (!page.has_more) break;
    }
    assert.equal(shown.filter(({ line }) => line.msg === 'call').length, 60);
});

test('whoever reads the log too slowly is told how many lines went by', async (t) => {
    const all = await talking(t, { HOOKLINE_LOG_LEVEL: 'warn', HOOKLINE_PROJECT_ID: 'p' });
    const { next } = await follow(all.ask, {});
    const id = await ended(all, RUN, tell({ out: Array.from({ length: 300 }, (_, i) => `line ${i}`) }));
    await until('all is said', async () => said(await logOf(all.ask, id)).at(-1) === 'line 299');
    const { lines, missed } = await follow(all.ask, { after: next, limit: 200, run_id: id });
    assert.equal(lines.length, 200);
    assert.equal(lines.at(-1).line.line, 'line 299');
    assert.equal(missed, 100);
});

test('of many who wait for a line 100 do, and others are answered at once', async (t) => {
    const all = await staged(t, { HOOKLINE_AUTH: 'jwt' });
    const token = await makeToken(all.sidecar);
    const ask = rest(all.sidecar, { token });
    const { next } = await follow(ask, {});
    const answered = [];
    const waiting = Array.from({ length: 101 }, () => follow(ask, { after: next, wait: 50 }).then((answer) => answered.push(answer)));
    await until('one is answered', () => answered.length > 0);
    assert.deepEqual(answered[0].lines, []);
    assert.equal(answered.length, 1);
    await all.call(RUN, { query: { async: 'true' }, headers: { authorization: `Bearer ${token}` } });
    await Promise.all(waiting);
    assert.ok(answered.slice(1).every(({ lines }) => lines.length > 0));
});

test('who may follow the log: all of a project for those who see it, a run of his own for its caller', async (t) => {
    const all = await staged(t, { HOOKLINE_AUTH: 'jwt' });
    const tokens = {};
    for (const [name, role, project] of [['admin', 'admin', 'p'], ['viewer', 'viewer', 'p'], ['his', 'invoke', 'p'], ['other', 'invoke', 'p'], ['q', 'admin', 'q']])
        tokens[name] = await makeToken(all.sidecar, { role, project });
    const as = (name) => rest(all.sidecar, { token: tokens[name] });
    const query = { async: 'true', webhookEndpoint: 'http://127.0.0.1:1/' };
    const { id } = await all.call('/v4/p/a/bad', { query, headers: { authorization: `Bearer ${tokens.his}` } });
    const messagesOf = async (name, filter) => messages((await follow(as(name), filter)).lines.map(({ line }) => line));
    await until('it is given up', async () => (await messagesOf('viewer', {})).includes('webhook delivery failed for good'));
    assert.ok((await messagesOf('admin', {})).includes('run finished'));
    assert.ok(!(await messagesOf('admin', {})).includes('listening'), 'where there are other projects: lines of no run may be theirs');
    assert.deepEqual(await messagesOf('his', { run_id: id }), ['run finished'], 'nothing of where its webhook went');
    assert.deepEqual((await follow(as('q'), {}, '/v2/projects/q/logs')).lines, [], 'another project’s');
    assertRefused(await as('his')('GET', '/v2/projects/p/logs'), 403, /run_id/);
    assertRefused(await as('other')('GET', `/v2/projects/p/logs?run_id=${id}`), 403);
    assertRefused(await as('q')('GET', '/v2/projects/p/logs'), 403);
    assertRefused(await as('admin')('GET', '/v2/logs'), 404);
    for (const [bad, why] of [['level=loud', /debug, info, warn or error/], ['after=x', /next of the previous/], ['after=1-0', /after/], ['limit=0', /limit/], ['wait=x', /wait/], ['cursor=x', /cursor/]])
        assertRefused(await as('admin')('GET', `/v2/projects/p/logs?${bad}`), 400, why);
});

test('the page of the log shows it as it goes on, of a level, standing still while that is wanted', async (t) => {
    const all = await talking(t, { HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p' });
    const token = await makeToken(all.sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const id = await ended(all, RUN, { ...tell({ out: ['<b>first</b>', JSON.stringify({ level: 'error', msg: 'bad \u202eline' })] }), headers });
    const page = await openDashboard(t, all.sidecar, { token, hash: '#/logs', viewport: { width: 390, height: 844 } });
    const log = page.getByRole('log', { name: 'Logs' });
    const line = (text) => log.locator('.log-line').filter({ hasText: text });
    await line('<b>first</b>').waitFor();
    await line('bad ⟨U+202E⟩line').getByText('error').waitFor();
    assert.equal(await line('<b>first</b>').getByRole('link').getAttribute('href'), `#/runs/${id}`);
    await line('listening').waitFor();
    await assertAccessible(page, 'the log');
    await assertFits(page, 'the log');
    await all.call(RUN, { ...tell({ out: ['second'] }), headers });
    await line('second').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    const many = Array.from({ length: 150 }, (_, i) => `many ${i}.`);
    await all.call(RUN, { ...tell({ out: many }), headers });
    await page.getByRole('button', { name: 'Go on' }).click();
    await line('many 149.').waitFor();
    const isAtEnd = () => log.evaluate((list) => list.scrollHeight - list.clientHeight - list.scrollTop < 40);
    await until('its end is in sight', isAtEnd);
    await log.evaluate((list) => (list.scrollTop = 0));
    await all.call(RUN, { ...tell({ out: ['last'] }), headers });
    await page.getByRole('button', { name: /new lines? ↓/ }).click();
    await until('its end is in sight again', isAtEnd);
    await page.getByLabel('Level').selectOption('error');
    await until('nothing else', async () => (await log.locator('.log-line').count()) === 1);
    await page.getByLabel('Level').selectOption('');
    await page.getByLabel('Text').fill('FIRST');
    await page.keyboard.press('Enter');
    await until('nothing else', async () => (await log.locator('.log-line').allInnerTexts()).every((text) => text.includes('first')));
});
