// The dashboard’s view of a run’s event stream: as it comes and afterwards, read by the rules, harmless, bounded, for everybody.
import assert from 'node:assert/strict';
import { assertAccessible, assertFits, goTo, hurry, openDashboard, pane } from './lib/browser.mjs';
import { test } from './lib/case.mjs';
import { LOST, asked, box, count, isAtEnd, numbers, panel, rows, scene, texts, watch } from './lib/stream_page.mjs';
import { until } from './lib/until.mjs';

/** What the page may take its clock and hookline's to be apart, ms: as long as an answer was under way. */
const CLOCKS = 20_000;

test('events are shown as they come, with id, type, data and arrival, and how the stream stands', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open('#/now');
    const headers = page.waitForRequest(/\/events\?/).then((request) => request.allHeaders());
    await goTo(page, `#/runs/${id}`);
    const began = Date.now();
    await stream.send('one');
    await watch(page);
    await panel(page).getByText('live').waitFor();
    await count(page, 1);
    await stream.raw('event: token\nid: of-the-app\ndata: two\ndata: lines\n\n: a comment\n\ndata\n\n');
    await count(page, 3);
    assert.deepEqual(await rows(page).locator('.event-id').allInnerTexts(), ['1', 'of-the-app', '3']);
    assert.deepEqual(await texts(page), ['one', 'token\ntwo\nlines', 'no data']);
    assert.deepEqual(await rows(page).locator('.chip').allInnerTexts(), ['token']);
    const arrived = await rows(page).nth(1).locator('time').getAttribute('datetime');
    const [from, to] = [began - CLOCKS, Date.now() + CLOCKS];
    assert.ok(from < Date.parse(arrived) && Date.parse(arrived) < to, arrived);
    assert.match(await panel(page).innerText(), /3 events/);
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    await page.locator('.run-head').getByText('success').waitFor();
    await (await pane(page, 'Output')).getByText('Its events have a tab of their own').waitFor();
    await watch(page);
    assert.equal(await rows(page).count(), 3);
    assert.match((await headers).authorization, /^Bearer eyJ/);
    assert.equal(asked(page).length, 1);
});

for (const [keep, isShown] of [
    ['true', true],
    ['false', false],
]) {
    test(`a synchronous stream with X-Run-Keep: ${keep} is ${isShown ? 'shown' : 'not asked for'}`, async (t) => {
        const { stream, call, open, app, ended } = await scene(t, { isShared: true });
        const calling = call({ stream: true }, { query: {}, 'x-run-keep': keep });
        await stream.send('one');
        const id = app.requests[0].id;
        const page = await open(`#/runs/${id}`);
        await page.locator('.run-head').getByText('stream').waitFor();
        if (isShown) await watch(page);
        if (isShown) await panel(page).getByText('1 event').waitFor();
        stream.end();
        await calling;
        await ended(id);
        await page.locator('.run-head').getByText('success').waitFor();
        if (isShown) await panel(page).getByText('ended: success').waitFor();
        else assert.equal(await page.getByRole('tab', { name: /^Events/ }).count(), 0);
        await page.reload();
        await page.locator('.run-head').getByText('success').waitFor();
        if (isShown) await watch(page);
        if (isShown) await panel(page).getByText('ended: success').waitFor();
        else await (await pane(page, 'Output')).getByText('It went to the caller').waitFor();
        assert.equal(asked(page).length, isShown ? 2 : 0);
    });
}

test('the list goes with the newest event until the reader scrolls up, then stands still until it is followed again', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send(...numbers(1, 100));
    await count(page, 100);
    await watch(page);
    await until('its end is seen', () => isAtEnd(page));
    await stream.send(...numbers(101, 200));
    await count(page, 200);
    assert.ok(await isAtEnd(page));
    const again = page.getByRole('button', { name: /^Follow/ });
    assert.equal(await again.count(), 0);

    await box(page).hover();
    await page.mouse.wheel(0, -600);
    await again.waitFor();
    const at = await box(page).evaluate((e) => e.scrollTop);
    await stream.send(...numbers(201, 1500));
    await page.getByRole('button', { name: 'Follow: 1,300 newer events' }).waitFor();
    assert.equal(await box(page).evaluate((e) => e.scrollTop), at, 'nothing moves');
    assert.equal(await rows(page).count(), 200);
    await again.click();
    await count(page, 1000);
    assert.ok(await isAtEnd(page));
    assert.equal((await texts(page)).at(-1), 'event 1500');
    assert.equal((await texts(page))[0], 'event 501');
    await panel(page).getByText('1,500 events, the first 500 not shown').waitFor();
    await again.waitFor({ state: 'hidden' });

    await box(page).focus();
    // For a moment after Follow the list keeps to its end, whatever glides to an end then.
    await until('it stands', async () => (await page.keyboard.press('Home'), again.isVisible()));
    await stream.send('the last');
    await page.getByRole('button', { name: 'Follow: 1 newer event' }).waitFor();
    await page.keyboard.press('End'); // while Home still glides
    assert.equal((await texts(page)).at(-1), 'the last', 'at once');
    await until('its end is seen', () => isAtEnd(page));
    stream.end();
});

