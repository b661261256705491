// The dashboard's runs: the list that is live and stays where it is, one run from its acceptance to its webhooks.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { addFilter, control, goTo, hashOf, makeToken, openDashboard, pane, removeFilter } from './lib/browser.mjs';
import { shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt' };

/**
 * A stage whose calls are signed in, and whose app answers by what the body says. `isShared`: the sidecar is the file's, for
 * tests that look at nothing but runs of their own.
 */
async function scene(t, { isShared = false, ...options } = {}) {
    const held = gate();
    const app = async (exchange) => {
        const wish = JSON.parse((await exchange.body()).toString() || '{}');
        if (wish.hold) await held.promise;
        await exchange.send(
            wish.status ?? 200,
            { 'content-type': wish.type ?? 'application/json' },
            wish.body ?? '{"a":1}',
        );
    };
    const set = await (isShared ? shared : stage)(t, { app, ...options, env: { ...env, ...options.env } });
    atEnd(t, held.open);
    const token = await makeToken(set.sidecar);
    const call = (query, body, path = '/v4/p/a/run') =>
        set.call(path, {
            query,
            body: JSON.stringify(body ?? {}),
            headers: { authorization: `Bearer ${token}` },
        });
    const ended = (id) =>
        until(`run ${id} has ended`, async () => {
            const { json } = await control(set.sidecar, 'GET', `/v2/projects/p/runs/${id}`);
            return json.finished_at && !json.deliveries.some((d) => d.state === 'pending') && json;
        });
    const open = (hash, more) => openDashboard(t, set.sidecar, { token, hash, ...more });
    return { ...set, call, ended, open, release: held.open, token };
}

const row = (page, id) =>
    page.locator('.runs tbody tr').filter({ has: page.locator(`a[href$="${id}"]`) });
const ids = (page) =>
    page
        .locator('.runs tbody a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href').split('/').at(-1)));

test('an empty list shows the call that makes the first run', async (t) => {
    const { open, call } = await scene(t);
    const page = await open();
    await page.getByText('No runs yet').waitFor();
    assert.match(
        await page.locator('.command pre').innerText(),
        /curl -i 'http:.*\/v4\/p\/my-app\/run\?async=true'/,
    );
    const { id } = await call({ async: 'true' });
    await row(page, id).waitFor();
    assert.equal(await page.getByText('No runs yet').count(), 0);
});

test('runs are listed newest first, with what became of them at a glance', async (t) => {
    const { open, call, ended, receiver } = await scene(t);
    const first = await call({});
    const second = await call({ async: 'true' }, { status: 500 });
    const third = await call({ async: 'true', webhookEndpoint: receiver.script('/gone', 410) });
    await ended(second.id);
    await ended(third.id);
    const page = await open();
    await row(page, first.id).waitFor();
    assert.deepEqual(await ids(page), [third.id, second.id, first.id]);
    const text = async ({ id }) => (await row(page, id).innerText()).replace(/\s+/g, ' ');
    assert.match(await text(first), /^success .*POST \/run sync 200 – .* ms (now|\d+ s ago) /);
    assert.match(await text(second), /^failure .*app_error async 500 – /);
    assert.match(await text(third), /^success .*async 200 dead /);
});

test('on a phone a row tells state, status, duration and the webhook’s end', async (t) => {
    const { call, ended, open, receiver } = await scene(t);
    const { id } = await call({ async: 'true', webhookEndpoint: receiver.script('/hook', 200) }, { status: 503 });
    await ended(id);
    const { id: going } = await call({ async: 'true' }, { hold: true });
    const page = await open('#/runs', { viewport: { width: 390, height: 800 } });
    const words = async (of) => (await row(page, of).innerText()).replace(/\s+/g, ' ');
    await row(page, going).getByText('running').waitFor();
    assert.match(await words(id), /^failure .*app_error async 503 webhook delivered [\d.]+ (ms|s) /);
    assert.match(await words(going), /^running .* async .*(\d+ min )?[\d.]+ (ms|s) /);
    await page.setViewportSize({ width: 1280, height: 800 });
    await until('there are columns', async () => /async 503 delivered /.test(await words(id)));
});

