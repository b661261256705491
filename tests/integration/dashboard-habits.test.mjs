// What people do with the dashboard every day: save lists, press keys, open tabs, read times in UTC, come back by a link, sign in.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from './lib/case.mjs';
import { addFilter, assertAccessible, assertFits, control, follow, goTo, hashOf, makeToken, openDashboard, openTab } from './lib/browser.mjs';
import { shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_WEBHOOK_ATTEMPTS: '1' };

/** A signed-in tab, and so many runs. `isShared`: the sidecar is the file's, for tests to which other runs and accounts are no matter. */
async function scene(t, { role, runs = 0, path = '/v4/p/a/run', isShared = false, ...options } = {}) {
    const set = await (isShared ? shared : stage)(t, { env });
    const token = await makeToken(set.sidecar, { role });
    const headers = { authorization: `Bearer ${token}` };
    for (let i = 0; i < runs; i++) await set.call(path, { query: { async: 'true' }, headers, body: '{}' });
    const page = await openDashboard(t, set.sidecar, { token, ...options });
    return { ...set, token, headers, page };
}

const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
const focusedRow = (page) => page.evaluate(() => document.activeElement.closest('tr')?.rowIndex ?? null);

/** Of two keys that come too long after each other the second stands alone. */
const goByKeys = (page, key, hash) =>
    until(`g and ${key} lead there`, async () => {
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        return (await hashOf(page)) === hash;
    });

async function exportAs(page, format) {
    await page.getByRole('button', { name: 'Export…' }).click();
    const dialog = page.getByRole('dialog', { name: /^Export/ });
    await dialog.getByRole('radio', { name: new RegExp(`^${format}`) }).check();
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Export', exact: true }).click();
    const file = await download;
    const text = await readFile(await file.path(), 'utf8');
    const said = await dialog.locator('.export').getByRole('status').innerText(); // others may be told beside it
    await dialog.getByRole('button', { name: 'Close' }).click();
    return { text, said, name: file.suggestedFilename() };
}

/** RFC 4180, 2: records of fields. */
function parseCsv(text) {
    const records = [[]];
    for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
        records.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
        if (end === '\r\n') records.push([]);
    }
    assert.deepEqual(records.pop(), [''], 'the last line ends');
    return records;
}

test('a list is saved whole, as CSV and as NDJSON, as its filters choose', async (t) => {
    const { page, sidecar, call, headers } = await scene(t, { runs: 230 });
    await call('/v4/p/other/run', { query: { async: 'true' }, headers, body: '{}' });
    await until('all have ended', async () => {
        const { json } = await control(sidecar, 'GET', '/v2/projects/p/runs?state=success&limit=200');
        return json.runs.length === 200;
    });
    await page.reload();
    await follow(page, () => addFilter(page, 'App', 'a'));
    await page.locator('.runs tbody tr').first().waitFor();
    const csv = await exportAs(page, 'CSV');
    assert.match(csv.said, /^230 rows saved as hookline-runs-[\d-]+Z\.csv$/);
    const [head, ...records] = parseCsv(csv.text);
    assert.equal(records.length, 230);
    assert.equal(head[0], 'run_id');
    assert.ok(head.includes('deliveries.dead'), head.join());
    for (const record of records) assert.equal(record.length, head.length);
    assert.ok(records.every((record) => record[head.indexOf('app_name')] === 'a'));
    const ndjson = await exportAs(page, 'NDJSON');
    const rows = ndjson.text.trimEnd().split('\n').map((line) => JSON.parse(line));
    assert.equal(rows.length, 230);
    assert.equal(new Set(rows.map((row) => row.run_id)).size, 230);
    assert.match(ndjson.name, /\.ndjson$/);
});

test('deliveries and destinations are saved with all that is known of them', async (t) => {
    const { page, call, headers, receiver } = await scene(t);
    const { id } = await call('/v4/p/a/run', {
        query: { async: 'true', webhookEndpoint: receiver.script('/gone', 410) },
        headers,
        body: '{}',
    });
    await goTo(page, '#/deliveries?state=dead');
    await page.locator('main').getByText('dead letter').first().waitFor();
    const delivery = JSON.parse((await exportAs(page, 'NDJSON')).text);
    assert.equal(delivery.run_id, id);
    assert.equal(delivery.attempts[0].status_code, 410);
    const [head, record] = parseCsv((await exportAs(page, 'CSV')).text);
    assert.equal(JSON.parse(record[head.indexOf('attempts')])[0].status_code, 410);
    await goTo(page, '#/destinations');
    await page.locator('main tbody tr').first().waitFor();
    const [names, values] = parseCsv((await exportAs(page, 'CSV')).text);
    assert.equal(values[names.indexOf('destination')], new URL(receiver.url('/')).origin);
    assert.equal(values[names.indexOf('last_hour.attempts')], '1');
});

