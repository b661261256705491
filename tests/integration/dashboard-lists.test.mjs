// The dashboard's lists: runs and deliveries that are searched for, many that are sent again, and the way back to where one was.
import assert from 'node:assert/strict';
import { FILE, onFailure, test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { addFilter, assertAccessible, assertFits, control, follow, goTo, hashOf, makeToken, openDashboard, removeFilter } from './lib/browser.mjs';
import { Receiver } from './lib/receiver.mjs';
import { stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_WEBHOOK_ATTEMPTS: '1' };

async function scene(t, more = {}) {
    const app = (x) => x.send(x.path.endsWith('/fails') ? 503 : 200);
    const set = await stage(t, { app, env: { ...env, ...more } });
    const token = await makeToken(set.sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const call = (path = '/run', query = {}, name = 'a') =>
        set.call(`/v4/p/${name}${path}`, { query: { async: 'true', ...query }, headers, body: '{}' });
    const ask = async (path) => (await control(set.sidecar, 'GET', `/v2/projects/p${path}`)).json;
    const ended = (n) =>
        until(`${n} runs have ended`, async () => {
            const { runs } = await ask('/runs?limit=200');
            return runs.length === n && runs.every((run) => run.finished_at && !run.deliveries.pending);
        });
    const open = (hash, more) => openDashboard(t, set.sidecar, { token, hash, ...more });
    return { ...set, token, call, ask, ended, open };
}

const ids = (page) =>
    page.locator('.runs tbody a').evaluateAll((links) => links.map((link) => link.getAttribute('href').split('/').at(-1)));
const shows = (page, what, expected) =>
    until(what, async () => JSON.stringify(await ids(page)) === JSON.stringify(expected));
const items = (page) => page.locator('.deliveries > li');

async function find(page, text) {
    await page.getByRole('searchbox', { name: 'Find' }).fill(text);
    await page.keyboard.press('Enter');
}

test('runs are found by both ends of their ids, their paths, and how they ended', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    const { id: words } = await call('/words/count');
    const { id: failed } = await call('/words/fails');
    const { id: hooked } = await call('/letters', { webhookEndpoint: receiver.script('/hook', 400) });
    await ended(3);
    const page = await open();
    const start = failed.slice(0, 8); // that of about a minute
    await find(page, start);
    await shows(page, 'those that begin so', [hooked, failed, words].filter((id) => id.startsWith(start)));
    await find(page, failed.slice(0, 30));
    await shows(page, 'the one that begins so', [failed]);
    await find(page, words.slice(-8).toUpperCase());
    await shows(page, 'the one that ends so', [words]);
    await find(page, 'words/');
    await shows(page, 'those with such a path', [failed, words]);
    assert.match(await hashOf(page), /q=words/);
    await addFilter(page, 'Reason', 'app_error');
    await shows(page, 'the one that failed so', [failed]);
    await page.goBack();
    await shows(page, 'those with such a path again', [failed, words]);
    await find(page, '');
    await addFilter(page, 'Status', '5xx');
    await shows(page, 'with such a status', [failed]);
    await removeFilter(page, 'Status 5xx');
    await addFilter(page, 'Webhook', 'dead');
    await shows(page, 'with a dead letter', [hooked]);
    await page.reload();
    await shows(page, 'the same after loading it again', [hooked]);
});

test('what could be part of an id, and is of none, is looked for in paths', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id: cafe } = await call('/words/cafe');
    const { id: eight } = await call('/abcdef01/x');
    const { id: other } = await call('/words/count');
    await ended(3);
    const page = await open();
    await find(page, 'cafe');
    await shows(page, 'the one with such a path', [cafe]);
    await find(page, 'abcdef01');
    await shows(page, 'the one with such a path of eight digits', [eight]);
    await page.setViewportSize({ width: 390, height: 800 });
    await find(page, '');
    await shows(page, 'all', [other, eight, cafe]);
    const told = await page.locator('.runs tbody a').first().innerText();
    await find(page, `…${told.replace('…', '')}`);
    await shows(page, 'the one that a phone calls so', [other]);
});