test('a run that changes state changes on the page, and nothing moves', async (t) => {
    const { open, call, release } = await scene(t);
    const { id } = await call({ async: 'true' }, { hold: true });
    const page = await open();
    await row(page, id).getByText('running').waitFor();
    const before = await row(page, id).boundingBox();
    await row(page, id).locator('a').focus();
    const later = await call({ async: 'true' });
    await page.getByRole('button', { name: 'Show 1 new run' }).waitFor();
    release();
    await row(page, id).getByText('success').waitFor();
    assert.deepEqual(await row(page, id).boundingBox(), before);
    assert.equal(
        await page.evaluate(() => document.activeElement.getAttribute('href')),
        `#/runs/${id}`,
    );
    assert.deepEqual(await ids(page), [id]);
    await page.getByRole('button', { name: 'Show 1 new run' }).click();
    await row(page, later.id).waitFor();
    assert.deepEqual(await ids(page), [later.id, id]);
    assert.equal(await page.getByRole('button', { name: /new run/ }).count(), 0);
});

test('a press that lasts longer than a look at the server is a click', async (t) => {
    const { open, call } = await scene(t);
    const { id } = await call({});
    const page = await open();
    await row(page, id).waitFor();
    const later = await call({ async: 'true' });
    const show = page.getByRole('button', { name: 'Show 1 new run' });
    await show.hover();
    await page.mouse.down();
    for (let looks = 0; looks < 2; looks++) await page.waitForResponse(/\/runs\?/);
    await page.mouse.up();
    await row(page, later.id).waitFor();
    assert.deepEqual(await ids(page), [later.id, id]);
});

test('a change is said to those who hear the page', async (t) => {
    const { open, call, release } = await scene(t);
    const { id } = await call({ async: 'true' }, { hold: true });
    const page = await open();
    await row(page, id).getByText('running').waitFor();
    release();
    await page
        .getByRole('status')
        .getByText(`Run ${id.slice(-8)} is success`)
        .waitFor({ state: 'attached' });
});

test('a run that no longer fits the filter stays on the page and changes', async (t) => {
    const { open, call, release } = await scene(t);
    const { id } = await call({ async: 'true' }, { hold: true });
    const page = await open('#/runs?state=running');
    await row(page, id).waitFor();
    release();
    await row(page, id).getByText('success').waitFor();
});

test('filters by state, mode, time and app', async (t) => {
    const { open, call, ended } = await scene(t);
    const sync = await call({});
    const good = await call({ async: 'true' });
    const bad = await call({ async: 'true' }, { status: 500 });
    const other = await call({ async: 'true' }, {}, '/v4/p/b/run');
    for (const { id } of [good, bad, other]) await ended(id);
    const page = await open();
    const shows = (what, expected) =>
        until(what, async () => JSON.stringify(await ids(page)) === JSON.stringify(expected.map(({ id }) => id)));
    const choose = async (label, value, expected) => {
        await addFilter(page, label, value);
        await shows(`${label} ${value}`, expected);
    };
    const remove = async (words, expected) => {
        await removeFilter(page, words);
        await shows(`without ${words}`, expected);
    };
    await choose('State', 'failure', [bad]);
    await remove('State failure', [other, bad, good, sync]);
    await choose('Mode', 'sync', [sync]);
    await page.getByRole('button', { name: 'Mode synchronous', exact: true }).click();
    await page.getByRole('combobox', { name: 'Mode' }).fill('async');
    await page.keyboard.press('Enter');
    await shows('the other mode', [other, bad, good]);
    await choose('App', 'b', [other]);
    await remove('App b', [other, bad, good]);
    await choose('Accepted', 'last hour', [other, bad, good]);
    assert.match(await hashOf(page), /mode=async&time=3600/);
    await page.goBack();
    await page.goBack();
    await until('the list before', async () => (await ids(page)).length === 1);
    await addFilter(page, 'State', 'queued');
    await page.getByText('No run matches these filters').waitFor();
    await page.getByRole('link', { name: 'Show all runs' }).click();
    await until('all of them', async () => (await ids(page)).length === 4);
    await addFilter(page, 'State', 'success');
    await addFilter(page, 'Mode', 'sync');
    await shows('what fits both', [sync]);
    await page.getByRole('button', { name: 'Clear all' }).click();
    await shows('all again', [other, bad, good, sync]);
    assert.equal(await hashOf(page), '#/runs');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'add-filter');
});

/** Where the point of a histogram is that has what was accepted last: `[x, y, width of one]`. */
async function lastPoint(page) {
    const chart = page.getByRole('slider', { name: /^Runs over time/ });
    await until('it is drawn', () => chart.locator('rect.area').count());
    const { x, y, width, height } = await chart.boundingBox();
    const points = Number(await chart.getAttribute('aria-valuemax')) + 1;
    return { chart, x: x + width - width / points / 2, y: y + height / 2, step: width / points };
}

