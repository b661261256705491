// The Python package without a server: its own tests (tests/python), its annotations, its wheel.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { inRepository } from './lib/function.mjs';
import { DEBIAN, INTERPRETERS, PACKAGE, coreSettings } from './lib/python.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';

const run = promisify(execFile);
const ENV = { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' };

/** Whether Debian's Python has the modules; what is not installed cannot be tried. */
const has = async (...modules) =>
    run(DEBIAN, ['-c', `import ${modules}`]).then(() => true, () => false);

for (const python of INTERPRETERS.filter((path) => !path.endsWith('-dbg'))) {
    test(`the tests of the package pass without a server (${python})`, async () => {
        const args = ['-m', 'unittest', 'discover', '-s', inRepository('tests/python')];
        const env = { ...ENV, PYTHONPATH: PACKAGE, ...coreSettings() };
        const { stderr } = await run(python, args, { env }).catch((error) => error);
        assert.match(stderr, /^Ran [1-9]\d* tests? in .*\n\nOK/m, stderr);
    });
}

test('the annotations hold under mypy --strict', async (t) => {
    if (!(await has('mypy'))) return t.skip('mypy is not installed');
    const args = ['-m', 'mypy', '--strict', '--cache-dir', await temporaryDirectory(t), PACKAGE + '/hookline_runtime'];
    const { stdout } = await run(DEBIAN, args, { env: ENV }).catch((error) => error);
    assert.match(stdout, /^Success: no issues found/, stdout);
});

test('a wheel is made without a network, and what is in it serves', async (t) => {
    if (!(await has('setuptools', 'wheel'))) return t.skip('setuptools or wheel is not installed');
    const directory = await temporaryDirectory(t);
    const source = join(directory, 'source');
    await mkdir(source);
    for (const name of ['hookline_runtime', 'pyproject.toml', 'setup.py'])
        await cp(inRepository(`runtime/python/${name}`), join(source, name), { recursive: true });
    await cp(join(PACKAGE, 'hookline_runtime/pure/table.py'), join(source, 'hookline_runtime/pure/table.py'));
    const env = {
        ...ENV,
        HOOKLINE_VERSION: '1.2.3',
        HOOKLINE_PYTHON_EXTENSION: join(PACKAGE, 'hookline_runtime/_server.abi3.so'),
    };
    // As cmake --install does it. `pip wheel` runs the same in several processes.
    await run(DEBIAN, ['setup.py', '-q', 'bdist_wheel', '--dist-dir', directory], { env, cwd: source });
    const wheel = (await readdir(directory)).find((name) => name.endsWith('.whl'));
    assert.match(wheel, /^hookline_runtime-1\.2\.3-cp39-abi3-linux_\w+\.whl$/);
    const target = join(directory, 'installed');
    await run(DEBIAN, ['-m', 'zipfile', '-e', join(directory, wheel), target]);
    const kept = await readdir(join(target, 'hookline_runtime'));
    for (const name of ['py.typed', '_server.pyi', '_server.abi3.so', 'testing.py', 'pure']) assert.ok(kept.includes(name), name);
    const { stdout } = await run(DEBIAN, ['-m', 'hookline_runtime', '--version'], {
        env: { ...ENV, PYTHONPATH: target, ...coreSettings() },
    });
    assert.match(stdout, /^hookline_runtime \d+\.\d+\.\d+\n$/);
});
