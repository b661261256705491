// A C function says how far it is: hl_fn_progress is an interim response before the answer.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { compileText, startHost } from './lib/function.mjs';
import { Told } from './lib/progress.mjs';
import { connect } from './lib/raw.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const STREAM = { Accept: 'text/event-stream' };

const SOURCE = `
#include <hookline/function.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int gone;

/* A test has made that file in the directory GATES. */
static bool passed(const char *gate)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", getenv("GATES"), gate);
    return access(path, F_OK) == 0;
}

static void wait_for(struct hl_fn_call *call)
{
    const char *gate = hl_fn_get_text(call, "gate", NULL);
    while (gate && !passed(gate))
        usleep(10000);
}

/* Tells "value", answers what it was told itself. */
static int run(struct hl_fn_call *call)
{
    hl_fn_put_value(call, hl_fn_get(call, "value"));
    int status = hl_fn_progress(call);
    wait_for(call);
    hl_fn_put_integer(call, status);
    return hl_fn_result(call);
}

/* Tells the member "json" as it is, in the middle of writing its result. */
static int text(struct hl_fn_call *call)
{
    hl_fn_open(call, '[');
    int status = hl_fn_progress_json(call, hl_fn_get_text(call, "json", ""));
    hl_fn_put_integer(call, status);
    hl_fn_close(call);
    return hl_fn_result(call);
}

static int fails(struct hl_fn_call *call)
{
    return hl_fn_progress_json(call, hl_fn_get_text(call, "json", ""));
}

/* 0 to 99, and then the end that "how" names. */
static int hundred(struct hl_fn_call *call)
{
    const char *how = hl_fn_get_text(call, "how", "");
    for (int i = 0; i < 100; i++) {
        hl_fn_put_integer(call, i);
        hl_fn_progress(call);
    }
    if (how[0] == 'f')
        return hl_fn_fail(call, 503, "at last");
    if (how[0] == 'r')
        return hl_fn_result_text(call, "done");
    if (how[0] == 'b')
        hl_fn_begin_events(call);
    hl_fn_emit_text(call, "one");
    int status = hl_fn_progress_json(call, "\\"late\\"");
    return status ? status : hl_fn_emit_text(call, "two");
}

static int counts(struct hl_fn_call *call)
{
    const char *gate = hl_fn_get_text(call, "gate", "");
    int64_t count = 0;
    int status = HL_FN_OK;
    while (!passed(gate) && status == HL_FN_OK) {
        hl_fn_put_integer(call, ++count);
        status = hl_fn_progress(call);
    }
    gone += status == HL_FN_GONE;
    hl_fn_put_integer(call, count);
    return hl_fn_result(call);
}

static int tell_gone(struct hl_fn_call *call)
{
    hl_fn_put_integer(call, gone);
    return hl_fn_result(call);
}

static int twice(struct hl_fn_call *call)
{
    for (int i = 0; i < 2; i++) {
        hl_fn_open(call, '[');
        hl_fn_put_value(call, hl_fn_get(call, "me"));
        hl_fn_put_text(call, i ? "ended" : "begun");
        hl_fn_close(call);
        if (hl_fn_progress(call))
            return 1;
        usleep(5000);
    }
    hl_fn_put_value(call, hl_fn_get(call, "me"));
    return hl_fn_result(call);
}

/* The child's exit status is what it was told. */
static int forks(struct hl_fn_call *call)
{
    hl_fn_progress_json(call, "\\"parent\\"");
    pid_t pid = fork();
    if (pid == 0) {
        int status = HL_FN_OK;
        for (int i = 0; i < 100; i++)
            status = hl_fn_progress_json(call, "\\"child\\"");
        _exit(-status);
    }
    int end = 0;
    waitpid(pid, &end, 0);
    hl_fn_put_integer(call, WIFEXITED(end) ? -WEXITSTATUS(end) : 99);
    return hl_fn_result(call);
}

static const struct hl_fn_function functions[] = {{.name = "run", .run = run},
    {.name = "text", .run = text}, {.name = "fails", .run = fails}, {.name = "hundred", .run = hundred},
    {.name = "counts", .run = counts}, {.name = "gone", .run = tell_gone},
    {.name = "twice", .run = twice}, {.name = "forks", .run = forks}, {0}};

HL_FN_MODULE(functions, NULL, NULL);
`;

