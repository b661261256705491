// stream_page.mjs - a run's page in a browser while the test writes the run's event stream: the app, its calls, what the
// page shows of the events.
import { control, makeToken, openDashboard, pane } from './browser.mjs';
import { atEnd } from './cleanup.mjs';
import { shared, stage } from './stage.mjs';
import { gate, until } from './until.mjs';

const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_WORKERS: '1' };
export const LOST = /ERR_|Failed to load|503/; // what a browser says of a connection that is gone

/** A stream that a test writes: the app answers a call with it. */
export class Stream {
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
 * not before `release()`. `isShared`: the sidecar is the file's.
 */
export async function scene(t, options = {}) {
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
    const set = await (options.isShared ? shared : stage)(t, { app, ...options, env: { ...env, ...options.env } });
    atEnd(t, () => (held.open(), stream.end()));
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

/** The events are there once there is one, and are looked at when they are chosen. */
export const watch = (page) => pane(page, 'Events');
export const panel = (page) => page.getByRole('region', { name: 'Events' });
export const box = (page) => page.locator('.events');
export const rows = (page) => page.locator('.events li');
export const texts = (page) => rows(page).locator('.event-data').allInnerTexts();
export const asked = (page) => page.seen.urls.filter((url) => url.includes('/events?'));
export const isAtEnd = (page) =>
    box(page).evaluate((e) => e.scrollHeight - e.clientHeight - e.scrollTop < 8);
export const count = (page, n) =>
    until(`${n} events are shown`, async () => (await rows(page).count()) === n);
export const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => `event ${from + i}`);

/** A tab hidden, or in sight again. */
export const see = (page, isHidden) =>
    page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