test('a span of the histogram is chosen by mouse, touch and keys, and stands in the address', async (t) => {
    const { open, call, ended } = await scene(t);
    const { id: bad } = await call({ async: 'true' }, { status: 500 });
    const { id: good } = await call({ async: 'true' });
    for (const id of [bad, good]) await ended(id);
    const page = await open('#/runs?time=3600');
    await row(page, good).waitFor();
    const { chart, x, y, step } = await lastPoint(page);
    assert.ok((await chart.boundingBox()).height === 64);
    await until('what it has is said', async () => /1 failed.*1 succeeded/.test(await page.locator('.histogram .readout').innerText()));
    const drag = async (from, to) => {
        await page.mouse.move(from, y);
        await page.mouse.down();
        await page.mouse.move(to, y, { steps: 3 });
        await page.mouse.up();
    };
    await drag(x, x);
    assert.equal(await hashOf(page), '#/runs?time=3600', 'a brush of no width does nothing');
    await drag(x - 30 * step, x - 20 * step);
    await until('a span is the filter', async () => /^#\/runs\?time=own&from=[^&]+&until=/.test(await hashOf(page)));
    const bounds = new URLSearchParams((await hashOf(page)).split('?')[1]);
    const span = Date.parse(bounds.get('until')) - Date.parse(bounds.get('from'));
    assert.ok(span >= 540_000 && span <= 720_000, `${span / 60_000} min`);
    await page.getByText('No run matches these filters').waitFor();
    await page.getByRole('button', { name: /^Remove Accepted since .* until / }).click();
    await until('it is cleared', async () => (await hashOf(page)) === '#/runs');
    await goTo(page, '#/runs?time=3600');
    const again = await lastPoint(page);
    await again.chart.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Shift+ArrowLeft');
    assert.match(await again.chart.getAttribute('aria-valuetext'), /: 1 failed, 1 succeeded$/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    assert.equal(await hashOf(page), '#/runs?time=3600', 'nothing is chosen any more');
    await page.keyboard.press('End');
    for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Enter');
    await until('a span up to now', async () => /^#\/runs\?time=own&from=[^&]+$/.test(await hashOf(page)));
    await until('it has both', async () => (await ids(page)).length === 2);
    await goTo(page, '#/runs?time=3600');
    const touched = await lastPoint(page);
    await touched.chart.evaluate((element, { from, to, height }) => {
        const event = (type, clientX) =>
            new PointerEvent(type, { pointerId: 7, pointerType: 'touch', isPrimary: true, button: 0, clientX, clientY: height, bubbles: true });
        element.setPointerCapture = () => {}; // there is no such finger
        for (const [type, at] of [['pointerdown', from], ['pointermove', to], ['pointerup', to]]) element.dispatchEvent(event(type, at));
    }, { from: touched.x - 5 * step, to: touched.x, height: touched.y });
    await until('a span by finger', async () => /^#\/runs\?time=own&from=/.test(await hashOf(page)));
});

test('a row is a link: a plain click opens the run beside the list, others as everywhere', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const all = [];
    for (let i = 0; i < 3; i++) all.unshift((await call({ async: 'true' })).id);
    for (const id of all) await ended(id);
    all.sort().reverse();
    const page = await open('#/runs?app=a', { viewport: { width: 1440, height: 900 } });
    await row(page, all[0]).waitFor();
    assert.equal((await row(page, all[1]).boundingBox()).height, 28);
    const panel = page.getByRole('complementary');
    const shows = (id) => panel.locator('.run-id').getByText(id).waitFor();
    const address = (id) => until(`${id} is in the address`, async () => (await hashOf(page)) === `#/runs?app=a${id ? `&run=${id}` : ''}`);
    await row(page, all[0]).locator('.c-state').click();
    await shows(all[0]);
    await address(all[0]);
    await page.keyboard.press('ArrowDown');
    await shows(all[1]);
    await address(all[1]);
    assert.equal(await row(page, all[1]).getAttribute('aria-current'), 'true');
    await page.keyboard.press('ArrowUp');
    await shows(all[0]);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    await address('');
    await until('the focus is in its row', () => row(page, all[0]).locator('a').evaluate((link) => link === document.activeElement));
    await page.keyboard.press('Enter');
    await shows(all[0]);
    await page.goBack();
    await panel.waitFor({ state: 'hidden' });
    await page.goForward();
    await shows(all[0]);
    await page.reload();
    await shows(all[0]);
    await panel.getByRole('button', { name: 'Close' }).click();
    await panel.waitFor({ state: 'hidden' });
    for (const press of [{ button: 'middle' }, { modifiers: ['ControlOrMeta'] }])
        for (const cell of ['.c-state', '.c-run .path', 'a']) {
            const [tab] = await Promise.all([page.context().waitForEvent('page'), row(page, all[1]).locator(cell).click(press)]);
            await tab.waitForURL(new RegExp(`#/runs/${all[1]}$`));
            await tab.close();
        }
    for (const cell of ['.c-state .badge', '.c-run .path', '.c-age time', '.c-mode', 'a']) {
        const [other] = await Promise.all([page.context().waitForEvent('page'), row(page, all[1]).locator(cell).click({ modifiers: ['Shift'] })]);
        await other.waitForURL(new RegExp(`#/runs/${all[1]}$`));
        await other.close();
        await address('');
        const menu = page.evaluate(() => new Promise((resolve) => addEventListener('contextmenu', ({ target }) => resolve(target.closest('a')?.hash), { capture: true, once: true })));
        await row(page, all[1]).locator(cell).click({ button: 'right' });
        assert.equal(await menu, `#/runs/${all[1]}`, `a right click on ${cell}`);
    }
    await row(page, all[1]).locator('.c-run .path').evaluate((path) => getSelection().selectAllChildren(path));
    await row(page, all[1]).locator('.c-run .path').click({ button: 'right' });
    assert.equal(await page.locator('.is-link').count(), 0, 'what is selected has its own menu');
    await page.evaluate(() => getSelection().empty());
    await row(page, all[2]).locator('a').focus();
    await page.keyboard.press('o');
    await page.getByRole('heading', { name: 'a /run' }).waitFor();
    assert.equal(await hashOf(page), `#/runs/${all[2]}`);
});

test('a tag in the list leads to all runs that have it, and its row to the run', async (t) => {
    const { open, sidecar, token, ended } = await scene(t, { isShared: true });
    const headers = { authorization: `Bearer ${token}`, 'x-run-tag': 'tier=gold, chip=list', 'content-type': 'application/json' };
    const answer = await fetch(`${sidecar.url}/v4/p/a/run?async=true`, { method: 'POST', headers, body: '{}' });
    const { run_id: id } = await answer.json();
    await ended(id);
    const page = await open('#/runs?cols=tags&state=success');
    await row(page, id).waitFor();
    await page.keyboard.press('j');
    await until('the focus is on a run', () => page.evaluate(() => document.activeElement.matches('.c-id a')));
    await row(page, id).locator('.tag', { hasText: 'chip=list' }).click();
    await until('it is the filter', async () => (await hashOf(page)) === '#/runs?tag=chip%3Dlist');
    assert.equal(await page.getByRole('complementary').count(), 0);
});

test('columns, room and views are kept, and stand in the address of a view', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    await ended((await call({ async: 'true' })).id);
    const page = await open('#/runs?state=success');
    const heads = () => page.locator('.runs th').allInnerTexts();
    const has = (name, isThere = true) => until(`${name} is ${isThere}`, async () => (await heads()).includes(name) === isThere);
    await has('Age');
    await page.getByRole('button', { name: 'Columns' }).click();
    const box = page.getByRole('dialog', { name: 'Columns' });
    assert.ok(await box.getByRole('checkbox', { name: 'State' }).isDisabled());
    await box.getByRole('checkbox', { name: 'Priority' }).check();
    await box.getByRole('checkbox', { name: 'Age' }).uncheck();
    await box.getByRole('checkbox', { name: 'More room' }).check();
    await has('Priority');
    await has('Age', false);
    assert.equal((await page.locator('.runs tbody tr').first().boundingBox()).height, 38);
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'detached' });
    await page.reload();
    await has('Priority');
    await has('Age', false);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of this view').fill('<b>mine</b>');
    await page.getByRole('button', { name: 'Save view' }).click();
    const mine = page.getByRole('link', { name: '<b>mine</b>' });
    await mine.waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Columns' }).click();
    await box.getByRole('checkbox', { name: 'Priority' }).uncheck();
    await has('Priority', false);
    await page.keyboard.press('Escape');
    await goTo(page, '#/runs?app=other');
    await page.getByRole('button', { name: 'Views' }).click();
    await mine.click();
    await until('its filter is there', async () => /state=success&cols=state%2C/.test(await hashOf(page)));
    await has('Priority');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('button', { name: 'Forget <b>mine</b>' }).click();
    await mine.waitFor({ state: 'detached' });
    await page.evaluate(() => localStorage.setItem('hookline-views', '[["x","https://evil.example"],7,"y"]'));
    await page.reload();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('link', { name: 'All runs' }).waitFor();
    assert.equal(await page.getByRole('dialog', { name: 'Views' }).getByRole('link', { name: 'x', exact: true }).count(), 0);
});