test('what is typed and is a filter’s value is one by a click', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id: failed } = await call('/words/fails');
    await call('/words/count');
    await ended(2);
    const page = await open();
    const box = page.getByRole('searchbox', { name: 'Find' });
    for (const [text, name, address] of [
        ['503', 'Status 503', /[?&]status=503(&|$)/],
        ['App_error ', 'Reason app_error', /[?&]reason=app_error(&|$)/],
        ['failure', 'State failure', /[?&]state=failure(&|$)/],
    ]) {
        await box.fill('words');
        assert.equal(await page.getByText('As a filter').count(), 0);
        await box.fill(text);
        await follow(page, () => page.getByRole('button', { name, exact: true }).click());
        await until('it is the filter', async () => address.test(await hashOf(page)));
        await shows(page, `with ${name}`, [failed]);
    }
    await find(page, 'timeout');
    await page.getByText('No run matches these filters').waitFor();
    await page.getByRole('button', { name: 'Reason timeout' }).waitFor();
    await assertAccessible(page, 'a hint');
});

test('two filters that are chosen at once are both taken, and what is being typed stays', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id: failed } = await call('/words/fails');
    await call('/words/count');
    await ended(2);
    const page = await open();
    await page.getByRole('button', { name: 'Add filter' }).click(); // what chooses is loaded now
    await page.getByRole('combobox', { name: 'Filter by' }).waitFor();
    await page.keyboard.press('Escape');
    await page.evaluate(async () => {
        for (const [field, value] of [['State', 'failure'], ['Mode', 'asynchronous']]) {
            document.getElementById('add-filter').click();
            for (let box; !(box = document.querySelector('[role=combobox]')); ) await new Promise((next) => setTimeout(next));
            for (const text of [field, value]) {
                const box = document.querySelector('[role=combobox]');
                box.value = text;
                box.dispatchEvent(new Event('input'));
                box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
            }
        }
    });
    await until('both are in the address', async () => /state=failure&mode=async/.test(await hashOf(page)));
    await shows(page, 'what fits both', [failed]);
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Filter by' }).pressSequentially('Status');
    await page.keyboard.press('Enter');
    await page.getByRole('combobox', { name: 'Status' }).pressSequentially('5');
    await call('/words/count', {}, 'billing');
    await page.evaluate(() => (location.hash = '#/runs?mode=async'));
    await until('the list is another one', async () => (await ids(page)).length === 3);
    await page.keyboard.type('0');
    await page.evaluate(() => (location.hash = '#/runs?mode=async&time=86400'));
    await page.getByRole('columnheader', { name: 'App' }).waitFor(); // a column more, for there are two by now
    await page.keyboard.type('3');
    await page.keyboard.press('Enter');
    await shows(page, 'with what was typed before and after', [failed]);
    assert.match(await hashOf(page), /mode=async&.*status=503|status=503&.*mode=async/);
});

test('of many apps to choose from each can be read', async (t) => {
    const { call, ended, open } = await scene(t);
    const apps = Array.from({ length: 40 }, (_, i) => `app-${i}`);
    for (const app of apps) await call('/words/count', {}, app);
    await ended(apps.length);
    const page = await open();
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Filter by' }).pressSequentially('App');
    await page.keyboard.press('Enter');
    const options = page.getByRole('option');
    await until('they are there', async () => (await options.count()) >= 30);
    const heights = await options.evaluateAll((all) => all.map((one) => [one.clientHeight, one.scrollHeight]));
    for (const [shown, needed] of heights) assert.ok(shown >= needed && shown > 20, `${shown} of ${needed}`);
});

test('whoever goes on typing in a field that has just become the filter is not disturbed', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id: failed } = await call('/words/fails');
    const { id: good } = await call('/words/count');
    await ended(2);
    const page = await open();
    const shown = async (address, expected) => {
        await until(`${address} is in the address`, async () => (await hashOf(page)).includes(address));
        await shows(page, address, expected);
    };
    await page.getByRole('searchbox', { name: 'Find' }).focus();
    await page.keyboard.type('words');
    await page.keyboard.press('Enter');
    await shown('q=words', [good, failed]);
    await page.keyboard.type('/fails');
    await page.keyboard.press('Enter');
    await shown('q=words%2Ffails', [failed]);
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Filter by' }).pressSequentially('Status');
    await page.keyboard.press('Enter');
    await page.keyboard.type('50');
    await page.keyboard.type('3');
    await page.keyboard.press('Enter');
    await shown('status=503', [failed]);
    await page.getByRole('button', { name: 'Status 503', exact: true }).click();
    await page.getByRole('combobox', { name: 'Status' }).waitFor();
    await page.keyboard.type('50');
    await page.keyboard.type('0');
    await page.keyboard.press('Enter');
    await shown('status=500', []);
    assert.equal(await page.getByRole('searchbox', { name: 'Find' }).inputValue(), 'words/fails');
});

