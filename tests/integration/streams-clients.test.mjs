// Real clients whose connections are cut go on where they were: EventSource, undici, the openai client, plain Python.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EventSource } from 'eventsource';
import OpenAI from 'openai';
import { Stream } from 'openai/streaming';
import { fetch as undiciFetch, request as undiciRequest } from 'undici';
import { test } from './lib/case.mjs';
import { atEnd, withUs } from './lib/cleanup.mjs';
import { EventReader, eventsPath, numbered, parse } from './lib/events.mjs';
import { link } from './lib/link.mjs';
import { DEBIAN } from './lib/python.mjs';
import { RUN } from './lib/stage.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { STORES, events, sharedStreams, streamStage } from './lib/streams.mjs';
import { until } from './lib/until.mjs';

/** An EventSource that keeps what it gets: `got` has each event’s data and id. */
function listen(t, url) {
    const source = new EventSource(url, { fetch: undiciFetch });
    atEnd(t, () => source.close());
    source.got = [];
    source.errors = [];
    source.onmessage = ({ data, lastEventId }) => source.got.push([data, lastEventId]);
    source.onerror = ({ code }) => source.errors.push(code);
    return source;
}

const upTo = (n) => Array.from({ length: n }, (_, i) => [`${i + 1}`, `${i + 1}`]);

for (const [name, env] of Object.entries(STORES))
    test(`an EventSource that is cut again and again goes on by itself, and stops at the end: ${name}`, async (t) => {
        const all = await sharedStreams(t, { env });
        const cable = await link(t, all.sidecar.url);
        const id = await all.begin();
        const inside = await all.script.call();
        await inside.begin();
        const source = listen(t, new URL(eventsPath(id), cable.url).href);
        await inside.send('retry: 30\n\n');
        let n = 0;
        for (let cut = 0; cut < 4; cut++) {
            await inside.send(events(n + 1, n + 3));
            n += 3;
            await until('they are there', () => source.got.length === n);
            await cable.cut();
            await inside.send(events(n + 1, n + 2));
            n += 2;
            await cable.heal();
            await until('those that came meanwhile are there', () => source.got.length === n);
        }
        await inside.end();
        await until('it has stopped', () => source.readyState === source.CLOSED);
        assert.deepEqual(source.got, upTo(n));
        assert.equal(source.errors.at(-1), 204);
    });

test('an EventSource goes on over a kill of hookline, and has all that was sent before it', async (t) => {
    const all = await streamStage(t);
    const id = await all.begin();
    const inside = await all.script.call();
    await inside.begin();
    const source = listen(t, all.sidecar.url + eventsPath(id));
    await inside.send(`retry: 30\n\n${events(1, 5)}`);
    await until('they are there', () => source.got.length === 5);
    await all.sidecar.kill();
    await all.sidecar.start();
    await until('it has stopped', () => source.readyState === source.CLOSED);
    assert.deepEqual(source.got, upTo(5));
});

test('an EventSource that is given a run’s id before the run begins sees all of it, progress and end, too', async (t) => {
    const all = await streamStage(t, { env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_SSE_HEARTBEAT: '20ms' } });
    const first = await all.begin();
    const id = await all.begin();
    const source = listen(t, `${all.sidecar.url}${eventsPath(id)}?progress=true`);
    const told = [];
    for (const type of ['progress', 'run']) source.addEventListener(type, ({ data }) => told.push([type, JSON.parse(data)]));
    await until('it is open', () => source.readyState === source.OPEN);
    const one = await all.script.call();
    assert.equal(one.id, first);
    await one.answer(200);
    const inside = await all.script.call(1);
    await inside.exchange.raw('HTTP/1.1 103 Early Hints\r\nX-Run-Progress: {"step":1}\r\n\r\n');
    await until('it knows of the progress', () => told.length === 1);
    await inside.begin();
    await inside.send(`retry: 30\n\n${events(1, 2)}`);
    await inside.end();
    await until('it has stopped', () => source.readyState === source.CLOSED);
    assert.deepEqual(source.got, upTo(2));
    assert.deepEqual(told, [['progress', { step: 1 }], ['run', { run_id: id, state: 'success', reason: null }]]);
});

test('with undici a call goes on elsewhere: the id of the last event and the run’s are all it takes', async (t) => {
    const all = await sharedStreams(t);
    const call = await Promise.all([
        undiciRequest(all.sidecar.url + RUN, { method: 'POST', body: '{}' }),
        all.script.call().then((inside) => inside.begin()),
    ]).then(([answer]) => answer);
    const [inside] = all.script.calls;
    await inside.send(events(1, 4));
    const reader = new EventReader();
    for await (const piece of call.body) {
        reader.feed(piece.toString('latin1'));
        if (reader.events.length === 4) break; // destroys the body, and with it the connection
    }
    await inside.send(events(5, 6));
    await inside.end();
    const { statusCode, headers, body } = await undiciRequest(all.sidecar.url + eventsPath(call.headers['x-request-id']), {
        headers: { 'last-event-id': reader.lastEventId },
    });
    assert.equal(statusCode, 200);
    assert.match(headers['x-run-state'], /^(running|success)$/);
    reader.feed(await body.text());
    assert.deepEqual(reader.events, parse(numbered(events(1, 6)).text).events);
});

