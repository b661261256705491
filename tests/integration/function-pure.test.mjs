// The pure Python core in place of the extension module: when it is taken, that it is strict in HTTP, and the tests of Python functions over it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

process.env.HOOKLINE_TEST_FUNCTION_CORE = 'python'; // before lib/python.mjs is read
const { test } = await import('./lib/case.mjs');
const { inRepository, sendHostile } = await import('./lib/function.mjs');
const { DEBIAN, PACKAGE, runPython, startPython } = await import('./lib/python.mjs');
const { connect, request } = await import('./lib/raw.mjs');
const { temporaryDirectory } = await import('./lib/sidecar.mjs');

// HOOKLINE_TEST_ALL_CORES=1: all of them.
const all = ['', '-stream', '-context', '-progress', '-life', '-fork', '-survival', '-hints', '-proxy', '-memory'];
for (const part of process.env.HOOKLINE_TEST_ALL_CORES ? all : ['', '-stream', '-survival']) await import(`./function-python${part}.test.mjs`);
if (process.env.HOOKLINE_TEST_ALL_CORES) await import('./function-log.test.mjs');

const SOURCE = `
def run(text: str = ""):
    return text

def x():
    print("seen")

def hold():
    from hookline_runtime import context
    import time
    print("holds")
    while not context().is_cancelled:
        time.sleep(0.01)
    print("let go")
`;

test('what the proxy refuses of HTTP the pure core refuses as well, and reads what it may', async (t) => {
    const env = { HOOKLINE_FUNCTION_MAX_BODY: '1KiB' };
    const app = await startPython(t, SOURCE, { env });
    await sendHostile(t, app);
    const client = await connect(t, app);
    const chunked = { 'Transfer-Encoding': 'chunked', Expect: '100-continue', 'Content-Type': 'application/json' };
    await client.send(request('POST', '/run', chunked));
    const chunks = '9\r\n{"text":"\r\n4;a="b;"\r\nab"}\r\n0\r\nX: y\r\n\r\n';
    await client.send(`${chunks}${request('GET', '/healthz')}`);
    const echoed = await client.response('POST');
    assert.deepEqual(echoed.interim.map(({ status }) => status), [100]);
    assert.equal(echoed.text, '"ab"');
    assert.equal((await client.response('GET')).text, '{"status":"ok"}', 'what came behind it is the next request');
    const long = await connect(t, app);
    await long.send(request('POST', '/run', { 'Transfer-Encoding': 'chunked' }) + `500\r\n${'x'.repeat(0x500)}\r\n`);
    assert.equal((await long.response('POST')).status, 413);
    const gone = await connect(t, app);
    await gone.send(request('POST', '/hold', {}, '{}'));
    await app.logged(/^holds$/);
    gone.close();
    await app.logged(/^let go$/);
    assert.ok(!app.log.some(({ msg }) => msg === 'seen'));
});

test('a body made to take long is looked at once by the pure core', async (t) => {
    const app = await startPython(t, SOURCE);
    const send = async (body) => (await fetch(`${app.url}/run`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).json();
    const many = 300_000;
    const unending = await send(`${'[]'.repeat(600)}"${'\\"'.repeat(many)}`);
    assert.match(unending.detail, /error at byte 3\.$/);
    const deep = await send(`{"text":"${'\\"['.repeat(many)}",${'"a":['.repeat(600)}`);
    assert.match(deep.detail, /nested deeper than 512 levels/);
    assert.equal(await send(`{"text":"${'\\"['.repeat(many)}"}`), '"['.repeat(many));
});

test('what fails in the pure core’s loop ends neither the loop nor what else is to be done', async (t) => {
    const source = `
from hookline_runtime.pure.loop import Loop, Timer

def run():
    seen = []
    def fail():
        raise ValueError("failed")
    def note():
        seen.append("the next one")
    loop = Loop(seen.append, lambda act, error: seen.append(str(error)))
    Timer(loop, fail).arm(0)
    later = Timer(loop, loop.end)
    later.arm(60)
    later.arm(0.01)
    loop.post(fail)
    loop.post(note)
    loop.run()
    loop.close()
    return seen
`;
    const app = await startPython(t, source);
    assert.deepEqual((await app.call('run', {})).json(), ['failed', 'the next one', 'failed']);
});

test('the core is chosen by HOOKLINE_FUNCTION_CORE, and where the extension cannot be loaded it is said', async (t) => {
    const source = 'def run(): return 1\n';
    const wrong = await runPython(t, source, { env: { HOOKLINE_FUNCTION_CORE: 'rust' } });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^hookline_runtime: HOOKLINE_FUNCTION_CORE is "rust": allowed are auto, c, python\n$/);
    const forced = await startPython(t, source);
    assert.equal((await forced.logged(/pure Python, which is slower/)).level, 'info');

    const PYTHONPATH = await temporaryDirectory(t);
    await cp(join(PACKAGE, 'hookline_runtime'), join(PYTHONPATH, 'hookline_runtime'), { recursive: true });
    await rm(join(PYTHONPATH, 'hookline_runtime/_server.abi3.so'));
    const alone = await startPython(t, source, { env: { PYTHONPATH, HOOKLINE_FUNCTION_CORE: '' } });
    const said = await alone.logged(/pure Python, which is slower/);
    assert.equal(said.level, 'warn');
    assert.match(said.why, /_server/);
    const none = await runPython(t, source, { env: { PYTHONPATH, HOOKLINE_FUNCTION_CORE: 'c' } });
    assert.match(none.stderr, /No module named .*_server/);
    assert.notEqual(none.code, 0);
});

test('without a compiler the package is a wheel for any platform', async (t) => {
    const folder = await temporaryDirectory(t);
    const wheel = ['setup.py', '-q', 'build', '--build-base', join(folder, 'build'), 'egg_info', '--egg-base', folder];
    const env = { PATH: '/nonexistent', PYTHONDONTWRITEBYTECODE: '1' };
    const cwd = inRepository('runtime/python');
    const made = await promisify(execFile)(DEBIAN, [...wheel, 'bdist_wheel', '--dist-dir', folder], { cwd, env });
    assert.match(made.stderr, /without its extension module: in pure Python/);
    const [file] = (await readdir(folder)).filter((name) => name.endsWith('.whl'));
    assert.match(file, /-py3-none-any\.whl$/);
    const app = await startPython(t, 'def run(): return "from the wheel"\n', { env: { PYTHONPATH: join(folder, file) } });
    assert.equal((await app.call('run', {})).json(), 'from the wheel');
});
