// A Python app keeps nothing of its calls: memory and the interpreter's count of references stay where they are.
// HOOKLINE_TEST_FUNCTION_CALLS=100000 makes it long.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { INTERPRETERS, startPython } from './lib/python.mjs';
import { connect, request } from './lib/raw.mjs';
import { isSanitized } from './lib/sanitized.mjs';

const CALLS = Number(process.env.HOOKLINE_TEST_FUNCTION_CALLS ?? 3_000);
const WARM_UP = 1_000;
/** RssAnon may grow by that, whatever the number of calls; a sanitizer keeps what was freed for a while. */
const SLACK = (isSanitized ? 8 : 1) * 1024 * 1024;

const SOURCE = `
import asyncio, gc, re, sys, types
from hookline_runtime import Request, context, progress

def run(text: str, n: int = 1):
    context().headers["host"]
    return {"text": text * n, "id": context().run_id}

async def later(x):
    await asyncio.sleep(0)
    return [x]

def words(n):
    for i in range(n):
        yield i

async def letters(n):
    for i in range(n):
        yield str(i)

def boom():
    raise ValueError("no")

def unfit():
    return {1}

def data(request: Request):
    return request.body

def pair():
    return 201, None

def tells():
    for i in range(3):
        progress({"step": i})
    try:
        progress({1})
    except TypeError:
        return i

def figures():
    gc.collect()
    rss = re.search(r"RssAnon:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
    total = getattr(sys, "gettotalrefcount", None)
    return [int(rss) * 1024, total() if total else 0]
`;

/** Every way through: values, errors, streams, refusals. */
const MIX = [
    ['run', { text: 'x', n: 100 }],
    ['later', { x: 1 }],
    ['words', { n: 3 }],
    ['words', { n: 3 }, 'text/event-stream'],
    ['letters', { n: 3 }],
    ['letters', { n: 3 }, 'text/event-stream'],
    ['boom', {}],
    ['unfit', {}],
    ['data', { x: 'y'.repeat(1000) }],
    ['pair', {}],
    ['tells', {}],
    ['run', { text: 1 }],
    ['run', { surplus: 1 }],
    ['nothing', {}],
];

/** Makes that many calls of the mix, some on each of a few connections. */
async function makeCalls(t, app, count) {
    let left = count;
    const work = async () => {
        const client = await connect(t, app);
        for (; left > 0; ) {
            const [name, members, accept = '*/*'] = MIX[left-- % MIX.length];
            const fields = { 'Content-Type': 'application/json', Accept: accept };
            await client.send(request('POST', `/${name}`, fields, JSON.stringify(members)));
            await client.response('POST');
        }
        client.close();
    };
    await Promise.all(Array.from({ length: 4 }, work));
}

for (const python of INTERPRETERS) {
    test(`${python}: ${CALLS} calls leave memory and references as they were`, { limit: 3_600_000 }, async (t) => {
        const app = await startPython(t, SOURCE, {
            python,
            env: { HOOKLINE_FUNCTION_CONCURRENCY: '2', HOOKLINE_LOG_LEVEL: 'error' },
        });
        const figures = async () => (await app.call('figures', {})).json();
        await makeCalls(t, app, WARM_UP);
        await figures();
        const [memory, references] = await figures();
        await makeCalls(t, app, CALLS);
        await figures();
        const [memoryAfter, referencesAfter] = await figures();
        const grown = memoryAfter - memory;
        const held = referencesAfter - references;
        t.diagnostic(`${CALLS} calls: RssAnon ${memory} -> ${memoryAfter}, references ${references} -> ${referencesAfter}`);
        assert.ok(grown < SLACK, `RssAnon grew by ${grown} bytes`);
        assert.ok(Math.abs(held) < 100, `${held} references more than before`);
    });
}
