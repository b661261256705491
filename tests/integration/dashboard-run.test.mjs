// A run's page: all that there is of one run, whatever its size and whatever became of it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { assertAccessible, assertFits, control, copyBy, goTo, hurry, makeToken, openDashboard, pane } from './lib/browser.mjs';
import { shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

// Node 18 takes a .js for CommonJS where no package.json says otherwise.
const pretty = await readFile(new URL('../../proxy/api/dashboard/pretty.js', import.meta.url), 'base64');
const { jsonFormatter } = await import(`data:text/javascript;base64,${pretty}`);

const CLIPBOARD = ['clipboard-read', 'clipboard-write'];
const US = 'en-US'; // a 12-hour clock

/** About 5 MiB of JSON in one line. */
const rows = Array.from({ length: 70_000 }, (_, i) => ({ id: i, name: `name ${i}`, tags: ['a', 'b'], share: i / 7 }));
const LARGE = JSON.stringify([...rows, 'the last one']);
const PIECE = 32 * 1024; // what the page formats and draws at once

/**
 * A stage whose app answers by what the body says, with ways to call it, to wait for a run and to look at it. `isShared`:
 * the sidecar is the file's, for tests that look at nothing but runs of their own.
 */
async function scene(t, { isShared = false, ...env } = {}) {
    const held = gate();
    const calls = [];
    const app = async (exchange) => {
        const body = (await exchange.body()).toString();
        calls.push({ method: exchange.method, target: exchange.target, body });
        const wish = body.startsWith('{') ? JSON.parse(body) : {};
        if (wish.hold) await held.promise;
        if (wish.reset) return exchange.reset();
        const json = wish.large ? LARGE : (wish.body ?? '{"a":1}');
        const fields = { 'content-type': wish.type ?? 'application/json', ...wish.fields };
        await exchange.send(wish.status ?? 200, fields, json);
    };
    const set = await (isShared ? shared : stage)(t, { app, env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_KEEP_REQUESTS: 'all', ...env } });
    atEnd(t, held.open);
    const token = await makeToken(set.sidecar);
    const call = async (wish = {}, { query = {}, headers = {}, path = '/v4/p/a/run' } = {}) => {
        const options = {
            query: { async: 'true', ...query },
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
            body: typeof wish === 'string' ? wish : JSON.stringify(wish),
        };
        return (await set.call(path, options)).id;
    };
    const record = async (id) => (await control(set.sidecar, 'GET', `/v2/projects/p/runs/${id}`)).json;
    const ended = async (id) => {
        await until(`run ${id} has ended`, async () => {
            const run = await record(id);
            return run.finished_at && run.deliveries.every(({ state }) => state !== 'pending');
        });
        return record(id);
    };
    const open = (hash, more) => openDashboard(t, set.sidecar, { token, hash, ...more });
    return { ...set, token, calls, call, record, ended, open, release: held.open };
}

const section = (page, name) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name, exact: true, level: 2 }) });
const fact = (page, name) =>
    page.locator('.facts > div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd');

/** Waits until that is all of an element's text. Megabytes come from the page once, when there are as many as there should be. */
async function showsText(element, text) {
    await until('all of it', async () => (await element.evaluate((e) => e.textContent.length)) === text.length);
    assert.equal(await element.evaluate((e) => e.textContent), text);
}

const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

/* ---- what it answered ---- */

test('5 MiB of JSON are formatted to the last line while the page goes on', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ large: true });
    await ended(id);
    const page = await open('#/runs', { permissions: CLIPBOARD });
    await hurry(page);
    await page.evaluate(() => {
        globalThis.stages = new Set();
        const look = () => {
            globalThis.stages.add(document.querySelector('#pane-output pre.result')?.childElementCount);
            setTimeout(look);
        };
        look();
    });
    await goTo(page, `#/runs/${id}`);
    const output = await pane(page, 'Output');
    const result = output.locator('pre.result');
    await result.getByText('"id": 0,').waitFor();
    await output.locator('.body:not([aria-busy])').waitFor();
    const seen = await page.evaluate(() => globalThis.stages.size);
    assert.ok(seen > LARGE.length / PIECE / 3, `others had their turn while it was drawn, and saw ${seen} stages of it`);
    const text = await result.evaluate((element) => element.textContent);
    assert.equal(text, JSON.stringify(JSON.parse(LARGE), null, 2));
    await result.evaluate((element) => (element.scrollTop = element.scrollHeight));
    await result.getByText('"the last one"').waitFor();

    await page.getByRole('button', { name: 'Raw' }).click();
    await showsText(result, LARGE);
    await copyBy(page, 'Copy response');
    assert.equal(await clipboard(page), LARGE);
});

