// The dashboard page by page, for whoever has no mouse, other colours, larger text, a printer, an older page, a mistyped address.
import assert from 'node:assert/strict';
import { FILE, onFailure, test } from './lib/case.mjs';
import { control, goTo, makeToken, openDashboard } from './lib/browser.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt' };
const APP = 'billing-and-invoicing-service-eu-central';
let common;

/** Runs and webhooks of every state, and a job, of several apps; tests share them, and add nothing. */
async function scene(t) {
    if (!common) atEnd(FILE, () => (common = null));
    const set = await (common ??= build());
    onFailure(t, () => set.sidecar.tail());
    return set;
}

async function build() {
    const held = gate();
    const app = async (exchange) => {
        const { hold, status = 200, ...answer } = JSON.parse((await exchange.body()).toString() || '{}');
        if (hold) await held.promise;
        await exchange.send(status, { 'content-type': 'application/json' }, JSON.stringify(answer));
    };
    const set = await stage(FILE, { app, env });
    const { sidecar, receiver } = set;
    const token = await makeToken(sidecar);
    const headers = { authorization: `Bearer ${token}` };
    const call = (wish, app = 'a', query = {}) =>
        set.call(`/v4/p/${app}/run`, { query: { async: 'true', ...query }, headers, body: JSON.stringify(wish) });
    await call({ status: 500, error: 'CUDA out of memory: tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB' }, APP);
    const { id: running } = await call({ hold: true }, 'words');
    const { id: other } = await call({ hold: true }, 'words');
    await control(sidecar, 'POST', `/v2/projects/p/runs/${other}/cancel`);
    await call({ text: 'fine' }, 'a', { webhookEndpoint: receiver.script('/gone', 410) });
    const list = async (what) => (await control(sidecar, 'GET', `/v2/projects/p/${what}`)).json;
    await until('its delivery is the older one', async () => (await list('deliveries')).deliveries.length === 1); // from the open one Tab leads to it, past those below
    const { id: run } = await call({ text: 'fine' }, 'a', { webhookEndpoint: receiver.script('/late', 404, 200) });
    await until('all has ended that ends', async () => {
        const [{ deliveries }, { runs }] = [await list('deliveries'), await list('runs')];
        return deliveries.length === 2 && deliveries.every(({ state }) => state !== 'pending') && runs.filter(({ state }) => state === 'running' || state === 'queued').length === 1;
    });
    const dead = (await list('deliveries')).deliveries.find(({ state }) => state === 'dead').delivery_id;
    const made = await control(sidecar, 'POST', '/v2/projects/p/jobs', { what: 'redeliver', filter: { state: 'pending' } });
    const job = made.json.job_id;
    await until('the job has ended', async () => (await list(`jobs/${job}`)).ended_at);
    const pages = {
        overview: ['#/overview', '.tiles'],
        runs: ['#/runs', '.runs tbody tr'],
        'a run beside the list': [`#/runs?run=${run}`, '.run-panel pre.result'],
        'a run': [`#/runs/${run}`, '.run-page pre.result'],
        'a run that goes on': [`#/runs/${running}`, '.run-page .pane'],
        'a new run': ['#/new', 'textarea'],
        deliveries: ['#/deliveries', '.deliveries li'],
        'a delivery beside the list': [`#/deliveries?delivery=${dead}`, 'aside pre.result'],
        'a delivery': [`#/deliveries/${dead}`, '.delivery-page pre.result'],
        destinations: ['#/destinations', 'tbody tr'],
        jobs: ['#/jobs', 'tbody tr'],
        'a job': [`#/jobs/${job}`, '.job-facts'],
        logs: ['#/logs', '.log-line'],
        audit: ['#/audit', 'tbody tr'],
        keys: ['#/keys', 'tbody tr'],
        'no page': ['#/nowhere', '.note'],
    };
    return { ...set, token, pages, run, dead };
}

