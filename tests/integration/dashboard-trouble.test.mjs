// The dashboard when things are not as they should be: hookline gone, silent or another one, a wrong clock, broken addresses, an end in the middle of something.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { ELSEWHERE, assertAccessible, assertFits, control, copyBy, goTo, hashOf, makeToken, openDashboard, openTab } from './lib/browser.mjs';
import { cluster } from './lib/postgres.mjs';
import { shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt' };
const HOUR = 3_600_000;

/**
 * A stage whose app holds the calls whose body names a gate, and a way to make calls, asynchronous ones above all.
 * `isShared`: its sidecar is the file's, for tests that call nothing.
 */
async function scene(t, options = {}) {
    const gates = {};
    const app = async (exchange) => {
        const { hold } = JSON.parse((await exchange.body()).toString());
        if (hold !== undefined) await (gates[hold] ??= gate()).promise;
        await exchange.json({});
    };
    const set = await (options.isShared ? shared : stage)(t, { app, ...options, env: { ...env, ...options.env } });
    const token = await makeToken(set.sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const call = (wish = {}, async = 'true') =>
        set.call('/v4/p/a/run', { query: { async }, headers, body: JSON.stringify(wish) });
    const open = (hash, more) => openDashboard(t, set.sidecar, { token, hash, ...more });
    const release = (name) => (gates[name] ??= gate()).open();
    return { ...set, token, call, open, release };
}

const row = (page, id) =>
    page.locator('.runs tbody tr').filter({ has: page.locator(`a[href$="${id}"]`) });

for (const [hash, heading] of [
    ['#/constructor', 'No such page'],
    ['#/__proto__', 'No such page'],
    ['#/runs?time=soon&state=lost&mode=constructor', 'Runs'],
    ['#/deliveries?state=toString', 'Deliveries'],
    ['#/deliveries?state=dead&time=x', 'Deliveries'],
    ['#/runs/%E0%A4%A', '%E0%A4%A'],
]) {
    test(`the address ${hash} is as good as any`, async (t) => {
        const { open } = await scene(t, { isShared: true });
        const page = await open('#/now', { complaints: /404/ });
        await page.evaluate((to) => (location.hash = to), hash);
        await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
        await page.locator('.note').first().waitFor();
        assert.equal(await page.getByText('not up to date').count(), 0);
    });
}

for (const hash of ['#/nowhere', '#/runs/x/y/z', '#/keys/x', '#nowhere?state=failure'])
    test(`the address ${hash} is told to be of no page, and stays`, async (t) => {
        const { open } = await scene(t, { isShared: true });
        const page = await open('#/now', { viewport: { width: 390, height: 800 } });
        await goTo(page, hash);
        await page.getByRole('heading', { name: 'No such page', level: 1 }).waitFor();
        await page.locator('main code').getByText(hash, { exact: true }).waitFor();
        assert.equal(await hashOf(page), hash);
        assert.equal(await page.title(), 'No such page · hookline');
        assert.equal(await page.locator('#top [aria-current]').count(), 0);
        assert.deepEqual(await page.locator('main a').allInnerTexts(), ['Overview', 'Runs', 'New run', 'Deliveries', 'Destinations', 'Jobs', 'Logs', 'Audit', 'API Keys']);
        await assertAccessible(page, 'no such page');
        await goTo(page, `#/${'x'.repeat(300)}\u202e`);
        await page.locator('main code').getByText('xxx%E2%80%AE').waitFor();
        await assertFits(page, 'a long address');
        await page.goBack();
        await page.locator('main code').getByText(hash, { exact: true }).waitFor();
        await page.goBack();
        await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
        await page.goForward();
        await page.locator('main').getByRole('link', { name: 'API Keys' }).click();
        await page.getByRole('heading', { name: 'API Keys', level: 1 }).waitFor();
    });

for (const hash of ['', '#', '#/', '#main', '#token='])
    test(`the address “${hash}” leads to the overview`, async (t) => {
        const { sidecar, token } = await scene(t, { isShared: true });
        const page = await openTab(t, sidecar);
        await page.goto(`${sidecar.adminUrl}/${hash}`);
        await page.getByLabel('Service account token').fill(token);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    });

test('who may not see all pages is led to those that he may see; a link that names no page signs in', async (t) => {
    const { sidecar } = await scene(t, { isShared: true });
    const page = await openTab(t, sidecar);
    await page.goto(`${sidecar.adminUrl}/#/nowhere`);
    await page.getByLabel('Service account token').fill(await makeToken(sidecar, { role: 'invoke' }));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'No such page', level: 1 }).waitFor();
    assert.deepEqual(await page.locator('main a').allInnerTexts(), ['Overview', 'Runs', 'New run', 'API Keys']);
    assert.equal(await hashOf(page), '#/nowhere');
    await page.evaluate((token) => (location.hash = `#token=${token}`), await makeToken(sidecar));
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in with the link' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
});