test('what went wrong is in the list as text, and is copied with whole ids and exact times', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' }, { status: 500, type: 'text/plain', body: '<img src=x onerror="globalThis.hit = 1">\u202etxt.exe' });
    const run = await ended(id);
    const page = await open('#/runs?status=500');
    const line = row(page, id).locator('.c-error');
    await line.getByText('<img src=x onerror="globalThis.hit = 1">').waitFor();
    assert.doesNotMatch(await line.innerText(), /\u202e/);
    assert.equal(await page.locator('main img').count(), 0);
    assert.equal(await page.evaluate(() => globalThis.hit), undefined);
    const copied = await row(page, id).evaluate((element) => {
        getSelection().selectAllChildren(element);
        const data = new DataTransfer();
        element.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
        getSelection().removeAllRanges();
        return data.getData('text/plain');
    });
    const cells = copied.split('\t');
    assert.equal(cells.at(-1), id);
    assert.equal(cells.at(-2), run.created_at.replace('T', ' ').replace('Z', ' UTC'));
    await addFilter(page, 'Error', run.error);
    await until('it is the filter', async () => new URLSearchParams((await hashOf(page)).split('?')[1]).get('error') === run.error);
    await row(page, id).waitFor();
});

test('of 1,000 apps one is found by a part of its name', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' }, {}, '/v4/p/app-777-x/run');
    await ended(id);
    const page = await open('#/keys');
    await page.route('**/v2/projects/p', async (route) => {
        const response = await route.fetch();
        const apps = Array.from({ length: 1000 }, (_, i) => `app-${i}-x`);
        await route.fulfill({ json: { ...(await response.json()), apps } });
    });
    await page.reload();
    await page.locator('main h1').waitFor();
    await goTo(page, '#/runs');
    await row(page, id).waitFor();
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Filter by' }).fill('App');
    await page.keyboard.press('Enter');
    const options = page.getByRole('option');
    await until('some of them are listed', async () => (await options.count()) === 60);
    await page.getByText(/^94\d more: type a part of the name/).waitFor();
    await page.keyboard.type('777');
    await until('the one is left', async () => `${await options.allInnerTexts()}`.endsWith('app-777-x'));
    await options.getByText('app-777-x').click();
    await until('it is the filter', async () => (await hashOf(page)) === '#/runs?app=app-777-x');
    await until('its run alone', async () => JSON.stringify(await ids(page)) === JSON.stringify([id]));
});

