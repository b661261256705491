// The dashboard's overview: how runs ended over a span that is chosen, true after a restart; what wants a look, and the way to it.
import assert from 'node:assert/strict';
import { assertAccessible, assertFits, control, goTo, hashOf, makeToken, openDashboard } from './lib/browser.mjs';
import { FILE, onFailure, test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { rest } from './lib/rest.mjs';
import { stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const SIZES = [[1440, 900], [1024, 768], [390, 844]];

const scenes = new Map();

/**
 * Runs of two apps, of which some failed, of both modes; and a destination that fails, if that is wanted. Tests share one
 * of a kind, but for one that `adds` to it.
 */
async function scene(t, { isFailing = false, failures = 3, adds = false, ...options } = {}) {
    const { sidecar, send } = await (adds ? fill(t, isFailing, failures) : filled(isFailing, failures));
    onFailure(t, () => sidecar.tail());
    const open = (more = {}) => openDashboard(t, sidecar, { hash: '#/now', ...options, ...more });
    return { open, sidecar, send };
}

function filled(isFailing, failures) {
    const key = `${isFailing} ${failures}`;
    if (!scenes.has(key)) {
        atEnd(FILE, () => scenes.delete(key));
        scenes.set(key, fill(FILE, isFailing, failures));
    }
    return scenes.get(key);
}

async function fill(t, isFailing, failures) {
    const app = async (x) => {
        await x.body();
        await x.send(Number(x.get('x-status') ?? 200), {}, 'ok');
    };
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' }, app });
    const headers = { authorization: `Bearer ${await makeToken(sidecar)}` };
    const send = (name, status, query) => call(`/v4/p/${name}/run`, { query, headers: { ...headers, 'x-status': `${status}` } });
    for (let i = 0; i < 20; i++) await send('words', i < failures ? 503 : 200);
    const webhookEndpoint = 'http://127.0.0.1:1/hook';
    for (let i = 0; i < 8; i++) await send('pictures', 200, { async: 'true', ...(isFailing && { webhookEndpoint }) });
    await until('all are counted', async () => {
        const { json } = await control(sidecar, 'GET', '/v2/projects/p/overview');
        const isDown = json.deliveries.dead === 8 && json.destinations.failing === 1;
        return json.total.runs === 28 && (!isFailing || isDown);
    }, 60_000);
    return { sidecar, send };
}

const tileOf = async (page, name) => {
    const tile = page.locator('.tiles > div').filter({ has: page.getByText(name, { exact: true }) });
    return (await tile.locator('dd').innerText()).split('\n')[0];
};

test('runs are counted by app, state and reason, with the way to those that failed', async (t) => {
    const { open } = await scene(t);
    const page = await open();
    const table = page.getByRole('region', { name: 'Runs by app' });
    await table.getByRole('row').nth(2).waitFor();
    const rows = await table.getByRole('row').allInnerTexts();
    assert.match(rows[1], /^words\s+20\s+3 \(15 %\)\s/);
    assert.match(rows[2], /^pictures\s+8\s+0\s/);
    assert.deepEqual([await tileOf(page, 'Runs ended'), await tileOf(page, 'Failed')], ['28', '3']);
    await page.getByRole('img', { name: 'Runs ended. success: 25 in all. failure: 3 in all. cancelled: 0 in all.' }).waitFor();
    await page.getByRole('list', { name: 'Failures by reason' }).getByRole('link', { name: 'app_error' }).click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    assert.match(await hashOf(page), /state=failure/);
});

test('the span stands in the address, and what was counted is there after a restart', async (t) => {
    const { open, sidecar } = await scene(t);
    const page = await open({ complaints: /ERR_|503/ });
    await page.getByRole('button', { name: 'All that is kept' }).click();
    await page.getByRole('button', { name: 'All that is kept', pressed: true }).waitFor();
    assert.equal(await hashOf(page), '#/overview?period=retention');
    await until('they are shown', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
    await sidecar.restart();
    await page.reload();
    await page.getByRole('button', { name: 'All that is kept', pressed: true }).waitFor();
    await until('they are shown', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
});

test('what wants somebody is not green, is linked, and stands on the tabs', async (t) => {
    const { open } = await scene(t, { isFailing: true });
    const page = await open();
    const state = page.getByRole('region', { name: 'Readiness' });
    await state.getByRole('link', { name: '8 dead letters' }).waitFor();
    assert.match(await state.getAttribute('class'), /is-warning/);
    await state.getByRole('link', { name: '1 destination' }).waitFor();
    await page.getByRole('heading', { name: '1 failing destination' }).waitFor();
    await page.getByText('Last error: connect_failed').waitFor();
    await page.getByRole('link', { name: 'Deliveries : 8 dead letters' }).waitFor();
    await page.getByRole('link', { name: 'Destinations : 1 failing' }).waitFor();
    await goTo(page, '#/runs');
    await page.getByRole('link', { name: 'Deliveries : 8 dead letters' }).waitFor();
    await goTo(page, '#/now');
    await state.getByRole('link', { name: '8 dead letters' }).click();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    assert.equal(await hashOf(page), '#/deliveries?state=dead');
});

test('with nothing to look at it is green; the role invoke sees the runs and no more', async (t) => {
    const { open } = await scene(t, { failures: 0 });
    const page = await open({ role: 'invoke' });
    await page.getByText('Ready: calls are accepted').waitFor();
    await until('they are shown', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
    assert.equal(await page.locator('.tab-count').count(), 0);
    assert.ok(page.seen.urls.every((url) => !/deliveries|destinations|replicas/.test(url.replace(/\/dashboard\/.*/, ''))));
});

test('a share of few calls warns nobody, and what was given up is told of the store alone', async (t) => {
    const { open } = await scene(t, { failures: 0 });
    const page = await open({ hash: '#/runs', role: 'invoke' });
    let calls = 1;
    await page.route(/\/v2\/now/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        if (!response) return;
        const json = await response.json();
        const sample = { calls_per_s: calls / 10, errors_per_s: calls / 10, attempts_dead: 1 };
        const samples = Object.fromEntries(Object.keys(json.samples).map((name) => [name, [sample[name] ?? 0]]));
        samples.at = [Date.parse(json.now)];
        await route.fulfill({ json: { ...json, started_at: new Date(calls).toISOString(), last: 1, samples } });
    });
    await goTo(page, '#/now');
    const state = page.getByRole('region', { name: 'Readiness' });
    await state.getByText('Ready: calls are accepted').waitFor();
    assert.equal(await state.getByRole('listitem').count(), 0);
    calls = 20;
    await state.getByText('100 % of the calls').waitFor();
    assert.equal(await state.getByRole('listitem').count(), 1);
});

/** The middle of a part of a chart's width, from 0 to 1. */
async function placeIn(chart, part) {
    await chart.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await chart.boundingBox();
    return [x + 54 + (width - 62) * part, y + height / 2];
}

const bounds = (hash, from, until) => {
    const query = new URLSearchParams(hash.split('?')[1]);
    return [from, until].map((name) => Date.parse(query.get(name)));
};

test('a point of a chart leads to its runs by a click and by Enter, and a way over it to that span and back', async (t) => {
    const { open } = await scene(t);
    const page = await open();
    const chart = page.getByRole('img', { name: /^Runs ended/ });
    await chart.locator('rect').first().waitFor();
    await page.mouse.click(...(await placeIn(chart, 0.995)));
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    const clicked = bounds(await hashOf(page), 'from', 'until');
    assert.equal(clicked[1] - clicked[0], 60_000, 'the step of an hour');
    await goTo(page, '#/overview');
    await chart.locator('rect').first().waitFor();
    await chart.focus();
    await page.keyboard.press('ArrowLeft');
    await page.locator('.cursor').nth(2).waitFor({ state: 'attached' }); // those beside it tell the same time
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await goTo(page, '#/overview');
    await chart.locator('rect').first().waitFor();
    await page.mouse.move(...(await placeIn(chart, 0.7)));
    await page.mouse.down();
    await page.mouse.move(...(await placeIn(chart, 0.8)));
    await page.mouse.move(...(await placeIn(chart, 0.995)));
    await page.locator('.marked').waitFor({ state: 'attached' });
    await page.mouse.up();
    const back = page.getByRole('button', { name: /: back$/, pressed: true });
    await back.waitFor();
    const [from, to] = bounds(await hashOf(page), 'since', 'until');
    assert.ok(to - from > 10 * 60_000 && to - from < 30 * 60_000, `${to - from} ms`);
    await until('their runs alone', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
    await page.getByRole('img', { name: /^Calls per second/ }).waitFor(); // that hour has it
    await back.click();
    await page.getByRole('button', { name: '1 h', pressed: true }).waitFor();
    await chart.locator('rect').first().waitFor();
    await chart.focus();
    await page.keyboard.press('ArrowLeft');
    for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Enter');
    await back.waitFor();
    const marked = bounds(await hashOf(page), 'since', 'until');
    assert.equal(marked[1] - marked[0], 4 * 60_000);
});

test('a span that is none is left out of the address, and of one that is gone it says so', async (t) => {
    const { open } = await scene(t);
    const page = await open({ complaints: /400/ });
    for (const query of ['since=2026-11-27T10:00:00Z&until=2026-11-27T10:00:00Z', 'since=2&until=1', 'since=x', 'period=year', 'by=path']) {
        await goTo(page, '#/runs');
        await goTo(page, `#/overview?${query}`);
        await page.getByRole('note').getByText('Not understood in the address').waitFor();
        await page.getByRole('button', { name: '1 h', pressed: true }).waitFor();
    }
    await goTo(page, '#/overview?since=2001-11-27T10:00:00Z&until=2001-11-27T11:00:00Z');
    await page.getByText('Nothing is kept of this span').waitFor();
    await page.getByRole('link', { name: 'All that is kept' }).click();
    await until('they are shown', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
    assert.equal(await page.getByRole('img', { name: /^Calls per second/ }).count(), 0, 'the process remembers an hour');
});

test('apps are told apart when that is wanted, and asked for then alone', async (t) => {
    const { open } = await scene(t);
    const page = await open();
    await page.getByRole('img', { name: /^Runs ended\./ }).waitFor();
    assert.ok(page.seen.urls.every((url) => !/by=app/.test(url)));
    await page.getByRole('button', { name: 'By app' }).click();
    await page.getByRole('img', { name: 'Runs ended by app. words: 20 in all. pictures: 8 in all.' }).waitFor();
    await page.getByRole('img', { name: 'Runs failed by app. words: 3 in all. pictures: 0 in all.' }).waitFor();
    for (const name of ['Run time, p50', 'Run time, p99', 'Queue wait, p50', 'Queue wait, p99'])
        await page.getByRole('img', { name: `${name} by app. words: highest` }).waitFor();
    assert.equal(await hashOf(page), '#/overview?by=app');
    await page.getByRole('button', { name: '24 h' }).click();
    await page.getByRole('button', { name: 'By app', pressed: true }).waitFor();
    assert.equal(await hashOf(page), '#/overview?period=day&by=app');
    await assertAccessible(page, 'by app');
});

test('what went wrong is listed with how often and of which app, and leads to those runs', async (t) => {
    const { open } = await scene(t);
    const page = await open({ hash: '#/runs' });
    const error = 'no <b>room</b>\u202e left';
    await page.route(/\/errors\?/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        if (!response) return;
        assert.equal((await response.json()).failures, 0, 'synchronous calls are not kept');
        const row = { project_id: 'p', app_name: 'words', reason: 'app_error', count: 1, first_at: '2026-11-27T10:00:00Z', last_at: '2026-11-27T10:05:00Z' };
        const most = [{ ...row, error, count: 3 }, { ...row, error: null, reason: 'timeout', count: 2 }];
        const errors = [...most, ...Array.from({ length: 5 }, (_, i) => ({ ...row, error: `e${i}` }))];
        await route.fulfill({ json: { since: '2026-11-27T09:00:00Z', until: '2026-11-27T11:00:00Z', counted_since: '2026-11-27T09:30:00Z', failures: 17, errors, more: 4 } });
    });
    await goTo(page, '#/overview');
    const card = page.getByRole('region', { name: 'Top errors' });
    const rows = card.getByRole('listitem');
    await rows.nth(4).waitFor();
    assert.match(await rows.nth(0).innerText(), /^3\s+no <b>room<\/b>⟨U\+202E⟩ left\s+words · /);
    await rows.nth(1).getByRole('link', { name: 'timeout' }).waitFor();
    await card.getByText('of 17 runs that failed').waitFor();
    await card.getByText('4 more kinds').waitFor();
    assert.equal(await rows.count(), 5);
    await card.getByRole('button', { name: 'All 7' }).click();
    await until('all of them', async () => (await rows.count()) === 7);
    await assertAccessible(page, 'errors');
    await rows.nth(0).getByRole('link').click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    const query = new URLSearchParams((await hashOf(page)).split('?')[1]);
    assert.deepEqual([query.get('error'), query.get('state'), query.get('app')], [error, 'failure', 'words']);
});

test('where nothing failed it says so', async (t) => {
    const { open } = await scene(t, { failures: 0 });
    const page = await open();
    await page.getByRole('region', { name: 'Top errors' }).getByText('No run that is kept failed in this span.').waitFor();
    await page.getByRole('region', { name: 'Failures by reason' }).getByText('Nothing failed in this span.').waitFor();
});

test('charts are drawn anew in another zone and at another width', async (t) => {
    const { open } = await scene(t);
    const page = await open({ timezoneId: 'Asia/Kolkata', viewport: { width: 1440, height: 900 } });
    const chart = page.getByRole('img', { name: /^Runs ended/ });
    await chart.locator('rect').first().waitFor();
    const times = async () => (await chart.locator('.axis').allTextContents()).filter((text) => text.includes(':'));
    const before = await times();
    assert.ok(before.length > 1, String(before));
    await page.getByRole('button', { name: 'UTC' }).click();
    assert.ok((await times()).every((text) => !before.includes(text)), 'half an hour and more apart');
    await page.setViewportSize({ width: 390, height: 844 });
    await until('it has the room there is', () =>
        chart.evaluate((svg) => svg.clientWidth < 390 && svg.getAttribute('viewBox').split(' ')[2] === `${svg.clientWidth}`),
    );
});

for (const period of ['hour', 'day'])
    test(`on a wall of 1920 by 1080 px nothing is below its end, of the last ${period}`, async (t) => {
        const { open } = await scene(t, { isFailing: true });
        const page = await open({ hash: '#/runs', viewport: { width: 1920, height: 1080 } });
        await page.route(/\/overview\?/, async (route) => {
            const response = await route.fetch().catch(() => null); // the page may be gone
            const json = response && (await response.json());
            const apps = json && Array.from({ length: 20 }, (_, i) => ({ ...json.apps[0], app_name: `app-${i}`, runs: i + 1 }));
            if (json) await route.fulfill({ json: { ...json, apps } });
        });
        await goTo(page, `#/overview?period=${period}&wall=1`);
        await page.getByRole('heading', { name: '1 failing destination' }).waitFor();
        await page.getByText('Top errors').waitFor();
        const { bottom, height } = await page.evaluate(() => ({ bottom: document.querySelector('.failing').getBoundingClientRect().bottom, height: document.documentElement.scrollHeight }));
        assert.ok(bottom <= 1080 && height <= 1080, `${bottom} px, ${height} px`);
    });

test('of many apps the table has those with most runs, and all when they are wanted', async (t) => {
    const { open } = await scene(t);
    const page = await open({ hash: '#/runs' });
    await page.route(/\/overview\?/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        const json = response && (await response.json());
        if (!json) return;
        const apps = Array.from({ length: 200 }, (_, i) => ({ ...json.apps[0], app_name: `app-${i}`, runs: i + 1 }));
        await route.fulfill({ json: { ...json, apps, is_more_apps: true } });
    });
    await goTo(page, '#/overview');
    const table = page.getByRole('region', { name: 'Runs by app' });
    await table.getByRole('row').nth(1).waitFor();
    assert.equal(await table.getByRole('row').count(), 11);
    assert.match(await table.getByRole('row').nth(1).innerText(), /^app-199\s+200\s/);
    await page.getByText('There are more than 200 apps').waitFor();
    await page.getByRole('button', { name: 'All 200 apps' }).click();
    await page.getByRole('button', { name: 'The first 10' }).waitFor();
    assert.equal(await table.getByRole('row').count(), 201);
    await assertFits(page, 'all apps');
    await page.getByRole('button', { name: 'The first 10' }).click();
    await until('the first again', async () => (await table.getByRole('row').count()) === 11);
});

test('a certificate that expires soon and a store that is nearly full are told', async (t) => {
    const { open } = await scene(t, { failures: 0 });
    const page = await open({ hash: '#/runs', role: 'invoke' });
    await page.route(/\/v2\/now/, async (route) => {
        const response = await route.fetch().catch(() => null); // the page may be gone
        const json = response && (await response.json());
        if (!json) return;
        const current = { ...json.current, store_bytes: 950 << 20, store_max_bytes: 1000 << 20 };
        const certificate_expires_at = new Date(Date.parse(json.now) + 86_400_000).toISOString();
        await route.fulfill({ json: { ...json, current, certificate_expires_at } });
    });
    await goTo(page, '#/overview');
    const state = page.getByRole('region', { name: 'Readiness' });
    await state.getByText('The certificate that callers see expires').waitFor();
    await state.getByText('The store has 950 MiB of the 1000 MiB').waitFor();
});

test('the focus stays on what leads to the runs that failed, while more fail', async (t) => {
    const { open, send } = await scene(t, { adds: true });
    const page = await open();
    const link = page.getByRole('list', { name: 'Failures by reason' }).getByRole('link', { name: 'app_error' });
    await link.focus();
    for (const n of [4, 5]) {
        await send('words', 503, { async: 'true' }); // they are counted at once
        await until('it is counted', async () => {
            await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
            return (await tileOf(page, 'Failed')) === `${n}`;
        });
        assert.ok(await link.evaluate((e) => e === document.activeElement));
    }
});

test('the bar of a reason is at the height of its name', async (t) => {
    const { open } = await scene(t);
    const page = await open();
    const line = page.getByRole('list', { name: 'Failures by reason' }).getByRole('listitem');
    await line.getByText('app_error').waitFor();
    const middles = await line.evaluate((e) =>
        ['a', 'progress'].map((name) => e.querySelector(name).getBoundingClientRect()).map(({ y, height }) => y + height / 2),
    );
    assert.ok(Math.abs(middles[0] - middles[1]) < 2, String(middles));
});

for (const colorScheme of ['light', 'dark'])
    test(`it fits and is accessible at any size, ${colorScheme}, on a 12-hour clock`, async (t) => {
        const { open } = await scene(t, { isFailing: true, colorScheme, locale: 'en-US' });
        const page = await open();
        for (const [width, height] of SIZES)
            for (const period of ['', '?period=day', '?period=retention']) {
                await page.setViewportSize({ width, height });
                await goTo(page, `#/now${period}`);
                await page.getByRole('heading', { name: '1 failing destination' }).waitFor();
                const what = `${width} ${period}`;
                await assertFits(page, what);
                await assertAccessible(page, what);
                for (const chart of await page.locator('section[aria-labelledby=ended] svg[role=img]').all())
                    assert.ok(await areApart(chart), `${what}: texts of times collide`);
            }
    });

/** Whether none of the texts below a chart reaches into the next. */
const areApart = (chart) =>
    chart.evaluate((svg) => {
        const boxes = [...svg.querySelectorAll('.axis')].map((text) => text.getBoundingClientRect());
        const lowest = Math.max(...boxes.map(({ y }) => y));
        const below = boxes.filter(({ y }) => y > lowest - 2).sort((a, b) => a.x - b.x);
        return below.every((box, i) => i === 0 || box.left > below[i - 1].right + 2);
    });

test('a failed look says so, and the figures come back', async (t) => {
    const { open } = await scene(t);
    const page = await open({ complaints: /503/ });
    await until('they are shown', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
    await page.route(/\/overview\?/, (route) => route.fulfill({ status: 503, json: { detail: 'not now' } }));
    await page.clock.install();
    await goTo(page, '#/now?period=day');
    await page.getByText('not now').waitFor();
    await page.unroute(/\/overview\?/);
    await page.clock.fastForward(20_000);
    await until('they are shown', async () => (await tileOf(page, 'Runs ended').catch(() => '')) === '28');
});

test('the overview says that the app sleeps and that the process drains, a run that waits that the app sleeps', async (t) => {
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_APP_IDLE_SLEEP: '50ms', HOOKLINE_APP_SLEEP_CALL: 'POST /sleep', HOOKLINE_APP_WAKE_CALL: 'POST /wake' },
    });
    await until('it sleeps', async () => (await sidecar.metric('hookline_app_asleep')) === 1);
    const page = await openDashboard(t, sidecar, { hash: '#/now' });
    await page.getByRole('region', { name: 'Readiness' }).getByText(/^The app sleeps since /).waitFor();
    await page.getByText('Ready: calls are accepted').waitFor();
    assert.equal((await rest(sidecar, { admin: true })('POST', '/drain')).status, 200); // a queued run wakes nobody
    const { id } = await call('/v4/p/a/run', { query: { async: 'true' }, headers: { authorization: `Bearer ${await makeToken(sidecar)}` } });
    await goTo(page, `#/runs/${id}`);
    await page.getByText(/^The app sleeps since /).waitFor();
    await goTo(page, '#/now');
    await page.getByText('Draining: calls are still answered, send new ones elsewhere.').waitFor();
    await page.getByText('What is left: nothing.').waitFor();
});