test('a time is typed digit by digit, and the list follows', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id } = await call('/words/count');
    await ended(1);
    const page = await open('#/runs?time=own&from=2020-01-01T10:30:00.000Z', { timezoneId: 'UTC' });
    await shows(page, 'the run', [id]);
    const type = async (digits) => {
        for (const key of digits) {
            await page.keyboard.press(key);
            await shows(page, 'the run', [id]);
        }
    };
    const choose = async (mode) => {
        await page.evaluate((to) => (location.hash = `${location.hash.replace(/&mode=[a-z]*/, '')}&mode=${to}`), mode);
        await until('the page of that choice is there', async () => (await page.getByRole('button', { name: 'Mode asynchronous', exact: true }).count()) === (mode ? 1 : 0));
    };
    await page.getByRole('button', { name: /^Accepted since/ }).click();
    await page.getByLabel('From', { exact: true }).focus();
    await page.keyboard.press('ArrowRight'); // the month or the day, whichever comes second here
    await type('122');
    await choose('async'); // a page that comes between two digits, as each of a choice before may
    await type('02');
    await choose('');
    await type('1');
    const whole = /^2021-(12-01|01-12)T10/;
    const from = async () => new URLSearchParams((await hashOf(page)).split('?')[1]).get('from');
    await until('all of it is the filter', async () => whole.test(await from()));
    assert.match(await page.getByLabel('From', { exact: true }).inputValue(), whole);
});

test('what is typed while the page of the choice before is on its way stays', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id } = await call('/words/count');
    await ended(1);
    const page = await open('#/runs?time=own&from=2020-01-01T10:30:00.000Z', { timezoneId: 'UTC' });
    await shows(page, 'the run', [id]);
    await page.getByRole('button', { name: /^Accepted since/ }).click();
    const value = await page.getByLabel('From', { exact: true }).evaluate((input) => {
        const type = (text) => {
            input.value = text;
            input.dispatchEvent(new Event('change'));
        };
        const changed = (then) => addEventListener('hashchange', then, { once: true });
        return new Promise((resolve) => {
            changed(() => {
                type('2020-03-01T10:30:00');
                changed(() => setTimeout(() => resolve(input.isConnected && input.value)));
            });
            type('2020-02-01T10:30:00');
        });
    });
    assert.match(`${value}`, /^2020-03-01T10:30/);
});

test('another destination can be chosen after the first', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    const other = await Receiver.start(t);
    await call('/run', { webhookEndpoint: receiver.url() });
    await call('/run', { webhookEndpoint: other.url() });
    await ended(2);
    const page = await open('#/deliveries');
    await until('both', async () => (await items(page).count()) === 2);
    for (const { origin } of [receiver, other, receiver].map((one) => new URL(one.url()))) {
        await addFilter(page, 'Destination', new URL(origin).host);
        await until('those that went there', async () => `${await items(page).locator('.destination').allTextContents()}`.startsWith(`${new URL(origin).host}/`));
        assert.ok((await items(page).locator('.destination').getAttribute('title')).startsWith(origin));
        await page.getByRole('button', { name: `Destination ${new URL(origin).host}`, exact: true }).waitFor();
    }
});

/** The texts of those whose end is in sight where there is no room for all of it. */
const endsOf = (page, what) =>
    page.locator(what).evaluateAll((lines) =>
        lines.map((line) => {
            const [start, end] = line.querySelector('.middle').children;
            const isSeen = end.getBoundingClientRect().right <= line.getBoundingClientRect().right + 1;
            return start.scrollWidth > start.clientWidth && start.clientWidth > 8 && isSeen ? end.textContent : null;
        }),
    );

test('where there is little room receivers of one host are told apart, as are apps whose names begin alike', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    for (const [path, name] of [['orders', 'one'], ['billing', 'two']])
        await call('/run', { webhookEndpoint: receiver.url(`/of/a/shop/hooks/${path}`) }, `an-app-with-a-long-name-${name}`);
    await ended(2);
    const page = await open('#/deliveries', { viewport: { width: 1024, height: 768 }, permissions: ['clipboard-read', 'clipboard-write'] });
    const tell = async (what, ends) => assert.deepEqual((await endsOf(page, what)).sort(), ends);
    await until('both', async () => (await items(page).count()) === 2);
    await tell('.d-row .destination', ['/hooks/billing', '/hooks/orders']);
    await tell('.d-row .app-of', ['-one', '-two']);
    await items(page).first().locator('.destination .middle').evaluate((line) => getSelection().selectAllChildren(line));
    await page.keyboard.press('Control+C');
    const text = await items(page).first().locator('.destination').textContent();
    assert.ok(text.startsWith(`${new URL(receiver.url()).host}/of/a/shop/hooks/`));
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text, 'all of it in one line');
    await page.evaluate(() => getSelection().empty());
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('.beside:not([hidden]) h2').first().waitFor();
    await tell('.d-row .destination', ['/hooks/billing', '/hooks/orders']);
    await assertAccessible(page);
    for (const width of [1024, 1440]) {
        await page.setViewportSize({ width, height: 768 });
        await goTo(page, '#/runs');
        await until('both', async () => (await page.locator('.runs tbody tr').count()) === 2);
        await tell('.runs td.c-app', ['-one', '-two']);
    }
});

