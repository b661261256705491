// The dashboard's page that sends a run: what it offers, how it is called, what comes of it, who may.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { FILE, onFailure, test } from './lib/case.mjs';
import { assertAccessible, assertFits, control, copyBy, goTo, makeToken, openDashboard, openTab } from './lib/browser.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { startPython } from './lib/python.mjs';
import { Receiver } from './lib/receiver.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const FUNCTIONS = `
import time
import dataclasses, typing

def run(prompt: str, times: int = 2, tone: typing.Optional[str] = None):
    """Says it again."""
    return {"said": " ".join([prompt] * times), "tone": tone}

def stream(words: typing.List[str]):
    for word in words:
        yield word
        time.sleep(0.05)

def fail():
    return 418, {"error": "a teapot"}

@dataclasses.dataclass
class Size:
    width: int
    unit: typing.Literal["cm", "in"]

@dataclasses.dataclass
class Box:
    size: Size
    label: str = "box"
    inside: typing.Optional["Box"] = None

def pack(box: Box, more: typing.List[Box] = []):
    return box
`;

let common;

/** A tab of somebody of that role. Tests share the host and its sidecar, each is asked for runs of its own alone. */
async function scene(t, { role = 'invoke', hash = '#/new', ...options } = {}) {
    if (!common) atEnd(FILE, () => (common = null));
    const { app, sidecar } = await (common ??= startBoth(FILE));
    onFailure(t, () => `${app.stderr}\n${sidecar.tail()}`);
    const token = await makeToken(sidecar, { role });
    const page = await openDashboard(t, sidecar, { token, hash, ...options });
    return { page, sidecar, token };
}

async function startBoth(t) {
    const app = await startPython(t, FUNCTIONS);
    const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_APP_URL: app.url, HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8' };
    return { app, sidecar: await startSidecar(t, { env, wait: 'readyz' }) };
}

const outcome = (page) => page.locator('section.outcome');
const send = (page) => page.getByRole('button', { name: 'Send' }).click();

test('the functions of a host are offered with a body of their parameters', async (t) => {
    const { page } = await scene(t);
    const choice = page.getByLabel('Function');
    await choice.waitFor();
    assert.deepEqual(await choice.locator('option').allInnerTexts(), ['run', 'stream', 'fail', 'pack', 'Another path…']);
    assert.deepEqual(JSON.parse(await page.getByLabel('JSON body').inputValue()), { prompt: '', times: 2, tone: null });
    assert.match(await page.locator('#takes').innerText(), /Says it again\.\s+prompt\s+string, required\s+times\s+integer, else 2/);
    await choice.selectOption('stream');
    assert.deepEqual(JSON.parse(await page.getByLabel('JSON body').inputValue()), { words: [] });
    await choice.selectOption('pack');
    const box = { size: { width: 0, unit: 'cm' } };
    assert.deepEqual(JSON.parse(await page.getByLabel('JSON body').inputValue()), { box, more: [] });
    assert.match(await page.locator('#takes').innerText(), /box\s+Box \{size, label, inside\}, required\s+more\s+array of Box/);
    await send(page);
    await outcome(page).getByText('"label": "box"').or(outcome(page).getByText('"label":"box"')).first().waitFor();
});

test('an answer is shown with its status and the way to its run', async (t) => {
    const { page, sidecar } = await scene(t, { complaints: /422/ });
    await page.getByLabel('Function').waitFor();
    await page.getByLabel('JSON body').fill('{"prompt": "hi"}');
    await send(page);
    await outcome(page).getByText('status 200').waitFor();
    assert.deepEqual(JSON.parse(await page.getByLabel('Answer', { exact: true }).innerText()), { said: 'hi hi', tone: null });
    const href = await outcome(page).getByRole('link', { name: /^Run/ }).getAttribute('href');
    const { json } = await control(sidecar, 'GET', `/v2/projects/p/runs/${href.split('/').at(-1)}`);
    assert.equal(json.mode, 'sync');

    await page.getByLabel('JSON body').fill('{"promt": "hi"}');
    await page.keyboard.press('Control+Enter');
    await outcome(page).getByText('status 422').waitFor();
    assert.match(await page.getByLabel('Answer', { exact: true }).innerText(), /did you mean 'prompt'/);
    await page.getByLabel('JSON body').fill('{"prompt": ');
    await send(page);
    await page.getByRole('alert').getByText('The body is not JSON').waitFor();
});

test('a queued run has its priority, deadline, tags and webhook, and its result is shown', async (t) => {
    const receiver = await Receiver.start(t);
    const { page, sidecar } = await scene(t, { complaints: /400/ });
    await page.getByLabel('Function').waitFor();
    await page.getByLabel('JSON body').fill('{"prompt": "later"}');
    await page.getByRole('radio', { name: /^Queue/ }).check();
    await page.getByText('Webhook, tags, priority, deadline').click();
    await page.getByLabel('Webhook (the result').fill(receiver.url('/played'));
    await page.getByLabel('Priority').selectOption('low');
    await page.getByLabel('At most in the app').fill('30s');
    await page.getByLabel('Tags').fill('tier=gold, order=17');
    await send(page);
    await outcome(page).getByText('success').waitFor();
    await page.getByLabel('Answer', { exact: true }).getByText('later later').waitFor();
    await receiver.delivered('/played');
    const href = await outcome(page).getByRole('link', { name: /^Run/ }).getAttribute('href');
    const { json } = await control(sidecar, 'GET', `/v2/projects/p/runs/${href.split('/').at(-1)}`);
    assert.equal(json.mode, 'async');
    assert.equal(json.priority, 'low');
    assert.deepEqual(json.tags, { tier: 'gold', order: '17' });

    await page.getByLabel('At most in the app').fill('soon');
    await send(page);
    await outcome(page).getByText('status 400').waitFor();
});

test('what is no tag is said before anything is sent, and chips of tags lead to the runs that have them', async (t) => {
    const { page } = await scene(t);
    await page.getByLabel('Function').waitFor();
    const calls = [];
    page.on('request', (request) => request.method() === 'POST' && calls.push(request.url()));
    const field = page.getByLabel('Tags');
    for (const [text, said] of [
        ['gold', '“gold” is not name=value.'],
        ['a b=1', 'The name of “a b=1”'],
        ['a="1"', 'The value of “a="1"”'],
        ['a=\u00e4', 'The value of “a=\u00e4”'],
        ['a=1,,b=2', 'There is a comma too many.'],
        ['a=1, a=2', '“a=2” has a name that is there already.'],
        ['a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1', 'There are 9 tags, and may be 8.'],
    ]) {
        await page.evaluate(() => (document.querySelector('.play-form details').open = true));
        await field.fill(text);
        await page.evaluate(() => (document.querySelector('.play-form details').open = false));
        await send(page);
        await page.getByRole('alert').getByText(said).waitFor();
        assert.ok(await field.evaluate((element) => element === document.activeElement), 'it has the focus');
    }
    assert.deepEqual(calls, []);
    const chips = await page.evaluate(async () => {
        const main = document.querySelector('script[type=module]').src;
        const { tagChips } = await import(new URL('state.js', main).href);
        const chips = (run) => tagChips(run).map((chip) => [chip.textContent, chip.getAttribute('href')]);
        return [chips({ tags: { tier: 'gold', note: 'a=<b>&c' } }), chips({ tags: {} }), chips({})];
    });
    assert.deepEqual(chips, [[['tier=gold', '#/runs?tag=tier%3Dgold'], ['note=a=<b>&c', '#/runs?tag=note%3Da%3D%3Cb%3E%26c']], [], []]);
});

test('events are shown as they come, and a stream can be stopped', async (t) => {
    const { page } = await scene(t);
    await page.getByLabel('Function').selectOption('stream');
    await page.getByRole('radio', { name: /^Stream/ }).check();
    await page.getByLabel('JSON body').fill('{"words": ["one", "<b>two</b>", "three"]}');
    await send(page);
    await outcome(page).getByText('3 events').waitFor();
    assert.deepEqual(await outcome(page).locator('li > span:last-child').allInnerTexts(), ['one', '<b>two</b>', 'three']);
    await page.getByLabel('JSON body').fill(JSON.stringify({ words: Array(10_000).fill('more') }));
    await send(page);
    await outcome(page).locator('li').first().waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await outcome(page).getByText('stopped').first().waitFor();
});

test('an app that tells no functions is called by its path and method', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const page = await openDashboard(t, sidecar, { hash: '#/new' });
    await page.getByLabel('Path').fill('anything/else?x=1');
    await page.getByLabel('Method').selectOption('PUT');
    await page.getByLabel('App', { exact: true }).fill('a');
    await page.getByLabel('JSON body').fill('{"a": 1}');
    await send(page);
    await outcome(page).getByText('status 200').waitFor();
    const got = JSON.parse(await page.getByLabel('Answer', { exact: true }).innerText());
    assert.deepEqual([got.method, got.target, got.body], ['PUT', '/anything/else?x=1', '{"a": 1}']);
    const names = got.fields.map(([name]) => name.toLowerCase());
    assert.ok(!names.includes('authorization') && !names.includes('cookie'), names.join());
});

test('where no token is asked for on the machine itself, runs are sent without one', async (t) => {
    const { sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'none', HOOKLINE_PROJECT_ID: 'p', HOOKLINE_APP_NAME: 'a' } });
    const page = await openTab(t, sidecar);
    await page.goto(`${sidecar.adminUrl}/#/new`);
    await send(page);
    await outcome(page).getByText('status 200').waitFor();
});

