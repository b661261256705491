// The dashboard's frame: what the admin listener serves, signing in, what a role and a project may see.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { test } from './lib/case.mjs';
import { control, goTo, makeToken, openDashboard, openTab, pane } from './lib/browser.mjs';
import { startServer } from './lib/server.mjs';
import { run } from './lib/sidecar.mjs';
import { shared, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt' };

async function get(sidecar, path, headers = {}) {
    const response = await request(sidecar.adminUrl + path, { headers });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    return { status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() };
}

test('the page is asked for each time and may run nothing but its own files', async (t) => {
    const { sidecar } = await shared(t, { env });
    const page = await get(sidecar, '/');
    assert.equal(page.status, 200);
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    assert.equal(page.headers['cache-control'], 'no-cache');
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    const policy = page.headers['content-security-policy'].split('; ');
    for (const rule of [
        "default-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ])
        assert.ok(policy.includes(rule), rule);
    assert.doesNotMatch(page.headers['content-security-policy'], /unsafe|\*|data:|http/);
    const again = await get(sidecar, '/', { 'if-none-match': page.headers.etag });
    assert.equal(again.status, 304);
    assert.equal(again.text, '');
});

test('its files have a hash in their path and may be kept for good', async (t) => {
    const { sidecar } = await shared(t, { env });
    const { text } = await get(sidecar, '/');
    const paths = [...text.matchAll(/"(dashboard\/[0-9a-f]{12}\/[\w.]+)"/g)].map(
        ([, path]) => `/${path}`,
    );
    assert.deepEqual(paths.map((path) => path.split('/').at(-1)).sort(), [
        'early.js',
        'icon.svg',
        'main.js',
        'style.css',
    ]);
    for (const path of paths) {
        const file = await get(sidecar, path);
        assert.equal(file.status, 200, path);
        assert.match(file.headers['cache-control'], /max-age=31536000, immutable/);
        assert.equal(file.headers['x-content-type-options'], 'nosniff');
        const compressed = await get(sidecar, path, { 'accept-encoding': 'br, gzip' });
        assert.equal(compressed.headers['content-encoding'], 'gzip');
        assert.equal(gunzipSync(compressed.bytes).toString(), file.text);
        const other = path.replace(/[0-9a-f]{12}/, '0'.repeat(12));
        assert.equal((await get(sidecar, other)).status, 404, 'another build’s files');
    }
});

const ROWS = 51; /* more than a page of a list */
const BOUND = 70 * 1024;
const VOCABULARY = Array.from({ length: 400 }, (_, i) => createHash('md5').update(`${i}`).digest('base64url').slice(0, 4 + (i % 7)));
/** What rows say: of no two alike, as long as it is kept, of as many words as errors have. */
const words = (seed, n) => Array.from({ length: n }, (_, i) => VOCABULARY[(seed * 31 + i * i + i * seed) % VOCABULARY.length]).join(' ');

/** A project whose lists are full: runs that failed, each with tags, an error of 160 characters and a webhook; keys, a job. */
async function fillLists(t) {
    const receiver = await startServer(t, (exchange) => exchange.send(200, {}, words(exchange.path.length, 20)));
    const app = (exchange) => exchange.json({ detail: words(Number(exchange.path.split('/').pop()), 40) }, 500);
    const scene = await stage(t, { app, env: { ...env, HOOKLINE_RUN_ATTEMPTS: '1', HOOKLINE_KEEP_REQUESTS: 'all' } });
    const token = await makeToken(scene.sidecar);
    const authorization = `Bearer ${token}`;
    const calls = Array.from({ length: ROWS }, (_, i) => {
        const query = { async: 'true', webhookEndpoint: `${receiver.url}/orders/${words(i, 1)}` };
        const headers = { authorization, 'x-run-tag': `order=${words(i, 3).replaceAll(' ', '.')}, tier=${words(i + ROWS, 1)}` };
        return scene.call(`/v4/p/app-${i % 7}/work/${i}`, { query, headers, body: JSON.stringify({ text: words(i, 30) }) });
    });
    const [{ id }, ...others] = await Promise.all(calls);
    for (const { status, text } of others) assert.equal(status, 202, text);
    const ask = async (path) => (await control(scene.sidecar, 'GET', `/v2/projects/p${path}`)).json;
    await until('the last has failed', async () => !(await ask('/runs?state=queued&limit=1')).runs.length && !(await ask('/runs?state=running&limit=1')).runs.length);
    await until('all webhooks have arrived', async () => (await ask('/deliveries/count?state=delivered')).count === ROWS);
    for (let i = 0; i < 8; i++) await makeToken(scene.sidecar, { name: words(i, 4) });
    const { json: job } = await control(scene.sidecar, 'POST', '/v2/projects/p/jobs', { what: 'cancel', filter: { state: 'queued', app: 'app-1' } });
    const { deliveries } = await ask('/deliveries?limit=1');
    return { ...scene, token, id, delivery: deliveries[0].delivery_id, job: job.job_id };
}

/** Files and answers, with the heads of all: what has come when nothing is on its way any more. */
async function weigh(t, sidecar, token, hash, shows) {
    const page = await openTab(t, sidecar, { isNew: true });
    await page.addInitScript((text) => sessionStorage.setItem('hookline', text), JSON.stringify({ token, project: 'p' }));
    const asked = new Set();
    let isLate = 0;
    page.on('request', (request) => (asked.add(request), isLate++));
    for (const over of ['requestfinished', 'requestfailed']) page.on(over, () => isLate--);
    await page.goto(`${sidecar.adminUrl}/${hash}`);
    await page.locator('main h1').waitFor();
    await page.locator(shows).first().waitFor();
    await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
    await until('all has come', () => isLate === 0 || [...asked].every((request) => request.response() && /\/logs\?/.test(request.url())));
    const sizes = await Promise.all([...asked].map((request) => request.sizes().catch(() => null)));
    const heavy = [...asked].map((request, i) => [sizes[i] ? sizes[i].responseBodySize + sizes[i].responseHeadersSize : 0, new URL(request.url()).pathname]);
    const total = heavy.reduce((sum, [bytes]) => sum + bytes, 0);
    assert.ok(heavy.length > 6);
    assert.ok(total < BOUND, `${hash}: ${total} bytes: ${heavy.sort(([a], [b]) => b - a).slice(0, 12).join(' ')}`);
    return total;
}

test('a first view of each page, with its files, its answers and all heads, is less than 70 KiB where lists are full', async (t) => {
    const { sidecar, token, id, delivery, job } = await fillLists(t);
    for (const [hash, shows] of [
        ['#/overview', '.errors li, .errors tr'],
        ['#/runs', '.runs tbody tr:nth-child(50)'],
        [`#/runs/${id}`, '.run-body:not([hidden])'],
        ['#/new', 'form'],
        ['#/deliveries', 'main h1'],
        [`#/deliveries/${delivery}`, 'main h1'],
        ['#/destinations', 'main table, main ul'],
        ['#/jobs', 'main tbody tr'],
        [`#/jobs/${job}`, 'main h1'],
        ['#/logs', 'main h1'],
        ['#/audit', 'main tbody tr'],
        ['#/keys', '.keys tbody tr'],
    ])
        t.diagnostic(`${await weigh(t, sidecar, token, hash, shows)} bytes: ${hash.slice(0, 14)}`);
});

test('an answer that the page has already is not sent again, and what has changed is', async (t) => {
    const { sidecar, call } = await stage(t, { env });
    const page = await openDashboard(t, sidecar, { hash: '#/runs' });
    const isList = (response) => /\/runs\?/.test(response.url());
    const again = await page.waitForResponse((response) => isList(response) && response.status() === 304);
    assert.equal(again.headers()['cache-control'], 'no-store');
    assert.match(again.request().headers()['if-none-match'], /^W\/"[0-9a-f]{16}"$/);
    const headers = { authorization: `Bearer ${await makeToken(sidecar)}` };
    await call('/v4/p/a/run', { query: { async: 'true' }, headers });
    await page.locator('.runs tbody tr').first().waitFor();
});

test('answers are compressed and tagged for those who ask for that, and others are as they were', async (t) => {
    const { sidecar, call } = await stage(t, { env });
    const authorization = `Bearer ${await makeToken(sidecar)}`;
    await Promise.all(Array.from({ length: 5 }, () => call('/v4/p/a/run', { query: { async: 'true' }, headers: { authorization } })));
    const list = '/v2/projects/p/runs';
    let plain;
    const haveEnded = ({ runs }) => runs.length === 5 && runs.every((run) => run.finished_at);
    await until('all have ended', async () => haveEnded(JSON.parse((plain = await get(sidecar, list, { authorization })).text)));
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.headers.vary, 'Accept-Encoding');
    for (const coding of ['gzip', 'br, GZIP;q=0.8, *;q=0.1', '*', 'identity;q=0, gzip;q=0.1']) {
        const packed = await get(sidecar, list, { authorization, 'accept-encoding': coding });
        assert.equal(packed.headers['content-encoding'], 'gzip', coding);
        assert.equal(gunzipSync(packed.bytes).toString(), plain.text);
        assert.equal(packed.headers.etag, plain.headers.etag);
        assert.equal(packed.headers['cache-control'], 'no-store');
    }
    for (const coding of ['br', 'gzip;q=0', 'identity, gzip;q=0.5', 'identity;q=0, br'])
        assert.equal((await get(sidecar, list, { authorization, 'accept-encoding': coding })).text, plain.text, coding);
    const known = await get(sidecar, list, { authorization, 'if-none-match': plain.headers.etag, 'accept-encoding': 'gzip' });
    assert.deepEqual([known.status, known.bytes.length, known.headers.etag], [304, 0, plain.headers.etag]);
    const stranger = await get(sidecar, list, { 'if-none-match': plain.headers.etag });
    assert.equal(stranger.status, 401, 'who may not see it is not told whether it has changed');
});

test('an answer with a new token is never compressed', async (t) => {
    const { sidecar } = await shared(t, { env });
    const headers = { authorization: `Bearer ${await makeToken(sidecar)}`, 'accept-encoding': 'gzip, identity;q=0', 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'a'.repeat(60), expires_at: new Date(Date.now() + 3_600_000).toISOString(), role: 'invoke' });
    const made = await request(`${sidecar.adminUrl}/v2/projects/p/service-accounts`, { method: 'POST', headers, body });
    assert.equal(made.statusCode, 201);
    assert.equal(made.headers['content-encoding'], undefined);
    assert.equal(made.headers.etag, undefined);
    assert.ok((await made.body.json()).token);
});

test('a token is kept in the tab and sent as a bearer token alone', async (t) => {
    const { sidecar } = await shared(t, { env });
    const token = await makeToken(sidecar);
    const page = await openTab(t, sidecar);
    const bearers = new Set();
    page.on('request', (r) => r.url().includes('/v2/') && bearers.add(r.headers().authorization));
    await page.goto(sidecar.adminUrl);
    await page.getByLabel('Service account token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.deepEqual([...bearers], [`Bearer ${token}`]);
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('eyJ'));
    assert.ok((await page.evaluate(() => sessionStorage.hookline)).includes(token));

    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Service account token').waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test('the token of a link is taken and gone from the address bar', async (t) => {
    const { sidecar } = await shared(t, { env });
    const page = await openTab(t, sidecar);
    await page.goto(`${sidecar.adminUrl}/#token=${await makeToken(sidecar)}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.doesNotMatch(await page.evaluate(() => location.href), /token|eyJ/);
    await page.goBack().catch(() => {});
    assert.doesNotMatch(page.url(), /eyJ/);
});

test('a link signs a tab in as somebody else only when that is confirmed', async (t) => {
    const { sidecar } = await shared(t, { env });
    const links = [];
    for (const project of ['q', 'q'])
        links.push(`${sidecar.adminUrl}/#token=${await makeToken(sidecar, { project })}`);
    const page = await openDashboard(t, sidecar);
    const project = page.locator('.who .project');
    const question = page.getByRole('dialog', { name: 'Sign in as somebody else?' });
    const mine = await page.evaluate(() => sessionStorage.hookline);

    for (const arrive of [
        () => page.evaluate((link) => (location.href = link), links[0]), // in the open page
        async () => {
            await page.goto('about:blank');
            await page.goto(links[1]); // in the tab, while another page is open
        },
    ]) {
        await arrive();
        await question.waitFor();
        assert.match(await question.innerText(), /project q .*project p/s);
        assert.doesNotMatch(await page.evaluate(() => location.href), /eyJ/);
        await question.getByRole('button', { name: 'Keep as it is' }).click();
        await question.waitFor({ state: 'detached' });
        assert.match(await project.innerText(), /p$/);
        assert.equal(await page.evaluate(() => sessionStorage.hookline), mine);
    }
    await page.evaluate((link) => (location.href = link), links[0]);
    await question.getByRole('button', { name: 'Sign in with the link' }).click();
    await project.getByText('q', { exact: true }).waitFor();
});

test('hookline dashboard prints a link that signs in as admin', async (t) => {
    const { sidecar } = await shared(t, { env });
    const settings = {
        HOOKLINE_DATA_DIR: sidecar.dataDir,
        HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`,
    };
    const printed = await run(['dashboard', '--project', 'p'], settings);
    assert.equal(printed.code, 0, printed.stderr);
    const link = /^http:\S+$/m.exec(printed.stdout)[0];
    assert.ok(link.startsWith(`${sidecar.adminUrl}/#token=`), link);
    const claims = JSON.parse(Buffer.from(link.split('#token=')[1].split('.')[1], 'base64url'));
    assert.ok(claims.exp - Date.now() / 1000 <= 3600, 'an hour at most');

    const page = await openTab(t, sidecar);
    await page.goto(link);
    await page.getByRole('link', { name: 'API Keys' }).click();
    await page.getByRole('heading', { name: 'API Keys' }).waitFor();
    assert.match(await page.locator('.who').innerText(), /p\s+admin/);

    const fromConfig = await run(['dashboard'], { ...settings, HOOKLINE_PROJECT_ID: 'p' });
    assert.match(fromConfig.stdout, /#token=/);
    const without = await run(['dashboard'], settings);
    assert.equal(without.code, 2);
    assert.match(without.stderr, /--project/);
});

test('a read-only link signs in for a screen on the wall, and is renewed while that is open', async (t) => {
    const { sidecar } = await shared(t, { env });
    const printed = await run(['dashboard', '--project', 'p', '--read-only', '--expires', '30d'], { HOOKLINE_DATA_DIR: sidecar.dataDir });
    const link = printed.stdout.trim();
    const page = await openTab(t, sidecar, { complaints: /401/ });
    const renewed = page.waitForResponse(/dashboard-sessions\/renew$/);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    assert.match(await page.locator('.who').innerText(), /p\s+viewer/);
    const first = link.split('#token=')[1];
    const tokenOf = () => page.evaluate(() => JSON.parse(sessionStorage.hookline).token);
    const idOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).jti;
    const { token } = await (await renewed).json();
    await until('its session is renewed', async () => (await tokenOf()) === token);
    assert.equal(idOf(token), idOf(first));
    await goTo(page, '#/overview?wall=1');
    await page.locator('#top').waitFor({ state: 'hidden' });
    await page.keyboard.press('Escape');
    await page.locator('#top').waitFor();
    await control(sidecar, 'DELETE', `/v2/projects/p/service-accounts/${idOf(first)}`);
    await page.getByLabel('Service account token').waitFor();
});

test('hookline dashboard says so when no sidecar runs', async (t) => {
    const { sidecar } = await stage(t, { env });
    await sidecar.stop();
    const printed = await run(['dashboard', '--project', 'p'], {
        HOOKLINE_DATA_DIR: sidecar.dataDir,
    });
    assert.equal(printed.code, 1);
    assert.equal(printed.stdout, '');
    assert.match(printed.stderr, /running/);
});

test('a token that is not taken is told why', async (t) => {
    const { sidecar } = await shared(t, { env });
    const page = await openTab(t, sidecar, { complaints: /401/ });
    await page.goto(sidecar.adminUrl);
    const [head, , signature] = (await makeToken(sidecar)).split('.');
    const body = Buffer.from(JSON.stringify({ project_id: 'p', exp: 4e9 })).toString('base64url');
    await page.getByLabel('Service account token').fill([head, body, signature].join('.'));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('This token was not accepted').waitFor();
    assert.ok((await page.getByRole('alert').locator('p').nth(1).innerText()).length > 20);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test('a token that is revoked while the page is open ends the session', async (t) => {
    const { sidecar } = await stage(t, { env });
    const page = await openDashboard(t, sidecar, { complaints: /401/ });
    const { json } = await control(sidecar, 'GET', '/v2/projects/p/service-accounts');
    await control(
        sidecar,
        'DELETE',
        `/v2/projects/p/service-accounts/${json.service_accounts[0].id}`,
    );
    await page.getByLabel('Service account token').waitFor();
    await page.getByRole('alert').getByText('This token was not accepted').waitFor();
});

test('the role invoke is offered what it may, and refused the rest', async (t) => {
    const { sidecar, call, receiver } = await stage(t, { env });
    const token = await makeToken(sidecar, { role: 'invoke' });
    const headers = { authorization: `Bearer ${token}` };
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    const { id } = await call('/v4/p/a/run', { query, headers, body: '{}' });
    await receiver.delivered();
    const others = { authorization: `Bearer ${await makeToken(sidecar, { role: 'invoke' })}` };
    const { id: theirs } = await call('/v4/p/a/run', { query, headers: others, body: '{}' });
    const page = await openDashboard(t, sidecar, { token });
    const links = await page.getByRole('navigation').getByRole('link').allInnerTexts();
    assert.deepEqual(links.map((text) => text.replace(/\s+(?=,)/, '')), [
        'Overview',
        'Runs',
        'Deliveries, for admins',
        'Destinations, for admins',
        'Jobs, for admins',
        'Logs, for admins',
        'Audit, for admins',
        'API Keys',
    ]);
    await goTo(page, `#/runs/${id}`);
    await (await pane(page, 'Webhook')).getByRole('heading', { name: 'Webhook' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Redeliver|Cancel/ }).count(), 0);
    await page.evaluate(() => (location.hash = '#/deliveries'));
    await page.getByText('This page is for admins').waitFor();

    for (const [method, path] of [
        ['POST', '/service-accounts'],
        ['GET', '/deliveries'],
        ['POST', `/runs/${theirs}/cancel`],
        ['POST', `/runs/${theirs}/rerun`],
        ['GET', `/runs/${theirs}/request`],
    ]) {
        const answer = await request(`${sidecar.adminUrl}/v2/projects/p${path}`, {
            method,
            headers,
        });
        assert.equal(answer.statusCode, 403, `${method} ${path}`);
        await answer.body.dump();
    }
});

test('another project’s token sees nothing', async (t) => {
    const { sidecar, call, receiver } = await stage(t, { env });
    const headers = { authorization: `Bearer ${await makeToken(sidecar)}` };
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    const { id } = await call('/v4/p/a/run', { query, headers, body: '{}' });
    await receiver.delivered();
    const page = await openDashboard(t, sidecar, { project: 'other', complaints: /404/ });
    await page.getByText('No runs yet').waitFor();
    await goTo(page, '#/deliveries');
    await page.getByText('No webhooks yet').waitFor();
    await goTo(page, '#/keys');
    await page.locator('.keys tbody tr').first().waitFor();
    assert.equal(await page.locator('.keys tbody tr').count(), 1, 'its own account alone');
    await goTo(page, `#/runs/${id}`);
    await page.getByText('This run is not here').waitFor();
    assert.equal(await page.getByText('/run', { exact: true }).count(), 0);
});

test('the page says when hookline does not answer, and when it does again', async (t) => {
    const { sidecar } = await stage(t, { env });
    const page = await openDashboard(t, sidecar, { complaints: /ERR_|Failed to load|503/ });
    await page.getByText('No runs yet').waitFor();
    await sidecar.stop();
    await page.getByRole('alert').getByText('hookline does not answer').waitFor();
    await sidecar.restart();
    await until('the message is gone', async () => (await page.getByRole('alert').count()) === 0);
});

test('where no token is asked for the dashboard asks for none', async (t) => {
    const { sidecar, call } = await stage(t, { env: { HOOKLINE_AUTH: 'none' } });
    const page = await openTab(t, sidecar);
    await page.goto(sidecar.adminUrl);
    await page.getByRole('heading', { name: 'Which project?' }).waitFor();
    await page.getByLabel('Project').fill('p');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByText('No runs yet').waitFor();
    await page.getByRole('link', { name: 'API Keys' }).click();
    await page.getByRole('button', { name: 'Create Service Account' }).waitFor();
    const { id } = await call('/v4/p/a/run', { query: { async: 'true' } });
    await goTo(page, `#/runs/${id}`);
    await page.getByText('success').first().waitFor();

    await page.getByRole('button', { name: 'Change project' }).click();
    await page.getByRole('button', { name: 'p', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    const other = await openTab(t, sidecar); // the only project there is
    await other.goto(sidecar.adminUrl);
    await other.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.match(await other.locator('.who .project').innerText(), /p$/);

    const printed = await run(['dashboard', '--project', 'p'], { HOOKLINE_DATA_DIR: sidecar.dataDir });
    assert.equal(printed.stdout, `${sidecar.adminUrl}/\n`);
});