test('what an address says and no filter knows is told in a line', async (t) => {
    const { open } = await scene(t);
    const page = await open('#/runs?state=faild&reason=timeout&stat=5xx&status=9&time=own&from=monday&until=');
    const line = page.getByText('Not understood in the address, and left out: state=faild, stat=5xx, status=9, from=monday');
    await line.waitFor();
    await page.getByRole('button', { name: 'Reason timeout', exact: true }).waitFor();
    await page.evaluate(() => (location.hash = '#/deliveries?state=lost&to=https://a.example'));
    await page.getByText('left out: state=lost', { exact: false }).waitFor();
    await page.evaluate(() => (location.hash = '#/runs?from=2026-11-26T04:30:00Z&app=gone'));
    await page.getByText('left out: from=2026-11-26T04:30:00Z', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'App gone', exact: true }).waitFor(); // a filter that is on is shown
    await page.evaluate(() => (location.hash = '#/runs?state=failure&status=5xx&q=a&time=3600&webhook=dead&mode=async&app=a'));
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await until('all is understood', async () => (await page.getByText('Not understood').count()) === 0);
});

test('a run that comes while one searches appears if it fits', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id: first } = await call('/words/fails');
    await ended(1);
    const page = await open('#/runs?reason=app_error');
    await shows(page, 'the first', [first]);
    await call('/words/count');
    const { id: second } = await call('/words/fails');
    await ended(3);
    await page.getByRole('button', { name: 'Show 1 new run' }).click();
    await shows(page, 'both', [second, first]);
});

test('a list is of a time of one’s own', async (t) => {
    const { call, ended, open } = await scene(t);
    const { id } = await call('/words/count');
    await ended(1);
    const page = await open('#/runs', { timezoneId: 'Asia/Kolkata' });
    await shows(page, 'the run', [id]);
    await addFilter(page, 'Accepted', 'From');
    await page.getByLabel('From', { exact: true }).fill('2020-01-01T10:30');
    await page.keyboard.press('Tab');
    await until('it stands in the address, in UTC', () => page.url().includes(encodeURIComponent('2020-01-01T05:00:00.000Z')));
    await shows(page, 'the run', [id]);
    await page.getByLabel('Until', { exact: true }).fill('2021-01-01T00:00');
    await page.keyboard.press('Tab');
    await page.getByText('No run matches these filters').waitFor();
    assert.match(await page.getByLabel('From', { exact: true }).inputValue(), /^2020-01-01T10:30/);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Accepted since 01\/01\/2020, 10:30:00 until/ }).waitFor();
});

test('Back leads to the same rows, at the same place', async (t) => {
    const { call, ended, open } = await scene(t);
    const all = [];
    for (let i = 0; i < 60; i++) all.unshift((await call()).id);
    all.sort().reverse(); // within a millisecond workers' ids are in any order
    await ended(60);
    const page = await open('#/runs', { viewport: { width: 1024, height: 600 } });
    await page.getByRole('button', { name: 'Show older' }).click();
    await shows(page, 'all of them', all);
    const row = page.locator(`.runs a[href$="${all[55]}"]`);
    await row.scrollIntoViewIfNeeded();
    const height = await page.evaluate(() => scrollY);
    assert.ok(height > 500);
    await row.focus();
    await page.keyboard.press('o');
    await page.locator('.run-head').waitFor();
    const { id: newer } = await call();
    await page.goBack();
    await shows(page, 'all of them, at once', all);
    assert.equal(await page.evaluate(() => scrollY), height);
    assert.ok(await row.evaluate((link) => link === document.activeElement));
    await page.getByRole('button', { name: 'Show 1 new run' }).click();
    await shows(page, 'the new one above them', [newer, ...all]);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await shows(page, 'a link begins anew', [newer, ...all].slice(0, 50));
});

