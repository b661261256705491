// open.mjs - what an open page of the dashboard costs hookline's control thread: the instructions a second that it needs more
// than without, counted by callgrind, so that it does not matter what else the machine does. README.md says how to use it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch, sleep } from './chromium.mjs';
import { makeAsk, pagesOf, prepare, serve } from './week.mjs';

const BINARY = process.env.HOOKLINE_BIN ?? '/usr/local/bin/hookline';
const CONTROL = '01'; /* the first thread */
const SETTLE_MS = 15_000;
const LONG_MS = 180_000;
const LEFT_OUT = ['palette', 'wall', 'new-run'];

/** A program that runs hookline under callgrind, whose files go into `folder`. */
function makeWrapper(folder) {
    const path = join(folder, 'hookline');
    writeFileSync(path, `#!/bin/sh\nexec valgrind -q --tool=callgrind --separate-threads=yes --callgrind-out-file=${join(folder, 'out')} ${BINARY} "$@"\n`);
    chmodSync(path, 0o755);
    return path;
}

/** The instructions of the control thread since it was asked last. */
function count(folder) {
    execFileSync('callgrind_control', ['--dump'], { stdio: 'ignore' });
    let sum = 0;
    for (const name of readdirSync(folder).filter((file) => file.startsWith('out.'))) {
        const path = join(folder, name);
        if (name.endsWith(`-${CONTROL}`)) sum += Number(/^(?:totals|summary): (\d+)/m.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
        rmSync(path);
    }
    return sum;
}

/** Of one page, or of none. Millions a second. */
async function measure(browser, folder, url, seconds) {
    const context = url && (await browser.newContext({ locale: 'en-GB', viewport: { width: 1440, height: 900 } }));
    if (context) {
        const page = await context.newPage();
        page.setDefaultTimeout(LONG_MS);
        await page.goto(url);
        await page.locator('main h1').first().waitFor();
    }
    await sleep(SETTLE_MS);
    count(folder);
    const began = performance.now();
    await sleep(seconds * 1000);
    const spent = count(folder) / 1e6 / ((performance.now() - began) / 1000);
    await context?.close();
    return spent;
}

const { values } = parseArgs({
    options: { dir: { type: 'string' }, only: { type: 'string' }, seconds: { type: 'string', default: '60' }, every: { type: 'string', default: '0' } },
});
if (!values.dir) {
    console.error('usage: open.mjs --dir DIRECTORY of fill.mjs [--only PAGE,…] [--seconds 60] [--every MS between two calls]');
    process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'hookline-open-'));
const served = await serve(values.dir, ['--every', values.every], { ...process.env, HOOKLINE_BIN: makeWrapper(folder) });
try {
    const only = values.only?.split(',');
    const pages = pagesOf(await prepare(makeAsk(served.url))).filter(({ name }) => (only ? only.includes(name) : !LEFT_OUT.includes(name)));
    const browser = await launch();
    const without = await measure(browser, folder, null, Number(values.seconds));
    assert.ok(without > 0, 'callgrind has counted nothing');
    console.log(`${'without a page'.padEnd(16)}${without.toFixed(3).padStart(10)}  million instructions of the control thread a second`);
    for (const { name, hash } of pages) {
        const spent = await measure(browser, folder, `${served.url}/${hash}`, Number(values.seconds));
        console.log(`${name.padEnd(16)}${`+${(spent - without).toFixed(3)}`.padStart(10)}`);
    }
    await browser.close();
} finally {
    await served.end();
    rmSync(folder, { recursive: true });
}
process.exit(0);