test('what a spreadsheet would take for a formula is text in a CSV', async (t) => {
    const { page } = await scene(t, { isShared: true });
    await page.getByRole('link', { name: 'API Keys' }).click();
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    await page.getByLabel('Name').fill('=HYPERLINK("http://x","a, b")');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'I have it' }).click();
    const { text } = await exportAs(page, 'CSV');
    assert.ok(text.includes(`"'=HYPERLINK(""http://x"",""a, b"")"`), text);
    assert.doesNotMatch(text, /eyJ/);
});

test('an export can be stopped, gone on with, and kept as far as it came', async (t) => {
    const { page } = await scene(t, { runs: 230 });
    await page.locator('.runs tbody tr').first().waitFor();
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/cursor=/, async (route) => (await held, route.continue().catch(() => {})));
    await page.getByRole('button', { name: 'Export…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export runs' });
    await dialog.getByRole('button', { name: 'Export', exact: true }).click();
    await dialog.getByText('200 rows so far').waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await dialog.getByText('Stopped after 200 rows; there are more.').waitFor();
    await dialog.getByRole('button', { name: 'Save these 200 rows' }).waitFor();
    release();
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Go on' }).click();
    const text = await readFile(await (await download).path(), 'utf8');
    assert.equal(text.trimEnd().split('\r\n').length, 231);
});

test('times are told in UTC when that is wanted, and it is remembered', async (t) => {
    const { page } = await scene(t, { runs: 1, timezoneId: 'Asia/Kolkata', hash: '#/runs?cols=time' });
    const cell = page.locator('.runs tbody time').first();
    const utc = (await cell.getAttribute('datetime')).slice(11, 19);
    assert.notEqual(await cell.innerText(), utc);
    await page.getByRole('button', { name: 'UTC' }).click();
    assert.equal(await cell.innerText(), utc);
    await page.reload();
    assert.equal(await cell.innerText(), utc);
    assert.equal(await page.getByRole('button', { name: 'UTC' }).getAttribute('aria-pressed'), 'true');
    await page.getByRole('button', { name: 'UTC' }).click();
    assert.notEqual(await cell.innerText(), utc);
});