/** A streamed chat completion, as model servers send it. */
const token = (content) =>
    `data: ${JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta: { content }, finish_reason: null }],
    })}\n\n`;
const WORDS = 'To be cut off in the middle of a sentence is no reason to begin it anew'.split(/(?= )/);

/** Its own choice, node-fetch, takes any short chunked answer for broken on Node 18. */
const openai = (base) => new OpenAI({ baseURL: new URL('/v4/p/a', base).href, apiKey: 'none', maxRetries: 0, fetch });

test('the openai client’s streamed completion is cut, and goes on with the same classes', async (t) => {
    const all = await sharedStreams(t);
    const cable = await link(t, all.sidecar.url);
    const asked = openai(cable.url).chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: '?' }] }).withResponse();
    const inside = await all.script.call();
    assert.equal(inside.exchange.path, '/chat/completions');
    await inside.begin();
    const { data: stream, response } = await asked;
    let [text, chunks] = ['', 0];
    const take = async (from) => {
        for await (const chunk of from) {
            text += chunk.choices[0].delta.content;
            chunks++;
        }
    };
    const taking = assert.rejects(take(stream));
    for (const word of WORDS.slice(0, 6)) await inside.send(token(word));
    await until('it has six', () => chunks === 6);
    await cable.cut();
    await taking;
    for (const word of WORDS.slice(6)) await inside.send(token(word));
    await inside.send('data: [DONE]\n\n');
    await inside.end();
    await cable.heal();
    const id = response.headers.get('x-request-id');
    const events = await fetch(new URL(eventsPath(id), cable.url), { headers: { 'Last-Event-ID': String(chunks) } });
    assert.equal(events.status, 200);
    await take(Stream.fromSSEResponse(events, new AbortController()));
    assert.equal(text, WORDS.join(''));
    assert.equal(chunks, WORDS.length);
});

test('the openai client reads a kept stream as it reads any other', async (t) => {
    const all = await streamStage(t, {
        app: async (x) => {
            await x.body();
            await x.send(200, { 'Content-Type': 'text/event-stream' }, `${WORDS.map(token).join('')}data: [DONE]\n\n`);
        },
    });
    const stream = await openai(all.sidecar.url).chat.completions.create({ model: 'm', stream: true, messages: [] });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0].delta.content;
    assert.equal(text, WORDS.join(''));
});

const PYTHON = `
import http.client, json, sys, urllib.request

base, run = sys.argv[1], sys.argv[2]

def events(response):
    """Each event's id and data, by hand."""
    event, data = None, []
    for line in response:
        line = line.decode().rstrip("\\n")
        if line == "":
            if data:
                yield event, "\\n".join(data)
            data = []
        elif line.startswith("id: "):
            event = line[4:]
        elif line.startswith("data: "):
            data.append(line[6:])

got, last = [], None
while True:
    request = urllib.request.Request(base + run, headers={"Last-Event-ID": last} if last else {})
    response = urllib.request.urlopen(request, timeout=30)
    if response.status == 204:
        break
    for n, (last, data) in enumerate(events(response)):
        got.append([data, last])
        print(json.dumps(got[-1]), flush=True)
        if n == 4:  # it leaves in the middle
            break
    response.close()
connection = http.client.HTTPConnection(base.split("//")[1], timeout=30)
connection.request("GET", run + "?last_event_id=2")
print(json.dumps({"state": connection.getresponse().getheader("X-Run-State")}), flush=True)
`;

test('Python’s own library follows a run, leaves it and comes back until there is nothing more', async (t) => {
    const all = await sharedStreams(t);
    const id = await all.begin();
    const inside = await all.script.call();
    await inside.begin();
    const file = join(await temporaryDirectory(t), 'follow.py');
    await writeFile(file, PYTHON);
    const child = withUs(spawn(DEBIAN, [file, all.sidecar.url, eventsPath(id)], { stdio: ['ignore', 'pipe', 'pipe'] }));
    let [said, wrong] = ['', ''];
    child.stdout.on('data', (text) => (said += text));
    child.stderr.on('data', (text) => (wrong += text));
    const closed = once(child, 'close');
    const lines = () => said.split('\n').slice(0, -1).map((line) => JSON.parse(line));
    for (let n = 1; n <= 12; n++) {
        await inside.send(events(n, n));
        await until(`it has ${n}`, () => lines().length === n || wrong);
    }
    await inside.end();
    const [code] = await closed;
    assert.equal(code, 0, wrong);
    assert.deepEqual(lines(), [...upTo(12), { state: 'success' }]);
});
