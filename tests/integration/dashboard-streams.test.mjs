// The dashboard’s view of a run’s event stream: live, followed, taken up again, harmless, bounded; and how far a run says it is.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import {
    assertAccessible,
    assertFits,
    control,
    goTo,
    makeToken,
    openDashboard,
    openTab,
} from './lib/browser.mjs';
import { link } from './lib/link.mjs';
import { stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_WORKERS: '1' };
const LOST = /ERR_|Failed to load|503/; // what a browser says of a connection that is gone

/** A stream that a test writes: the app answers a call with it. */
class Stream {
    #begun = gate();
    #over = gate();
    calls = 0;

    async answer(exchange, { type = 'text/event-stream' } = {}) {
        this.calls++;
        this.exchange = exchange;
        await exchange.respond(200, { 'Content-Type': type, 'Transfer-Encoding': 'chunked' });
        this.#begun.open();
        await this.#over.promise;
        await exchange.lastChunk();
    }

    /** Events: texts become their data. */
    async send(...events) {
        await this.#begun.promise;
        await this.raw(events.map((data) => `data: ${data}\n\n`).join(''));
    }

    async raw(text) {
        await this.#begun.promise;
        await this.exchange.chunk(text);
    }

    end() {
        this.#over.open();
    }

    /** Breaks the call off; the next one is answered anew. */
    cut() {
        this.exchange.reset();
        this.#begun = gate();
        this.#over = gate();
    }
}

/**
 * A stage whose calls are signed in. What the app does is said by the call: `{ stream: true }` is answered by
 * `stream`, `{ events: "…" }` with these bytes, `{ json: … }` with that; `told`: X-Run-Progress values before that; `hold`:
 * not before `release()`.
 */
async function scene(t, options = {}) {
    const stream = new Stream();
    const held = gate();
    const said = { send: null };
    const app = async (exchange) => {
        const wish = JSON.parse((await exchange.body()).toString());
        const tell = (value) =>
            exchange.raw(`HTTP/1.1 103 Early Hints\r\nX-Run-Progress: ${JSON.stringify(value)}\r\n\r\n`);
        for (const value of wish.told ?? []) await tell(value);
        said.send = tell;
        if (wish.hold) await held.promise;
        if (wish.stream) await stream.answer(exchange, wish);
        else if (wish.events) await exchange.send(200, { 'content-type': 'text/event-stream' }, wish.events);
        else if (wish.many) await sendMany(exchange, wish.many);
        else await exchange.json(wish.json ?? {});
    };
    const set = await stage(t, { app, ...options, env: { ...env, ...options.env } });
    const token = await makeToken(set.sidecar, { role: options.role });
    const headers = { authorization: `Bearer ${token}` };
    const call = (wish, { query = { async: 'true' }, ...more } = {}) =>
        set.call('/v4/p/a/run', { query, body: JSON.stringify(wish), headers: { ...headers, ...more } });
    const record = async (id) =>
        (await control(set.sidecar, 'GET', `/v2/projects/p/runs/${id}`)).json;
    const ended = (id) =>
        until(`run ${id} has ended`, async () => (await record(id)).finished_at && record(id));
    const open = (hash, more) => openDashboard(t, set.sidecar, { token, hash, ...more });
    return { ...set, stream, token, call, record, ended, open, said, release: held.open };
}

/** So many events of about 60 bytes, as fast as they are taken. */
async function sendMany(exchange, count) {
    await exchange.respond(200, {
        'Content-Type': 'text/event-stream',
        'Transfer-Encoding': 'chunked',
    });
    for (let i = 1; i <= count; ) {
        let text = '';
        for (let n = 0; n < 1000 && i <= count; n++, i++)
            text += `data: {"number":${i},"text":"the quick brown fox jumps"}\n\n`;
        await exchange.chunk(text);
    }
    await exchange.lastChunk();
}

const panel = (page) => page.getByRole('region', { name: 'Events' });
const box = (page) => page.locator('.events');
const rows = (page) => page.locator('.events li');
const texts = (page) => rows(page).locator('.event-data').allInnerTexts();
const asked = (page) => page.seen.urls.filter((url) => url.includes('/events?'));
const isAtEnd = (page) =>
    box(page).evaluate((e) => e.scrollHeight - e.clientHeight - e.scrollTop < 8);