test('whoever types a path while the functions are asked for goes on', async (t) => {
    const { page } = await scene(t, { hash: '#/runs' });
    const held = gate();
    await page.route('**/v2/functions', async (route) => (await held.promise, route.continue().catch(() => {})));
    await goTo(page, '#/new');
    await page.getByLabel('Path').fill('');
    await page.keyboard.type('fa');
    held.open();
    await page.getByLabel('Function').waitFor();
    await page.keyboard.type('il');
    assert.equal(await page.getByLabel('Path').inputValue(), 'fail');
    assert.equal(await page.getByLabel('Function').evaluate((e) => e.selectedOptions[0].text), 'Another path…');
    await page.getByLabel('Function').selectOption('stream');
    assert.deepEqual(JSON.parse(await page.getByLabel('JSON body').inputValue()), { words: [] });
});

test('the way to a queued run keeps the focus while it is followed', async (t) => {
    const { page, sidecar } = await scene(t, { complaints: /404/ }); // of what was cancelled no result is kept
    await page.getByLabel('Function').selectOption('stream');
    await page.getByLabel('JSON body').fill(JSON.stringify({ words: Array(10_000).fill('more') }));
    await page.getByRole('radio', { name: /^Queue/ }).check();
    await send(page);
    const link = outcome(page).getByRole('link', { name: /^Run/ });
    await outcome(page).getByText('running').waitFor();
    await link.focus();
    for (let looks = 0; looks < 2; looks++) await page.waitForResponse(/\/runs\/[^/]+$/);
    assert.ok(await link.evaluate((e) => e === document.activeElement));
    const id = (await link.getAttribute('href')).split('/').at(-1);
    await control(sidecar, 'POST', `/v2/projects/p/runs/${id}/cancel`);
    await outcome(page).getByText('cancelled', { exact: true }).waitFor();
    assert.ok(await link.evaluate((e) => e === document.activeElement));
});

