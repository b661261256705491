// browser.mjs - the dashboard in a real browser (Debian's chromium, headless), and what each of its tests holds it to:
// nothing on the console, no request that leaves the sidecar, no token in a URL.
import assert from 'node:assert/strict';
import http from 'node:http';
import { createRequire } from 'node:module';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from './runner.mjs';
import { chromium } from 'playwright-core';
import { atEnd } from './cleanup.mjs';
import { PATIENCE, within } from './until.mjs';

/** The one that never has windows takes less than half the time of the whole one; the wrapper of Debian's would stay beside it. */
const PROGRAM = ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) =>
    existsSync(path),
);
/** A name of this machine that browsers do not know to be this machine: plain HTTP to it is not trusted. */
export const ELSEWHERE = 'elsewhere.test';
const FLAGS = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`,
];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
after(() => browser?.then((b) => b.close()));

function launch() {
    return (browser ??= chromium.launch({ executablePath: PROGRAM, args: FLAGS, chromiumSandbox: false }));
}

/** Asks the control socket: what an admin of every project may ask. Answers `{ status, json }`. */
export function control(sidecar, method, path, body) {
    const options = {
        socketPath: join(sidecar.dataDir, 'control.sock'),
        method,
        path,
        agent: false,
    };
    return new Promise((resolve, reject) => {
        const request = http.request(options, (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (piece) => (text += piece));
            response.on('end', () =>
                resolve({ status: response.statusCode, json: text ? JSON.parse(text) : null }),
            );
        });
        request.on('error', reject);
        if (body) request.setHeader('Content-Type', 'application/json');
        request.end(body && JSON.stringify(body));
    });
}

/** A service account's token. */
export async function makeToken(sidecar, { project = 'p', role = 'admin', name = role } = {}) {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const made = await control(sidecar, 'POST', `/v2/projects/${project}/service-accounts`, {
        name,
        expires_at,
        role,
    });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    return made.json.token;
}

/** An empty page of an origin of its own, `http://127.0.0.1:<port>`, for scripts of users. */
export async function openPage(t) {
    const server = http.createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>a page</title>'));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const context = await (await launch()).newContext();
    atEnd(t, async () => {
        await context.close();
        server.close();
        server.closeAllConnections();
    });
    const origin = `http://127.0.0.1:${server.address().port}`;
    const page = await context.newPage();
    await page.goto(origin);
    return { page, origin };
}

/** Tabs that no test has, by the options of their contexts: a document in one that is there costs a third of one in a new context. */
const idle = new Map();

/**
 * A tab that is not signed in yet. Options: those of a browser context (`colorScheme`, `viewport`,
 * `timezoneId` …), `complaints`: a pattern for lines on the console that this test brings about,
 * `origin`: where else than at its address the sidecar is, and `isNew`: nothing of the sidecar's is in its cache.
 */
export async function openTab(t, sidecar, { complaints, origin = sidecar.adminUrl, isNew = false, ...options } = {}) {
    const { viewport = { width: 1280, height: 720 }, colorScheme = 'light', reducedMotion = 'no-preference', ...lasting } = options;
    const key = JSON.stringify(lasting);
    const tab = (!isNew && idle.get(key)?.pop()) || (await newTab(lasting));
    const { page } = tab;
    const seen = (tab.seen = { urls: [], console: [], headers: [] });
    atEnd(t, async () => {
        tab.seen = null;
        if (await isEmptied(tab)) idle.set(key, [...(idle.get(key) ?? []), tab]);
        else await tab.context.close();
        const lines = seen.console.filter((line) => !complaints?.test(line));
        assert.deepEqual(lines, [], 'the console');
        for (const url of seen.urls) {
            assert.ok(
                url.startsWith(origin) || url.startsWith('blob:'),
                `a request left: ${url}`,
            );
            assert.doesNotMatch(url, /eyJ/, 'a token in a URL');
        }
    });
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion });
    return Object.assign(page, { seen });
}