/** Signed in; `show(name)` shows one of the pages, with something on it. */
async function open(t, options = {}) {
    const { sidecar, token, pages } = await scene(t);
    const page = await openDashboard(t, sidecar, { token, ...options });
    const show = async (name) => {
        const [hash, something] = pages[name];
        await goTo(page, hash);
        await page.locator(`main ${something}`).first().waitFor();
    };
    return { page, show, names: Object.keys(pages) };
}

/** Tab goes through all that can have the focus, in order; what is not seen when it has it is told. */
async function walk(page) {
    await page.evaluate(() => {
        const told = (globalThis.told = { stops: [], faults: [] });
        const nameOf = (element) => `${element.localName} “${(element.getAttribute('aria-label') ?? element.textContent).trim().slice(0, 40)}”`;
        const onfocus = ({ target }) => {
            const { outlineStyle } = getComputedStyle(target);
            const box = target.getBoundingClientRect();
            const [x, y] = [(Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2, (Math.max(0, box.top) + Math.min(innerHeight, box.bottom)) / 2];
            const above = document.elementFromPoint(x, y);
            told.stops.push(target);
            if (outlineStyle === 'none') told.faults.push(`${nameOf(target)} does not show the focus`);
            if (!above) told.faults.push(`${nameOf(target)} is outside the window`);
            else if (!target.contains(above) && !above.contains(target)) told.faults.push(`${nameOf(target)} is behind ${nameOf(above)}`);
        };
        addEventListener('focusin', onfocus);
        globalThis.told.end = () => removeEventListener('focusin', onfocus);
        document.activeElement.blur();
        getSelection().removeAllRanges();
        document.querySelector('.skip').focus();
    });
    for (let i = 0; i < 120; i++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(() => document.activeElement === document.body || document.activeElement.matches('.skip'))) break;
    }
    return page.evaluate(() => {
        const { stops, faults, end } = globalThis.told;
        end();
        const isRadio = (element) => element.type === 'radio' && !element.checked;
        const all = document.querySelectorAll('a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex="0"]');
        const missed = [...all].filter((element) => element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }) && !isRadio(element) && !stops.includes(element));
        // What was made anew behind the focus is called as before.
        const names = stops.map((element) => element.textContent);
        // From the row of the run that is open Tab leads to that run; the rows after it are reached by arrows.
        const own = missed.filter((element) => !names.includes(element.textContent) && !element.matches('.runs tr[aria-current] ~ tr a'));
        return [...faults, ...own.map((element) => `${element.outerHTML.slice(0, 120)} is not reached`)];
    });
}

test('Tab goes through every page, and the focus is seen wherever it is', { limit: 400_000 }, async (t) => {
    const { page, show, names } = await open(t, { complaints: /404/ });
    const faults = [];
    for (const name of names) {
        await show(name);
        if (name === 'a run beside the list') await page.locator('.runs tr[aria-current]').waitFor();
        for (const fault of await walk(page)) faults.push(`${name}: ${fault}`);
        for (const words of await page.getByRole('alert').allInnerTexts()) faults.push(`${name}: ${words}`);
    }
    assert.deepEqual(faults, []);
});

/** What WCAG 1.4.12 lets a reader choose. */
const SPACED = ':not(svg *) { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-bottom: 2em !important }';

for (const width of [360, 720, 1280])
    test(`with the spaces that a reader chose nothing is cut off, ${width} px`, { limit: 400_000 }, async (t) => {
        const { page, show, names } = await open(t, { viewport: { width, height: 720 } });
        await page.evaluate((rules) => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync(rules);
            document.adoptedStyleSheets = [sheet];
        }, SPACED);
        const faults = [];
        for (const name of names) {
            await show(name);
            const cut = await page.evaluate(() => {
                const isShort = (element) => getComputedStyle(element).textOverflow === 'ellipsis' && element.closest('[title], .cut, [aria-expanded]');
                const isCut = (element) => {
                    const { overflowX, clipPath } = getComputedStyle(element);
                    return (overflowX === 'hidden' || overflowX === 'clip') && clipPath === 'none' && element.scrollWidth > element.clientWidth + 1;
                };
                const room = document.documentElement.scrollWidth - innerWidth;
                const all = [...document.querySelectorAll('main *')].filter((element) => element.checkVisibility() && !element.closest('svg, .hidden'));
                const list = all.filter((element) => isCut(element) && !isShort(element)).map((element) => `${element.localName}.${element.className} “${element.textContent.slice(0, 60)}”`);
                return [...(room > 0 ? [`${room} px are to the right of the window`] : []), ...list];
            });
            for (const one of new Set(cut)) faults.push(`${name}: ${one}`);
        }
        assert.deepEqual(faults, []);
    });