test('the call is copied as a line for a terminal', async (t) => {
    const { page, sidecar, token } = await scene(t, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByLabel('Function').waitFor();
    await page.getByLabel('JSON body').fill('{"prompt": "it\'s"}');
    await copyBy(page, 'Copy as curl');
    const line = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(!line.includes('eyJ'), line);
    const shell = await promisify(execFile)('sh', ['-c', `${line} -s`], { env: { ...process.env, TOKEN: token } });
    assert.deepEqual(JSON.parse(shell.stdout), { said: "it's it's", tone: null });
    assert.ok(line.includes(`:${sidecar.port}/v4/p/`), line);
});

test('what was typed is there again after a look at the run', async (t) => {
    const { page } = await scene(t);
    await page.getByLabel('Function').waitFor();
    await page.getByLabel('JSON body').fill('{"prompt": "kept"}');
    await send(page);
    await outcome(page).getByRole('link', { name: /^Run/ }).click();
    await page.locator('.run-head').waitFor();
    await page.goBack();
    await page.getByLabel('Function').waitFor();
    assert.equal(await page.getByLabel('JSON body').inputValue(), '{"prompt": "kept"}');
});

for (const [width, colorScheme] of [[1440, 'light'], [1024, 'dark'], [390, 'light'], [390, 'dark']]) {
    test(`it is usable at ${width} px, ${colorScheme}`, async (t) => {
        const { page } = await scene(t, { viewport: { width, height: 900 }, colorScheme });
        await page.getByLabel('Function').waitFor();
        await page.getByText('Webhook, tags, priority, deadline').click();
        await page.getByLabel('JSON body').fill('{"prompt": "hi"}');
        await send(page);
        await page.getByLabel('Answer', { exact: true }).waitFor();
        await assertAccessible(page, 'New run');
        await assertFits(page, 'New run');
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/new-${width}-${colorScheme}.png`, fullPage: true });
        await goTo(page, '#/runs');
        await page.getByRole('link', { name: 'New run' }).click();
        await until('the page', async () => (await page.locator('h1').innerText()) === 'New run');
    });
}
