// The dashboard for people: by keyboard, by ear, in light and dark, on a phone, in their own time zone, in a tab that nobody sees.
import assert from 'node:assert/strict';
import { FILE, onFailure, test } from './lib/case.mjs';
import {
    addFilter,
    assertAccessible,
    assertFits,
    control,
    goTo,
    hashOf,
    makeToken,
    openDashboard,
    openTab,
} from './lib/browser.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt' };

/** Runs of each state, with webhooks of each state; answers an id of one with all there is to see. */
async function fill(t, set, token) {
    const headers = { authorization: `Bearer ${token}` };
    const post = (query, wish) =>
        set.call('/v4/p/a/run', { query, headers, body: JSON.stringify(wish) });
    await post({}, {});
    await post({ async: 'true' }, { status: 500 });
    await post({ async: 'true' }, { hold: true });
    await post({ async: 'true', webhookEndpoint: set.receiver.script('/gone', 410) }, {});
    const { id } = await post(
        { async: 'true', webhookEndpoint: set.receiver.script('/late', 404, 200) },
        {},
    );
    await until('the deliveries have ended', async () => {
        const { json } = await control(set.sidecar, 'GET', '/v2/projects/p/deliveries');
        return (
            json.deliveries.length === 2 &&
            json.deliveries.every(({ state }) => state !== 'pending')
        );
    });
    return id;
}

let common;

/** Tests share one, but for one that `adds` to it. */
async function scene(t, { adds = false } = {}) {
    if (adds) return build(t);
    if (!common) atEnd(FILE, () => (common = null));
    const set = await (common ??= build(FILE));
    onFailure(t, () => set.sidecar.tail());
    return set;
}

async function build(t) {
    const held = gate();
    const app = async (exchange) => {
        const wish = JSON.parse((await exchange.body()).toString());
        if (wish.hold) await held.promise;
        await exchange.send(
            wish.status ?? 200,
            { 'content-type': 'application/json' },
            `{"text":"${'x'.repeat(300)}"}`,
        );
    };
    const set = await stage(t, { app, env });
    const token = await makeToken(set.sidecar);
    return { ...set, token, id: await fill(t, set, token) };
}

for (const colorScheme of ['light', 'dark']) {
    for (const [width, height] of [
        [1280, 800],
        [360, 740],
    ]) {
        test(
            `no page has a fault for assistive technology, ${colorScheme}, ${width} px`,
            async (t) => {
                const { sidecar, token, id } = await scene(t);
                const look = { colorScheme, viewport: { width, height }, complaints: /404/ };
                const door = await openTab(t, sidecar, look);
                await door.goto(sidecar.adminUrl);
                await door.getByLabel('Service account token').waitFor();
                await check(door, 'sign in');
                const page = await openDashboard(t, sidecar, { token, ...look });
                const dark = await page.evaluate(
                    () => getComputedStyle(document.body).backgroundColor,
                );
                assert.equal(
                    dark,
                    colorScheme === 'dark' ? 'rgb(14, 18, 23)' : 'rgb(247, 248, 250)',
                );
                await goTo(page, '#/runs');
                await page.locator('.runs tbody tr').first().waitFor();
                await check(page, 'runs');
                await goTo(page, `#/runs/${id}`);
                await page.locator('pre.result').waitFor();
                await check(page, 'a run');
                await page.evaluate(
                    () => (location.hash = '#/runs/01a1fd70-3244-72a6-afd4-c8491b645ea6'),
                );
                await page.getByRole('alert').waitFor();
                await check(page, 'a run that is not there');
                await goTo(page, '#/deliveries?state=dead');
                await page.locator('.d-row .destination').first().click();
                await page.locator('.d-fields').waitFor();
                await check(page, 'deliveries');
                await page.keyboard.press('Escape'); // on a small screen it lies over the list
                await page.getByRole('button', { name: 'Redeliver all dead letters…' }).click();
                await page.getByRole('button', { name: 'Redeliver 1 delivery' }).waitFor();
                await check(page, 'a question');
                await page.keyboard.press('Escape');
                await goTo(page, '#/deliveries?state=pending');
                await page.getByText('Nothing is on its way').waitFor();
                await check(page, 'nothing to show');
                await goTo(page, '#/destinations');
                await page.locator('.keys tbody tr').first().waitFor();
                await check(page, 'destinations');
                await goTo(page, '#/keys');
                await page.locator('.keys tbody tr').first().waitFor();
                await check(page, 'keys');
                await page.getByRole('button', { name: 'Create Service Account' }).click();
                await check(page, 'create');
                await page.getByLabel('Name').fill('x'.repeat(100));
                await page.getByRole('button', { name: 'Create', exact: true }).click();
                await page.getByText('It is shown this once').waitFor();
                await check(page, 'the token');
                await page.keyboard.press('Escape');
                await goTo(page, '#/now');
                await page.locator('.state').waitFor();
                await check(page, 'now');
                await goTo(page, '#/logs');
                await page.locator('.log-line').first().waitFor();
                await check(page, 'logs');
            },
        );
    }
}

async function check(page, what) {
    await assertAccessible(page, what);
    await assertFits(page, what);
}