test('where not all apps can be listed that is said, and any may be typed', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' }, {}, '/v4/p/beyond-1/run');
    await ended(id);
    const page = await open('#/deliveries');
    let n;
    await page.route('**/v2/projects/p', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ json: { ...(await response.json()), apps: Array.from({ length: n }, (_, i) => `app-${i}`) } });
    });
    const choose = async () => {
        await page.getByRole('button', { name: 'Add filter' }).click();
        await page.getByRole('combobox', { name: 'Filter by' }).fill('App');
        await page.keyboard.press('Enter');
    };
    const begin = async (many) => {
        n = many;
        await page.reload();
        await page.locator('main h1').waitFor();
        await goTo(page, '#/deliveries');
        await choose();
    };
    const lines = (name) => until('the lines of that app', async () => (await hashOf(page)) === `#/logs?app=${name}`);
    const said = page.getByText('Not all apps are listed: type the whole name of any other.');
    await begin(199);
    await page.getByText('139 more: type a part of the name.', { exact: true }).waitFor();
    await goTo(page, '#/logs');
    await page.getByLabel('App', { exact: true }).selectOption('app-7');
    await lines('app-7');
    await begin(200);
    await said.waitFor();
    await page.keyboard.type('beyond-1');
    await page.keyboard.press('Enter');
    await until('it is the filter', async () => (await hashOf(page)) === '#/deliveries?app=beyond-1');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to, find or change' }).fill('beyond-1');
    await page.getByRole('option', { name: 'App “beyond-1” not all are listed' }).click();
    await until('its run', async () => JSON.stringify(await ids(page)) === JSON.stringify([id]));
    await goTo(page, '#/logs');
    await page.getByRole('combobox', { name: 'App' }).fill('beyond-1');
    await page.keyboard.press('Enter');
    await lines('beyond-1');
});

