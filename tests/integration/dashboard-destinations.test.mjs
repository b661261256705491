// The dashboard's view of where webhooks go and of what came back: which places fail, and what a receiver said, as text.
import assert from 'node:assert/strict';
import { addFilter, assertAccessible, control, goTo, hashOf, makeToken, openDashboard, pane } from './lib/browser.mjs';
import { FILE, onFailure, test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e \u0007';
const SINCE = '2026-11-25T08:00:00.000Z';

let common;

/** The run, and a tab of somebody of that role; `amend(path, json)` changes what is answered there. Tests share the rest. */
async function scene(t, { role = 'admin', hash, amend, viewport } = {}) {
    if (!common) atEnd(FILE, () => (common = null));
    const { sidecar, id } = await (common ??= giveUp(FILE));
    onFailure(t, () => sidecar.tail());
    const page = await openDashboard(t, sidecar, { role, viewport });
    if (amend)
        await page.route(/\/(runs\/[^/]+|destinations)(\?.*)?$/, (route) => change(route, amend).catch(() => {})); // the page may be gone
    await page.evaluate((to) => (location.hash = to), hash ?? `#/runs/${id}`);
    if (!hash) await pane(page, 'Webhook');
    return { page, id, sidecar };
}

/** A run whose webhook was given up. */
async function giveUp(t) {
    const { call, receiver, sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const token = await makeToken(sidecar, { role: 'admin' });
    receiver.script('/dead', async (x) => x.send(500, { 'content-type': 'text/html' }, HOSTILE));
    const { id } = await call('/v4/p/a/run', {
        query: { async: 'true', webhookEndpoint: receiver.url('/dead') },
        headers: { authorization: `Bearer ${token}` },
    });
    await until('it is given up', async () => {
        const { json } = await control(sidecar, 'GET', `/v2/projects/p/runs/${id}`);
        return json.deliveries?.[0]?.state === 'dead';
    });
    return { sidecar, id };
}

/** Answers as the sidecar does, with what `amend` makes of it. */
async function change(route, amend) {
    const response = await route.fetch();
    const { pathname, searchParams } = new URL(route.request().url());
    const json = response.status() === 200 ? await response.json() : {};
    await route.fulfill({ status: 200, json: amend(pathname, json, searchParams) ?? json });
}

const REPORT = {
    duration: { name: null, connect: 0.31, tls: 12.4, first_byte: 1250 },
    error: 'status 500',
    address: '192.0.2.7:8443',
    answer: { content_type: 'text/html', encoding: 'text', body: HOSTILE, truncated: true },
};

/** A run's record with that report of its first attempt. */
const reported = (report) => (path, json) => {
    if (!json.deliveries) return json;
    Object.assign(json.deliveries[0].attempts[0], report);
    return { ...json, deliveries: [{ ...json.deliveries[0], next_attempt_at: SINCE }] };
};

test('what came back for an attempt is seen: its parts, its address, its answer as text', async (t) => {
    const { page } = await scene(t, { amend: reported(REPORT) });
    const summary = page.getByText('What came back for attempt 1');
    await summary.click();
    const facts = (await page.locator('.answers .facts').innerText()).replace(/\s+/g, ' ');
    assert.equal(
        facts,
        'Address 192.0.2.7:8443 Name look-up – Connecting 0.31 ms TLS 12 ms First byte 1.25 s Error status 500',
    );
    await page.getByText('text/html, the first 1.0 KiB:').waitFor();
    const answer = page.getByRole('region', { name: 'Answer to attempt 1' });
    assert.equal(await answer.innerText(), HOSTILE.replace('\u202e', '⟨U+202E⟩').replace('\u0007', '␇'));
    assert.equal(await answer.locator('*').count(), 0, 'no element comes of it');
    await page.getByText('next attempt: ').waitFor();
    await assertAccessible(page, 'what came back');
});

test('what was opened stays open when the page changes', async (t) => {
    let n = 0;
    const amend = (path, json) => {
        const run = reported({ ...REPORT, error: `look ${++n}` })(path, json);
        if (run.deliveries) run.deliveries[0].state = 'pending'; // then the page looks again soon
        return run;
    };
    const { page } = await scene(t, { amend });
    await page.getByText('What came back for attempt 1').click();
    const error = () => page.locator('.answers .facts').innerText();
    const first = await error();
    await until('it has changed', async () => (await error()) !== first);
    await page.getByRole('region', { name: 'Answer to attempt 1' }).waitFor();
});

test('an answer that is not text is not shown', async (t) => {
    const answer = { content_type: null, encoding: 'base64', body: '/wAB', truncated: false };
    const { page } = await scene(t, { amend: reported({ ...REPORT, answer }) });
    await page.getByText('What came back for attempt 1').click();
    await page.getByText('no Content-Type: 3 B that are not text').waitFor();
});

test('who may only see the run sees no errors and no answers', async (t) => {
    const { page } = await scene(t, { role: 'invoke' });
    await page.getByRole('heading', { name: 'Webhook' }).waitFor();
    assert.deepEqual(await page.locator('#webhooks ~ article th').allInnerTexts(), [
        'Attempt',
        'Outcome',
        'Status',
        'Sent',
        'After',
        'Took',
    ]);
    await page.getByRole('link', { name: /^Destinations.*for admins/ }).waitFor();
});

test('a viewer sees who changed what, and no button that would be refused', async (t) => {
    const { page, id, sidecar } = await scene(t, { role: 'viewer', hash: '#/audit' });
    const rows = page.getByRole('table', { name: 'Audit' }).getByRole('row');
    await rows.filter({ hasText: 'made an API key' }).first().waitFor();
    assert.match(await rows.nth(1).innerText(), new RegExp(`uid ${process.getuid()}`));
    await assertAccessible(page);
    for (const [hash, heading, hint] of [
        [`#/runs/${id}`, /Timeline/, null],
        ['#/deliveries', 'Deliveries', /Admins send webhooks again/],
        ['#/keys', 'API Keys', /Admins make and revoke keys; the role viewer sees them/],
        ['#/runs', 'Runs', null],
        ['#/destinations', 'Destinations', null],
    ]) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.getByRole('heading', { name: heading, exact: true }).waitFor();
        if (hash.includes(id)) await pane(page, 'Webhook');
        if (hint) await page.getByText(hint).waitFor();
        assert.equal(await page.getByRole('button', { name: /^(Redeliver|Send|Run again|Cancel run|Create|Revoke|Limits)/ }).count(), 0, hash);
    }
    assert.equal(await page.getByRole('link', { name: 'New run' }).count(), 0);
    await page.evaluate(() => (location.hash = '#/new'));
    await page.getByText('This page is not for viewers').waitFor();
    const job = await control(sidecar, 'POST', '/v2/projects/p/jobs', { what: 'cancel', filter: { state: 'queued', app: 'a' } });
    assert.equal(job.status, 202, JSON.stringify(job.json));
    await goTo(page, '#/audit');
    await rows.filter({ hasText: 'made a job' }).waitFor();
    assert.match(await rows.filter({ hasText: 'made a job' }).innerText(), /filter: (state: queued, app: a|app: a, state: queued)/);
});

test('the audit is narrowed down by time and by what was done, in its address and in what is saved', async (t) => {
    const { page } = await scene(t, { hash: '#/audit' });
    const rows = page.getByRole('table', { name: 'Audit' }).locator('tbody tr');
    const first = rows.filter({ hasText: 'made an API key' }).last();
    await first.waitFor();
    const at = await first.locator('time').getAttribute('datetime');
    await addFilter(page, 'What', 'ran another');
    await page.getByText('No change matches these filters').waitFor();
    await page.goBack();
    await addFilter(page, 'What', 'made an API');
    await until('the keys alone', async () => /^(made an API key)+$/.test((await rows.locator('td:nth-child(2)').allInnerTexts()).join('')));
    assert.equal(await hashOf(page), '#/audit?action=account_made');
    const asked = (since, until) => page.waitForRequest((request) => {
        const { pathname, searchParams: query } = new URL(request.url());
        return /\/audit$/.test(pathname) && query.get('action') === 'account_made' && query.get('since') === since && query.get('until') === until;
    });
    const span = (from, to) => `#/audit?${new URLSearchParams({ action: 'account_made', time: 'own', ...(from && { from }), ...(to && { until: to }) })}`;
    const before = asked(null, at);
    await page.evaluate((to) => (location.hash = to), span(null, at));
    await before;
    await page.getByRole('button', { name: /^When until / }).first().waitFor();
    await until('none is older', async () => (await rows.count()) === 0);
    const after = asked(at, null);
    await page.evaluate((to) => (location.hash = to), span(at, null));
    await after;
    await first.waitFor();
    const saved = asked(at, null);
    await page.getByRole('button', { name: 'Export…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Export', exact: true }).click();
    await saved;
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Clear all' }).click();
    await until('all', async () => (await hashOf(page)) === '#/audit');
    await assertAccessible(page, 'the audit');
});

/** Two destinations: `failing` has not answered for a while, the other has. */
const destinations = (path, json) =>
    path.endsWith('/destinations')
        ? {
              destinations: [
                  {
                      destination: 'https://good.example',
                      pending: 0,
                      dead: 0,
                      oldest_pending_at: null,
                      failing_since: null,
                      last_hour: { attempts: 1200, delivered: 1199, success_rate: 0.999, p95_ms: 84.2 },
                      last_attempt_at: SINCE,
                      last_status_code: 200,
                      last_error: 'timeout',
                  },
                  {
                      destination: 'https://failing.example:8443',
                      pending: 7,
                      dead: 2,
                      oldest_pending_at: SINCE,
                      failing_since: SINCE,
                      last_hour: { attempts: 20, delivered: 0, success_rate: 0, p95_ms: null },
                      last_attempt_at: SINCE,
                      last_status_code: null,
                      last_error: 'connect_failed: <b>Connection refused</b>',
                  },
              ],
              next_cursor: null,
          }
        : json;

test('destinations that fail come first, with since when and why', async (t) => {
    const { page } = await scene(t, { amend: destinations, hash: '#/destinations' });
    const rows = page.locator('tbody tr');
    await rows.nth(1).waitFor();
    const text = async (i) => (await rows.nth(i).innerText()).replace(/\s+/g, ' ');
    assert.match(await text(0), /^failing\.example:8443 failing since .* Last error: connect_failed: <b>Connection refused<\/b> 7 since .* 2 20 0 % – /);
    assert.match(await text(1), /^good\.example Last error: timeout 0 0 1,200 99\.9 % 84 ms .* status 200 Send a test…$/);
    assert.deepEqual(await rows.locator('strong').evaluateAll((all) => all.map((e) => e.title)), ['https://failing.example:8443', 'https://good.example']);
    await page.getByText('2 destinations, 1 failing').waitFor();
    await assertAccessible(page, 'destinations');
    await page.getByRole('link', { name: '2 dead deliveries to https://failing.example:8443' }).click();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    assert.equal(new URLSearchParams((await hashOf(page)).split('?')[1]).get('to'), 'https://failing.example:8443');
});

const [good, failing] = destinations('/destinations').destinations;
const nothing = { delivered: 0, success_rate: 0, p95_ms: null };
const refusing = {
    ...good,
    destination: 'https://refusing.example',
    last_hour: { ...nothing, attempts: 3 },
    last_status_code: 500,
    last_error: 'status 500',
};
const idle = { ...good, destination: 'https://idle.example', last_hour: { ...nothing, attempts: 0, success_rate: null } };
const listOf =
    (...all) =>
    (path, json) =>
        path.endsWith('/destinations') ? { destinations: all, next_cursor: null } : json;

test('a destination that refused every attempt of the last hour is marked as one that fails is, and comes next', async (t) => {
    const { page } = await scene(t, { amend: listOf(good, idle, refusing, failing), hash: '#/destinations' });
    const rows = page.locator('tbody tr');
    await rows.nth(3).waitFor();
    const text = async (i) => (await rows.nth(i).innerText()).replace(/\s+/g, ' ');
    assert.match(await text(0), /^failing\.example:8443 failing since /);
    assert.match(await text(1), /^refusing\.example none delivered in the last hour Last error: status 500 /);
    const color = (i, name) => rows.nth(i).locator(name).first().evaluate((e) => getComputedStyle(e).color);
    assert.equal(await color(1, '.badge'), await color(0, '.badge'));
    assert.equal(await color(1, '.sub.error'), await color(0, '.sub.error'));
    for (const i of [2, 3]) assert.equal(await rows.nth(i).locator('.badge').count(), 0);
    await page.getByText('4 destinations, 1 failing').waitFor();
    await assertAccessible(page, 'destinations of which one refuses');
});

for (const [all, text] of [
    [[good, idle, refusing, failing], '4 destinations, 1 failing, 1 more without any delivery in the last hour'],
    [[refusing, good], '2 destinations, 0 failing, 1 without any delivery in the last hour'],
    [[failing, good, idle], '3 destinations, 1 failing'],
])
    test(`destinations are counted as they are marked: ${text}`, async (t) => {
        const { page } = await scene(t, { amend: listOf(...all), hash: '#/destinations' });
        await page.locator('.rest').getByText(text, { exact: true }).waitFor();
    });

test('destinations can be read on a small screen', async (t) => {
    const viewport = { width: 360, height: 700 };
    const { page } = await scene(t, { amend: destinations, hash: '#/destinations', viewport });
    await page.getByText('2 destinations, 1 failing').waitFor();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} px are beyond the edge`);
    await assertAccessible(page, 'destinations on a small screen');
});

test('further pages of destinations are loaded when asked for', async (t) => {
    const one = destinations('/destinations').destinations[0];
    const amend = (path, json, query) => {
        if (!path.endsWith('/destinations')) return json;
        return query.get('cursor') === 'next'
            ? { destinations: [{ ...one, destination: 'https://second.example' }], next_cursor: null }
            : { destinations: [one], next_cursor: 'next' };
    };
    const { page } = await scene(t, { amend, hash: '#/destinations' });
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('second.example', { exact: true }).waitFor();
    await page.getByText('good.example', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0);
});

test('the focus stays where it is while the page looks again and again', async (t) => {
    const [one] = destinations('/destinations').destinations;
    let looks = 0;
    const amend = (path, json) =>
        path.endsWith('/destinations') ? { destinations: [{ ...one, dead: ++looks }], next_cursor: 'next' } : json;
    const { page } = await scene(t, { amend, hash: '#/destinations' });
    const again = () => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    for (const target of [page.getByRole('button', { name: 'Show more' }), page.getByRole('link', { name: /dead deliver/ })]) {
        await target.focus();
        const before = await page.getByRole('link', { name: /dead deliver/ }).innerText();
        await again();
        await until('it has changed', async () => (await page.getByRole('link', { name: /dead deliver/ }).innerText()) !== before);
        assert.ok(await target.evaluate((e) => e === document.activeElement));
    }
});

test('without destinations the page says when there will be some', async (t) => {
    const { page } = await scene(t, { amend: (path, json) => (path.endsWith('/destinations') ? { destinations: [], next_cursor: null } : json), hash: '#/destinations' });
    await page.getByText('No destinations yet').waitFor();
    await assertAccessible(page, 'no destinations');
});