test('what is drawn when another way to show it is chosen is that way alone', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ large: true });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    const result = (await pane(page, 'Output')).locator('pre.result');
    await result.waitFor();
    for (const name of ['Raw', 'Formatted', 'Raw']) await page.getByRole('button', { name, exact: true }).click();
    await showsText(result, LARGE);
    assert.equal(await page.getByRole('button', { name: 'Raw' }).getAttribute('aria-pressed'), 'true');
});

test('of what is larger than 10 MiB the beginning is shown', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ type: 'text/plain', body: 'x'.repeat(10 * 1024 * 1024 + 1) });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    const output = await pane(page, 'Output');
    await output.getByText('These are the first 64.0 KiB').waitFor();
    await output.locator('.body:not([aria-busy]) pre.result').waitFor();
    assert.equal((await output.locator('pre.result').evaluate((e) => e.textContent)).length, 64 * 1024);
});

test('nothing is lost or added where the blocks of a long text meet', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const body = `${'é€😀\r\n'.repeat(9000)}${'😀'.repeat(20_000)}`;
    const id = await call({ type: 'text/plain', body });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    const result = (await pane(page, 'Output')).locator('pre.result');
    await showsText(result, body.replaceAll('\r\n', '\n'));
});

/** In pieces of `n` characters. */
function formatted(text, n = text.length) {
    const json = jsonFormatter();
    let out = '';
    for (let at = 0; at < text.length; at += n) out += json.feed(text.slice(at, at + n));
    return out;
}

test('JSON is formatted the same in whatever pieces it comes', () => {
    const text = JSON.stringify({ 'a "b\\': ['\\', '{"', [], {}, [[1.5e-7, true, null]]], 'é😀': '' });
    for (let n = 1; n <= text.length; n++)
        assert.equal(formatted(text, n), JSON.stringify(JSON.parse(text), null, 2), `${n} at once`);
});

test('what is no JSON loses nothing but spaces when it is formatted', () => {
    for (const text of ['{"a": tru e, "b" "c"}', '{"a":1}\n{"b":2}', '[1,,]]}} "x', '"never ended \\', ':,{']) {
        for (const n of [1, 3, 100]) {
            const bare = (any) => any.replace(/\s/g, '');
            assert.equal(bare(formatted(text, n)), bare(text), `${text}, ${n} at once`);
        }
        assert.ok(!formatted(text).includes('true'), 'words stay apart');
    }
});

test('what would be far too long is formatted in its beginning alone', () => {
    const text = `${'['.repeat(60)}${'1,'.repeat(450_000)}`;
    const json = jsonFormatter();
    let out = '';
    for (let at = 0; at < text.length; at += 1000) out += json.feed(text.slice(at, at + 1000));
    assert.ok(json.isCut());
    assert.equal(out.length < 40 * 1024 * 1024, true, `${out.length} characters`);
    assert.equal(out.replace(/\s/g, ''), text);
});

/* ---- what it was called with ---- */