test('a whole id leads to its run', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' });
    await ended(id);
    const page = await open();
    await page.getByRole('searchbox', { name: 'Find' }).fill(` ${id.toUpperCase()} `);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.locator('.run-id').getByText(id).waitFor();
    await page.locator('.facts').getByText('application/json').waitFor();
});

test('an id that is not there is told so', async (t) => {
    const { open } = await scene(t, { isShared: true });
    const page = await open('#/runs/01a1fd70-3244-72a6-afd4-c8491b645ea6', { complaints: /404/ });
    await page.getByRole('alert').getByText('This run is not here').waitFor();
});

/** As it came, at other times: `ms` since it was accepted, when it began and ended, and each attempt of its webhook. */
function retimed(run, [accepted, began, ended, ...sent]) {
    const base = Date.parse(run.created_at);
    const at = (ms) => new Date(base + ms).toISOString();
    const inside = { started_at: at(began), finished_at: at(ended) };
    Object.assign(run, { created_at: at(accepted), ...inside });
    run.attempt_log.forEach((attempt) => Object.assign(attempt, inside));
    run.deliveries[0].attempts.forEach((attempt, i) =>
        Object.assign(attempt, { started_at: at(sent[2 * i]), ended_at: at(sent[2 * i + 1]) }),
    );
    return run;
}

/** Of each bar but those of parts and pauses where it begins and how wide it is, in percent. */
const bars = (page) =>
    page
        .locator('.timeline li.is-level-0')
        .filter({ hasNotText: /^(Accepted|Pause)/ })
        .locator('rect')
        .evaluateAll((all) => all.map((bar) => ['x', 'width'].map((name) => parseFloat(bar.getAttribute(name)))));

test('a run’s timeline is drawn to scale, with each attempt of its webhook', async (t) => {
    const { open, call, ended, receiver } = await scene(t, { isShared: true });
    const { id } = await call({
        async: 'true',
        webhookEndpoint: receiver.script('/late', 404, 503),
    });
    const run = await ended(id);
    const page = await open();
    let times = [0, 100, 400, 450, 550, 700, 900];
    await page.route(/\/runs\/[^/?]+$/, (route) => route.fulfill({ json: retimed(structuredClone(run), times) }));
    await goTo(page, `#/runs/${id}`);
    await page.locator('.timeline').getByText('Webhook attempt 2').waitFor();
    const part = (ms) => (100 * ms) / 900;
    const spans = [[0, 100], [100, 400], [450, 550], [700, 900]];
    for (const [i, [x, width]] of (await bars(page)).entries()) {
        const [from, to] = spans[i];
        assert.ok(Math.abs(x - part(from)) < 0.01, `bar ${i} begins at ${x}`);
        assert.ok(Math.abs(width - part(to - from)) < 0.01, `bar ${i} is ${width} wide`);
    }
    const broken = page.getByText('Long spans are drawn shorter than they are.');
    assert.equal((await bars(page)).length, spans.length);
    assert.equal(await broken.isVisible(), false);

    const day = 86_400_000;
    times = [0, 100, 400, 450, 550, day, day + 200]; // to scale, the others would lie upon each other
    await page.reload();
    await broken.waitFor();
    const drawn = await bars(page);
    assert.ok(drawn.every(([, width]) => width > 5), `each can be seen: ${drawn}`);
    assert.ok(drawn.every(([x], i) => i === 0 || x >= drawn[i - 1][0] + drawn[i - 1][1] - 0.01), `one after the other: ${drawn}`);
    await page.unroute(/\/runs\/[^/?]+$/);
    await page.reload();
    await pane(page, 'Webhook');
    await page.locator('.delivery tbody tr').nth(1).waitFor();
    const rows = await page.locator('.delivery tbody tr').allInnerTexts();
    assert.match(rows[0], /^1\s+retry\s+404/s);
    assert.match(rows[1], /^2\s+failed\s+503.*\+(\d+ min )?[\d.]+ m?s/s);
    await page.locator('.delivery').getByText('dead letter').waitFor();
});

test('how long a run goes on is counted, and what is selected meanwhile stays', async (t) => {
    const { open, call } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' }, { hold: true });
    const page = await open(`#/runs/${id}`);
    const took = page.locator('.facts > div').filter({ hasText: 'Ran for' }).locator('dd');
    const before = await took.innerText();
    await page.locator('.facts code').selectText();
    await until('it is counted', async () => (await took.innerText()) !== before);
    assert.equal(await page.evaluate(() => String(getSelection())), 'POST /run');
});