test('an event stream is read by the rules, however it is cut', async (t) => {
    const { sidecar, token } = await scene(t, { isShared: true });
    const page = await openDashboard(t, sidecar, { token, hash: '#/now' });
    const main = page.seen.urls.find((url) => url.endsWith('/main.js'));
    const read = (text, most = 100) =>
        page.evaluate(
            async ([url, whole, limit]) => {
                const { eventParser } = await import(url);
                const results = new Set();
                for (let step = 1; step <= whole.length; step++) {
                    const got = [];
                    const parser = eventParser(limit, {
                        event: ({ id, hasId, type, data, size }) => got.push([id, hasId, type, data, size]),
                        retry: (ms) => got.push(ms),
                    });
                    parser.feed('');
                    for (let at = 0; at < whole.length; at += step) parser.feed(whole.slice(at, at + step));
                    results.add(JSON.stringify(got));
                }
                return [...results].map((result) => JSON.parse(result));
            },
            [main.replace('main.js', 'event_stream.js'), text, most],
        );
    for (const [text, ...events] of [
        ['data: a\n\n', ['', false, 'message', 'a', 1]],
        ['data:a\r\rdata:  b\r\n\r\n', ['', false, 'message', 'a', 1], ['', false, 'message', ' b', 2]],
        ['data\n\ndata\ndata\n\ndata:\n', ['', false, 'message', '', 0], ['', false, 'message', '\n', 1]],
        ['data: a\r\ndata: b\ndata: c\r\r\n', ['', false, 'message', 'a\nb\nc', 5]],
        [': data: a\n\nfield: x\nDATA: b\ndatax: c\n\n'],
        ['event: x\n\ndata: a\n\n', ['', false, 'message', 'a', 1]],
        ['event: x\nevent: y\ndata: a\n\n', ['', false, 'y', 'a', 1]],
        ['id: 1\n\ndata: a\n\nid\ndata: b\n\n', ['1', false, 'message', 'a', 1], ['', true, 'message', 'b', 1]],
        ['id: 1\nid: a\0b\ndata: a\n\n', ['1', true, 'message', 'a', 1]],
        ['retry: 20\nretry: 2x\nretry:\nretry: -1\n\n', 20],
        ['data: {"a":"b: c"}\n\n', ['', false, 'message', '{"a":"b: c"}', 12]],
        ['data: a\n\ndata: unfinished\n', ['', false, 'message', 'a', 1]],
        ['\n\r\r\n\ndata: a\n\n', ['', false, 'message', 'a', 1]],
    ])
        assert.deepEqual(await read(text), [events], JSON.stringify(text));
    const long = `data: ${'x'.repeat(40)}\ndata: ${'y'.repeat(40)}\n\ndata: z\n\n`;
    assert.deepEqual(await read(long, 50), [
        [
            ['', false, 'message', `${'x'.repeat(40)}\n${'y'.repeat(9)}`, 81],
            ['', false, 'message', 'z', 1],
        ],
    ]);
});

test('a run that is no stream has no panel', async (t) => {
    const { stream, call, open, ended, release } = await scene(t, { isShared: true });
    const { id } = await call({ json: { a: 1 }, hold: true });
    const none = async () => assert.equal(await page.getByRole('tab', { name: /^Events/ }).count(), 0);
    const page = await open(`#/runs/${id}`, { complaints: /409/ });
    await until('they are asked for', () => asked(page).length === 1);
    await page.locator('.run-head').getByText('running').waitFor();
    await none();
    release();
    await (await pane(page, 'Output')).locator('pre.result').waitFor();
    await none();
    assert.equal(asked(page).length, 1);

    const { id: other } = await call({ stream: true, type: 'text/plain' });
    await stream.raw('the beginning of a text');
    const refused = page.waitForResponse((response) => response.status() === 409);
    await goTo(page, `#/runs/${other}`);
    await refused;
    await none();
    stream.end();
    await ended(other);
    await (await pane(page, 'Output')).locator('pre.result').waitFor();
    await none();
    await page.reload();
    await (await pane(page, 'Output')).locator('pre.result').waitFor();
    assert.equal(asked(page).length, 2, 'it is known that there are none');
});

