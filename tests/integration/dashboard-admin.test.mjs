// The dashboard's pages for those who run the service: deliveries and their repetition, API keys, the figures of now.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { addFilter, assertAccessible, control, copyBy, goTo, hashOf, makeToken, openDashboard, pane } from './lib/browser.mjs';
import { shared, stage } from './lib/stage.mjs';
import { Receiver } from './lib/receiver.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_WEBHOOK_ATTEMPTS: '2' };

/** `isShared`: the sidecar is the file's, for tests to which other deliveries and accounts are no matter. */
async function scene(t, { isShared = false, ...options } = {}) {
    const set = await (isShared ? shared : stage)(t, { ...options, env: { ...env, ...options.env } });
    const token = await makeToken(set.sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const call = (query, path = '/v4/p/a/run') =>
        set.call(path, { query: { async: 'true', ...query }, headers, body: '{}' });
    const open = (hash, more) => openDashboard(t, set.sidecar, { token, hash, ...more });
    const settled = (id, state) =>
        until(`the delivery of ${id} is ${state}`, async () => {
            const { json } = await control(set.sidecar, 'GET', `/v2/projects/p/runs/${id}`);
            return json.deliveries[0]?.state === state && json.deliveries[0];
        });
    return { ...set, call, open, settled, token };
}

const items = (page) => page.locator('.deliveries > li:visible');
const item = (page, id) => items(page).filter({ has: page.locator(`a[href$="${id}"]`) });

test('deliveries are shown by state, with why they were given up', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const good = await call({ webhookEndpoint: receiver.url('/good') });
    const dead = await call({ webhookEndpoint: receiver.script('/gone', 410) });
    await settled(good.id, 'delivered');
    await settled(dead.id, 'dead');
    const page = await open('#/deliveries');
    await item(page, good.id).getByText('delivered').first().waitFor();
    await item(page, dead.id).getByText('dead letter').waitFor();
    await item(page, dead.id).getByText('status 410').waitFor();
    await item(page, dead.id).getByText('1 attempt').waitFor();
    await item(page, dead.id).locator('.destination').click();
    const beside = page.getByRole('complementary', { name: 'Delivery' });
    await beside.getByRole('button', { name: /^Attempt 1 failed$/ }).waitFor();
    assert.match(await beside.locator('.d-status').innerText(), /^HTTP 410\s+failed/);
    await beside.getByRole('button', { name: 'Close' }).click();

    await addFilter(page, 'State', 'dead');
    await until('the dead one alone', async () => (await items(page).count()) === 1);
    await item(page, dead.id).waitFor();
    await addFilter(page, 'State', 'pending');
    await page.getByText('Nothing is on its way').waitFor();
    await addFilter(page, 'State', 'delivered');
    await item(page, good.id).waitFor();
});

test('a delivery that arrives changes on the page', async (t) => {
    const { open, call, receiver } = await scene(t);
    let answer;
    const held = new Promise((resolve) => (answer = resolve));
    const { id } = await call({
        webhookEndpoint: receiver.script(
            '/slow',
            async (exchange) => (await held, exchange.send(200)),
        ),
    });
    const page = await open('#/deliveries');
    await item(page, id).getByText('pending').waitFor();
    answer();
    await item(page, id).getByText('delivered').first().waitFor();
});

test('deliveries can be looked at for one destination', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const other = await Receiver.start(t);
    const here = await call({ webhookEndpoint: receiver.url() });
    const there = await call({ webhookEndpoint: other.url() });
    await settled(here.id, 'delivered');
    await settled(there.id, 'delivered');
    const page = await open('#/deliveries');
    await item(page, there.id).waitFor();
    const origin = new URL(other.url()).origin;
    await addFilter(page, 'Destination', origin);
    await until('the other one alone', async () => (await items(page).count()) === 1);
    await item(page, there.id).waitFor();
    assert.ok((await hashOf(page)).includes(new URLSearchParams({ to: origin })));
});

