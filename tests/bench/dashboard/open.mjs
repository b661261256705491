// open.mjs - what an open page of the dashboard costs hookline's control thread: the time on a processor that it needs more
// than without, as the kernel counts it, which is not longer where much else runs. README.md says how to use it.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { launch, sleep } from './chromium.mjs';
import { makeAsk, pagesOf, prepare, serve } from './week.mjs';

const SETTLE_MS = 10_000; /* first views, and what a page loads once */
const LEFT_OUT = ['palette', 'wall', 'new-run'];

/** The process that `fill.mjs` started: hookline. */
function programOf(pid) {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    assert.ok(child, 'hookline does not run');
    return Number(child);
}

/** How long threads have been on a processor, in ms: the control thread, which is a process's first, and all. */
function spentBy(pid) {
    const threads = readdirSync(`/proc/${pid}/task`).map((id) => [Number(id), Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]) / 1e6]);
    return { control: threads.find(([id]) => id === pid)[1], all: threads.reduce((sum, [, ms]) => sum + ms, 0) };
}

/** Of one page, or of none: ms a second. */
async function measure(browser, pid, url, seconds) {
    const context = url && (await browser.newContext({ locale: 'en-GB', viewport: { width: 1440, height: 900 } }));
    if (context) {
        const page = await context.newPage();
        await page.goto(url);
        await page.locator('main h1').first().waitFor();
    }
    await sleep(SETTLE_MS);
    const before = spentBy(pid), began = performance.now();
    await sleep(seconds * 1000);
    const after = spentBy(pid), passed = (performance.now() - began) / 1000;
    await context?.close();
    return { control: (after.control - before.control) / passed, all: (after.all - before.all) / passed };
}

const { values } = parseArgs({
    options: { dir: { type: 'string' }, only: { type: 'string' }, seconds: { type: 'string', default: '30' }, every: { type: 'string', default: '0' } },
});
if (!values.dir) {
    console.error('usage: open.mjs --dir DIRECTORY of fill.mjs [--only PAGE,…] [--seconds 30] [--every MS between two calls]');
    process.exit(2);
}
const served = await serve(values.dir, ['--every', values.every]);
try {
    const only = values.only?.split(',');
    const pages = pagesOf(await prepare(makeAsk(served.url))).filter(({ name }) => (only ? only.includes(name) : !LEFT_OUT.includes(name)));
    const browser = await launch(), pid = programOf(served.pid);
    const without = await measure(browser, pid, null, Number(values.seconds));
    console.log('ms of a processor a second   control thread   all threads');
    console.log(`${'without a page'.padEnd(24)}${without.control.toFixed(3).padStart(19)}${without.all.toFixed(3).padStart(14)}`);
    for (const { name, hash } of pages) {
        const spent = await measure(browser, pid, `${served.url}/${hash}`, Number(values.seconds));
        const more = (which) => `+${(spent[which] - without[which]).toFixed(3)}`;
        console.log(`${name.padEnd(24)}${more('control').padStart(19)}${more('all').padStart(14)}`);
    }
    await browser.close();
} finally {
    await served.end();
}
process.exit(0);
