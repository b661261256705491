// tasks.mjs - what somebody on call does, played with mouse and keys in two dashboards: the one before and the one after.
// README.md says how to use it.
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { launch } from './chromium.mjs';

const PROJECT = '/v2/projects/demo';
const CLICK_S = 1.3; /* to point at something and press: Card, Moran and Newell's keystroke-level model */
const KEY_S = 0.2;
const PATIENCE_MS = 20_000;
const KEYS_OF_ADDRESS = 2; /* Ctrl-L, Ctrl-C */

/** One pair of hands: what they do is counted, and how long the page then takes. */
class Hands {
    clicks = 0;
    keys = 0;

    constructor(page) {
        this.page = page;
    }

    async click(where) {
        await where.first().click();
        this.clicks++;
    }

    async press(...names) {
        for (const name of names) await this.page.keyboard.press(name);
        this.keys += names.length;
    }

    async type(text) {
        await this.page.keyboard.type(text);
        this.keys += text.length;
    }

    button(name) {
        return this.page.getByRole('button', { name });
    }

    /** Of the pages at the top. */
    top(name) {
        return this.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: new RegExp(`^${name}`) });
    }

    /** The answer, when it is there. */
    async sees(where) {
        await where.first().waitFor();
    }
}

const row = (page) => page.locator('table.runs tbody tr');

/** `before`, `after`: plays it, or a text: why it cannot be done. Each begins on the first page, unless `from` leads elsewhere. */
function tasksOf({ order, error, app }) {
    const list = async (page, hash) => {
        await page.evaluate((to) => (location.hash = to), hash);
        await row(page).first().waitFor();
    };
    return [
        {
            name: 'Find the run of an order',
            before: 'no: nothing of a run names its order',
            after: async (hands) => {
                await hands.press('Control+k');
                await hands.sees(hands.page.getByRole('combobox'));
                await hands.type(`tag:order=${order}`);
                await hands.press('Enter');
                await hands.sees(row(hands.page));
            },
        },
        {
            name: 'Why did it fail',
            from: (page) => list(page, '#/runs?state=failure&app=checkout'),
            before: async (hands) => {
                await hands.click(row(hands.page));
                await hands.sees(hands.page.locator('.result, pre').filter({ hasText: /payments|paid already/ }));
            },
            after: async (hands) => hands.sees(row(hands.page).first().locator('.went-wrong')),
        },
        {
            name: 'How many like it',
            before: 'no: reasons are counted, not errors',
            after: async (hands) => hands.sees(hands.page.locator('.errors li').filter({ hasText: error }).locator('b.num')),
        },
        {
            name: 'Since when',
            before: 'no: reasons are counted, not errors',
            after: async (hands) => hands.sees(hands.page.locator('.errors li').filter({ hasText: error }).locator('time')),
        },
        {
            name: 'Run them again',
            before: 'one by one: 3 clicks each',
            after: async (hands) => {
                await hands.click(hands.page.locator('.errors li').filter({ hasText: error }).getByRole('link'));
                await hands.click(hands.button('Bulk…'));
                await hands.click(hands.button('Run all again…'));
                await hands.click(hands.page.getByRole('dialog').getByRole('button', { name: /^Run again/ }));
                await hands.sees(hands.page.getByRole('dialog').getByText(/Done|of \d/));
            },
        },
        {
            name: 'Is the receiver down',
            before: async (hands) => {
                await hands.click(hands.top('Destinations'));
                await hands.sees(hands.page.locator('tbody').getByText('failing'));
            },
            after: async (hands) => hands.sees(hands.page.locator('.failing li')),
        },
        {
            name: 'What did we send it',
            before: 'no: what is sent is not shown',
            after: async (hands) => {
                await hands.click(hands.top('Deliveries'));
                await hands.click(hands.page.locator('ul.deliveries a.destination'));
                await hands.sees(hands.page.getByText('What was sent'));
            },
        },
        {
            name: `Stop everything for app ${app}`,
            before: 'one by one: 3 clicks each',
            after: async (hands) => {
                await hands.press('Control+k');
                await hands.sees(hands.page.getByRole('combobox'));
                await hands.type(`app:${app}`);
                await hands.press('Enter');
                await hands.click(hands.button('Bulk…'));
                await hands.click(hands.button('Cancel all…'));
                await hands.sees(hands.page.getByRole('dialog').getByText(/cancel|nothing/i));
                const yes = hands.page.getByRole('dialog').getByRole('button', { name: /^Cancel/ });
                await hands.sees(yes.or(hands.page.getByText('There is nothing to do')));
                if (await yes.count()) await hands.click(yes);
                await hands.sees(hands.page.getByRole('dialog').getByText(/Done|of \d|nothing/));
            },
        },
        {
            name: 'Who is waiting',
            before: async (hands) => {
                await hands.page.getByLabel('State').selectOption('queued');
                hands.clicks += 2;
                await hands.sees(row(hands.page).or(hands.page.getByText('No run matches')));
            },
            after: async (hands) => {
                await hands.press('Control+k');
                await hands.sees(hands.page.getByRole('combobox'));
                await hands.type('queued');
                await hands.press('Enter');
                await hands.sees(row(hands.page).or(hands.page.getByText('No run matches')));
            },
        },
        {
            name: 'What changed at 14:05',
            before: audit,
            after: audit,
        },
        {
            name: 'Show a colleague',
            from: (page) => list(page, '#/runs?state=failure&app=checkout'),
            before: async (hands) => {
                await hands.click(row(hands.page));
                await copyAddress(hands);
            },
            after: async (hands) => {
                await hands.click(row(hands.page));
                await hands.sees(hands.page.getByRole('complementary', { name: 'Run' }).getByRole('heading', { level: 2 }));
                await copyAddress(hands);
            },
        },
        {
            name: 'Watch it on a wall',
            before: 'no: a session ends after an hour, and controls are shown',
            after: async (hands) => {
                await hands.press('Control+k');
                await hands.sees(hands.page.getByRole('combobox'));
                await hands.type('wall');
                await hands.press('Enter');
                await hands.sees(hands.page.locator('body.wall'));
            },
        },
    ];
}