test('one delivery is sent again after a question, and not without', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const { id } = await call({ webhookEndpoint: receiver.script('/hook', 410, 200) });
    await settled(id, 'dead');
    const page = await open('#/deliveries?state=dead');
    await item(page, id).getByRole('button', { name: 'Redeliver…' }).click();
    const question = page.getByRole('dialog', { name: 'Send this webhook again?' });
    await question.getByRole('button', { name: 'Keep as it is' }).click();
    await question.waitFor({ state: 'detached' });
    assert.equal(receiver.deliveries().length, 1);
    await item(page, id).getByRole('button', { name: 'Redeliver…' }).click();
    await question.getByRole('button', { name: 'Redeliver', exact: true }).click();
    await receiver.delivered('/hook', 2);
    const delivery = await settled(id, 'delivered');
    assert.deepEqual(
        delivery.attempts.map(({ round }) => round),
        [1, 2],
    );
    await goTo(page, `#/runs/${id}`);
    await page.locator('.timeline').getByText('Webhook attempt 2.1').waitFor();
});

test('of many rounds the first and the last ones are drawn', async (t) => {
    const { open, call, settled, receiver, sidecar } = await scene(t, { isShared: true });
    const { id } = await call({ webhookEndpoint: receiver.script('/hook', 410) });
    const { delivery_id: delivery } = await settled(id, 'dead');
    for (let round = 2; round <= 6; round++) {
        await control(sidecar, 'POST', `/v2/projects/p/deliveries/${delivery}/redeliver`);
        await until(`round ${round}`, async () => {
            const { attempts } = await settled(id, 'dead');
            return attempts.length === round;
        });
    }
    const page = await open(`#/runs/${id}`);
    await page.getByRole('button', { name: '2 redeliveries see Webhook' }).waitFor();
    const names = await page.locator('.timeline .span-name').allInnerTexts();
    assert.deepEqual(names.filter((name) => /^Webhook|redeliver/.test(name)), [
        'Webhook attempt 1.1',
        '2 redeliveries',
        'Webhook attempt 4.1',
        'Webhook attempt 5.1',
        'Webhook attempt 6.1',
    ]);
    assert.equal(await (await pane(page, 'Webhook')).locator('.delivery tbody tr').count(), 6);
});

test('all dead letters are sent again after a question', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const calls = [];
    for (let i = 0; i < 3; i++)
        calls.push(await call({ webhookEndpoint: receiver.script(`/${i}`, 410, 200) }));
    for (const { id } of calls) await settled(id, 'dead');
    const page = await open('#/deliveries?state=dead');
    await until('three', async () => (await items(page).count()) === 3);
    await page.getByRole('button', { name: 'Redeliver all dead letters…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redeliver many' });
    await dialog.getByText('3 deliveries: state dead letter.').waitFor();
    for (let i = 0; i < 3; i++) assert.equal(receiver.deliveries(`/${i}`).length, 1, 'a question first');
    await dialog.getByRole('button', { name: 'Redeliver 3 deliveries' }).click();
    await dialog.locator('p', { hasText: 'Done: 3 deliveries queued to be sent again.' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    for (const { id } of calls) await settled(id, 'delivered');
    await page.getByText('No dead letters').waitFor();
});

test('the dead letters of one destination are sent again, and no others', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const other = await Receiver.start(t);
    const here = await call({ webhookEndpoint: receiver.script('/hook', 410, 200) });
    const there = await call({ webhookEndpoint: other.script('/hook', 410, 200) });
    await settled(here.id, 'dead');
    await settled(there.id, 'dead');
    const page = await open('#/deliveries?state=dead');
    await item(page, there.id).waitFor();
    await addFilter(page, 'Destination', new URL(other.url()).host);
    await item(page, here.id).waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Redeliver all dead letters…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Redeliver 1 delivery' }).click();
    await settled(there.id, 'delivered');
    assert.equal(receiver.deliveries().length, 1);
});

