// What deploy/streams.md gives to copy, in a real browser: the client that comes back after each break, and EventSource.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { openPage } from './lib/browser.mjs';
import { test } from './lib/case.mjs';
import { SSE, eventsPath } from './lib/events.mjs';
import { link } from './lib/link.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { makeSecret, sign } from './lib/tokens.mjs';
import { gate, until } from './lib/until.mjs';

const EVENTS = 30;
const page = await readFile(new URL('../../deploy/streams.md', import.meta.url), 'utf8');
const [, client] = /^```js\n(.*?)^```$/ms.exec(page);

/** An app whose stream has an event each time `next` is asked for one; `secret`: tokens are asked for. */
async function streaming(t, env) {
    const inside = gate();
    const over = gate();
    const all = await stage(t, {
        env: { HOOKLINE_SSE_HEARTBEAT: '0', ...env },
        app: async (x) => {
            await x.body();
            await x.respond(200, SSE);
            inside.open(x);
            await over.promise;
        },
    });
    let n = 0;
    const next = async () => {
        n++;
        const own = n % 7 === 0 ? `id: own-${n}\r\n` : '';
        await (await inside.promise).chunk(Buffer.from(`event: word\r\n${own}data: ${n}\r\ndata: ünï ${n}\r\n\r\n`));
    };
    const end = async () => {
        await (await inside.promise).lastChunk();
        over.open();
    };
    return { ...all, next, end };
}

const expected = Array.from({ length: EVENTS }, (_, i) => ({
    id: (i + 1) % 7 === 0 ? `own-${i + 1}` : `${i + 1}`,
    type: 'word',
    data: `${i + 1}\nünï ${i + 1}`,
}));

/** What a page has seen, as it calls `seen(event)`. */
async function watching(t) {
    const { page: tab, origin } = await openPage(t);
    const events = [];
    await tab.exposeFunction('seen', (event) => events.push(event));
    return { tab, origin, events };
}

test('the client of the page has every event once, through broken connections, and ends with the run', async (t) => {
    const secret = makeSecret();
    const { tab, origin, events } = await watching(t);
    const { call, sidecar, next, end } = await streaming(t, {
        HOOKLINE_AUTH: 'jwt',
        HOOKLINE_JWT_SECRET: secret,
        HOOKLINE_CORS_ORIGINS: origin,
    });
    const token = await sign(secret);
    const { run_id } = (await call(RUN, { query: { async: 'true' }, headers: { authorization: `Bearer ${token}` } })).json();
    const cable = await link(t, `http://127.0.0.1:${sidecar.port}`);
    const url = new URL(eventsPath(run_id), cable.url).href;
    const followed = tab.evaluate(`${client}; follow(${JSON.stringify(url)}, ${JSON.stringify(token)}, (event) => seen(event))`);
    for (let n = 1; n <= EVENTS; n++) {
        await next();
        await until(`event ${n} is there`, () => events.length === n);
        if (n % 10 !== 0) continue;
        await cable.cut();
        await cable.heal();
    }
    await end();
    await followed;
    assert.deepEqual(events, expected);
});

test('the client of the page reads a stream by any line end, cut anywhere, to its last event', async () => {
    const eventsOf = new Function(`${client}; return eventsOf`)();
    for (const end of ['\n', '\r\n', '\r']) {
        const bytes = new TextEncoder().encode(`data: a${end}id: 1${end}${end}: b${end}${end}data: ü${end}data${end}id: 2${end}${end}`);
        for (let cut = 1; cut < bytes.length; cut++) {
            const body = new Response(bytes.slice(0, cut)).body;
            const whole = new ReadableStream({
                async start(controller) {
                    for await (const piece of body) controller.enqueue(piece);
                    controller.enqueue(bytes.slice(cut));
                    controller.close();
                },
            });
            const got = [];
            for await (const event of eventsOf(whole)) got.push(event);
            assert.deepEqual(got, [
                { id: '1', type: 'message', data: 'a' },
                { id: '2', type: 'message', data: 'ü\n' },
            ], `${JSON.stringify(end)}, cut at ${cut}`);
        }
    }
});

test('the client of the page says why it may not, and does not come back', async (t) => {
    const { tab, origin } = await watching(t);
    const { sidecar } = await streaming(t, { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_SECRET: makeSecret(), HOOKLINE_CORS_ORIGINS: origin });
    const url = new URL(eventsPath('01a201bb-44f6-7100-bb1a-2fd6e5a19812'), `http://127.0.0.1:${sidecar.port}`).href;
    const said = await tab.evaluate(`${client}; follow(${JSON.stringify(url)}, 'x', () => {}).then(() => '', (error) => error.message)`);
    assert.match(said, /not a JWT/);
});

test('an EventSource follows without tokens, comes back by itself and stops at the end', async (t) => {
    const { tab, origin, events } = await watching(t);
    const { call, sidecar, next, end } = await streaming(t, { HOOKLINE_CORS_ORIGINS: origin });
    const { run_id } = (await call(RUN, { query: { async: 'true' } })).json();
    const cable = await link(t, `http://127.0.0.1:${sidecar.port}`);
    const url = new URL(eventsPath(run_id), cable.url).href;
    await tab.evaluate(`globalThis.source = new EventSource(${JSON.stringify(url)});
        source.addEventListener('word', ({ lastEventId, type, data }) => seen({ id: lastEventId, type, data })); null`);
    const state = () => tab.evaluate('source.readyState');
    for (let n = 1; n <= EVENTS; n++) {
        await next();
        await until(`event ${n} is there`, () => events.length === n);
        if (n !== 10) continue;
        await cable.cut();
        await cable.heal();
    }
    await end();
    await until('it is closed', async () => (await state()) === 2);
    assert.deepEqual(events, expected);
});