test('deliveries are narrowed down by the server, and those that are chosen are sent again', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    receiver.script('/a', 400, 200);
    receiver.script('/b', 503, 200);
    for (const path of ['/a', '/b', '/c']) await call('/run', { webhookEndpoint: receiver.url(path) });
    await ended(3);
    const page = await open('#/deliveries');
    await until('three', async () => (await items(page).count()) === 3);
    await addFilter(page, 'Status', '5xx');
    await until('one', async () => (await items(page).count()) === 1);
    await page.getByText('status 503').waitFor();
    await addFilter(page, 'Status', 'teapot');
    await page.getByText('None of that name. 404, 5xx, none').waitFor();
    await page.keyboard.press('Escape');
    await page.goBack();
    await until('three again', async () => (await items(page).count()) === 3);
    await items(page).filter({ hasText: 'status 400' }).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Redeliver 1 chosen…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redeliver many' });
    await dialog.getByRole('button', { name: 'Keep as they are' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(receiver.deliveries('/a').length, 1);
    await page.getByRole('button', { name: 'Redeliver 1 chosen…' }).click();
    await dialog.getByRole('button', { name: 'Redeliver 1 delivery' }).click();
    await dialog.locator('p', { hasText: 'Done: 1 delivery queued to be sent again.' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await receiver.delivered('/a', 2);
    await until('one is left', async () => (await items(page).filter({ hasText: 'dead letter' }).count()) === 1);
});

test('where there are several apps a delivery tells whose it is, unless one of them was chosen', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    await call('/run', { webhookEndpoint: receiver.url('/one') });
    await ended(1);
    const page = await open('#/deliveries');
    const { host } = new URL(receiver.url());
    const told = () => items(page).evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('.app-of, .destination')].map((e) => e.textContent).join(' · ')));
    await until('the only app’s', async () => `${await told()}` === `${host}/one`);
    await call('/run', { webhookEndpoint: receiver.url('/two') }, 'billing');
    await ended(2);
    await page.reload();
    await until('both apps’', async () => `${await told()}` === `billing · ${host}/two,a · ${host}/one`);
    await addFilter(page, 'App', 'billing');
    await until('that app’s', async () => `${await told()}` === `${host}/two`);
});

test('what was sent and what came back are seen beside the list, and as a page', async (t) => {
    const { ask, call, ended, open, receiver } = await scene(t);
    receiver.script('/a', (x) => x.send(400, { 'content-type': 'text/plain' }, 'no such customer'));
    await call('/run', { webhookEndpoint: receiver.url('/a?key=query-secret') });
    await ended(1); // so that it is the older one
    await call('/run', { webhookEndpoint: receiver.url('/b') });
    await ended(2);
    const page = await open('#/deliveries', { complaints: /404/ });
    const beside = page.getByRole('complementary', { name: 'Delivery' });
    await items(page).filter({ hasText: 'status 400' }).getByRole('link', { name: '/a' }).click();
    await beside.getByText('no such customer').waitFor();
    const [{ bytes }] = receiver.deliveries('/a');
    const sent = beside.getByRole('region', { name: 'Sent in attempt 1' });
    await sent.getByRole('button', { name: 'As sent' }).click();
    await until('the bytes', async () => (await sent.getByRole('region', { name: 'Body' }).innerText()) === bytes.toString());
    assert.match((await sent.locator('.d-fields').innerText()).replace(/\s+/g, ' '), /Content-Type application\/json .*Content-Length \d+$/);
    await beside.getByText(`POST ${receiver.url('/a')}?key=***`).waitFor();
    await assertAccessible(page, 'a delivery beside the list');
    // The rows can be gone through, and the address says which is open.
    const [other] = (await ask('/deliveries')).deliveries;
    await items(page).nth(1).getByRole('link', { name: '/a' }).focus();
    await page.keyboard.press('ArrowUp');
    await beside.getByText(`POST ${receiver.url('/b')}`).waitFor();
    assert.equal(new URLSearchParams((await hashOf(page)).split('?')[1]).get('delivery'), other.delivery_id);
    await page.reload();
    await beside.getByText(`POST ${receiver.url('/b')}`).waitFor();
    await page.keyboard.press('Escape');
    await beside.waitFor({ state: 'hidden' });
    assert.equal(await hashOf(page), '#/deliveries');
    await follow(page, () => page.evaluate((id) => (location.hash = `#/deliveries/${id}`), other.delivery_id));
    await page.getByRole('heading', { level: 1, name: new URL(receiver.url()).host }).waitFor();
    await page.getByRole('region', { name: 'Sent in attempt 1' }).locator('.d-fields').waitFor();
    await assertAccessible(page, 'the page of a delivery');
    await page.evaluate(() => (location.hash = '#/deliveries/0193f0b0-0000-7000-8000-000000000000'));
    await page.getByText('No such delivery').waitFor();
});