test('dead letters that are not on the page, or on their way again, do not hold up the others', async (t) => {
    const { open, call, settled, receiver, sidecar } = await scene(t);
    const held = gate();
    const later = async (x) => {
        await held.promise;
        await x.send(200);
    };
    const calls = [];
    for (let i = 0; i < 52; i++)
        calls.push(await call({ webhookEndpoint: receiver.script(`/${i}`, 410, i ? 200 : later) }));
    const first = await settled(calls[0].id, 'dead');
    for (const { id } of calls) await settled(id, 'dead');
    const page = await open(`#/deliveries?state=dead&to=${new URL(receiver.url()).origin}`);
    await until('a page of them', async () => (await items(page).count()) === 50);
    await page.getByRole('button', { name: 'Redeliver all dead letters…' }).click();
    // Meanwhile someone else is faster with one of them, and it is on its way when its turn comes.
    await page.route('**/jobs', async (route) => {
        if (route.request().postDataJSON().dry_run) return route.continue();
        await control(
            sidecar,
            'POST',
            `/v2/projects/p/deliveries/${first.delivery_id}/redeliver`,
        );
        await route.continue();
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Redeliver 52 deliveries' }).click();
    await page.getByRole('dialog').locator('p', { hasText: 'Done: 51 deliveries queued to be sent again.' }).waitFor();
    held.open();
    for (const { id } of calls) await settled(id, 'delivered');
});

test('a row of which a button has the focus changes all the same, and keeps the focus', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const { id } = await call({ webhookEndpoint: receiver.script('/hook', 410, 200) });
    await settled(id, 'dead');
    const page = await open('#/deliveries');
    await item(page, id).getByRole('button', { name: 'Redeliver…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Redeliver' }).click();
    await item(page, id).getByText('delivered', { exact: true }).first().waitFor();
    await item(page, id).getByText('2 attempts').waitFor();
    assert.ok(await item(page, id).evaluate((row) => row.contains(document.activeElement)));
});

test('the focus is in its row again after a question, though the row has changed meanwhile', async (t) => {
    const { open, call, settled, receiver, sidecar } = await scene(t);
    const { id } = await call({ webhookEndpoint: receiver.script('/hook', 410, 200) });
    const { delivery_id: delivery } = await settled(id, 'dead');
    const page = await open('#/deliveries');
    await item(page, id).getByRole('button', { name: 'Redeliver…' }).click();
    await control(sidecar, 'POST', `/v2/projects/p/deliveries/${delivery}/redeliver`);
    await item(page, id).getByText('2 attempts').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until('the focus is there', () => item(page, id).evaluate((row) => row.contains(document.activeElement)));
});

test('a pending delivery of a run that was purged meanwhile is asked for once', async (t) => {
    const { open, call, receiver } = await scene(t);
    let answer;
    const held = new Promise((resolve) => (answer = resolve));
    const slow = async (exchange) => (await held, exchange.send(200));
    const { id } = await call({ webhookEndpoint: receiver.script('/slow', slow) });
    const page = await open('#/deliveries?state=pending', { complaints: /404/ });
    await item(page, id).waitFor();
    let asked = 0;
    await page.route('**/deliveries/*-*', (route) => {
        asked++;
        return route.fulfill({ status: 404, json: { detail: 'It was purged.' } });
    });
    answer();
    await until('it is asked for', () => asked > 0);
    const lists = () => page.seen.urls.filter((url) => url.includes('/deliveries?')).length;
    const before = lists();
    await until('the list goes on', () => lists() > before + 1);
    assert.equal(asked, 1);
    assert.equal(await page.getByRole('alert').count(), 0);
});

test('a service account is created, its token shown once, and works', async (t) => {
    const { open, call, sidecar } = await scene(t, { isShared: true });
    const page = await open('#/keys', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create Service Account' });
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    assert.equal(
        await dialog.getByLabel('Name').evaluate((input) => input.validity.valueMissing),
        true,
    );
    await dialog.getByLabel('Name').fill('checkout <b>prod</b>');
    await dialog.getByRole('button', { name: '30 days' }).click();
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText('It is shown this once').waitFor();
    await dialog
        .getByRole('status')
        .getByText('was created. Copy its token now.')
        .waitFor({ state: 'attached' });
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.equal(focused, 'Copy token');
    const token = await dialog.locator('.token code').innerText();
    await copyBy(dialog, 'Copy token');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
    await dialog.getByRole('button', { name: 'I have it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'checkout <b>prod</b>' });
    await row.getByText('active').waitFor();
    assert.match(await row.innerText(), /invoke/);
    assert.equal(await page.getByText(token).count(), 0, 'gone from the page');
    const { json } = await control(sidecar, 'GET', '/v2/projects/p/service-accounts');
    const account = json.service_accounts.find(({ name }) => name.startsWith('checkout'));
    const days = (Date.parse(account.expires_at) - Date.now()) / 86_400_000;
    assert.ok(days > 29 && days < 31.1, `${days} days`);
    const answer = await call({}, '/v4/p/a/run');
    assert.equal(answer.status, 202);
});

test('an account whose token was put away with Escape is in the list', async (t) => {
    const { open } = await scene(t, { isShared: true });
    const page = await open('#/keys');
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    await page.getByLabel('Name').fill('hasty');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('It is shown this once').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('row').filter({ hasText: 'hasty' }).getByText('active').waitFor();
});

test('a bad expiry is refused with the reason', async (t) => {
    const { open } = await scene(t, { isShared: true });
    const page = await open('#/keys', { complaints: /400|422/ });
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('x');
    await dialog.locator('form').evaluate((form) => (form.noValidate = true));
    await dialog.getByLabel('Expiry date').fill('2020-01-01');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByRole('alert').getByText('It was not created').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
});

test('limits are given with a key, shown with it, changed and lifted', async (t) => {
    const { open, sidecar } = await scene(t);
    const page = await open('#/keys', { complaints: /400/ });
    await page.getByRole('button', { name: 'Create Service Account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create Service Account' });
    await dialog.getByLabel('Name').fill('batch');
    await dialog.getByText('Limits', { exact: true }).click();
    await dialog.getByLabel('Rate').fill('100/m');
    await dialog.getByLabel('Queued').fill('1000');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByRole('button', { name: 'I have it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'batch' });
    await row.getByText('100/m, 1000 queued').waitFor();
    const limits = async () => {
        const { json } = await control(sidecar, 'GET', '/v2/projects/p/service-accounts');
        const { rate, max_running, max_queued, max_priority } = json.service_accounts.find(({ name }) => name === 'batch');
        return { rate, max_running, max_queued, max_priority };
    };
    assert.deepEqual(await limits(), { rate: '100/m', max_running: null, max_queued: 1000, max_priority: 'normal' });

    await page.getByRole('button', { name: 'Limits of batch' }).click();
    const form = page.getByRole('dialog', { name: 'Limits of “batch”' });
    assert.equal(await form.getByLabel('Rate').inputValue(), '100/m');
    assert.equal(await form.getByLabel('At once').inputValue(), '');
    await assertAccessible(page);
    await form.getByLabel('Rate').fill('often');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').getByText(/rate/).waitFor();
    await form.getByLabel('Rate').fill('');
    await form.getByLabel('Queued').fill('');
    await form.getByLabel('At once').fill('4');
    await form.getByLabel('Highest priority').selectOption('high');
    await form.getByRole('button', { name: 'Save' }).click();
    await row.getByText('4 at once, priority high').waitFor();
    assert.deepEqual(await limits(), { rate: null, max_running: 4, max_queued: null, max_priority: 'high' });
    await until('the focus is on the button again', () =>
        page.evaluate(() => document.activeElement.getAttribute('aria-label') === 'Limits of batch'));

    await page.getByRole('button', { name: 'Limits of batch' }).click();
    await form.getByLabel('At once').fill('');
    await form.getByLabel('Highest priority').selectOption('normal');
    await form.getByRole('button', { name: 'Save' }).click();
    await row.getByText('none').waitFor();
});

test('a key is revoked after a question, and its token refused from then on', async (t) => {
    const { open, sidecar, call } = await scene(t);
    const victim = await makeToken(sidecar, { name: 'old laptop', role: 'invoke' });
    const page = await open('#/keys');
    await page.getByRole('button', { name: 'Revoke old laptop' }).click();
    const question = page.getByRole('dialog', { name: 'Revoke “old laptop”?' });
    await question.getByRole('button', { name: 'Keep as it is' }).click();
    const ask = () =>
        fetch(`${sidecar.adminUrl}/v2/projects/p`, {
            headers: { authorization: `Bearer ${victim}` },
        });
    assert.equal((await ask()).status, 200);
    await page.getByRole('button', { name: 'Revoke old laptop' }).click();
    await question.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'old laptop' }).getByText('revoked').waitFor();
    await page.getByRole('status').getByText('Revoked').waitFor({ state: 'attached' });
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.equal(focused, 'Create Service Account', 'the focus is not lost');
    assert.equal((await ask()).status, 401);
    assert.equal((await call({})).status, 202, 'the others are still good');
});

test('now shows the figures of the moment and charts of the last hour', async (t) => {
    const { open, call, settled, receiver } = await scene(t);
    const { id } = await call({ webhookEndpoint: receiver.url() });
    await settled(id, 'delivered');
    const page = await open('#/now');
    await page.getByText('Ready: calls are accepted').waitFor();
    assert.deepEqual(await page.locator('.tiles').first().locator('dt').allInnerTexts(), [
        'Calls in flight',
        'Async runs in the app',
        'Queued runs',
        'Pending webhooks',
        'Store',
        'Memory',
    ]);
    const names = [
        'Calls per second',
        'Latency',
        'In flight',
        'Queued runs',
        'Longest wait',
        'Webhook attempts',
        'Pending webhooks',
        'Commits',
    ];
    for (const name of names)
        await page.getByRole('img', { name: new RegExp(`^${name}.*, last hour`) }).waitFor();
    const chart = page.getByRole('img', { name: /^Webhook attempts/ });
    await until('a sample', async () =>
        /delivered: 1 in all/.test(await chart.getAttribute('aria-label')),
    );
    assert.equal(await chart.locator('rect').count(), 1);
    await page.getByRole('img', { name: /^Calls per second/ }).focus();
    await page.keyboard.press('ArrowLeft');
    await page.locator('.chart .cursor').first().waitFor({ state: 'attached' }); // charts of the same times show it, too
});

test('now says what is wrong, in words', async (t) => {
    const { open, app, receiver, call, settled } = await scene(t);
    const { id } = await call({ webhookEndpoint: receiver.script('/gone', 410) });
    await settled(id, 'dead');
    const page = await open('#/now');
    await page.getByText('Ready').first().waitFor();
    await app.close();
    await page.getByText('Not ready', { exact: true }).waitFor();
    await page.getByText('The app cannot be reached: connection refused;').waitFor();
    await page.getByText('1 dead letter: webhooks that were given up').waitFor();
    await page.getByRole('link', { name: '1 dead letter', exact: true }).click();
    await item(page, id).waitFor();
});

test('now goes on after hookline was started anew', async (t) => {
    const { open, sidecar, token } = await scene(t);
    const page = await open('#/now', { complaints: /ERR_|503/ });
    await page.getByText('Ready: calls are accepted').waitFor();
    await sidecar.restart();
    await until('another start', async () => {
        const response = await fetch(`${sidecar.adminUrl}/v2/now`, {
            headers: { authorization: `Bearer ${token}` },
        });
        const { started_at: started } = await response.json();
        const shown = page.locator('.state time');
        return (await shown.count()) && (await shown.getAttribute('datetime')) === started;
    });
});