const count = (page, n) =>
    until(`${n} events are shown`, async () => (await rows(page).count()) === n);
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => `event ${from + i}`);

/** A tab hidden, or in sight again. */
const see = (page, isHidden) =>
    page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);

test('events are shown as they come, with id, type, data and arrival, and how the stream stands', async (t) => {
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open('#/now');
    const headers = page.waitForRequest(/\/events\?/).then((request) => request.allHeaders());
    await goTo(page, `#/runs/${id}`);
    await stream.send('one');
    await panel(page).getByText('live').waitFor();
    await count(page, 1);
    await stream.raw('event: token\nid: of-the-app\ndata: two\ndata: lines\n\n: a comment\n\ndata\n\n');
    await count(page, 3);
    assert.deepEqual(await rows(page).locator('.event-id').allInnerTexts(), ['1', 'of-the-app', '3']);
    assert.deepEqual(await texts(page), ['one', 'token\ntwo\nlines', 'no data']);
    assert.deepEqual(await rows(page).locator('.chip').allInnerTexts(), ['token']);
    const arrived = await rows(page).nth(1).locator('time').getAttribute('datetime');
    assert.ok(Math.abs(Date.parse(arrived) - Date.now()) < 20_000, arrived);
    assert.match(await panel(page).innerText(), /3 events/);
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    await page.locator('.run-head').getByText('success').waitFor();
    await page.getByText('Its events are above').waitFor();
    assert.equal(await rows(page).count(), 3);
    assert.match((await headers).authorization, /^Bearer eyJ/);
    assert.equal(asked(page).length, 1);
});

for (const [keep, isShown] of [
    ['true', true],
    ['false', false],
]) {
    test(`a synchronous stream with X-Run-Keep: ${keep} is ${isShown ? 'shown' : 'not asked for'}`, async (t) => {
        const { stream, call, open, app, ended } = await scene(t);
        const calling = call({ stream: true }, { query: {}, 'x-run-keep': keep });
        await stream.send('one');
        const id = app.requests[0].id;
        const page = await open(`#/runs/${id}`);
        await page.locator('.run-head').getByText('stream').waitFor();
        if (isShown) await panel(page).getByText('1 event').waitFor();
        stream.end();
        await calling;
        await ended(id);
        await page.locator('.run-head').getByText('success').waitFor();
        if (isShown) await panel(page).getByText('ended: success').waitFor();
        else assert.equal(await panel(page).count(), 0);
        await page.reload();
        await page.locator('.run-head').getByText('success').waitFor();
        if (isShown) await panel(page).getByText('ended: success').waitFor();
        else await page.getByText('It went to the caller').waitFor();
        assert.equal(asked(page).length, isShown ? 2 : 0);
    });
}

test('the list goes with the newest event until the reader scrolls up, then stands still until it is followed again', async (t) => {
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send(...numbers(1, 100));
    await count(page, 100);
    assert.ok(await isAtEnd(page));
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
    await page.keyboard.press('Home');
    await again.waitFor();
    await stream.send('the last');
    await page.getByRole('button', { name: 'Follow: 1 newer event' }).waitFor();
    await page.keyboard.press('End'); // while Home still glides
    assert.equal((await texts(page)).at(-1), 'the last', 'at once');
    await until('its end is seen', () => isAtEnd(page));
    stream.end();
});

test('a lost connection is said, and taken up behind the last event', async (t) => {
    const { stream, call, sidecar, token } = await scene(t);
    const cable = await link(t, sidecar.adminUrl);
    const { id } = await call({ stream: true });
    const page = await openTab(t, sidecar, { origin: new URL(cable.url).origin, complaints: LOST });
    await page.goto(`${cable.url}#token=${token}`);
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await goTo(page, `#/runs/${id}`);
    await stream.send(...numbers(1, 3));
    await count(page, 3);
    await cable.cut();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await stream.send(...numbers(4, 6));
    const next = page.waitForRequest(async (r) => /\/events\?/.test(r.url()) && (await r.response()));
    await cable.heal();
    assert.equal((await (await next).allHeaders())['last-event-id'], '3');
    await count(page, 6);
    await panel(page).getByText('live').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 6));

    await cable.cut();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await stream.send('event 7');
    stream.end();
    await cable.heal();
    await panel(page).getByText('ended: success').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 7));
});