test('where rows name their apps, what went wrong has room', async (t) => {
    const { page, show } = await open(t);
    for (const width of [1280, 1440, 1024]) {
        await page.setViewportSize({ width, height: 800 });
        await show('runs');
        const room = await page.locator('.runs th.c-error').evaluate((head) => head.clientWidth);
        assert.ok(room >= 120, `${room} px at ${width} px`);
    }
});

test('in colours of the reader’s own what is chosen differs from what is not', async (t) => {
    const { page, show } = await open(t);
    await page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' });
    const looks = (selector) =>
        page.locator(selector).evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => {
            const { backgroundColor, color, outlineStyle, outlineWidth } = getComputedStyle(one);
            return `${backgroundColor} ${color} ${outlineStyle} ${outlineWidth}`;
        }));
    const differs = async (chosen, others) => {
        const [one] = await looks(chosen);
        const rest = await looks(others);
        assert.ok(one && rest.length, `${chosen} is there, and ${others}`);
        assert.ok(!rest.includes(one), `${chosen} looks as ${others}: ${one}`);
    };
    await show('a run beside the list');
    await page.evaluate(() => document.activeElement.blur());
    await differs('.runs tr[aria-current=true]', '.runs tbody tr:not([aria-current])');
    await differs('[role=tab][aria-selected=true]', '[role=tab][aria-selected=false]');
    await differs('.tab[aria-pressed=true]', '.tab[aria-pressed=false]');
    await page.keyboard.press('Control+k');
    await page.locator('dialog.palette [role=option]').first().waitFor();
    await differs('.palette [role=option][aria-selected=true]', '.palette [role=option][aria-selected=false]');
    await page.keyboard.press('Escape');
    await show('overview');
    await page.locator('.reasons progress').waitFor();
    await differs('.tab[aria-pressed=true]', '.tab[aria-pressed=false]');
    assert.equal(await page.locator('.reasons progress').evaluate((bar) => getComputedStyle(bar).forcedColorAdjust), 'none');
});

test('on paper a page is whole, dark on light, and without its controls', { limit: 400_000 }, async (t) => {
    const { page, show, names } = await open(t);
    await page.evaluate(() => document.documentElement.classList.add('theme-dark'));
    await page.setViewportSize({ width: 794, height: 1123 });
    const faults = [];
    for (const name of names) {
        await show(name);
        await page.emulateMedia({ media: 'print' });
        const found = await page.evaluate(() => {
            const isSeen = (element) => element.checkVisibility();
            const controls = [...document.querySelectorAll('#top, .skip, main .tools, main .actions, .find')].filter(isSeen);
            const scrolls = [...document.querySelectorAll('main *')].filter((element) => {
                const { overflowY, position } = getComputedStyle(element);
                return isSeen(element) && (position === 'fixed' || ((overflowY === 'auto' || overflowY === 'scroll') && element.scrollHeight > element.clientHeight + 1));
            });
            const [red] = getComputedStyle(document.body).color.match(/\d+/g).map(Number);
            return [...controls.map((one) => `${one.className || one.id} is printed`), ...scrolls.map((one) => `${one.localName}.${one.className} is cut`), ...(red > 100 ? ['the text is light'] : [])];
        });
        await page.emulateMedia({ media: 'screen' });
        for (const fault of found) faults.push(`${name}: ${fault}`);
    }
    assert.deepEqual(faults, []);
});