const OK = 0;
const GONE = -1;
const REFUSED = -2;

async function start(t, env = {}, args = []) {
    const directory = await temporaryDirectory(t);
    const host = await startHost(t, [...args, await compileText(t, SOURCE)], { GATES: directory, ...env });
    return { host, open: (gate) => writeFile(join(directory, gate), '') };
}

test('progress goes out at once, and the answer is what it was', async (t) => {
    const { host, open } = await start(t);
    const value = { step: 3, of: [20, 0.5, null], name: 'ä \u{1f600}\r\nX-Forged: 1\x7f' };
    const told = await Told.call(t, host, 'run', { value, gate: 'first' });
    const line = await told.nextLine();
    assert.deepEqual(JSON.parse(line), value);
    assert.ok(line.includes('"\\u00e4 \\ud83d\\ude00\\r\\nX-Forged: 1\\u007f"'), line);
    await open('first');
    const { told: more, response } = await told.rest();
    assert.deepEqual(more, []);
    assert.equal(response.status, 200);
    assert.equal(response.text, `${OK}`);
    await told.ask('run', { value: 'again', gate: 'first' }); // the connection goes on
    assert.deepEqual((await told.rest()).told, ['again']);
});

test('a client that reads interim responses gets them as events', async (t) => {
    const { host } = await start(t);
    const [informations, text] = await new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port: host.port, path: '/text', method: 'POST', agent: false };
        const seen = [];
        const ask = http.request(options, (response) => {
            let body = '';
            response.setEncoding('utf8').on('data', (piece) => (body += piece));
            response.on('end', () => resolve([seen, body]));
        });
        ask.on('information', ({ statusCode, headers }) => seen.push([statusCode, headers]));
        ask.on('error', reject);
        ask.end(JSON.stringify({ json: '{"a": [1, 2]}' }));
    });
    assert.deepEqual(informations, [[103, { 'x-run-progress': '{"a":[1,2]}' }]]);
    assert.equal(text, `[${OK}]`);
});

