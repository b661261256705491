// shots.mjs - a picture of each page of the dashboard at three widths, light and dark, above a week of fill.mjs.
// README.md says how to use it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { launch, sleep } from './chromium.mjs';

const PROJECT = '/v2/projects/demo';
const FILL = fileURLToPath(new URL('fill.mjs', import.meta.url));
const SIZES = [
    { width: 1440, height: 900 },
    { width: 1024, height: 768 },
    { width: 390, height: 844 },
];
const COLOURS = '64';
const CALM_MS = 900; /* nothing has come for so long: charts are drawn */
const LOOK_MS = 250;

/** As `fill.mjs --serve` tells it, with calls that go on; answers where it is and what ends it. */
async function serve(dir) {
    const child = spawn(process.execPath, [FILL, '--dir', dir, '--serve', '--only'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    for await (const piece of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        said += piece;
        if (said.includes('\n')) break;
    }
    const url = /http\S+[^/\s]/.exec(said)?.[0];
    assert.ok(url, `the dashboard is nowhere: ${said}`);
    const end = () => {
        child.kill('SIGTERM');
        return once(child, 'exit');
    };
    return { url, end };
}

function makeAsk(url) {
    return async (path, body) => {
        const headers = body && { 'content-type': 'application/json' };
        const answer = await fetch(`${url}${PROJECT}${path}`, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
        const text = await answer.text();
        assert.ok(answer.ok, `${path}: ${text}`);
        return JSON.parse(text);
    };
}

/** What only people do: keys, jobs. Answers the ids that pages are opened with. */
async function prepare(ask) {
    const month = new Date(Date.now() + 30 * 86_400_000).toISOString();
    const { accounts = [] } = await ask('/service-accounts').catch(() => ({}));
    const names = new Set(accounts.map(({ name }) => name));
    for (const [name, role] of [['shop', 'invoke'], ['on-call', 'admin'], ['wall', 'viewer']])
        if (!names.has(name)) await ask('/service-accounts', { name, role, expires_at: month }).catch(() => {});
    const { job_id: job } = await ask('/jobs', { what: 'rerun', filter: { state: 'failure', app: 'speech' } });
    await ask('/jobs', { what: 'cancel', filter: { state: 'queued', app: 'nightly-import' } });
    await ask('/jobs', { what: 'redeliver', filter: { state: 'dead', app: 'mail' } });
    return { job, run: await findRun(ask), delivery: await findDelivery(ask) };
}

/** One that failed three times and then told it. */
async function findRun(ask) {
    for (;;) {
        const { runs } = await ask('/runs?state=failure&app=checkout&limit=50');
        const run = runs.find(({ attempts, deliveries }) => attempts === 3 && deliveries.delivered);
        if (run) return run.run_id;
        await sleep(LOOK_MS);
    }
}

async function findDelivery(ask) {
    const { deliveries } = await ask('/deliveries?state=dead&limit=1');
    return deliveries[0].delivery_id;
}

/** In the order of the README. `act`: what somebody does there before. `isWhole`: from top to bottom. */
function pagesOf({ run, delivery, job }) {
    const openPalette = async (page) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Go to, find or change' }).waitFor();
        await page.keyboard.type('pic', { delay: 20 });
    };
    return [
        { name: 'overview', hash: '#/overview?period=day', isWhole: true },
        { name: 'overview-by-app', hash: '#/overview?period=day&by=app', isWhole: true },
        { name: 'runs', hash: '#/runs' },
        { name: 'runs-panel', hash: `#/runs?state=failure&app=checkout&run=${run}` },
        { name: 'run', hash: `#/runs/${run}` },
        { name: 'deliveries', hash: `#/deliveries?state=dead&delivery=${delivery}` },
        { name: 'destinations', hash: '#/destinations' },
        { name: 'jobs', hash: '#/jobs' },
        { name: 'job', hash: `#/jobs/${job}` },
        { name: 'logs', hash: '#/logs' },
        { name: 'audit', hash: '#/audit' },
        { name: 'keys', hash: '#/keys' },
        { name: 'new-run', hash: '#/new' },
        { name: 'palette', hash: '#/runs', act: openPalette },
        { name: 'wall', hash: '#/overview?period=day&wall=1' },
    ];
}

/** Until nothing on the page has changed but its clocks, or some seconds have gone. */
async function calm(page) {
    await page.locator('main h1, body.wall main').first().waitFor();
    for (let was = '', since = Date.now(), began = since; Date.now() - since < CALM_MS && Date.now() - began < 8 * CALM_MS; await sleep(LOOK_MS)) {
        const is = await page.evaluate(() => `${document.querySelectorAll('main *').length}`);
        if (is !== was) [was, since] = [is, Date.now()];
    }
}

async function takeAll(url, pages, out) {
    const browser = await launch();
    for (const size of SIZES)
        for (const colorScheme of ['light', 'dark']) {
            const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', viewport: size, colorScheme, reducedMotion: 'reduce' });
            const page = await context.newPage();
            for (const { name, hash, act, isWhole } of pages) {
                await page.goto('about:blank');
                await page.goto(`${url}/${hash}`);
                await calm(page);
                await act?.(page);
                if (act) await calm(page);
                const height = isWhole ? await page.evaluate(() => document.documentElement.scrollHeight) : size.height;
                await page.setViewportSize({ width: size.width, height });
                await page.screenshot({ path: join(out, `${name}-${size.width}-${colorScheme}.png`) });
                await page.setViewportSize(size);
            }
            await context.close();
        }
    await browser.close();
}

/** Few colours say as much, in a third of the bytes. */
function shrink(out, names) {
    const files = readdirSync(out).filter((file) => names.some((name) => file.startsWith(`${name}-`)) && file.endsWith('.png'));
    let all = 0;
    for (const file of files) {
        const path = join(out, file);
        execFileSync('pngquant', ['--force', '--strip', '--speed', '1', '--nofs', '--output', `${path}.new`, COLOURS, path]);
        renameSync(`${path}.new`, path);
        all += statSync(path).size;
    }
    console.log(`${files.length} pictures, ${Math.round(all / 1024)} KiB`);
}

const { values } = parseArgs({ options: { dir: { type: 'string' }, url: { type: 'string' }, out: { type: 'string' }, only: { type: 'string' } } });
if (!values.out || !values.dir === !values.url) {
    console.error('usage: shots.mjs --out FOLDER (--dir DIRECTORY of fill.mjs | --url http://…) [--only PAGE]');
    process.exit(2);
}
mkdirSync(values.out, { recursive: true });
const served = values.url ? { url: values.url, end() {} } : await serve(values.dir);
try {
    const pages = pagesOf(await prepare(makeAsk(served.url))).filter(({ name }) => !values.only || values.only.split(',').includes(name));
    await takeAll(served.url, pages, values.out);
    shrink(values.out, pages.map(({ name }) => name));
} finally {
    await served.end();
}
process.exit(0);