/** As after an upgrade: what a page has not loaded yet is at another address. */
const ageFiles = (page) => page.route('**/dashboard/*/*.js', (route) => route.fulfill({ status: 404, body: 'no such file' }));

test('what a page cannot load after an upgrade is told where it is seen, and the page can be loaded again', async (t) => {
    const { page, show } = await open(t, { complaints: /404|Failed to load/ });
    await show('runs');
    await page.locator('.histogram svg rect').first().waitFor();
    await ageFiles(page);
    const told = page.getByRole('alert').getByText('This could not be loaded');
    const press = (name) => page.getByRole('button', { name, exact: true }).click();
    for (const act of [
        () => page.keyboard.press('Control+k'),
        () => page.keyboard.press('?'),
        () => press('Add filter'),
        () => press('Views'),
        () => press('Columns'),
        () => press('Export…'),
        () => press('Run all again…'),
    ]) {
        await act();
        await told.waitFor();
        await press('Close');
        await told.waitFor({ state: 'detached' });
    }
    await page.locator('.runs tbody tr td.c-state').first().click();
    await told.waitFor();
    await page.unroute('**/dashboard/*/*.js');
    await press('Load the page again');
    await page.locator('.run-panel .run-head').waitFor();
});

test('a question that is refused is not asked again and again', async (t) => {
    const { page } = await open(t, { complaints: /400/ });
    await page.clock.install();
    await goTo(page, '#/logs?run_id=nonsense');
    const seen = () => page.seen.urls.filter((url) => url.includes('/logs?')).length;
    await page.getByRole('alert').getByText('The request was refused').waitFor();
    const before = seen();
    await page.clock.runFor(60_000);
    await page.evaluate(() => fetch('/healthz')); // whatever was asked before is known
    assert.equal(seen(), before);
});

const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim());

