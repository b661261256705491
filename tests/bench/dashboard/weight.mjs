// weight.mjs - how many bytes come over the wire for the first view of each page of the dashboard, above a week of
// fill.mjs: encoded, heads of responses among them. README.md says how to use it.
import { parseArgs } from 'node:util';
import { launch, sleep } from './chromium.mjs';
import { makeAsk, pagesOf, prepare, serve } from './week.mjs';

const FIRST_MS = 2500; /* of a page that is loaded: what it asks for then is of its first view */
const LONG_MS = 60_000;
const LOOK_MS = 50;
const BOUND = 70_000;
const SIZE = { width: 1440, height: 900 };
const LEFT_OUT = ['palette', 'wall']; /* of pages that are there */

/** `{ url, bytes }` of all that has come for a page; what is still on its way is waited for, but for what waits itself. */
async function weigh(browser, url) {
    const context = await browser.newContext({ locale: 'en-GB', viewport: SIZE });
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    const asked = new Map();
    await devtools.send('Network.enable');
    devtools.on('Network.requestWillBeSent', ({ requestId, request }) => asked.set(requestId, { url: request.url, bytes: 0, isOver: false }));
    devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => Object.assign(asked.get(requestId) ?? {}, { bytes, isOver: true }));
    devtools.on('Network.loadingFailed', ({ requestId }) => Object.assign(asked.get(requestId) ?? {}, { isOver: true }));
    await page.goto(url, { waitUntil: 'load' });
    await page.locator('main h1').first().waitFor({ timeout: LONG_MS });
    const isLate = ({ url: of, isOver }) => !isOver && !/\/(events|logs)\b/.test(of);
    await sleep(FIRST_MS);
    const first = [...asked.values()];
    for (const until = Date.now() + LONG_MS; first.some(isLate) && Date.now() < until; ) await sleep(LOOK_MS);
    await context.close();
    return first;
}

const kindOf = (url) => /\.(js|css)$/.exec(url)?.[1] ?? (/\/(v2|door)\b/.test(url) ? 'answers' : 'other');
const sum = (list) => list.reduce((all, { bytes }) => all + bytes, 0);

function row(name, list) {
    const by = (kind) => sum(list.filter(({ url }) => kindOf(url) === kind));
    const cells = [sum(list), by('js'), by('css'), by('answers')].map((n) => (n / 1000).toFixed(1));
    const too = sum(list) > BOUND ? '  too much' : '';
    console.log(`${name.padEnd(16)}${[...cells, String(list.length)].map((cell) => cell.padStart(10)).join('')}${too}`);
}

function tellAll(list) {
    for (const { url, bytes } of list.toSorted((a, b) => b.bytes - a.bytes)) console.log(`    ${String(bytes).padStart(8)}  ${url.replace(/^https?:\/\/[^/]+/, '').slice(0, 110)}`);
}

const { values } = parseArgs({
    options: { dir: { type: 'string' }, url: { type: 'string' }, only: { type: 'string' }, list: { type: 'boolean', default: false } },
});
if (!values.dir === !values.url) {
    console.error('usage: weight.mjs (--dir DIRECTORY of fill.mjs | --url http://…) [--only PAGE,…] [--list]');
    process.exit(2);
}
const served = values.url ? { url: values.url, end() {} } : await serve(values.dir);
let isTooMuch = false;
try {
    const only = values.only?.split(',');
    const pages = pagesOf(await prepare(makeAsk(served.url))).filter(({ name }) => (only ? only.includes(name) : !LEFT_OUT.includes(name)));
    const browser = await launch();
    console.log(`${'kB'.padEnd(16)}${['all', 'js', 'css', 'answers', 'requests'].map((name) => name.padStart(10)).join('')}`);
    for (const { name, hash } of pages) {
        const list = await weigh(browser, `${served.url}/${hash}`);
        row(name, list);
        if (values.list) tellAll(list);
        isTooMuch ||= sum(list) > BOUND;
    }
    await browser.close();
} finally {
    await served.end();
}
process.exit(isTooMuch ? 1 : 0);
