// The README's examples, pasted in their order into one shell, as its reader does: each answers as is printed there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { startPython } from './lib/python.mjs';
import { Receiver } from './lib/receiver.mjs';
import { BINARY, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the quickstart starts, at other ports: `{ directory, env, at }`, where `at` puts those ports into a text. */
async function stageQuickstart(t) {
    const app = await startPython(t, await readFile(join(ROOT, 'deploy/demo/main.py'), 'utf8'), {
        env: { HOOKLINE_FUNCTION_CONCURRENCY: '16' },
    });
    const receiver = await Receiver.start(t);
    const sidecar = await startSidecar(t, {
        env: { HOOKLINE_APP_URL: app.url, HOOKLINE_AUTH: 'jwt' },
        wait: 'readyz',
    });
    const directory = await temporaryDirectory(t);
    await symlink(dirname(BINARY), join(directory, 'build'));
    const env = { HOOKLINE_DATA_DIR: sidecar.dataDir };
    const words = ['token', 'create', '--project', 'demo', '--name', 'me', '--expires', '1d'];
    const { stdout, stderr } = await run(words, env);
    assert.ok(stdout, stderr);
    const ports = { 8080: new URL(sidecar.url).port, 9000: new URL(receiver.url()).port };
    const at = (text) => text.replace(/(127\.0\.0\.1(?::|%3A))(8080|9000)/g, (_, host, port) => host + ports[port]);
    return { directory, env: { ...env, TOKEN: stdout.trim() }, at, receiver };
}

/** The commands of "Calls", each with what is printed below it. */
async function readExamples() {
    const page = await readFile(join(ROOT, 'README.md'), 'utf8');
    const section = /^## Calls\n([^]*?)^## /m.exec(page)[1];
    const examples = [];
    for (const [, block] of section.matchAll(/^```console\n([^]*?)^```$/gm))
        for (const [, command, printed] of block.matchAll(/^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm))
            examples.push({ command, printed });
    return examples;
}

/** Ids, times and what else is another at each call. */
function leveled(text) {
    return text
        .replace(/^\d\d:\d\d:\d\d\.\d */gm, '') // times of arrival, which are no part of it
        .replace(/\r/g, '')
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, 'ID')
        .replace(/^Date: .*$/gm, 'Date: then')
        .trim();
}

/** All in one shell; the answers, one for each. */
async function paste({ directory, env, at }, examples) {
    const script = examples.map(({ command }) => `${at(command)}\nprintf '\\036'`).join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
        cwd: directory,
        env: { PATH: process.env.PATH, ...env },
        timeout: 60_000,
    });
    return stdout.split('\x1e').slice(0, -1);
}

test('each example of the README works when pasted, one after the other', async (t) => {
    const stage = await stageQuickstart(t);
    const examples = await readExamples();
    assert.ok(examples.length > 10, `${examples.length} examples`);
    const answers = await paste(stage, examples);
    examples.forEach(({ command, printed }, i) => {
        if (printed) assert.equal(leveled(answers[i]), leveled(printed), command);
        else assert.doesNotMatch(answers[i], /"status":4\d\d|not found/, command);
    });
    await stage.receiver.delivered('/hook');
});