test('the focus stays on a button while it works, and when it is refused', async (t) => {
    const { page, show } = await open(t, { complaints: /503/ });
    const refuse = (route) => (route.request().method() === 'GET' ? route.continue() : route.fulfill({ status: 503, json: { title: 'x', detail: 'The store is full.' } }));
    await page.route('**/v2/**', refuse);
    const ask = async (open, yes) => {
        await page.getByRole('button', { name: open }).first().click();
        const button = page.getByRole('dialog').getByRole('button', { name: yes, exact: true });
        await button.focus();
        await page.keyboard.press('Enter');
        await page.getByRole('dialog').getByText('The store is full.').waitFor();
        assert.equal(await focused(page), await button.innerText(), yes);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await show('a run that goes on');
    await ask('Cancel run…', 'Cancel the run');
    await show('keys');
    await ask(/^Revoke /, 'Revoke');
    await ask(/^Limits of /, 'Save');
    await show('a delivery');
    await page.getByRole('button', { name: 'Send a test…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).press('Enter');
    await page.getByRole('dialog').getByText('The store is full.').waitFor();
    assert.equal(await focused(page), 'Send another');
});

test('the focus stays on what shows more of a list, refused or not', async (t) => {
    const { page, show } = await open(t, { complaints: /503/ });
    let isRefused = true;
    await page.route('**/v2/projects/p/runs?*', async (route) => {
        const url = new URL(route.request().url());
        if (url.searchParams.get('cursor') && isRefused) return route.fulfill({ status: 503, json: { title: 'x', detail: 'The store is full.' } });
        url.searchParams.set('limit', '2');
        await route.continue({ url: url.href });
    });
    await show('overview');
    await show('runs');
    const older = page.getByRole('button', { name: 'Show older' });
    await older.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Older runs could not be loaded').waitFor();
    assert.equal(await focused(page), 'Show older');
    isRefused = false;
    await page.keyboard.press('Enter');
    await page.getByText('4 runs shown').waitFor();
    assert.equal(await focused(page), 'Show older');
});

test('a job that cannot be read is told below a heading, and has it while nothing is known yet', async (t) => {
    const { page } = await open(t, { complaints: /503/ });
    await page.route('**/v2/projects/p/jobs/*', (route) => route.fulfill({ status: 503, json: { title: 'x', detail: 'The store is full.' } }));
    await goTo(page, '#/jobs/01a21f38-bad6-712d-bd06-604c310e2f2b');
    await page.getByRole('alert').getByText('The store is full.').waitFor();
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Job');
});

test('the focus stays on what shows more of the deliveries, and goes to the first of those that are newer', async (t) => {
    const { page, show } = await open(t, { complaints: /503/ });
    let isOld = true;
    await page.route('**/v2/projects/p/deliveries?*', async (route) => {
        if (new URL(route.request().url()).searchParams.has('cursor')) return route.fulfill({ status: 503, json: { title: 'x', detail: 'The store is full.' } });
        const answer = await (await route.fetch()).json();
        await route.fulfill({ json: { ...answer, next_cursor: answer.deliveries.at(-1).delivery_id } });
    });
    await show('overview');
    await show('deliveries');
    const older = page.getByRole('button', { name: 'Show older' });
    await older.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Older deliveries could not be loaded').waitFor();
    assert.equal(await focused(page), 'Show older');
    await page.unrouteAll();
    await show('overview');
    await page.route('**/v2/projects/p/deliveries?*', async (route) => {
        const answer = await (await route.fetch()).json();
        await route.fulfill({ json: isOld ? { ...answer, deliveries: answer.deliveries.slice(1) } : answer });
    });
    await show('deliveries');
    isOld = false;
    const newer = page.getByRole('button', { name: 'Show newer deliveries' });
    await newer.focus();
    await page.keyboard.press('Enter');
    await until('the first has the focus', () => page.evaluate(() => document.activeElement === document.querySelector('.deliveries li a.destination')));
});

test('a column that somebody chose is shown at 1,280 px, too', async (t) => {
    const { page, show } = await open(t, { viewport: { width: 1280, height: 720 } });
    await show('runs');
    const mode = page.locator('.runs th.c-mode');
    assert.equal(await mode.isVisible(), false);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Tags' }).check();
    await page.keyboard.press('Escape');
    assert.equal(await mode.isVisible(), true);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is to the right of the window');
});

test('the address of a page is copied where it is seen, and shown to be copied where a browser refuses', async (t) => {
    const { page, show } = await open(t);
    await show('runs');
    const copy = async () => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Go to, find or change' }).fill('copy the address');
        await page.keyboard.press('Enter');
    };
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { configurable: true, value: undefined })); // as over plain HTTP
    await copy();
    await page.getByText('The address is copied').waitFor();
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: () => Promise.reject(new Error('no')) } }));
    await copy();
    const field = page.getByRole('dialog').getByRole('textbox', { name: 'Address' });
    assert.equal(await field.inputValue(), page.url());
    await page.keyboard.press('Escape');
    await page.evaluate(() => delete navigator.clipboard);
});

test('how far a job is is asked less often while nobody answers', async (t) => {
    const { page, show } = await open(t, { complaints: /503/ });
    await show('runs');
    await page.clock.install();
    const job = { job_id: '01a21f38-bad6-712d-bd06-604c310e2f2b', what: 'rerun', state: 'running', total: 9, is_total: true, done: 1, skipped: 0, failed: 0, ended_at: null };
    let asked = 0;
    await page.route('**/v2/projects/p/jobs', (route) => route.fulfill(route.request().postDataJSON().dry_run ? { json: { what: 'rerun', count: 9, has_more: false, until: null } } : { status: 202, json: job }));
    await page.route('**/v2/projects/p/jobs/*', (route) => (asked++, route.fulfill({ status: 503, json: { title: 'x', detail: 'The store is full.' } })));
    await page.getByRole('button', { name: 'Run all again…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: /^Run again/ }).click();
    await page.getByRole('dialog').getByText('The store is full.').waitFor();
    for (let i = 0; i < 60; i++) {
        await page.clock.runFor(500);
        await page.evaluate(() => fetch('/healthz'));
    }
    assert.ok(asked > 1 && asked <= 20, `${asked} times in half a minute`);
});