test('a run that is queued and then runs can be watched', async (t) => {
    const { open, call, release } = await scene(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_WORKERS: '1' },
    });
    const first = await call({ async: 'true' }, { hold: true });
    const { id } = await call({ async: 'true' });
    const page = await open(`#/runs/${id}`);
    await page.locator('.run-head').getByText('queued').waitFor();
    release();
    await page.locator('.run-head').getByText('success').waitFor();
    await (await pane(page, 'Output')).locator('.result').getByText('"a": 1').waitFor();
    await goTo(page, `#/runs/${first.id}`);
    await page.locator('.run-head').getByText('success').waitFor();
});

const hostile =
    '</pre><script>globalThis.hit = 1; alert(1)</script><img src=x onerror="globalThis.hit = 1">' +
    '<svg onload="globalThis.hit = 1"></svg>\u001b[2J\u001b]0;owned\u0007\u202etxt.exe\u0000 javascript:alert(1) {{7*7}}';

for (const type of [
    'text/html',
    'application/json',
    'text/plain',
    'image/svg+xml; charset=utf-8',
]) {
    test(`a kept ${type} response full of scripts and escapes is text and does nothing`, async (t) => {
        const { open, call, ended } = await scene(t, { isShared: true });
        const body = type === 'application/json' ? JSON.stringify({ [hostile]: hostile }) : hostile;
        const { id } = await call({ async: 'true' }, { type, body });
        await ended(id);
        const page = await open(`#/runs/${id}`);
        const shown = page.locator('pre.result');
        await shown.waitFor();
        const text = await shown.textContent();
        assert.ok(text.includes('<script>globalThis.hit = 1; alert(1)</script>'), text);
        assert.doesNotMatch(
            text,
            /[\u0000-\u0008\u000b-\u001f\u007f\u202e]/,
            'nothing that a terminal or the text’s direction obeys',
        );
        assert.equal(await shown.locator('*').count(), 0, 'no elements');
        assert.equal(await page.evaluate(() => globalThis.hit), undefined);
        assert.equal(await page.locator('script:not([src]), img').count(), 0);
        assert.match(await page.title(), /hookline$/);
    });
}

test('what an app names itself is text too', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const { id } = await call(
        { async: 'true', q: '<img src=x onerror=alert(1)>' },
        { type: 'text/plain; x="<b>"' },
        '/v4/p/a/<b>%3Cscript%3E',
    );
    await ended(id);
    const page = await open();
    await row(page, id).waitFor();
    await goTo(page, `#/runs/${id}`);
    await page.locator('pre.result').waitFor();
    assert.equal(await page.locator('main b, main img, main script').count(), 0);
});

test('a result is downloaded byte for byte', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const body = `${'{"n": 12345678901234567890, "text": "é"} '.repeat(9000)}`;
    const { id } = await call({ async: 'true' }, { type: 'text/plain', body });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: /^Download/ }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${id}.txt`);
    assert.equal(await readFile(await download.path(), 'utf8'), body);
});

test('JSON is indented, and its numbers stay as they were written', async (t) => {
    const { open, call, ended } = await scene(t, { isShared: true });
    const { id } = await call(
        { async: 'true' },
        { body: '{"n":12345678901234567890,"x":[1.0,{}],"e":[]}' },
    );
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await page.locator('pre.result').waitFor();
    assert.equal(
        await page.locator('pre.result').textContent(),
        '{\n  "n": 12345678901234567890,\n  "x": [\n    1.0,\n    {}\n  ],\n  "e": []\n}',
    );
});

test('a running run is cancelled after a question, and not without', async (t) => {
    const { open, call, app, sidecar } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' }, { hold: true });
    await until('the app is called', () => app.requests.length === 1);
    const page = await open(`#/runs/${id}`);
    await page.getByRole('button', { name: 'Cancel run…' }).click();
    const question = page.getByRole('dialog', { name: 'Cancel this run?' });
    await question.getByRole('button', { name: 'Keep as it is' }).click();
    await question.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Cancel run…' }).click();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    assert.equal(
        (await control(sidecar, 'GET', `/v2/projects/p/runs/${id}`)).json.state,
        'running',
    );
    await page.getByRole('button', { name: 'Cancel run…' }).click();
    await question.getByRole('button', { name: 'Cancel the run' }).click();
    await page.locator('.run-head').getByText('cancelled').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Cancel run…' }).count(), 0);
});