test('a delivery’s row is a link, and what it opens is closed by Back, as a run’s', async (t) => {
    const { ask, call, ended, open, receiver } = await scene(t);
    for (const path of ['/a', '/b', '/c']) await call('/run', { webhookEndpoint: receiver.script(path, 410) });
    await ended(3);
    const all = (await ask('/deliveries')).deliveries.map(({ delivery_id: id }) => id);
    const page = await open('#/deliveries?state=dead&status=410', { viewport: { width: 1440, height: 900 } });
    await until('three', async () => (await items(page).count()) === 3);
    const row = (id) => page.locator(`.deliveries > li[data-id="${id}"]`);
    const beside = page.getByRole('complementary', { name: 'Delivery' });
    const isOpen = async (id) => {
        await until('the address says it', async () => (await hashOf(page)) === `#/deliveries?state=dead&status=410${id ? `&delivery=${id}` : ''}`);
        if (id) await beside.getByRole('heading', { name: 'What came back' }).waitFor();
        else await beside.waitFor({ state: 'hidden' });
        const marked = await items(page).evaluateAll((rows) => rows.filter((one) => one.ariaCurrent === 'true').map((one) => one.dataset.id));
        assert.deepEqual(marked, id ? [id] : []);
    };
    await row(all[0]).locator('.when').click();
    await isOpen(all[0]);
    await page.keyboard.press('ArrowDown');
    await isOpen(all[1]);
    await page.goBack();
    await isOpen(null);
    await page.goForward();
    await isOpen(all[1]);
    await page.reload();
    await row(all[1]).waitFor();
    await isOpen(all[1]);
    await page.keyboard.press('Escape');
    await isOpen(null);
    await row(all[2]).getByRole('checkbox').check(); // what does something else is no link
    await row(all[2]).getByRole('button', { name: 'Redeliver…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep as it is' }).click();
    await isOpen(null);
    for (const press of [{ button: 'middle' }, { modifiers: ['ControlOrMeta'] }])
        for (const cell of ['.when time', '.why .error', '.destination']) {
            const [tab] = await Promise.all([page.context().waitForEvent('page'), row(all[1]).locator(cell).click(press)]);
            await tab.waitForURL(new RegExp(`#/deliveries/${all[1]}$`));
            await tab.close();
        }
    await isOpen(null);
    await row(all[1]).locator('.destination').focus();
    await page.keyboard.press('Enter');
    await isOpen(all[1]);
    await page.keyboard.press('o');
    await until('its page', async () => (await hashOf(page)) === `#/deliveries/${all[1]}`);
});

test('a delivery is sent to another URL, and its receiver tested, after a question', async (t) => {
    const { ask, call, ended, open, receiver } = await scene(t);
    receiver.script('/a', async (x) => x.send(400, { 'content-type': 'text/plain' }, 'a <b>reason</b>'));
    await call('/run', { webhookEndpoint: receiver.url('/a') });
    await ended(1);
    const page = await open('#/deliveries', { complaints: /400/ });
    await items(page).getByRole('link', { name: '/a' }).click();
    const beside = page.getByRole('complementary', { name: 'Delivery' });
    await beside.getByRole('button', { name: 'Send a test…' }).click();
    const test = page.getByRole('dialog', { name: 'Send a test' });
    assert.equal(receiver.deliveries('/a').length, 1);
    await test.getByRole('button', { name: 'Send', exact: true }).click();
    await test.getByText('HTTP 400').waitFor();
    await test.getByText('a <b>reason</b>').waitFor();
    assert.equal(JSON.parse(receiver.deliveries('/a')[1].bytes).type, 'hookline.test');
    await assertAccessible(page, 'what a test said');
    await test.getByRole('button', { name: 'Close' }).click();
    await beside.getByRole('button', { name: 'Send elsewhere…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send it to another URL' });
    await dialog.getByLabel('URL', { exact: true }).fill('http://me:you@a.example/');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByText(/credentials/).waitFor();
    await assertAccessible(page, 'a refused URL');
    await dialog.getByLabel('URL', { exact: true }).fill(receiver.url('/b'));
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await receiver.delivered('/b');
    await beside.getByText('sent elsewhere').waitFor();
    await until('both are there', async () => (await items(page).count()) === 2);
    const [made] = (await ask('/deliveries')).deliveries;
    assert.equal(new URLSearchParams((await hashOf(page)).split('?')[1]).get('delivery'), made.delivery_id);
});