test('everything can be done by keyboard', async (t) => {
    const { sidecar, token, id } = await scene(t, { adds: true });
    const page = await openTab(t, sidecar);
    await page.goto(sidecar.adminUrl);
    await page.getByLabel('Service account token').waitFor();
    const press = (key) => page.keyboard.press(key);
    const tabTo = async (what) => {
        for (let i = 0; i < 60; i++) {
            await press('Tab');
            const name = await page.evaluate(() => {
                const e = document.activeElement;
                return `${e.getAttribute('aria-label') ?? ''} ${e.textContent} ${e.getAttribute('href') ?? ''} ${e.labels?.[0]?.textContent ?? ''}`;
            });
            if (what.test(name)) return;
        }
        assert.fail(`${what} has no place in the order of tabs`);
    };
    await page.keyboard.insertText(token); // the field has the focus
    await press('Enter');
    await page.locator('main h1').waitFor();
    await tabTo(/Runs #\/runs/);
    await press('Enter');
    await page.locator('.runs tbody tr').first().waitFor();
    await tabTo(new RegExp(id));
    const outline = await page.evaluate(
        () => getComputedStyle(document.activeElement).outlineStyle,
    );
    assert.equal(outline, 'solid', 'the focus is seen');
    await press('Enter');
    await page.locator('.run-id').getByText(id).waitFor();
    await page.locator('pre.result').waitFor();
    await tabTo(/^ Output/);
    await press('End'); // the last of the panes
    await page.getByRole('tabpanel', { name: 'Webhook' }).waitFor();
    await tabTo(/^Redeliver… to /);
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    assert.equal(
        await page.evaluate(() => document.activeElement.textContent),
        'Keep as it is',
        'the harmless answer',
    );
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(
        await page.evaluate(() => document.activeElement.textContent),
        'Redeliver…',
        'back where it was',
    );
    await press('Enter');
    await tabTo(/^ Redeliver\s*$/);
    await press('Enter');
    await page.locator('.timeline').getByText('Webhook attempt 2.1').waitFor();
});

test('the first stop is a way past the navigation', async (t) => {
    const { sidecar } = await stage(t, { env });
    const page = await openDashboard(t, sidecar);
    await page.getByText('No runs yet').waitFor();
    await goTo(page, '#/runs?state=failure');
    await page.reload();
    await page.getByText('No run matches').waitFor();
    await page.keyboard.press('Tab');
    assert.equal(
        await page.evaluate(() => document.activeElement.textContent),
        'Skip to the content',
    );
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
    assert.equal(await hashOf(page), '#/runs?state=failure', 'its filter stays');
    await page.getByText('No run matches').waitFor();
});

test('the focus stays on what was chosen, and goes to the content of another page', async (t) => {
    const { sidecar, token } = await scene(t);
    const page = await openDashboard(t, sidecar, { token });
    const focused = () => page.evaluate(() => document.activeElement.id);
    const rows = page.locator('.runs tbody tr');
    await until('all runs', async () => (await rows.count()) === 5);
    await addFilter(page, 'State', 'failure');
    await until('the failed one', async () => (await rows.count()) === 1);
    assert.equal(await focused(), 'add-filter');
    await page.getByRole('link', { name: 'Deliveries' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Deliveries').waitFor({ state: 'attached' });
    assert.equal(await focused(), 'page-deliveries');
    await addFilter(page, 'State', 'dead');
    await page.getByText('1 delivery shown').waitFor();
    assert.equal(await focused(), 'add-filter');
    await page.locator(`a[href^="#/runs/"]`).first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.run-head').waitFor();
    await until('the content has it', async () => (await focused()) === 'main');
});

test('times are local, with the exact UTC when pointed at', async (t) => {
    const { sidecar, token, id } = await scene(t);
    const page = await openDashboard(t, sidecar, {
        token,
        hash: `#/runs/${id}`,
        timezoneId: 'Asia/Kolkata',
    });
    const { json } = await control(sidecar, 'GET', `/v2/projects/p/runs/${id}`);
    const time = page.locator('.facts time').first();
    await time.waitFor();
    assert.equal(
        await time.getAttribute('title'),
        json.created_at.replace('T', ' ').replace('Z', ' UTC'),
    );
    const local = new Date(json.created_at).toLocaleTimeString('en-GB', {
        timeZone: 'Asia/Kolkata',
    });
    assert.ok((await time.innerText()).includes(local), `${await time.innerText()} has ${local}`);
});

test('nothing moves for those who want that', async (t) => {
    const { sidecar, token } = await scene(t);
    for (const [reducedMotion, animation] of [
        ['no-preference', 'turn'],
        ['reduce', 'none'],
    ]) {
        const page = await openDashboard(t, sidecar, { token, reducedMotion });
        const running = page.locator('.runs .icon-running').first();
        assert.equal(
            await running.evaluate((icon) => getComputedStyle(icon).animationName),
            animation,
        );
    }
});

test('a tab that nobody sees asks nothing', async (t) => {
    const { sidecar } = await stage(t, { env });
    const page = await openTab(t, sidecar);
    await page.clock.install();
    await page.goto(`${sidecar.adminUrl}/#token=${await makeToken(sidecar)}`);
    await page.locator('main h1').waitFor();
    await goTo(page, '#/runs');
    await page.getByText('No runs yet').waitFor();
    const asked = () => page.seen.urls.filter((url) => url.includes('/runs?')).length;
    const see = (isHidden) =>
        page.evaluate((hidden) => {
            Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        }, isHidden);
    const before = asked();
    await page.clock.runFor(2000);
    await until('it asks', () => asked() > before);
    await see(true);
    await page.waitForLoadState('networkidle');
    const hidden = asked();
    await page.clock.runFor(60_000);
    assert.equal(asked(), hidden);
    await see(false);
    await until('it asks at once', () => asked() > hidden);
});

test('with nothing under way, the list asks for a few lines', async (t) => {
    const { sidecar, token } = await scene(t);
    const page = await openDashboard(t, sidecar, { token, hash: '#/runs?state=success' });
    await page.locator('.runs tbody tr').first().waitFor();
    await until('a small question', () => page.seen.urls.at(-1).endsWith('limit=5'));
});