async function newTab(options) {
    const context = await (await launch()).newContext({ locale: 'en-GB', ...options });
    const page = await context.newPage();
    const tab = { context, page, seen: null, isSpoiled: false };
    page.setDefaultTimeout(PATIENCE);
    page.on('console', (message) => tab.seen?.console.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => tab.seen?.console.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
        if (tab.seen) tab.seen.console.push(`dialog: ${dialog.message()}`);
        else dialog.accept().catch(() => {}); // whether it may be left
    });
    page.on('request', (request) => tab.seen?.urls.push(request.url()));
    for (const [owner, name] of [[page, 'addInitScript'], [page, 'exposeFunction'], [page, 'on'], [page.clock, 'install']]) {
        const method = owner[name];
        owner[name] = (...all) => {
            tab.isSpoiled = true;
            return method.apply(owner, all);
        };
    }
    // What is on the page stands once more, a moment later, where it is said to assistive technology.
    const getByText = page.getByText.bind(page), seen = page.locator(':not(#status)');
    page.getByText = (...all) => getByText(...all).and(seen);
    return tab;
}

/** Whether nothing is left in the tab of what its test did; false where something would stay. */
async function isEmptied(tab) {
    if (tab.isSpoiled || tab.page.isClosed() || tab.context.pages().length !== 1) return false;
    try {
        await within('an empty tab', empty(tab), PATIENCE / 6);
        return true;
    } catch {
        return false; // as where the document is the browser's own, that of an error
    }
}

/** Takes away the document with its scripts, what it stored, the routes. A blank one that the page asks for has its origin, and so its storage. */
async function empty({ context, page }) {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.evaluate(() => location.replace('about:blank'));
    await page.waitForURL('about:blank');
    await page.evaluate(() => (sessionStorage.clear(), localStorage.clear()));
    await context.clearCookies();
    await page.mouse.move(-1, -1);
}

/** A tab that is signed in and shows `hash`. */
export async function openDashboard(
    t,
    sidecar,
    { hash = '#/runs', token, role, project, ...options } = {},
) {
    const page = await openTab(t, sidecar, options);
    const link = token ?? (await makeToken(sidecar, { role, project }));
    await page.goto(`${sidecar.adminUrl}/#token=${link}`);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.locator('main h1').waitFor();
    await goTo(page, hash);
    return page;
}

/** Opens a page by its address and waits until its heading is there, and no longer that of the page before. */
export async function goTo(page, hash) {
    await page.evaluate((to) => {
        if (location.hash === to) return;
        document.querySelector('main h1')?.setAttribute('data-before', '');
        location.hash = to;
    }, hash);
    await page.locator('main h1:not([data-before])').waitFor();
}

/** Does what leads to another page, or to the same one by another filter, and waits until that is shown. */
export async function follow(page, act) {
    await page.locator('main h1').evaluate((heading) => heading.setAttribute('data-before', '')); // after a reload it comes late
    await act();
    await page.locator('main h1:not([data-before])').waitFor();
}

/** Chooses one of the panes of the run that is shown, and answers what is in it, as soon as something is. */
export async function pane(page, name) {
    await page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();
    const panel = page.getByRole('tabpanel', { name: new RegExp(`^${name}`) });
    await panel.locator('p, pre, h2').first().waitFor({ state: 'attached' });
    return panel;
}

/** Narrows the list of runs down as people do, by keys: the field, then its value. */
export async function addFilter(page, field, value) {
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Filter by' }).fill(field);
    await page.keyboard.press('Enter');
    await page.getByRole('combobox', { name: field, exact: true }).fill(value);
    await page.keyboard.press('Enter');
}

/** `words`: as its chip says them. */
export const removeFilter = (page, words) => page.getByRole('button', { name: `Remove ${words}`, exact: true }).click();

/** Presses the button of that name in `place`, which copies something, and waits until it says so: that it does for a moment. */
export function copyBy(place, name) {
    const button = (text) => place.getByRole('button', { name: text });
    return Promise.all([button(name).click(), button('Copied').waitFor()]);
}

/** To the page itself time flies from here on: what works in slices of some ms rests after each small piece of work. */
export function hurry(page) {
    return page.evaluate(() => {
        let time = performance.now();
        performance.now = () => (time += 6);
    });
}

/** What follows the # of the address, as the page itself sees it: Playwright hears of it later. */
export const hashOf = (page) => page.evaluate(() => location.hash);

/** The rules of WCAG 2.2 A and AA, and axe's own best practices. */
export async function assertAccessible(page, what) {
    if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
    const lines = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run(document, {
            runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
            resultTypes: ['violations'], // of the others nobody wants to know where they are
            preload: { assets: ['media'] }, // no rule of these reads style sheets as text
        });
        return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary}`));
    });
    assert.deepEqual(lines, [], what);
}

/** Nothing is wider than the window. */
export async function assertFits(page, what) {
    const [width, room] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        innerWidth,
    ]);
    assert.ok(width <= room, `${what}: ${width} px in ${room} px`);
}