test('a kept request is shown, and no value that may be secret', async (t) => {
    const { call, ended, open, token } = await scene(t, { isShared: true });
    const headers = { cookie: 'session=hidden1', 'x-api-key': 'hidden2', 'x-webhook-secret': 'hidden3', accept: 'text/x-seen' };
    const id = await call({ prompt: 'hello' }, { headers });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    const request = page.getByRole('tabpanel', { name: 'Input' }); // the first where it was kept
    await request.getByText(/header fields$/).click();
    const field = async (name) =>
        request.locator('tr').filter({ has: page.getByRole('rowheader', { name, exact: true }) }).locator('td').innerText();
    for (const name of ['cookie', 'x-api-key', 'Host'])
        assert.equal(await field(name), 'not shown', name);
    assert.equal(await field('accept'), 'text/x-seen');
    await request.locator('pre').waitFor();
    assert.equal(await request.locator('pre').textContent(), '{\n  "prompt": "hello"\n}');
    const html = await page.locator('html').innerHTML();
    assert.doesNotMatch(html, /hidden\d/);
    assert.ok(!html.includes(token), 'no token');
});

test('a run is copied as a command that makes the same call, with no token in it', async (t) => {
    const { call, calls, ended, open, token } = await scene(t, { isShared: true });
    const body = JSON.stringify({ prompt: 'it\'s $HOME, `id` and "\\n"\nin two lines', status: 200 });
    const id = await call(body, { path: '/v4/p/a/run/of%20it' });
    await ended(id);
    const page = await open(`#/runs/${id}`, { permissions: CLIPBOARD });
    await copyBy(page, 'Copy as curl');
    const command = await clipboard(page);
    assert.ok(!command.includes(token) && command.includes('$TOKEN'), command);
    const made = await promisify(execFile)('sh', ['-c', command], { env: { PATH: process.env.PATH, TOKEN: token } });
    assert.match(made.stdout, /^HTTP\/1.1 202 /);
    await until('the app is called again', () => calls.length === 2);
    assert.deepEqual(calls[1], calls[0]);
});

test('what a terminal would obey is in no command', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call('"\u001b[201~\u0015id\r"', { headers: { 'content-type': 'text/plain' } });
    await ended(id);
    const page = await open(`#/runs/${id}`, { permissions: CLIPBOARD });
    await copyBy(page, 'Copy as curl');
    assert.match(await clipboard(page), new RegExp(`--data-binary @${id}.request.txt$`));
});

test('a request that is not kept is told so', async (t) => {
    const { call, ended, open } = await scene(t, { HOOKLINE_KEEP_REQUESTS: 'none' });
    const id = await call();
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await (await pane(page, 'Input')).getByText(/It is not kept.*HOOKLINE_KEEP_REQUESTS/).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Copy as curl' }).count(), 0);
});

/* ---- what became of it ---- */

test('each attempt of a run is shown, and when the next one is', async (t) => {
    const env = { HOOKLINE_RUN_ATTEMPTS: '3', HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '10ms' };
    const { call, ended, open } = await scene(t, env);
    const waiting = await call({ status: 503, fields: { 'retry-after': '200' } });
    const page = await open(`#/runs/${waiting}`);
    await page.locator('.run-head').getByText('next attempt: ').waitFor();
    await page.locator('.timeline').getByText('Waits for attempt 2').waitFor();
    await page.locator('.timeline').getByText(/^in .*s$/).waitFor();

    const id = await call({ status: 503 });
    await ended(id);
    await goTo(page, `#/runs/${id}`);
    const lines = page.locator('.timeline li').filter({ hasText: /^Attempt/ });
    await until('three attempts', async () => (await lines.count()) === 3);
    await lines.first().waitFor(); // of what is not shown yet innerText is all that is in it, what unfolds too
    for (const [i, text] of (await lines.allInnerTexts()).entries())
        assert.match(text.replace(/\s+/g, ' '), new RegExp(`^Attempt ${i + 1} failure app_error 503 .*s$`));
    const pauses = page.locator('.timeline li').filter({ hasText: /^Pause/ });
    assert.match(await pauses.first().innerText(), /after app_error 503/);
    assert.equal(await page.locator('.timeline li.is-level-0 rect').count(), 7, 'accepted, the queue, three attempts, the pauses between');
});