test('after hookline has been killed and started again the events go on behind the last one', async (t) => {
    const { stream, call, open, sidecar } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`, { complaints: LOST });
    await stream.send(...numbers(1, 3));
    await count(page, 3);
    await sidecar.kill();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await sidecar.start();
    await panel(page).getByText('ended: failure').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 3));
    await page.locator('.run-head').getByText('interrupted').waitFor();
    await page.reload();
    await panel(page).getByText('ended: failure').waitFor();
    assert.deepEqual(await texts(page), numbers(1, 3));
});

test('a further attempt begins the stream anew, and the list says where', async (t) => {
    const { stream, call, open } = await scene(t, {
        env: {
            HOOKLINE_RUN_ATTEMPTS: '2',
            HOOKLINE_RUN_RETRY_ON: 'reset',
            HOOKLINE_RUN_RETRY_DELAY: '100ms',
        },
    });
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send(...numbers(1, 2));
    await count(page, 2);
    stream.cut();
    await stream.send('anew');
    await box(page).getByText('anew', { exact: true }).waitFor();
    assert.equal(await rows(page).nth(2).innerText(), 'The app is called again: the stream begins anew');
    assert.match(await rows(page).nth(3).innerText(), /^3\b/, 'no id is used twice');
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    assert.match(await panel(page).innerText(), /3 events/);
});

test('ids that no field can carry, and ids that nobody knows any more, lose no event', async (t) => {
    const { stream, call, sidecar, token } = await scene(t);
    const cable = await link(t, sidecar.adminUrl);
    const { id } = await call({ stream: true });
    const page = await openTab(t, sidecar, {
        origin: new URL(cable.url).origin,
        complaints: /ERR_|Failed to load/,
    });
    await page.goto(`${cable.url}#token=${token}`);
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await goTo(page, `#/runs/${id}`);
    let shown = 0;
    for (const odd of [' \u00fc+&=\u0001\u202e% ', 'x'.repeat(1500), 'plain']) {
        await stream.raw(`id: ${odd}\ndata: ${shown}\n\n`);
        await count(page, ++shown);
        await cable.cut();
        await panel(page).getByText('connection lost: reconnecting').waitFor();
        await cable.heal();
        await panel(page).getByText('live').waitFor();
        await stream.send(String(shown));
        await count(page, ++shown);
        assert.deepEqual(await texts(page), numbers(0, shown - 1).map((text) => text.slice(6)));
    }
    assert.doesNotMatch(await page.locator('html').innerHTML(), /\u202e|\u0001/);
    stream.end();
});

test('an event stream is read by the rules, however it is cut', async (t) => {
    const { sidecar, token } = await scene(t);
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
    const { stream, call, open, ended, release } = await scene(t);
    const { id } = await call({ json: { a: 1 }, hold: true });
    const page = await open(`#/runs/${id}`, { complaints: /409/ });
    await until('they are asked for', () => asked(page).length === 1);
    await page.locator('.run-head').getByText('running').waitFor();
    assert.equal(await panel(page).count(), 0);
    release();
    await page.locator('pre.result').waitFor();
    assert.equal(await panel(page).count(), 0);
    assert.equal(asked(page).length, 1);

    const { id: other } = await call({ stream: true, type: 'text/plain' });
    await stream.raw('the beginning of a text');
    const refused = page.waitForResponse((response) => response.status() === 409);
    await goTo(page, `#/runs/${other}`);
    await refused;
    assert.equal(await panel(page).count(), 0);
    stream.end();
    await ended(other);
    await page.locator('pre.result').waitFor();
    assert.equal(await panel(page).count(), 0);
    await page.reload();
    await page.locator('pre.result').waitFor();
    assert.equal(asked(page).length, 2, 'it is known that there are none');
});

