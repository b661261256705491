// Python's own tests of the package (tests/python): what needs no server, in each interpreter.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { inRepository } from './lib/function.mjs';
import { INTERPRETERS, PACKAGE, sanitizerSettings } from './lib/python.mjs';

const run = promisify(execFile);

for (const python of INTERPRETERS.filter((path) => !path.endsWith('-dbg'))) {
    test(`the tests of the package pass without a server (${python})`, async () => {
        const env = { PATH: process.env.PATH, PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ...sanitizerSettings() };
        const args = ['-m', 'unittest', 'discover', '-s', inRepository('tests/python')];
        const { stderr } = await run(python, args, { env }).catch((error) => error);
        assert.match(stderr, /^Ran [1-9]\d* tests? in .*\n\nOK/m, stderr);
    });
}