/** `n` dead letters of a hookline that has room for four that are sent again; they wait for `held` then. */
async function withRoomForFour(t, n) {
    const set = await scene(t, { HOOKLINE_MAX_PENDING_DELIVERIES: '8' });
    const held = gate();
    t.after(held.open);
    const later = async (x) => {
        await held.promise;
        await x.send(200);
    };
    for (let i = 0; i < n; i++) {
        await set.call('/run', { webhookEndpoint: set.receiver.script(`/${i}`, 410, later) });
        await set.ended(i + 1);
    }
    return { ...set, held };
}

test('sending many again is counted first, shows how far it is, and can be stopped', async (t) => {
    const { ask, held, open } = await withRoomForFour(t, 12);
    const page = await open('#/deliveries?state=dead');
    await page.getByRole('button', { name: 'Redeliver all dead letters…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redeliver many' });
    await dialog.getByRole('button', { name: 'Redeliver 12 deliveries' }).click();
    await dialog.getByText('4 of 12').waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await dialog.locator('p', { hasText: /^Stopped: \d+ deliveries queued to be sent again, \d+ left as they were\.$/ }).waitFor();
    const [sent, left] = (await dialog.locator('p').first().innerText()).match(/\d+/g).map(Number);
    held.open();
    assert.equal(sent + left, 12);
    assert.ok(sent >= 4 && sent <= 8, `${sent}`);
    assert.equal((await ask('/deliveries?state=dead')).deliveries.length, left);
    await assertAccessible(page, 'the end of it');
    await dialog.getByRole('link', { name: 'See the job' }).click();
    await page.getByRole('heading', { name: /^Send webhooks again/ }).waitFor();
    await page.locator('main').getByText(`Stopped: ${sent} deliveries queued to be sent again, ${left} left as they were.`).waitFor();
    await page.getByRole('button', { name: `Not done ${left}` }).click();
    await until('those that are left', async () => (await page.locator('section tbody tr').count()) === left);
    await assertAccessible(page, 'a job');
});

test('Escape leaves what is sent again to go on, and nothing is asked where nothing is to be sent', async (t) => {
    const { ask, held, open } = await withRoomForFour(t, 9);
    const page = await open('#/deliveries?state=dead');
    await page.getByRole('button', { name: 'Redeliver all dead letters…' }).click();
    await page.getByRole('button', { name: 'Redeliver 9 deliveries' }).click();
    await page.getByText('4 of 9').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await ask('/deliveries?state=dead')).deliveries.length, 5);
    await follow(page, () => page.getByRole('link', { name: 'Jobs' }).click());
    await page.locator('main').getByText('4 of 9').waitFor();
    await assertAccessible(page, 'jobs');
    held.open();
    await page.locator('main').getByText('Done: 9 deliveries queued to be sent again.').waitFor();
    await until('all are delivered', async () => (await ask('/deliveries?state=delivered')).deliveries.length === 9);
    await follow(page, () => page.getByRole('link', { name: 'Deliveries' }).click());
    await addFilter(page, 'State', 'delivered');
    await until('those that were sent', async () => (await items(page).count()) === 9);
    await page.route('**/jobs', (route) => route.fulfill({ json: { what: 'redeliver', count: 0, has_more: false, until: new Date().toISOString() } }));
    await page.getByRole('button', { name: 'Redeliver all delivered webhooks…' }).click();
    await page.getByRole('dialog').getByText('There is nothing to send').waitFor();
});