test('what has ended shows its events the same way, without an arrival', async (t) => {
    const { call, open, ended } = await scene(t, { isShared: true });
    const { id } = await call({ events: numbers(1, 40).map((text) => `event: x\ndata: ${text}\n\n`).join('') });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await watch(page);
    await panel(page).getByText('ended: success').waitFor();
    await count(page, 40);
    await until('its end is seen', () => isAtEnd(page));
    assert.equal(await rows(page).locator('time').count(), 0);
    await pane(page, 'Output');
    assert.equal(await page.locator('pre.result').count(), 0);
    const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: /^Download/ }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${id}.txt`);
});

const hostile =
    '</pre><script>globalThis.hit = 1; alert(1)</script><img src=x onerror="globalThis.hit = 1">' +
    '\u001b[2J\u001b]0;owned\u0007\u202etxt.exe\u2066 javascript:alert(1)';

test('events full of scripts and escapes are text and do nothing', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.raw(`event: ${hostile}\nid: ${hostile}\ndata: ${hostile}\n\n`);
    await stream.raw(`data: ${hostile.repeat(20)}\n\n`);
    await stream.raw(`event: progress\ndata: {"percent":99}\n\nevent: run\ndata: not what it seems\n\n`);
    await stream.raw('data: \u00e9'.slice(0, -1));
    await stream.exchange.chunk(Buffer.from([0xff, 0xc3]));
    await stream.raw('\n\n');
    await count(page, 5);
    await watch(page);
    await rows(page).nth(1).locator('summary').click();
    await rows(page).nth(1).locator('pre').waitFor();
    assert.ok((await texts(page))[0].includes('<script>globalThis.hit = 1; alert(1)</script>'));
    assert.match((await texts(page))[4], /^\ufffd+$/);
    assert.equal(await page.locator('.events script, .events img').count(), 0);
    assert.equal(await page.evaluate(() => globalThis.hit), undefined);
    assert.doesNotMatch(
        await page.locator('html').innerHTML(),
        /[\u0000-\u0008\u000b-\u001f\u007f\u202e\u2066]/,
        'nothing that a terminal or the text’s direction obeys',
    );
    assert.deepEqual(await rows(page).locator('.chip').allInnerTexts().then((all) => all.slice(1)), ['progress', 'run']);
    assert.equal(await page.locator('.progress').innerText(), '', 'what the app’s events say is no progress');
    await panel(page).getByText('live').waitFor();
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
});

test('100,000 events: the page shows the last 1,000 and stays awake', async (t) => {
    const { call, open, ended } = await scene(t, { isShared: true });
    const { id } = await call({ many: 100_000 });
    await ended(id);
    const page = await open('#/now');
    await hurry(page);
    await page.evaluate(() => {
        globalThis.seen = { readings: 0, turns: new Set(), rows: 0 };
        const reader = ReadableStreamDefaultReader.prototype;
        const { read } = reader;
        const PIECE = 65_536;
        const readAll = async (stream) => {
            const all = [];
            for (;;) {
                const { value, done } = await read.call(stream);
                // in pieces of one size: how many the browser makes of it is by chance
                for (let at = 0; at < (value?.length ?? 0); at += PIECE) all.push({ value: value.subarray(at, at + PIECE), done: false });
                if (done) return [...all, { value, done }];
            }
        };
        reader.read = async function () {
            this.all ??= await readAll(this); // from there on nothing is waited for: the page rests by itself, or not at all
            seen.readings++;
            return this.all.shift();
        };
        const look = () => {
            seen.turns.add(seen.readings);
            seen.rows = Math.max(seen.rows, document.querySelectorAll('.events li').length);
            setTimeout(look);
        };
        look();
    });
    await page.evaluate((to) => (location.hash = to), `#/runs/${id}`);
    await watch(page);
    await panel(page).getByText('100,000 events, the first 99,000 not shown').waitFor({ timeout: 90_000 });
    await panel(page).getByText('ended: success').waitFor();
    assert.equal(await rows(page).count(), 1000);
    assert.match((await texts(page)).at(-1), /"number":100000,/);
    await until('its end is seen', () => isAtEnd(page));
    const { readings, turns, most } = await page.evaluate(() => ({ readings: seen.readings, turns: seen.turns.size, most: seen.rows }));
    assert.ok(readings > 10 && turns > readings / 2, `others had their turn after ${turns} of ${readings} readings`);
    assert.equal(most, 1000, 'it never held more');
});

