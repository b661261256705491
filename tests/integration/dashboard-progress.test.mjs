// The dashboard tells how far a run says it is, in its own words, and nothing on the page moves for it.
import assert from 'node:assert/strict';
import { goTo } from './lib/browser.mjs';
import { test } from './lib/case.mjs';
import { asked, box, count, numbers, panel, scene, watch } from './lib/stream_page.mjs';
import { until } from './lib/until.mjs';

for (const [said, words, part] of [
    [0.425, '42 %', 0.425],
    [1, '100 %', 1],
    [{ percent: 7.9, stage: 'reading' }, '7 % {"stage":"reading"}', 0.079],
    [{ step: 3, of: 4, percent: 'x' }, 'step 3 of 4 {"percent":"x"}', 0.75],
    [{ page: 2, of: 8 }, 'page 2 of 8', 0.25],
    [{ page: 9, of: 8 }, '{"page":9,"of":8}', null],
    [{ a: 1, b: 2, of: 3 }, '{"a":1,"b":2,"of":3}', null],
    [42, '42', null],
    [-0.5, '-0.5', null],
    ['half done', '"half done"', null],
    [[1, { x: null }], '[1,{"x":null}]', null],
    [{ '<b>\u202e': '<img src=x onerror=alert(1)>' }, '{"<b>⟨U+202E⟩":"<img src=x onerror=alert(1)>"}', null],
    [false, 'false', null],
]) {
    test(`a run that says ${JSON.stringify(said)} is shown as “${words}”`, async (t) => {
        const { call, open, release } = await scene(t, { isShared: true });
        const ascii = JSON.stringify(said).replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
        const { id } = await call({ told: [JSON.parse(ascii)], hold: true });
        const page = await open('#/now');
        const followed = page.waitForResponse(/\/events\?/);
        await goTo(page, `#/runs/${id}`);
        const row = page.getByRole('group', { name: 'Progress' });
        const check = async () => {
            await until(`${words} is shown`, async () => (await row.innerText()).replace(/\s+/g, ' ') === `Progress ${words}`);
            const bar = row.getByRole('progressbar');
            if (part === null) assert.equal(await bar.count(), 0);
            else assert.ok(Math.abs((await bar.evaluate((e) => e.value)) - part) < 1e-9);
        };
        await check();
        await followed; // what has answered as no stream, and not ended yet, would be a 409
        release();
        await page.locator('.run-head').getByText('success').waitFor();
        await check();
        await page.reload();
        await page.locator('.run-head').getByText('success').waitFor();
        await check();
    });
}

test('what a run says is shown as it says it, by its events or else by the next look', async (t) => {
    const { stream, call, open, said, app, release } = await scene(t, { isShared: true });
    const { id } = await call({ told: [{ percent: 1 }], hold: true });
    const page = await open('#/now');
    const followed = page.waitForResponse(/\/events\?/);
    await goTo(page, `#/runs/${id}`);
    const row = page.getByRole('group', { name: 'Progress' });
    await row.getByText('1 %').waitFor();
    await followed;
    await page.route(/\/runs\/[^/]+$/, () => {}); // no look at the record is answered any more
    await said.send({ percent: 2 });
    await row.getByText('2 %').waitFor();
    await page.unroute(/\/runs\/[^/]+$/);
    release();

    const calling = call({ told: [0.25], stream: true }, { query: {} });
    await until('it is called', () => app.requests.length === 2);
    await goTo(page, `#/runs/${app.requests[1].id}`);
    await row.getByText('25 %').waitFor();
    assert.equal(asked(page).filter((url) => url.includes(app.requests[1].id)).length, 0);
    stream.end();
    await calling;
});

test('nothing moves when a run says how far it is, when events come, and when it ends', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    await watch(page);
    const place = async () => {
        const boxes = [];
        for (const name of ['Timeline', 'Facts', 'Events'])
            boxes.push(await until(`${name} is there`, () => page.getByRole('heading', { name }).boundingBox()));
        return [...boxes, await box(page).boundingBox()];
    };
    const before = await place();
    await page.evaluate(async () => {
        // What the first event has moved is told with the frame that shows it.
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
        const list = document.querySelector('.events').getBoundingClientRect();
        // Its rows go up as newer ones come. Where others go at its top meanwhile, that is told as a shift and not as scrolling.
        const isThere = ({ y, height }) => height > 0 && y + height / 2 > list.top && y + height / 2 < list.bottom;
        const isRow = ({ previousRect, currentRect }) => isThere(previousRect) || isThere(currentRect);
        const nameOf = ({ node }) => node?.className || node?.textContent || node?.nodeName || 'something that is gone';
        globalThis.moved = [];
        new PerformanceObserver((shifts) =>
            shifts.getEntries().forEach(({ sources }) => moved.push(...sources.filter((one) => !isRow(one)).map(nameOf))),
        ).observe({ type: 'layout-shift' });
    });
    await stream.send(...numbers(2, 1490));
    await panel(page).getByText('1,490 events').waitFor();
    await stream.send(...numbers(1491, 1500));
    await panel(page).getByText('1,500 events').waitFor();
    assert.deepEqual(await place(), before);
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    assert.deepEqual(await place(), before);
    assert.deepEqual(await page.evaluate(() => moved), []);
});