test('a page that cannot be loaded says so, and can be when hookline is back', async (t) => {
    const { open, sidecar } = await scene(t);
    const page = await open('#/runs', { complaints: /ERR_|503|Failed to load/ });
    await page.getByText('No runs yet').waitFor();
    await sidecar.stop();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('alert').getByText('It could not be loaded').waitFor();
    await sidecar.restart();
    await page.getByRole('button', { name: 'Load again' }).click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
});

test('a question goes with the page that asked it', async (t) => {
    const { open, call } = await scene(t);
    const { id } = await call({ hold: 'for ever' });
    const page = await open();
    await row(page, id).locator('a').click();
    await page.getByRole('button', { name: 'Cancel run…' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await row(page, id).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
});

test('a session that ends behind a question ends the question', async (t) => {
    const { open, call, sidecar } = await scene(t);
    const { id } = await call({ hold: 'for ever' });
    const page = await open(`#/runs/${id}`, { complaints: /401|ERR_INCOMPLETE_CHUNKED_ENCODING/ });
    await page.getByRole('button', { name: 'Cancel run…' }).click();
    const { json } = await control(sidecar, 'GET', '/v2/projects/p/service-accounts');
    const [{ id: account }] = json.service_accounts;
    await control(sidecar, 'DELETE', `/v2/projects/p/service-accounts/${account}`);
    await page.getByRole('alert').getByText('This token was not accepted').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    const focused = page.evaluate(() => document.activeElement.id);
    assert.equal(await focused, 'token');
});

test('a hookline that says nothing is not waited for without end', async (t) => {
    const { sidecar, token } = await scene(t);
    const page = await openTab(t, sidecar);
    await page.clock.install();
    await page.goto(`${sidecar.adminUrl}/#token=${token}`);
    await page.locator('main h1').waitFor();
    await goTo(page, '#/runs');
    await page.getByText('No runs yet').waitFor();
    let isAsked = false;
    await page.route('**/v2/**', () => (isAsked = true));
    await until('a question that nobody answers', async () => {
        await page.clock.runFor(500);
        return isAsked;
    });
    await page.clock.runFor(30_000);
    await page.getByRole('alert').getByText('hookline does not answer').waitFor();
});

test('a hookline that is too busy to look at a token does not end the session', async (t) => {
    const { open } = await scene(t, { isShared: true });
    const page = await open('#/now', { complaints: /503/ });
    await page.route('**/v2/projects/p', (route) =>
        route.fulfill({ status: 503, json: { detail: 'Too busy.' } }),
    );
    await page.reload();
    await page.getByRole('alert').getByText('Too busy.').waitFor();
    await page.unroute('**/v2/projects/p');
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('what cannot be a token is told so', async (t) => {
    const { sidecar } = await scene(t, { isShared: true });
    const page = await openTab(t, sidecar);
    await page.goto(sidecar.adminUrl);
    await page.getByLabel('Service account token').fill('“eyJhbGciOiJFUzI1NiJ9”');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('characters that no token has').waitFor();
});

test('older runs that could not be loaded can be asked for again', async (t) => {
    const { open, call } = await scene(t);
    for (let i = 0; i < 51; i++) await call();
    const page = await open('#/runs', { complaints: /ERR_FAILED/ });
    await page.route('**/runs?*cursor=*', (route) => route.abort());
    await page.getByRole('button', { name: 'Show older' }).click();
    await page.getByRole('alert').getByText('Older runs could not be loaded').waitFor();
    await page.unroute('**/runs?*cursor=*');
    await page.getByRole('button', { name: 'Show older' }).click();
    await page.locator('#main').getByText('51 runs shown').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
});

test('every run in sight is followed, however many there are', async (t) => {
    const { open, call, release } = await scene(t);
    const { id } = await call({ hold: 'the last' });
    for (let i = 0; i < 10; i++) await call({ hold: 'others' });
    for (let i = 0; i < 50; i++) await call();
    const page = await open('#/runs', { viewport: { width: 1280, height: 2600 } });
    await page.getByRole('button', { name: 'Show older' }).click();
    await row(page, id).getByText('running').waitFor();
    await row(page, id).scrollIntoViewIfNeeded();
    release('the last');
    await row(page, id).getByText('success').waitFor();
});

test('a run that is known no more does not look as if it ran', async (t) => {
    const { open, call, sidecar } = await scene(t);
    const cut = assert.rejects(call({ hold: 'for ever' }, 'false'));
    const page = await open('#/runs', { complaints: /ERR_|404|503|Failed to load/ });
    const first = page.locator('.runs tbody tr').first();
    await first.getByText('running').waitFor();
    await sidecar.kill();
    await cut;
    await sidecar.start();
    await first.getByText('not kept').waitFor();
});

for (const hours of [-2, 2]) {
    test(`a browser whose clock is ${hours} hours off shows what hookline’s clock says`, async (t) => {
        const { sidecar, token, call } = await scene(t);
        const { id } = await call({ hold: 'for ever' });
        const page = await openTab(t, sidecar);
        await page.clock.install({ time: Date.now() + hours * HOUR });
        await page.goto(`${sidecar.adminUrl}/#token=${token}`);
        await page.locator('main h1').waitFor();
        await goTo(page, '#/runs');
        await row(page, id).waitFor();
        await row(page, id).locator('.c-took').getByText(/^(\d+ min )?[\d.]+ m?s$/).waitFor();
        await goTo(page, '#/runs?time=3600');
        await row(page, id).waitFor();
        const asked = await until('the list of that span', () => page.seen.urls.findLast((url) => /\/runs\?.*since=/.test(url)));
        const ago = Date.now() - Date.parse(new URL(asked).searchParams.get('since'));
        assert.ok(Math.abs(ago - HOUR) < HOUR / 2, `${ago} ms ago`);
        await goTo(page, `#/runs/${id}`);
        const running = page.locator('.timeline li').filter({ hasText: 'running' });
        assert.match((await running.innerText()).replace(/\s+/g, ' '), /running (\d+ min )?[\d.]+ m?s(From .*)?$/);
    });
}

test('over plain HTTP from elsewhere, what is to be copied is copied', async (t) => {
    const { sidecar } = await scene(t, { env: { HOOKLINE_ADMIN_HOSTS: ELSEWHERE } });
    const origin = `http://${ELSEWHERE}:${sidecar.adminPort}`;
    const page = await openTab(t, sidecar, { origin, complaints: /Cross-Origin-Opener-Policy/ });
    await page.goto(`${origin}/#token=${await makeToken(sidecar)}`);
    await goTo(page, '#/keys');
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('copied');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    const token = await dialog.locator('.token code').innerText();
    await copyBy(dialog, 'Copy token');
    await dialog.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Service account token').focus();
    await page.keyboard.press('Control+V');
    await until('it is there', async () => (await page.getByLabel('Service account token').inputValue()) === token);
});

test('a result that does not keep to its Content-Encoding is told so', async (t) => {
    const app = (exchange) =>
        exchange.send(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, 'plain');
    const { open, call, sidecar } = await scene(t, { app });
    const { id } = await call();
    await until('it is there', async () => {
        const { json } = await control(sidecar, 'GET', `/v2/projects/p/runs/${id}`);
        return json.finished_at;
    });
    const page = await open(`#/runs/${id}`, { complaints: /CONTENT_DECODING/ });
    await page.getByText('encoded: gzip').waitFor();
    await page.getByRole('alert').getByText('this browser cannot decode it').waitFor();
});

test('lines of a result may end with CRLF', async (t) => {
    const app = (exchange) => exchange.send(200, { 'content-type': 'text/plain' }, 'a\r\nb\rc');
    const { open, call } = await scene(t, { app });
    const { id } = await call();
    const page = await open(`#/runs/${id}`);
    await page.locator('pre.result').waitFor();
    assert.equal(await page.locator('pre.result').textContent(), 'a\nb␍c');
});

test('a name that turns the direction of text turns nothing', async (t) => {
    const { open, sidecar } = await scene(t, { isShared: true });
    const name = 'a\u202egpj\u061c\u00ad.exe';
    await makeToken(sidecar, { name });
    const page = await open('#/keys');
    await page.getByText('⟨U+202E⟩gpj⟨U+061C⟩⟨U+00AD⟩').waitFor();
    await page.getByRole('button', { name: /^Revoke a⟨/ }).click();
    await page.getByRole('dialog', { name: /“a⟨U\+202E⟩gpj/ }).waitFor();
    assert.doesNotMatch(await page.locator('html').innerHTML(), /[\u202e\u061c\u00ad]/);
});

test('the first call goes where this hookline takes calls', async (t) => {
    const { open, sidecar } = await scene(t, { env: { HOOKLINE_APP_NAME: 'chat' } });
    const page = await open();
    const line = await page.locator('.command pre').innerText();
    assert.ok(line.includes(`${sidecar.url}/v4/p/chat/run?async=true`), line);
});

test('what is of a database that is not reached is not known, or says as of when it was', async (t) => {
    const database = await cluster(t);
    const { open } = await scene(t, { env: database.env });
    const page = await open('#/now', { complaints: /503/ });
    const tile = page.locator('.tiles > div').filter({ has: page.getByText('Queued runs', { exact: true }) }).locator('dd');
    const says = (text) => until(`it says ${text}`, async () => (await tile.innerText()).startsWith(text));
    await says('0');
    await database.stop();
    await says('–');
    await tile.getByText('the database is not reached').waitFor();
    const ended = page.getByRole('alert').filter({ hasText: 'These figures are not up to date' });
    await ended.getByText('As of ').waitFor();
    assert.ok(await ended.locator('time').getAttribute('datetime'));
    await goTo(page, '#/runs');
    await page.getByRole('alert').waitFor();
    await database.start();
    await goTo(page, '#/now');
    await says('0');
    await until('nothing is old', async () => (await ended.count()) === 0);
});