test('a run that was cancelled before it began is told in the words of one', async (t) => {
    const { call, open, sidecar, calls } = await scene(t, { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' });
    await call({ hold: true });
    await until('the app is busy', () => calls.length === 1);
    const id = await call();
    const page = await open(`#/runs/${id}`);
    const output = await pane(page, 'Output');
    await output.getByText('There is none yet.').waitFor();
    await control(sidecar, 'POST', `/v2/projects/p/runs/${id}/cancel`);
    await output.getByText('the run was cancelled before the app was called').waitFor();
    await page.locator('.timeline').getByText('Cancelled', { exact: true }).waitFor();
    assert.equal(await fact(page, 'Started').innerText(), 'never');
    assert.equal(await fact(page, 'Response').innerText(), 'none');
    assert.equal(await page.getByText('not yet').count(), 0);
    assert.equal(await fact(page, 'Place in the queue').innerText(), 'none', 'nothing moves');
    await page.reload();
    await fact(page, 'Response').getByText('none').waitFor();
    assert.equal(await fact(page, 'Place in the queue').count(), 0);
});

test('a place in the queue is told of a run that was seen in it, and of no other', async (t) => {
    const { call, calls, open, release } = await scene(t, { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' });
    const running = await call({ hold: true });
    await until('it is in the app', () => calls.length === 1);
    const waiting = await call();
    const page = await open(`#/runs/${running}`);
    await fact(page, 'Started').waitFor();
    assert.equal(await fact(page, 'Place in the queue').count(), 0);
    await goTo(page, `#/runs/${waiting}`);
    await fact(page, 'Place in the queue').getByText('1', { exact: true }).waitFor();
    release();
    await fact(page, 'Place in the queue').getByText('none', { exact: true }).waitFor();
});

test('what is pressed while the run says how far it is, is pressed', async (t) => {
    const { call, calls, open } = await scene(t, { isShared: true });
    const id = await call({ hold: true });
    await until('it is in the app', () => calls.length === 1);
    const page = await open('#/now');
    let looks = 0;
    await page.route(/\/runs\/[^/]+$/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        if (response) await route.fulfill({ json: { ...(await response.json()), progress: { step: ++looks, of: 100 } } });
    });
    await goTo(page, `#/runs/${id}`);
    await page.getByRole('button', { name: 'Cancel run…' }).hover();
    await page.mouse.down();
    const before = await page.locator('.progress').innerText();
    await until('it has said more', async () => (await page.locator('.progress').innerText()) !== before);
    await page.mouse.up();
    await page.getByRole('dialog', { name: 'Cancel this run?' }).waitFor();
});

test('a log without a line is told in the words of a run that goes on, or has ended', async (t) => {
    const { call, calls, open, release, ended } = await scene(t, { isShared: true });
    const id = await call({ hold: true });
    await until('it is in the app', () => calls.length === 1);
    const page = await open('#/runs', { complaints: /409/ }); // it is asked for events while it goes on
    await page.route(/\/logs$/, (route) => route.fulfill({ body: '' }));
    await goTo(page, `#/runs/${id}`);
    await pane(page, 'Log');
    await section(page, 'Log').getByText('Nothing has been logged about this run yet.').waitFor();
    release();
    await section(page, 'Log').getByText('Nothing was logged about this run, or it is no longer kept.').waitFor();
    await ended(id);
});

test('a log tells the times that the rest of the page tells', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ status: 500 });
    await ended(id);
    const page = await open(`#/runs/${id}`, { timezoneId: 'Asia/Kolkata' });
    const times = async (place) => (await page.locator(place).first().innerText()).split('\n').map((line) => line.slice(0, 8));
    await pane(page, 'Log');
    const local = await until('the log is there', () => times('section[aria-labelledby=log] pre').catch(() => false));
    await page.getByRole('button', { name: 'UTC' }).click();
    const utc = (await times('section[aria-labelledby=log] pre')).slice(0, local.length); // a line more may have come
    const seconds = (text) => text.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
    const ahead = utc.map((text, i) => (seconds(local[i]) - seconds(text) + 86_400) % 86_400);
    assert.ok(utc.length > 0 && ahead.every((s) => s === 5.5 * 3600), `${local} ${utc}`);
    await page.getByRole('button', { name: 'UTC' }).click();
});