test('long data is folded, and of what is too long the beginning is held', async (t) => {
    const { call, open, ended } = await scene(t, { isShared: true });
    const text = `${'0123456789'.repeat(100_000)}`;
    const lines = Array.from({ length: 20 }, (_, i) => `data: line ${i}\n`).join('');
    const { id } = await call({ events: `data: short\n\ndata: ${text}\n\n${lines}\ndata: after\n\n` });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await watch(page);
    await panel(page).getByText('ended: success').waitFor();
    await count(page, 4);
    assert.equal(await rows(page).locator('details').count(), 2);
    await rows(page).nth(1).getByText('1,000,000 characters').waitFor();
    await rows(page).nth(1).locator('summary').focus();
    await page.keyboard.press('Enter');
    assert.equal((await rows(page).nth(1).locator('pre').textContent()).length, 65_536);
    await rows(page).nth(1).getByText('934,464 characters more').waitFor();
    await page.getByRole('button', { name: 'Follow' }).waitFor();
    await rows(page).nth(2).locator('summary').click();
    assert.match(await rows(page).nth(2).locator('pre').innerText(), /^line 0\nline 1\n[^]*line 19$/);
    await page.getByRole('button', { name: 'Follow' }).click();
    await until('the end is seen', () => isAtEnd(page));
    assert.equal(await page.evaluate(() => document.activeElement.className), 'events');
});

test('what is held is bounded by its size too', async (t) => {
    const { call, open, ended } = await scene(t, { isShared: true });
    const { id } = await call({ events: `data: ${'x'.repeat(50_000)}\n\n`.repeat(40) });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await watch(page);
    await panel(page).getByText('ended: success').waitFor();
    await panel(page).getByText('40 events, the first 20 not shown').waitFor();
});

for (const colorScheme of ['light', 'dark']) {
    for (const [width, height] of [
        [1440, 900],
        [360, 740],
    ]) {
        test(
            `a run’s events have no fault for assistive technology, ${colorScheme}, ${width} px`,
            async (t) => {
                const { stream, call, open, sidecar } = await scene(t);
                const { id } = await call({
                    stream: true,
                    told: [{ percent: 30, stage: 'x'.repeat(900) }],
                });
                const look = { colorScheme, viewport: { width, height }, complaints: LOST };
                const page = await open(`#/runs/${id}`, look);
                await stream.raw(`id: ${'i'.repeat(80)}\nevent: ${'e'.repeat(300)}\ndata: x\n\n`);
                await stream.send('x'.repeat(400), 'y'.repeat(4000), ...numbers(1, 40), '', 'z'.repeat(900));
                for (let i = 0; i < 25; i++) await stream.send('t'.repeat(50_000));
                await stream.send(...numbers(1, 40), '', 'z'.repeat(900));
                await watch(page);
                await panel(page).getByText(/^112 events, the first \d\d not shown/).waitFor();
                await check(page, 'live');
                await rows(page).last().locator('summary').click();
                await rows(page).last().locator('pre').waitFor();
                await box(page).focus();
                await page.keyboard.press('Home');
                await page.getByRole('button', { name: 'Follow' }).waitFor();
                await check(page, 'read');
                await sidecar.stop();
                await panel(page).getByText('connection lost').waitFor();
                await check(page, 'lost');
                await sidecar.start();
                await panel(page).getByText('ended: failure').waitFor();
                await check(page, 'ended');
            },
        );
    }
}

async function check(page, what) {
    await assertAccessible(page, what);
    await assertFits(page, what);
}

test('the events can be read by keyboard', async (t) => {
    const { stream, call, open } = await scene(t, { isShared: true });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send(...numbers(1, 100), 'x'.repeat(1000));
    await count(page, 101);
    await watch(page);
    const focused = () =>
        page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.className}`);
    const tabTo = async (what) => {
        for (let i = 0; i < 30; i++) {
            await page.keyboard.press('Tab');
            if ((await focused()).startsWith(what)) return;
        }
        assert.fail(`${what} has no place in the order of tabs`);
    };
    await tabTo('DIV events');
    await page.keyboard.press('PageUp'); // glides
    await page.getByRole('button', { name: 'Follow' }).waitFor();
    await tabTo('SUMMARY');
    await page.keyboard.press('Space');
    await rows(page).last().locator('pre').waitFor();
    await tabTo('BUTTON button small');
    await page.keyboard.press('Enter');
    await until('the end is seen', () => isAtEnd(page));
    assert.equal(await focused(), 'DIV events');

    await page.keyboard.press('Tab'); // into the last event, which goes
    assert.match(await focused(), /^SUMMARY/);
    await stream.send(...numbers(1, 1200));
    await panel(page).getByText('the first 301 not shown').waitFor();
    await count(page, 1000);
    await until('the focus stays near by', async () => (await focused()) === 'DIV events');
    stream.end();
});
