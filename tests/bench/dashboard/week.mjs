// week.mjs - a week of fill.mjs that is served: what scripts that look at it ask for, and the pages that there are.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { sleep } from './chromium.mjs';

const PROJECT = '/v2/projects/demo';
const FILL = fileURLToPath(new URL('fill.mjs', import.meta.url));
const LOOK_MS = 250;
const LOOKS = 240; /* a minute of them */

/** As `fill.mjs --serve` tells it, with calls that go on, or `more` arguments and environment; answers where it is, whose process, and what ends it. */
export async function serve(dir, more = [], env = process.env) {
    const child = spawn(process.execPath, [FILL, '--dir', dir, '--serve', '--only', ...more], { stdio: ['ignore', 'pipe', 'inherit'], env });
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
    return { url, pid: child.pid, end };
}

export function makeAsk(url) {
    return async (path, body) => {
        const headers = body && { 'content-type': 'application/json' };
        const answer = await fetch(`${url}${PROJECT}${path}`, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
        const text = await answer.text();
        assert.ok(answer.ok, `${path}: ${text}`);
        return JSON.parse(text);
    };
}

/** What only people do: keys, jobs. Answers the ids that pages are opened with. */
export async function prepare(ask) {
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

/** One that failed three times and then told it; where no calls go on, any that failed. */
async function findRun(ask) {
    for (let looks = 0; ; looks++) {
        const { runs } = await ask('/runs?state=failure&app=checkout&limit=50');
        const run = runs.find(({ attempts, deliveries }) => attempts === 3 && deliveries.delivered);
        if (run || looks === LOOKS) return (run ?? runs[0]).run_id;
        await sleep(LOOK_MS);
    }
}

async function findDelivery(ask) {
    const { deliveries } = await ask('/deliveries?state=dead&limit=1');
    return deliveries[0].delivery_id;
}

/** In the order of the README. `act`: what somebody does there before. `isWhole`: from top to bottom. */
export function pagesOf({ run, delivery, job }) {
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