test('what is known of a run is there with its log, not after it', async (t) => {
    const { call, open, ended, receiver } = await scene(t, { isShared: true });
    const id = await call({}, { query: { webhookEndpoint: receiver.script('/hook', 200) } });
    await ended(id);
    const page = await open(`#/runs/${await call()}`);
    await pane(page, 'Log'); // what was chosen last is chosen for the next run, too
    await goTo(page, '#/now');
    await page.evaluate(() => {
        globalThis.isLogAlone = false;
        const isShown = (name) => document.getElementById(name)?.checkVisibility();
        const look = () => {
            isLogAlone ||= Boolean(isShown('log') && !isShown('facts'));
            requestAnimationFrame(look);
        };
        look();
    });
    const logged = page.waitForResponse(/\/logs$/);
    await page.route(/answers\.js$/, async (route) => {
        await Promise.race([logged, new Promise((resolve) => setTimeout(resolve, 500))]);
        await route.continue();
    });
    await goTo(page, `#/runs/${id}`);
    await section(page, 'Log').waitFor();
    assert.equal(await page.evaluate(() => isLogAlone), false);
    await (await pane(page, 'Webhook')).getByText('delivered', { exact: true }).first().waitFor();
});

test('of an interrupted run no more is said than is known', async (t) => {
    const { call, calls, open, sidecar, ended } = await scene(t);
    const id = await call({ hold: true });
    await until('it is in the app', () => calls.length === 1);
    await sidecar.kill();
    await sidecar.start();
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await page.locator('.run-head').getByText('interrupted').waitFor();
    await fact(page, 'Ran for').waitFor();
    assert.match(await fact(page, 'Ran for').innerText(), /^≤ .*\s+hookline stopped meanwhile$/);
    assert.match((await page.locator('.timeline').innerText()).replace(/\s+/g, ' '), /ran until hookline stopped: failure at most /);
    await (await pane(page, 'Output')).getByText('hookline stopped before the app had answered').waitFor();
    await goTo(page, '#/runs');
    await page.locator('.runs .c-took').getByText(/^≤ /).waitFor();
});

for (const hash of ['run', 'deliveries']) {
    test(`a dead letter that is redelivered is none any more (${hash})`, async (t) => {
        const { call, ended, open, receiver } = await scene(t);
        const id = await call({}, { query: { webhookEndpoint: receiver.script('/late', 410, 200) } });
        await ended(id);
        for (let i = 0; hash === 'deliveries' && i < 6; i++)
            await ended(await call({}, { query: { webhookEndpoint: receiver.url() } }));
        const page = await open(hash === 'run' ? `#/runs/${id}` : '#/deliveries');
        if (hash === 'run') await pane(page, 'Webhook');
        const one = hash === 'run' ? '.delivery' : '.d-row';
        const delivery = page.locator(one).filter({ has: page.getByText('dead letter') });
        await delivery.waitFor();
        await page.getByRole('button', { name: `Redeliver… to ${new URL(receiver.url()).origin}, run ${id.slice(-8)}` }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Redeliver', exact: true }).click();
        await until('it is no dead letter', async () => (await page.locator('main .badge').getByText('dead letter').count()) === 0);
        await page.locator(one).getByText('delivered', { exact: true }).first().waitFor();
    });
}

const HOSTILE = '<img src=x onerror="globalThis.hit = 1">\u202etxt.exe\u0000\u001b[2J';

test('what a record says of its error, its tags and its times is text, and is drawn as far as it is known', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ status: 500 });
    await ended(id);
    const page = await open('#/runs');
    let spent = { gate_ms: 30, connect_ms: 20, first_byte_ms: 40 };
    await page.route(/\/runs\/[^/?]+$/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        const run = response && (await response.json());
        const at = (ms) => new Date(Date.parse(run.created_at) + ms).toISOString();
        const times = { started_at: at(100), finished_at: at(400), error: HOSTILE.repeat(3), tags: { tier: HOSTILE }, ...spent };
        run?.attempt_log.forEach((attempt) => Object.assign(attempt, { started_at: at(100), finished_at: at(400) }));
        if (run) await route.fulfill({ json: { ...run, ...times } });
    });
    await goTo(page, `#/runs/${id}`);
    const spans = async () =>
        (await page.locator('.timeline .span-words').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
    await page.locator('.timeline').getByText('First byte').waitFor();
    assert.deepEqual(await spans(), [
        'Accepted', 'At the gate the app was not ready 30 ms', 'Queued 70 ms', 'In the app failure app_error 500 300 ms',
        'Connect 20 ms', 'First byte 40 ms', 'Body 240 ms',
    ]);
    for (const place of ['.run-error', '.tag', '.error-line']) {
        assert.match(await page.locator(place).innerText(), /<img src=x onerror="globalThis.hit = 1">⟨U\+202E⟩txt.exe␀␛\[2J/, place);
        assert.equal(await page.locator(`${place} *`).count(), 0, place);
    }
    assert.equal(await page.evaluate(() => globalThis.hit), undefined);
    await assertFits(page, 'a long error');

    spent = { gate_ms: null, connect_ms: null, first_byte_ms: null }; // of a hookline that did not keep them
    await page.reload();
    await page.locator('.timeline').getByText('In the app').waitFor();
    assert.deepEqual(await spans(), ['Accepted', 'Queued 100 ms', 'In the app failure app_error 500 300 ms']);
});