test('times say how long ago, exactly when pointed at, copied or wanted so', async (t) => {
    const { page } = await scene(t, { runs: 2 });
    await goTo(page, '#/runs?cols=time');
    const cells = page.locator('.runs tbody time');
    await cells.nth(1).getByText(/^(now|\d+ (s|min) ago)$/).waitFor();
    const exact = await cells.nth(1).getAttribute('title');
    assert.match(exact, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/);
    await page.clock.install();
    await cells.first().evaluate((time) => (time.dateTime = new Date(Date.now() - 7_200_000).toISOString()));
    await page.clock.runFor(1000);
    await cells.first().getByText('2 h ago').waitFor();
    const copied = (from, to) =>
        page.evaluate(
            ([first, last]) => {
                const times = document.querySelectorAll('.runs tbody time');
                getSelection().setBaseAndExtent(times[first].firstChild, 0, last < 0 ? times[first].firstChild : document.querySelector('.runs'), last < 0 ? 1 : 2);
                const event = new ClipboardEvent('copy', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
                document.dispatchEvent(event);
                return event.defaultPrevented ? event.clipboardData.getData('text/plain') : getSelection().toString();
            },
            [from, to],
        );
    assert.equal(await copied(1, -1), exact);
    assert.ok((await copied(0, 0)).includes(exact), 'in a copied table, too');
    await page.clock.runFor(1);
    await cells.nth(1).getByText(/ago$/).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('times exact');
    await page.keyboard.press('Enter');
    await cells.nth(1).getByText(/^\d\d:\d\d:\d\d$/).waitFor();
});

test('keys go through rows and pages, to the search, and not while something is typed', async (t) => {
    const { page } = await scene(t, { runs: 3, complaints: /404/ });
    await page.locator('.runs tbody tr').nth(2).waitFor();
    await page.keyboard.press('j');
    assert.equal(await focusedRow(page), 1);
    await page.keyboard.press('j');
    assert.equal(await focusedRow(page), 2);
    await page.keyboard.press('k');
    assert.equal(await focusedRow(page), 1);
    await page.keyboard.press('/');
    await page.keyboard.type('jk?gd');
    assert.equal(await page.locator('main input[type=search]').inputValue(), 'jk?gd');
    await page.locator('main').focus();
    await goByKeys(page, 'd', '#/deliveries');
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    await goByKeys(page, 'r', '#/runs');
    await page.locator('.runs tbody tr').nth(2).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').getByRole('tab', { name: 'Output' }).waitFor();
    await page.keyboard.press('o');
    await page.getByText('All runs').waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard' });
    await help.waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await help.getByRole('checkbox').uncheck();
    await help.getByRole('button', { name: 'Close' }).click();
    await page.locator('main').focus();
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.keyboard.press('?');
    await page.getByRole('button', { name: 'Keyboard' }).click();
    await help.getByRole('checkbox').check();
    await help.getByRole('button', { name: 'Close' }).click();
    assert.match(await hashOf(page), /^#\/runs\//, 'turned off, they do nothing');
});

test('Ctrl-K leads to pages, runs, filters and settings by keyboard alone', async (t) => {
    const { page, sidecar, headers, call } = await scene(t, { isShared: true });
    const { id } = await call('/v4/p/a/run', { query: { async: 'true' }, headers, body: '{}' });
    const palette = page.getByRole('dialog', { name: 'Go to, find or change' });
    const chosen = palette.getByRole('option', { selected: true });
    const type = async (text, found, hash) => {
        await page.keyboard.press('Control+k');
        await palette.getByRole('combobox').fill(text);
        await chosen.getByText(found).waitFor();
        const named = await palette.getByRole('combobox').getAttribute('aria-activedescendant');
        assert.equal(await chosen.getAttribute('id'), named);
        await page.keyboard.press('Enter');
        await palette.waitFor({ state: 'detached' });
        if (hash) await until(`${text} leads there`, async () => (await hashOf(page)) === hash);
    };
    await page.keyboard.press('Control+k');
    await palette.waitFor();
    await chosen.getByText('Overview').waitFor();
    await assertAccessible(page, 'the palette');
    await page.keyboard.press('ArrowDown');
    await chosen.getByText('Runs', { exact: true }).waitFor();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp'); // round
    await chosen.getByText(/^Rows: /).waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await type('state:lost', 'Find “state:lost” among the runs', '#/runs?q=state%3Alost');
    await type('aud', 'Audit', '#/audit');
    await type('state:failure app:a', 'Runs: state failure, app a', '#/runs?state=failure&app=a');
    await type('tag:tier=gold', 'Runs: tag tier=gold', '#/runs?tag=tier%3Dgold');
    await type('app:a error:Order is gone', 'Runs: app a, error Order is gone', '#/runs?app=a&error=Order+is+gone');
    await type(id, `Open run ${id}`, `#/runs/${id}`);
    await goTo(page, '#/runs');
    await type(id.slice(-8), `…${id.slice(-8)}`, `#/runs/${id}`);
    await type('order 17', 'Find “order 17” among the runs', '#/runs?q=order+17');
    await type('comfortable', 'Rows: comfortable');
    assert.equal(await page.getByRole('button', { name: 'Rows: comfortable' }).count(), 1);
    const viewer = await openDashboard(t, sidecar, { role: 'viewer' });
    await viewer.keyboard.press('Control+k');
    await viewer.getByRole('option', { name: 'Deliveries' }).waitFor();
    assert.equal(await viewer.getByRole('option', { name: 'New run' }).count(), 0, 'what it may not do');
});

test('what is typed after Ctrl-K while its module is on its way is in the field, in its order', async (t) => {
    const { sidecar } = await scene(t, { isShared: true });
    const page = await openDashboard(t, sidecar, { isNew: true });
    const { promise, open } = gate();
    await page.route(/\/palette\.js$/, async (route) => {
        await promise;
        await route.continue();
    });
    const asked = page.waitForRequest(/\/palette\.js$/);
    await page.keyboard.press('Control+k');
    await asked;
    await page.keyboard.type('state:fal');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Control+k'); // once more is nothing new
    await page.keyboard.type('il');
    open();
    const field = page.getByRole('combobox', { name: 'Go to, find or change' });
    await field.waitFor();
    await page.keyboard.type('ure');
    await until('all of it', async () => (await field.inputValue()) === 'state:failure');
    await page.keyboard.press('Enter');
    await until('it is what was meant', async () => (await hashOf(page)) === '#/runs?state=failure');
    // So is Enter.
    await page.reload();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    const again = gate();
    await page.unroute(/\/palette\.js$/);
    await page.route(/\/palette\.css$/, async (route) => {
        await again.promise;
        await route.continue();
    });
    const styled = page.waitForRequest(/\/palette\.css$/);
    await page.keyboard.press('Control+k');
    await styled;
    await page.keyboard.type('api k');
    await page.keyboard.press('Enter');
    again.open();
    await page.getByRole('heading', { name: 'API Keys', exact: true }).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
});

test('the theme that was chosen holds before any module runs, and in other tabs', async (t) => {
    const { page, sidecar } = await scene(t, { isShared: true, complaints: /ERR_FAILED/ });
    const back = (tab) => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await back(page);
    const other = await page.context().newPage();
    await other.goto(sidecar.adminUrl);
    await page.getByRole('button', { name: 'Theme: system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    const dark = await back(page);
    assert.notEqual(dark, light);
    await until('the other tab is dark, too', async () => (await back(other)) === dark);
    await page.route('**/main.js', (route) => route.abort());
    await page.reload();
    assert.equal(await back(page), dark);
    await page.unroute('**/main.js');
    await page.reload();
    await page.getByRole('button', { name: 'Theme: dark' }).click();
    assert.equal(await back(page), light, 'as the system says');
});

test('a new tab is signed in as the others are, and signed out with them', async (t) => {
    const { page, sidecar } = await scene(t, { runs: 1 });
    const id = await page.locator('.runs tbody a').first().getAttribute('href');
    const other = await page.context().newPage();
    const urls = [];
    other.on('request', (request) => urls.push(request.url()));
    await other.goto(`${sidecar.adminUrl}/${id}`);
    await other.getByText('All runs').waitFor();
    assert.ok(urls.every((url) => !url.includes('eyJ')));
    assert.doesNotMatch(JSON.stringify(await other.evaluate(() => ({ ...localStorage }))), /eyJ/);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('Service account token').waitFor();
    await page.getByLabel('Service account token').waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    const third = await page.context().newPage();
    await third.goto(sidecar.adminUrl);
    await third.getByLabel('Service account token').waitFor();
});

test('a tab that is closed takes the sign-in with it', async (t) => {
    const { page, sidecar } = await scene(t, { isShared: true });
    await page.locator('main h1').waitFor();
    const context = page.context();
    await page.close();
    const next = await context.newPage();
    await next.goto(sidecar.adminUrl);
    await next.getByLabel('Service account token').waitFor();
});

test('a link to a run survives the sign-in, and a refused token stays typed', async (t) => {
    const { sidecar, call } = await shared(t, { env });
    const token = await makeToken(sidecar);
    const { id } = await call('/v4/p/a/run', { query: { async: 'true' }, headers: { authorization: `Bearer ${token}` }, body: '{}' });
    const page = await openTab(t, sidecar, { complaints: /401/ });
    await page.goto(`${sidecar.adminUrl}/#/runs/${id}`);
    const field = page.getByLabel('Service account token');
    const wrong = `${token.slice(0, -6)}AAAAAA`;
    await field.fill(wrong);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('This token was not accepted').waitFor();
    assert.equal(await field.inputValue(), wrong);
    await field.fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.run-id').getByText(id).waitFor();
});

test('a token that was put away with Escape is on the page until somebody has it', async (t) => {
    const { page } = await scene(t, { isShared: true, hash: '#/keys' });
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    await page.getByLabel('Name').fill('hasty');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const token = await page.getByRole('dialog').locator('.token code').innerText();
    await page.keyboard.press('Escape');
    await page.getByText('Keep this token').waitFor();
    assert.equal(await page.locator('.token code').innerText(), token);
    await assertAccessible(page, 'the token on the page');
    await shot(page, 'token');
    await goTo(page, '#/runs');
    await goTo(page, '#/keys');
    assert.equal(await page.locator('.token code').innerText(), token);
    await page.getByRole('button', { name: 'I have it' }).click();
    await until('it is gone', async () => (await page.getByText(token).count()) === 0);
});

test('the role invoke sees the keys, and is told why not the deliveries', async (t) => {
    const { page } = await scene(t, { isShared: true, role: 'invoke', hash: '#/keys' });
    await page.getByText('the role invoke sees them').waitFor();
    await page.locator('.keys tbody tr').first().waitFor();
    assert.equal(await page.getByRole('button', { name: /Create|Revoke|Limits/ }).count(), 0);
    for (const name of ['Deliveries', 'Destinations']) {
        await page.getByRole('link', { name }).click();
        await page.getByRole('heading', { name, level: 1 }).waitFor();
        await page.getByText('This page is for admins').waitFor();
    }
    await assertAccessible(page, 'a page for admins');
    await shot(page, 'for-admins');
    await page.getByRole('button', { name: 'Sign in as somebody else' }).click();
    await page.getByLabel('Service account token').waitFor();
    assert.equal(await hashOf(page), '#/destinations', 'what was wanted is there after the sign-in');
});

test('a page that could not be loaded is, once hookline answers', async (t) => {
    const { page, sidecar } = await scene(t, { complaints: /ERR_|Failed to|503/ });
    await page.locator('main h1').waitFor();
    await sidecar.stop();
    await page.evaluate(() => (location.hash = '#/keys'));
    await page.getByText('This page is not here').waitFor();
    await shot(page, 'not-here');
    await sidecar.restart();
    await page.getByRole('heading', { name: 'API Keys' }).waitFor();
    await page.locator('.keys tbody tr').first().waitFor();
});

test('at 1024 px the top is one line, whatever the project is called and however much wants a look', async (t) => {
    const { sidecar } = await scene(t, { isShared: true });
    const page = await openDashboard(t, sidecar, { project: 'a-project-with-a-long-name', viewport: { width: 1024, height: 768 } });
    await page.route(/\/overview\?/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        const json = response && (await response.json());
        if (json) await route.fulfill({ json: { ...json, deliveries: { ...json.deliveries, dead: 2345 }, destinations: { ...json.destinations, failing: 12 } } });
    });
    await goTo(page, '#/now');
    await page.getByRole('link', { name: /^Destinations : 12 failing/ }).waitFor();
    assert.ok((await page.locator('#top').boundingBox()).height < 60);
    await assertFits(page, 'the top');
});

test('on a phone the top has two lines, nothing in it overlaps, and a finger meets each button of a list', async (t) => {
    const { sidecar } = await scene(t, { isShared: true });
    const page = await openDashboard(t, sidecar, { project: 'a-project-with-a-long-name', viewport: { width: 390, height: 844 } });
    for (const hash of ['#/runs?state=failure&app=a', '#/deliveries?state=dead', '#/audit?action=account_made']) {
        await goTo(page, hash);
        await page.locator('.chips #add-filter').waitFor();
        assert.ok((await page.locator('#top').boundingBox()).height < 96);
        const boxes = await page.locator(':is(.brand, .top .button, .project, nav, .tools .button, .chips button):visible').evaluateAll((all) =>
            all.map((e) => ({ name: e.getAttribute('aria-label') ?? e.innerText, isPressed: e.matches('a, button'), ...e.getBoundingClientRect().toJSON() })),
        );
        for (const { name, isPressed, width, height } of boxes) if (isPressed) assert.ok(height >= 38 && width >= 40, `${name}: ${width} × ${height}`);
        const isOver = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
        for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) assert.ok(!isOver(a, b), `${a.name} and ${b.name}`);
        await assertFits(page, hash);
        await assertAccessible(page, hash);
    }
});

test('on a phone a key’s buttons stand side by side, and apart', async (t) => {
    const { page } = await scene(t, { isShared: true, viewport: { width: 390, height: 800 }, hash: '#/keys' });
    const [limits, revoke] = await Promise.all(['Limits', 'Revoke'].map((name) => page.getByRole('button', { name }).first().boundingBox()));
    assert.equal(limits.y, revoke.y);
    assert.ok(revoke.x - limits.x - limits.width >= 4);
});

for (const [width, colorScheme] of [[1440, 'light'], [1024, 'dark'], [390, 'light'], [390, 'dark'], [1440, 'dark'], [1024, 'light']]) {
    test(`its dialogs and lists fit ${width} px, ${colorScheme}`, async (t) => {
        const { page } = await scene(t, { isShared: true, runs: 2, viewport: { width, height: 900 }, colorScheme });
        await page.locator('.runs tbody tr').first().waitFor();
        await shot(page, `runs-${width}-${colorScheme}`);
        await assertFits(page, 'runs');
        await assertAccessible(page, 'runs');
        await page.getByRole('button', { name: 'Export…' }).click();
        await page.getByRole('dialog').waitFor();
        await assertAccessible(page, 'export');
        await shot(page, `export-${width}-${colorScheme}`);
        await page.keyboard.press('Escape');
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
        await assertAccessible(page, 'keys');
        await assertFits(page, 'keys');
        await shot(page, `keys-${width}-${colorScheme}`);
    });
}