test('what is not JSON, or too long, is refused, and says so in the log or the answer', async (t) => {
    const { host } = await start(t);
    const long = (n) => `"${'x'.repeat(n - 2)}"`;
    for (const [json, why] of [
        ['', /not one JSON value/],
        ['{"a":1', /not one JSON value/],
        ['1 2', /not one JSON value/],
        ['NaN', /not one JSON value/],
        ['"\n"', /not one JSON value/],
        [`${'['.repeat(513)}${']'.repeat(513)}`, /deeper than 512/],
        [long(1025), /longer than the 1,024 bytes that progress may have/],
        [`"${'ä'.repeat(171)}"`, /longer than the 1,024 bytes/],
    ]) {
        const told = await Told.call(t, host, 'text', { json });
        const { told: values, response } = await told.rest();
        assert.deepEqual([values, response.text], [[], `[${REFUSED}]`], json);
        await told.ask('fails', { json });
        const failed = (await told.rest()).response;
        assert.equal(failed.status, 500);
        assert.match(JSON.parse(failed.text).detail, /^The function's value was refused: /);
        assert.match(JSON.parse(failed.text).detail, why);
        await until('its log line', () => host.log.some(({ msg, why: said }) => /refused/.test(msg) && why.test(said)));
        told.close();
    }
    for (const [json, line] of [
        [long(1024), long(1024)],
        [`"${'ä'.repeat(170)}"`, `"${'\\u00e4'.repeat(170)}"`],
        [` [\n 1 ,${' '.repeat(2000)}"a  b" ] `, '[1,"a  b"]'],
    ]) {
        const told = await Told.call(t, host, 'text', { json });
        assert.equal(await told.nextLine(), line);
        assert.equal((await told.rest()).response.text, `[${OK}]`);
        told.close();
    }
});

test('a value that still waits goes before the answer, a failure’s and a stream’s too', async (t) => {
    const { host } = await start(t);
    for (const [how, status, text] of [
        ['returns', 200, /^"done"$/],
        ['fails', 503, /"at last"/],
        ['emits', 200, /^data: one\n\ndata: two\n\n$/],
        ['begins', 200, /^data: one\n\ndata: two\n\n$/],
    ]) {
        const told = await Told.call(t, host, 'hundred', { how }, STREAM);
        const { told: values, response } = await told.rest();
        assert.equal(values.at(-1), 99, `${how}: ${values}`);
        assert.ok(values.length <= 2, `${how}: ${values}`);
        assert.equal(response.status, status);
        assert.match(response.text, text);
        told.close();
    }
    const told = await Told.call(t, host, 'hundred', { how: 'emits' }); // an array: its head goes out at the end
    const { told: values, response } = await told.rest();
    assert.equal(values.at(-1), 'late');
    assert.equal(response.text, '["one","two"]');
});

test('a function that tells all the time is heard twice a second, and never waits', async (t) => {
    const { host, open } = await start(t);
    const begin = Date.now();
    const told = await Told.call(t, host, 'counts', { gate: 'end' });
    const values = [];
    while (values.length < 4) values.push(await told.next());
    await open('end');
    const { told: more, response } = await told.rest();
    const elapsed = Date.now() - begin;
    values.push(...more);
    const count = JSON.parse(response.text);
    // One at once and one before the answer, and a third because clocks differ.
    assert.ok(values.length <= 3 + elapsed / 500, `${values.length} in ${elapsed} ms`);
    assert.ok(count > 100 * values.length, `${values} of ${count}`);
    assert.equal(values.at(-1), count, 'the newest one is never lost');
});

test('who reads slowly holds up nothing, and gets the newest value next', async (t) => {
    const path = join(await temporaryDirectory(t), 'functions.sock');
    const { host, open } = await start(t, { HOOKLINE_FUNCTION_CONCURRENCY: '2' }, ['--socket', path]);
    const slow = new Told(await connect(t, { path }, { isLazy: true }));
    await slow.ask('counts', { gate: 'slow' });
    const reader = new Told(await connect(t, { path }));
    await reader.ask('counts', { gate: 'reader' });
    for (let i = 0; i < 4; i++) await reader.next();
    await open('slow');
    assert.equal((await host.call('gone')).text, '0'); // on the thread that was the slow one's
    const { told: values, response } = await slow.rest();
    const count = JSON.parse(response.text);
    assert.equal(values.length, 2, `${values}: one that was not read, and one before the answer`);
    assert.equal(values[1], count);
    assert.ok(count > 1000, `${count}`);
    await open('reader');
    assert.equal((await reader.rest()).response.status, 200);
});

test('callers of HTTP/1.0 get the answer alone', async (t) => {
    const { host } = await start(t);
    for (const [fields, end] of [
        ['', '["one","two"]'],
        ['Accept: text/event-stream\r\n', 'data: one\n\ndata: two\n\n'],
    ]) {
        const client = await connect(t, host);
        await client.send(`POST /hundred HTTP/1.0\r\n${fields}Content-Length: 0\r\n\r\n`);
        const bytes = (await client.reader.rest()).toString();
        assert.match(bytes, /^HTTP\/1\.1 200 OK\r\n/);
        assert.ok(!bytes.includes('X-Run-Progress'), bytes);
        assert.ok(bytes.endsWith(`\r\n\r\n${end}`), bytes);
    }
});

test('a function whose caller has gone is told so', async (t) => {
    const { host } = await start(t);
    const told = await Told.call(t, host, 'counts', { gate: 'never' });
    await told.next();
    told.close();
    assert.equal((await host.call('gone')).text, '1');
});

test('many calls at once get what is theirs', async (t) => {
    const { host } = await start(t, { HOOKLINE_FUNCTION_CONCURRENCY: '16' });
    await Promise.all(
        Array.from({ length: 24 }, async (_, i) => {
            const told = await Told.call(t, host, 'twice', { me: `${i} 0` });
            for (let nth = 0; nth < 20; nth++) {
                const me = `${i} ${nth}`;
                const { told: values, response } = await told.rest();
                assert.equal(JSON.parse(response.text), me);
                assert.deepEqual(values.at(-1), [me, 'ended']);
                assert.ok(values.length <= 2 && values.every(([whose]) => whose === me), JSON.stringify(values));
                if (nth < 19) await told.ask('twice', { me: `${i} ${nth + 1}` });
            }
            told.close();
        }),
    );
});

test('a forked process tells the caller nothing, and is told that nobody listens', async (t) => {
    const { host } = await start(t);
    const told = await Told.call(t, host, 'forks');
    const { told: values, response } = await told.rest();
    assert.equal(response.text, `${GONE}`);
    assert.deepEqual(values, ['parent']);
});