/* ---- in a panel, by keyboard ---- */

/** The list of runs with that run beside it. */
async function openBeside(page, id) {
    await page.locator(`.runs a[href$="${id}"]`).focus();
    await page.keyboard.press('Enter');
    return page.getByRole('complementary', { name: `Run ${id.slice(-8)}` });
}

test('a run is shown beside the list, closed by Escape with the focus where it was, and opened as a page by its key', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ status: 500, body: '{"error":"no such order"}' });
    await ended(id);
    const page = await open('#/runs');
    const panel = await openBeside(page, id);
    await panel.getByRole('heading', { name: 'a /run', level: 2 }).waitFor();
    await panel.getByRole('tabpanel', { name: 'Error' }).getByText('"no such order"').waitFor();
    await assertAccessible(page, 'the list with a run');
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('href')), `#/runs/${id}`);

    await openBeside(page, id);
    await panel.getByRole('button', { name: 'Close' }).waitFor();
    await page.keyboard.press('o');
    await page.getByRole('heading', { name: 'a /run', level: 1 }).waitFor();
    assert.equal(await page.evaluate(() => location.hash), `#/runs/${id}`);
});

test('the panes and the rows of the timeline are reached by keyboard', async (t) => {
    const { call, ended, open } = await scene(t, { isShared: true });
    const id = await call({ prompt: 'x' });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
    await page.getByRole('tab', { name: 'Input', selected: true }).focus();
    for (const [key, name] of [['ArrowRight', 'Output'], ['End', 'Log'], ['ArrowRight', 'Input'], ['ArrowLeft', 'Log'], ['Home', 'Input']]) {
        await page.keyboard.press(key);
        assert.equal(await focused(), name, key);
        await page.getByRole('tabpanel', { name }).waitFor();
    }
    const line = (name) => page.locator('.timeline').getByRole('button', { name });
    await line('Accepted').focus();
    await page.keyboard.press('ArrowDown');
    assert.match(await focused(), /^Queued/);
    await page.keyboard.press('End');
    assert.match(await focused(), /^(In the app|First byte|Body)/);
    await line('In the app').focus();
    await page.keyboard.press('Enter');
    await page.locator('.timeline li').filter({ hasText: /^In the app/ }).getByText(/^From .* to /).waitFor();
    assert.equal(await line('In the app').getAttribute('aria-expanded'), 'true');
});

