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
    assert.equal(await hashOf(page), '#/now?period=retention');
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