test('what has ended shows its events the same way, without an arrival', async (t) => {
    const { call, open, ended } = await scene(t);
    const { id } = await call({ events: numbers(1, 40).map((text) => `event: x\ndata: ${text}\n\n`).join('') });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await panel(page).getByText('ended: success').waitFor();
    await count(page, 40);
    assert.ok(await isAtEnd(page));
    assert.equal(await rows(page).locator('time').count(), 0);
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
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.raw(`event: ${hostile}\nid: ${hostile}\ndata: ${hostile}\n\n`);
    await stream.raw(`data: ${hostile.repeat(20)}\n\n`);
    await stream.raw(`event: progress\ndata: {"percent":99}\n\nevent: run\ndata: not what it seems\n\n`);
    await stream.raw('data: \u00e9'.slice(0, -1));
    await stream.exchange.chunk(Buffer.from([0xff, 0xc3]));
    await stream.raw('\n\n');
    await count(page, 5);
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

test('100,000 events: the page shows the last 1,000 and stays awake', { limit: 180_000 }, async (t) => {
    const { call, open, ended } = await scene(t);
    const { id } = await call({ many: 100_000 });
    await ended(id);
    const page = await open('#/now');
    await page.evaluate(() => {
        globalThis.longest = 0;
        let last = performance.now();
        const look = () => {
            globalThis.longest = Math.max(globalThis.longest, performance.now() - last);
            last = performance.now();
            setTimeout(look, 5);
        };
        look();
    });
    await page.evaluate((to) => (location.hash = to), `#/runs/${id}`);
    await panel(page).getByText('100,000 events, the first 99,000 not shown').waitFor({ timeout: 90_000 });
    await panel(page).getByText('ended: success').waitFor();
    assert.equal(await rows(page).count(), 1000);
    assert.match((await texts(page)).at(-1), /"number":100000,/);
    assert.ok(await isAtEnd(page));
    const longest = await page.evaluate(() => globalThis.longest);
    t.diagnostic(`at most ${Math.round(longest)} ms without a turn`);
    assert.ok(longest < 1500, `${longest} ms without a turn`);
});

test('long data is folded, and of what is too long the beginning is held', async (t) => {
    const { call, open, ended } = await scene(t);
    const text = `${'0123456789'.repeat(100_000)}`;
    const lines = Array.from({ length: 20 }, (_, i) => `data: line ${i}\n`).join('');
    const { id } = await call({ events: `data: short\n\ndata: ${text}\n\n${lines}\ndata: after\n\n` });
    await ended(id);
    const page = await open(`#/runs/${id}`);
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
    const { call, open, ended } = await scene(t);
    const { id } = await call({ events: `data: ${'x'.repeat(50_000)}\n\n`.repeat(40) });
    await ended(id);
    const page = await open(`#/runs/${id}`);
    await panel(page).getByText('ended: success').waitFor();
    await panel(page).getByText('40 events, the first 20 not shown').waitFor();
});

test('events that are not kept any more, and too many followers, are told in words', async (t) => {
    const { stream, call, open, sidecar, token } = await scene(t, {
        env: { HOOKLINE_MAX_KEPT_RESPONSE: '4096', HOOKLINE_MAX_FOLLOWERS: '1' },
    });
    const { id } = await call({ stream: true });
    await stream.send('one');
    const other = new AbortController();
    const mine = await fetch(`${sidecar.adminUrl}/v2/projects/p/runs/${id}/events`, {
        headers: { authorization: `Bearer ${token}` },
        signal: other.signal,
    });
    assert.equal(mine.status, 200);
    const page = await open(`#/runs/${id}`, { complaints: /429|410|ERR_/ });
    await panel(page).getByText('too many follow').waitFor();
    await panel(page).getByText(/HOOKLINE_MAX_FOLLOWERS .*It is tried again/).waitFor();
    other.abort();
    await panel(page).getByText('live').waitFor();
    assert.equal(await panel(page).getByText('It is tried again').count(), 0);
    await count(page, 1);
    await stream.send('x'.repeat(5000));
    await panel(page).getByText('not kept', { exact: true }).waitFor();
    await panel(page).getByText(/not kept any more, or were more than is kept/).waitFor();
    stream.end();
});

test('a tab that nobody sees does not follow, and goes on when it is seen', async (t) => {
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    const gone = page.waitForEvent('requestfailed', (r) => r.url().includes('/events?'));
    await see(page, true);
    await gone;
    await stream.send('event 2');
    await see(page, false);
    await count(page, 2);
    assert.equal(asked(page).length, 2);
    await panel(page).getByText('live').waitFor();
    assert.match(await page.getByRole('status').textContent(), /^Run /, 'nobody is told of it');
    await see(page, true);
    await see(page, false);
    await stream.send('event 3');
    await count(page, 3);
    assert.deepEqual(await texts(page), numbers(1, 3));
    stream.end();
});

test('leaving the page, or signing out, ends the following', async (t) => {
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    const leave = async (act) => {
        await count(page, 1);
        const gone = page.waitForEvent('requestfailed', (r) => r.url().includes('/events?'));
        await act();
        await gone;
    };
    await leave(() => goTo(page, '#/now'));
    await goTo(page, `#/runs/${id}`);
    await leave(() => page.getByRole('button', { name: 'Sign out' }).click());
    await page.getByLabel('Service account token').waitFor();
    assert.equal(asked(page).length, 2);
    stream.end();
});

test('a token that is revoked meanwhile ends it', async (t) => {
    const { stream, call, open, sidecar } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`, { complaints: /401|ERR_INCOMPLETE_CHUNKED_ENCODING/ });
    await stream.send('event 1');
    await count(page, 1);
    const gone = page.waitForEvent('requestfailed', (r) => r.url().includes('/events?'));
    const { json } = await control(sidecar, 'GET', '/v2/projects/p/service-accounts');
    await control(sidecar, 'DELETE', `/v2/projects/p/service-accounts/${json.service_accounts[0].id}`);
    await page.getByRole('alert').getByText('This token is not taken').waitFor();
    await gone;
    assert.equal(await panel(page).count(), 0);
    stream.end();
});

test('the role invoke follows what it called', async (t) => {
    const { stream, call, open } = await scene(t, { role: 'invoke' });
    const { id } = await call({ stream: true, told: [{ percent: 5 }] });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    await page.locator('.progress').getByText('5 %').waitFor();
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
});

test('whoever hears the page is told how the stream stands, not each event', async (t) => {
    const { stream, call, sidecar, token } = await scene(t);
    const cable = await link(t, sidecar.adminUrl);
    const { id } = await call({ stream: true });
    const page = await openTab(t, sidecar, { origin: new URL(cable.url).origin, complaints: LOST });
    await page.goto(`${cable.url}#token=${token}`);
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await goTo(page, `#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
    await page.getByRole('status').getByText(/^Run /).waitFor({ state: 'attached' });
    await page.evaluate(() => {
        globalThis.heard = [];
        new MutationObserver((all) => all.forEach((one) => one.target.textContent && heard.push(one.target.textContent)))
            .observe(document.getElementById('status'), { childList: true });
    });
    await stream.send(...numbers(2, 20));
    await count(page, 20);
    await cable.cut();
    await panel(page).getByText('connection lost: reconnecting').waitFor();
    await cable.heal();
    await panel(page).getByText('live').waitFor();
    stream.end();
    await panel(page).getByText('ended: success').waitFor();
    await page.getByRole('status').getByText('The run is success').waitFor({ state: 'attached' });
    assert.deepEqual(await page.evaluate(() => globalThis.heard), [
        'The connection to the events is lost',
        'The events go on',
        'The run is success',
    ]);
    const aloud = '[aria-live], [role=log], [role=status], [role=alert]';
    assert.equal(await panel(page).locator(aloud).count(), 0);
});

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
        const { call, open, release } = await scene(t);
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
    const { stream, call, open, said, app, release } = await scene(t);
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
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send('event 1');
    await count(page, 1);
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

for (const colorScheme of ['light', 'dark']) {
    for (const [width, height] of [
        [1440, 900],
        [360, 740],
    ]) {
        test(
            `a run’s events have no fault for assistive technology, ${colorScheme}, ${width} px`,
            { limit: 120_000 },
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
    const { stream, call, open } = await scene(t);
    const { id } = await call({ stream: true });
    const page = await open(`#/runs/${id}`);
    await stream.send(...numbers(1, 100), 'x'.repeat(1000));
    await count(page, 101);
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
