// The dashboard follows a run’s event stream: what it does when the connection is lost, the run begins anew, nobody looks, or it may not.
import assert from 'node:assert/strict';
import { control, goTo, openTab } from './lib/browser.mjs';
import { test } from './lib/case.mjs';
import { link } from './lib/link.mjs';
import { LOST, asked, box, count, numbers, panel, rows, scene, see, texts, watch } from './lib/stream_page.mjs';

/** That page, at the end of a cable that can be cut. */
async function openByCable(t, sidecar, token, hash) {
    const cable = await link(t, sidecar.adminUrl);
    const page = await openTab(t, sidecar, { origin: new URL(cable.url).origin, complaints: LOST });
    await page.goto(`${cable.url}#token=${token}`);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await goTo(page, hash);
    return { cable, page };
}

test('a lost connection is said, and taken up behind the last event', async (t) => {
    const { stream, call, sidecar, token } = await scene(t);
    const { id } = await call({ stream: true });
    const { cable, page } = await openByCable(t, sidecar, token, `#/runs/${id}`);
    await stream.send(...numbers(1, 3));
    await count(page, 3);
    await watch(page);
    await cable.cut();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await stream.send(...numbers(4, 6));
    const next = page.waitForRequest(async (r) => /\/events\?/.test(r.url()) && (await r.response()));
    await cable.heal();
    assert.equal((await (await next).allHeaders())['last-event-id'], '3');
    await count(page, 6);
    await panel(page).getByText('live').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 6));

    await cable.cut();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await stream.send('event 7');
    stream.end();
    await cable.heal();
    await panel(page).getByText('ended: success').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 7));
});

test('after hookline has been killed and started again the events go on behind the last one', async (t) => {
    const { stream, call, open, sidecar } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`, { complaints: LOST });
    await stream.send(...numbers(1, 3));
    await count(page, 3);
    await watch(page);
    await sidecar.kill();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await sidecar.start();
    await panel(page).getByText('ended: failure').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 3));
    await page.locator('.run-head').getByText('interrupted').waitFor();
    await page.reload();
    await watch(page);
    await panel(page).getByText('ended: failure').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 3));
});

test('a further attempt begins the stream anew, and the list says where', async (t) => {
    const { stream, call, open } = await scene(t, {
        env: {
            HOOKLINE_RUN_ATTEMPTS: '2',
            HOOKLINE_RUN_RETRY_ON: 'reset',
            HOOKLINE_RUN_RETRY_DELAY: '100ms',
        },
    });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send(...numbers(1, 2));
    await count(page, 2);
    await watch(page);
    stream.cut();
    await stream.send('anew');
    await box(page).getByText('anew', { exact: true }).waitFor();
    assert.equal(await rows(page).nth(2).innerText(), 'The app is called again: the stream starts over');
    assert.match(await rows(page).nth(3).innerText(), /^3\b/, 'no id is used twice');
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    assert.match(await panel(page).innerText(), /3 events/);
});

test('ids that no field can carry, and ids that nobody knows any more, lose no event', async (t) => {
    const { stream, call, sidecar, token } = await scene(t);
    const cable = await link(t, sidecar.adminUrl);
    const { id } = await call({ stream: true });
    const page = await openTab(t, sidecar, {
        origin: new URL(cable.url).origin,
        complaints: /ERR_|Failed to load/,
    });
    await page.goto(`${cable.url}#token=${token}`);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await goTo(page, `#/runs/${id}`);
    let shown = 0;
    for (const odd of [' \u00fc+&=\u0001\u202e% ', 'x'.repeat(1500), 'plain']) {
        await stream.raw(`id: ${odd}\ndata: ${shown}\n\n`);
        await count(page, ++shown);
        await watch(page);
        await cable.cut();
        await panel(page).getByText('connection lost: reconnecting').waitFor();
        await cable.heal();
        await panel(page).getByText('live').waitFor();
        await stream.send(String(shown));
        await count(page, ++shown);
        assert.deepEqual(await texts(page), numbers(0, shown - 1).map((text) => text.slice(6)));
    }
    assert.doesNotMatch(await page.locator('html').innerHTML(), /\u202e|\u0001/);
    stream.end();
});