test('a request is edited in the form for a new run', async (t) => {
    const { call, calls, ended, open } = await scene(t, { isShared: true });
    const id = await call({ prompt: 'first' });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await page.getByRole('button', { name: 'Edit and run again' }).click();
    await page.getByRole('heading', { name: 'New run' }).waitFor();
    const body = page.getByLabel('JSON body');
    assert.equal(await body.inputValue(), '{\n  "prompt": "first"\n}');
    await body.fill('{"prompt": "second"}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const posts = () => calls.filter(({ method }) => method === 'POST');
    await until('it is called with that', () => posts().length === 2);
    assert.deepEqual(posts()[1], { ...posts()[0], body: '{"prompt": "second"}' });
});

/* ---- how it looks ---- */

test('labels of the charts stay apart on a phone with a 12-hour clock', async (t) => {
    const { call, ended, open } = await scene(t);
    const id = await call();
    await ended(id);
    for (const width of [1440, 1024, 390]) {
        const page = await open('#/now', { locale: US, viewport: { width, height: 844 } });
        await page.locator('.chart text').first().waitFor();
        assert.deepEqual(await page.locator('.chart').evaluateAll(findCollisions), [], `${width} px`);
        await goTo(page, `#/runs/${id}`);
        await page.locator('.timeline text').first().waitFor();
        assert.deepEqual(await page.locator('.timeline').evaluateAll(findCollisions), [], `${width} px`);
    }
});

/** Texts of a drawing that lie upon each other. */
function findCollisions(drawings) {
    return drawings.flatMap((drawing) => {
        const texts = [...drawing.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
        return texts.flatMap(([a, one], i) =>
            texts
                .slice(i + 1)
                .filter(([, other]) => one.right > other.left && other.right > one.left && one.bottom > other.top && other.bottom > one.top)
                .map(([b]) => `${a} / ${b}`),
        );
    });
}

test('reasons stay whole and paths can be read, however wide the window', async (t) => {
    const { call, ended, open } = await scene(t);
    const path = '/v4/p/a/run/a-long-path/of-several/parts';
    const id = await call({ reset: true }, { path });
    await ended(id);
    for (const width of [1440, 1024, 390]) {
        const page = await open('#/runs', { viewport: { width, height: 844 } });
        const reason = page.locator('.runs .reason');
        await reason.getByText('upstream_reset').waitFor();
        const { height } = await reason.boundingBox();
        assert.ok(height < 24, `one line at ${width} px: ${height}`);
        await assertFits(page, `${width} px`);
        if (width === 390) continue;
        const shown = await page.locator('.runs .path').evaluate((e) => e.scrollWidth <= e.clientWidth);
        assert.ok(shown, `the path at ${width} px`);
    }
});

for (const colorScheme of ['light', 'dark']) {
    for (const width of [1440, 1024, 390]) {
        test(`a run with everything is right for all, ${colorScheme}, ${width} px`, async (t) => {
            const settings = { isShared: true, HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_RUN_RETRY_ON: '503', HOOKLINE_RUN_RETRY_DELAY: '10ms' };
            const { call, ended, open, receiver } = await scene(t, settings);
            const hook = { webhookEndpoint: receiver.script('/late', 404, 410) };
            const id = await call({ status: 503, body: LARGE.slice(0, 200_000) }, { query: hook });
            await ended(id);
            const page = await open(`#/runs/${id}`, { colorScheme, locale: US, viewport: { width, height: 844 } });
            await page.getByRole('tab', { name: 'Error', selected: true }).waitFor(); // the first where it failed
            for (const name of ['Error', 'Input', 'Output', 'Log', 'Webhook']) {
                const shown = await pane(page, name);
                await shown.locator('pre, table').first().waitFor();
                await until('all of it', async () => (await shown.locator('[aria-busy]').count()) === 0);
                for (const summary of await shown.locator('details > summary').all()) await summary.click();
                await assertAccessible(page, name);
                await assertFits(page, name);
                const names = await page.getByRole('button').evaluateAll((all) =>
                    all.filter((one) => !one.closest('.timeline')).map((one) => one.getAttribute('aria-label') ?? one.textContent),
                );
                assert.deepEqual(
                    names.filter((other, i) => names.indexOf(other) !== i && !/^(Formatted|Raw)$/.test(other)),
                    [],
                    'each button has a name of its own',
                );
            }
        });
    }
}