test('a run that has failed is run again from its page, after a question', async (t) => {
    const { open, call, ended, sidecar } = await scene(t, { isShared: true });
    const { id } = await call({ async: 'true' }, { status: 500 });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await page.getByRole('button', { name: 'Run again…' }).click();
    await page.getByRole('dialog', { name: 'Run this again?' }).getByRole('button', { name: 'Run again' }).click();
    await page.getByText('Again the run').waitFor();
    const [again] = (await control(sidecar, 'GET', '/v2/projects/p/runs')).json.runs;
    assert.equal(again.rerun_of, id);
    assert.equal(await hashOf(page), `#/runs/${again.run_id}`);
    await goTo(page, `#/runs/${id}`);
    await page.locator('.timeline').getByText(`Run again as ${again.run_id.slice(-8)}`).waitFor();
    await page.locator('.family').getByRole('link', { name: again.run_id.slice(-8) }).click();
    await page.getByText('Again the run').waitFor();
});

test('100,000 runs: pages of fifty, any of them found', async (t) => {
    const { open, call, ended, sidecar } = await scene(t);
    const { id } = await call({ async: 'true' }, { status: 500 });
    const { id: newest } = await call({ async: 'true' });
    await ended(id);
    await ended(newest);
    await sidecar.stop();
    await multiply(sidecar, id, 100_000);
    await sidecar.start();
    const page = await open();
    await row(page, newest).waitFor();
    assert.equal((await ids(page)).length, 50);
    await page.getByRole('button', { name: 'Show older' }).click();
    await until('a second page', async () => (await ids(page)).length === 100);
    const shown = await ids(page);
    assert.deepEqual(shown, [...new Set(shown)].sort().reverse());
    await addFilter(page, 'State', 'failure');
    await until(
        'failures',
        async () => (await ids(page)).length === 50 && !(await ids(page)).includes(newest),
    );
    await goTo(page, '#/runs?state=cancelled');
    await page.getByText('No run matches these filters').waitFor();
    await page.getByRole('searchbox', { name: 'Find' }).fill(id.slice(-8));
    await page.keyboard.press('Enter');
    await page.getByText('No run matches these filters').waitFor(); // none that was cancelled
    await removeFilter(page, 'State cancelled');
    await until('by the end of its id', async () => JSON.stringify(await ids(page)) === JSON.stringify([id]));
    await page.getByRole('searchbox', { name: 'Find' }).fill('/no-such-path');
    await page.keyboard.press('Enter');
    await page.getByText(/looked back to/).or(page.getByText('No run matches these filters')).first().waitFor();
    await page.getByRole('searchbox', { name: 'Find' }).fill(id);
    await page.keyboard.press('Enter');
    await page.locator('.run-head').getByText('failure').waitFor();
});

/** Copies of a finished run and its result, a second apart, all before it. */
async function multiply(sidecar, id, count) {
    const file = join(
        sidecar.dataDir,
        (await readdir(sidecar.dataDir)).find((name) => /\.(db|sqlite3?)$/.test(name)),
    );
    const ms = parseInt(id.replace('-', '').slice(0, 12), 16);
    const copies = Array.from({ length: count }, (_, i) => {
        const time = (ms - 1000 * (i + 1)).toString(16).padStart(12, '0');
        return `(x'${time}7000a000${i.toString(16).padStart(12, '0')}',${i + 1})`;
    });
    const sql = `BEGIN; CREATE TEMP TABLE copy (id BLOB, n INTEGER); INSERT INTO copy VALUES ${copies.join(',')};
        ${await copyOf(file, 'run', id)} ${await copyOf(file, 'result', id)} COMMIT;`;
    const child = execFile('sqlite3', [file]);
    child.stdin.end(sql);
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
}

/** The statement that copies a run's row of a table once for each of `copy`: its number is new, its times are earlier. */
async function copyOf(file, table, id) {
    const sql = `SELECT name FROM pragma_table_info('${table}')`;
    const { stdout } = await promisify(execFile)('sqlite3', [file, sql]);
    const columns = stdout.trim().split('\n');
    const values = columns.map((name) => {
        if (name === 'run_id') return 'copy.id';
        if (name === 'number') return 'number + 100 + copy.n';
        return /_ms$/.test(name) ? `${name} - 1000 * copy.n` : name;
    });
    const original = `run_id = x'${id.replaceAll('-', '')}'`;
    return `INSERT INTO ${table} (${columns}) SELECT ${values} FROM copy, ${table} WHERE ${original};`;
}
