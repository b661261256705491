// shots.mjs - a picture of each page of the dashboard at three widths, light and dark, above a week of fill.mjs.
// README.md says how to use it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch, sleep } from './chromium.mjs';
import { makeAsk, pagesOf, prepare, serve } from './week.mjs';

const SIZES = [
    { width: 1440, height: 900 },
    { width: 1024, height: 768 },
    { width: 390, height: 844 },
];
const COLOURS = '64';
const CALM_MS = 900; /* nothing has come for so long: charts are drawn */
const LOOK_MS = 250;

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