async function audit(hands) {
    await hands.click(hands.top('Audit'));
    await hands.sees(hands.page.locator('tbody tr time'));
}

/** Somebody else who opens it sees the same. */
async function copyAddress(hands) {
    hands.keys += KEYS_OF_ADDRESS;
    const other = await hands.page.context().newPage();
    await other.goto(hands.page.url());
    await other.locator('main h1').waitFor();
    await other.close();
}

async function play(browser, url, task, how) {
    if (typeof how === 'string') return how;
    const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    try {
        await page.goto(`${url}/`);
        await page.locator('main h1').waitFor();
        await task.from?.(page);
        const hands = new Hands(page);
        const began = performance.now();
        await how(hands);
        const seconds = (performance.now() - began) / 1000 + hands.clicks * CLICK_S + hands.keys * KEY_S;
        return `${say(hands.clicks, 'click')}, ${say(hands.keys, 'key')}, ${seconds.toFixed(1)} s`;
    } catch (error) {
        return `FAILED: ${error.message.split('\n').slice(0, 3).join(' ')}`;
    } finally {
        await context.close();
    }
}

const say = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

async function get(url, path) {
    const answer = await fetch(`${url}${PROJECT}${path}`);
    assert.ok(answer.ok, path);
    return answer.json();
}

/** What the tasks are about: the order of a failed run, what many said, an app. */
async function findSubjects(url) {
    const { errors } = await get(url, '/errors');
    const { runs } = await get(url, '/runs?state=failure&app=checkout&limit=50');
    const run = runs.find(({ tags }) => tags.order);
    return { order: run.tags.order, error: errors[0].error, app: 'nightly-import' };
}

const { values } = parseArgs({ options: { before: { type: 'string' }, after: { type: 'string' } } });
if (!values.before || !values.after) {
    console.error('usage: tasks.mjs --before http://… --after http://…    each of fill.mjs --serve --only');
    process.exit(2);
}
const url = { before: values.before.replace(/\/$/, ''), after: values.after.replace(/\/$/, '') };
const browser = await launch();
const subjects = await findSubjects(url.after);
console.log('| task | before | after |\n| --- | --- | --- |');
for (const task of tasksOf(subjects)) {
    const before = await play(browser, url.before, task, task.before);
    const after = await play(browser, url.after, task, task.after);
    console.log(`| ${task.name} | ${before} | ${after} |`);
}
await browser.close();