test('all runs that a list names are run again, or cancelled, after a question', async (t) => {
    const { ask, call, ended, open } = await scene(t);
    for (let i = 0; i < 3; i++) await call('/fails');
    await call('/run');
    await ended(4);
    const page = await open('#/runs?state=failure');
    await page.getByRole('button', { name: 'Run all again…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run many again' });
    await dialog.getByText('3 runs: state failure. Each becomes a new run').waitFor();
    await dialog.getByRole('button', { name: 'Run again 3 runs' }).click();
    await dialog.locator('p', { hasText: 'Done: 3 runs queued again.' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await ended(7);
    assert.equal((await ask('/runs?state=failure')).runs.filter((run) => run.rerun_of).length, 3);
    assert.equal(await page.getByRole('button', { name: 'Cancel all…' }).count(), 0, 'they have ended');
    await page.evaluate(() => (location.hash = '#/runs?state=queued'));
    await page.getByRole('button', { name: 'Cancel all…' }).click();
    await page.getByRole('dialog', { name: 'Cancel many' }).getByText('There is nothing to do: no state queued.').waitFor();
});

test('those that were chosen are sent again by one request, what became of each is told, and room is waited for', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    for (let i = 0; i < 3; i++) await call('/run', { webhookEndpoint: receiver.script(`/${i}`, 410, 200) });
    await ended(3);
    const page = await open('#/deliveries?state=dead', { complaints: /500|403|429/ });
    const answers = [];
    let asked = 0;
    await page.route('**/deliveries/redeliver', (route) => (asked++, answers.length ? route.fulfill(answers.shift()) : route.continue()));
    const dialog = page.getByRole('dialog', { name: 'Redeliver many' });
    const choose = () => page.getByRole('button', { name: 'Choose all 3 shown' }).click();
    const sendAll = async (...given) => {
        answers.push(...given);
        await page.getByRole('button', { name: 'Redeliver 3 chosen…' }).click();
        await dialog.getByRole('button', { name: 'Redeliver 3 deliveries' }).click();
    };
    const told = async (text) => {
        await dialog.locator('p', { hasText: text }).first().waitFor();
        await dialog.getByRole('button', { name: 'Close' }).click();
        await dialog.waitFor({ state: 'detached' }); // nothing is chosen any more
    };
    await choose();
    await sendAll({ status: 500, json: { detail: 'It is broken.' } });
    await dialog.getByText('It is broken.').waitFor();
    await told('Stopped: 0 deliveries queued to be sent again, 3 that may or may not have been.');
    await sendAll({ status: 403, json: { detail: 'Not you.' } });
    await dialog.getByText('Not you.').waitFor();
    await told('Stopped: 0 deliveries queued to be sent again, 3 left as they were.');
    const refused = ['pending', 'not_found'].map((reason) => ({ reason }));
    await sendAll({ status: 202, json: { redelivered: 1, refused, left: [] } });
    await told('Done: 1 delivery queued to be sent again, 1 on their way already, 1 no longer kept.');
    asked = 0;
    await choose(); // those that were sent are chosen no more
    await sendAll({ status: 429, json: { detail: 'There is no room.' } });
    await dialog.getByText('0 of 3, waiting for room').waitFor();
    await told('Done: 3 deliveries queued to be sent again.');
    assert.equal(asked, 2);
    for (let i = 0; i < 3; i++) await receiver.delivered(`/${i}`, 2);
});

let three;

/** Tests that only look share it. */
function threeDeliveries() {
    if (!three) atEnd(FILE, () => (three = null));
    return (three ??= sendThree(FILE));
}

async function sendThree(t) {
    const set = await scene(t);
    const { call, ended, receiver } = set;
    const hooks = [receiver.script('/hook', 410), receiver.url(`/${'long/'.repeat(20)}`), receiver.script('/hook3', 410)];
    for (const [i, webhookEndpoint] of hooks.entries()) {
        await call('/run', { webhookEndpoint }, i === 2 ? 'an-app-of-a-long-name'.repeat(6) : undefined);
        await ended(i + 1); // the list is in the order of their ends
    }
    return set;
}

for (const [width, most] of [
    [1440, 30],
    [1024, 30],
    [390, 60],
])
    test(`a delivery takes at most ${most} px of a page ${width} px wide, and nothing is cut off at the side`, async (t) => {
        const { sidecar, token } = await threeDeliveries();
        onFailure(t, () => sidecar.tail());
        for (const colorScheme of ['light', 'dark']) {
            const page = await openDashboard(t, sidecar, { token, hash: '#/deliveries', viewport: { width, height: 900 }, colorScheme });
            await until('all', async () => (await items(page).count()) === 3);
            for (const row of await items(page).all()) assert.ok((await row.boundingBox()).height <= most);
            const { width: room } = await items(page).first().locator('.destination').boundingBox();
            const { width: name } = (await items(page).first().locator('.app-of').boundingBox()) ?? { width: 0 }; // little room has none for it
            assert.ok(name < room / 2 + 1, 'a long name leaves room for the destination');
            if (width > 1000) assert.ok(name > 60, 'it has a column of its own');
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
            await assertAccessible(page, colorScheme);
            await page.evaluate(() => (location.hash = '#/runs'));
            await page.locator('.runs tbody tr').first().waitFor();
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        }
    });