test('events that are not kept any more, and too many followers, are told in words', async (t) => {
    const { stream, call, open, sidecar, token } = await scene(t, {
        env: { HOOKLINE_MAX_KEPT_RESPONSE: '4096', HOOKLINE_MAX_FOLLOWERS: '1' },
    });
    const { id } = await call({ stream: true });
    await stream.send('one');
    const other = await fetch(`${sidecar.adminUrl}/v2/projects/p/runs/${id}/events`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(other.status, 200);
    const page = await open(`#/runs/${id}`, { complaints: /429|410|ERR_/ });
    await watch(page);
    await panel(page).getByText('too many follow').waitFor();
    await panel(page).getByText(/HOOKLINE_MAX_FOLLOWERS .*It is tried again/).waitFor();
    await other.body.cancel(); // a signal of Node's is not heard any more once memory was tidied up
    await panel(page).getByText('live').waitFor();
    assert.equal(await panel(page).getByText('It is tried again').count(), 0);
    await count(page, 1);
    await stream.send('x'.repeat(5000));
    await panel(page).getByText('not kept', { exact: true }).waitFor();
    await panel(page).getByText(/no longer kept, or were more than can be kept/).waitFor();
    stream.end();
});

test('a tab that nobody sees does not follow, and goes on when it is seen', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    await watch(page);
    const gone = page.waitForEvent('requestfailed', (r) => r.url().includes('/events?'));
    await see(page, true);
    await gone;
    await stream.send('event 2');
    await see(page, false);
    await count(page, 2);
    assert.equal(asked(page).length, 2);
    await panel(page).getByText('live').waitFor();
    assert.match(await page.getByRole('status').textContent(), /^Run /, 'nobody is told of it');
    await see(page, true);
    await see(page, false);
    await stream.send('event 3');
    await count(page, 3);
    assert.deepEqual(await texts(page), numbers(1, 3));
    stream.end();
});

test('leaving the page, or signing out, ends the following', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    const leave = async (act) => {
        await count(page, 1);
        const gone = page.waitForEvent('requestfailed', (r) => r.url().includes('/events?'));
        await act();
        await gone;
    };
    await leave(() => goTo(page, '#/now'));
    await goTo(page, `#/runs/${id}`);
    await leave(() => page.getByRole('button', { name: 'Sign out' }).click());
    await page.getByLabel('Service account token').waitFor();
    assert.equal(asked(page).length, 2);
    stream.end();
});

test('a token that is revoked meanwhile ends it', async (t) => {
    const { stream, call, open, sidecar } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`, { complaints: /401|ERR_INCOMPLETE_CHUNKED_ENCODING/ });
    await stream.send('event 1');
    await count(page, 1);
    const gone = page.waitForEvent('requestfailed', (r) => r.url().includes('/events?'));
    const { json } = await control(sidecar, 'GET', '/v2/projects/p/service-accounts');
    await control(sidecar, 'DELETE', `/v2/projects/p/service-accounts/${json.service_accounts[0].id}`);
    await page.getByRole('alert').getByText('This token was not accepted').waitFor();
    await gone;
    assert.equal(await panel(page).count(), 0);
    stream.end();
});

test('the role invoke follows what it called', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true, role: 'invoke' });
    const { id } = await call({ stream: true, told: [{ percent: 5 }] });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    await page.locator('.progress').getByText('5 %').waitFor();
    await watch(page);
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
});

test('whoever hears the page is told how the stream stands, not each event', async (t) => {
    const { stream, call, sidecar, token } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const { cable, page } = await openByCable(t, sidecar, token, `#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    await watch(page);
    await page.getByRole('status').getByText(/^Run /).waitFor({ state: 'attached' });
    await page.evaluate(() => {
        globalThis.heard = [];
        new MutationObserver((all) => all.forEach((one) => one.target.textContent && heard.push(one.target.textContent)))
            .observe(document.getElementById('status'), { childList: true });
    });
    await stream.send(...numbers(2, 20));
    await count(page, 20);
    await cable.cut();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await cable.heal();
    await panel(page).getByText('live').waitFor();
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    await page.getByRole('status').getByText('The run is success').waitFor({ state: 'attached' });
    assert.deepEqual(await page.evaluate(() => globalThis.heard), [
        'The connection to the events is lost',
        'The events go on',
        'The run is success',
    ]);
    const aloud = '[aria-live], [role=log], [role=status], [role=alert]';
    assert.equal(await panel(page).locator(aloud).count(), 0);
});
