// What comments and pages cite is in the repository: files, sections of the contract, links, functions, settings.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { Tree, readTree } from './lib/citations.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('every file, section, link, function and setting that is cited is there', async () => {
    const tree = await readTree(ROOT);
    assert.ok(tree.texts.size > 500, `${tree.texts.size} files`);
    const faults = [...tree.texts.keys()].flatMap((path) => tree.faultsOf(path));
    assert.deepEqual(faults, []);
});

test('a message that a page prints is as long as its Content-Length says', async () => {
    const { texts } = await readTree(ROOT);
    const messages = [...texts]
        .filter(([path]) => path.endsWith('.md'))
        .flatMap(([path, text]) => [...text.matchAll(/^Content-Length: (\d+)\n(?:[\w-]+: .*\n)*\n(.+)$/gm)].map((found) => [path, ...found]));
    assert.ok(messages.length >= 3, `${messages.length} messages`);
    for (const [path, message, length, body] of messages)
        assert.equal(Number(length), Buffer.byteLength(body), `${path}: ${message}`);
});

const CONTRACT = '# The contract\n\n## 5. Deliveries\n\n**Address guard.** Refused.\n';

/** The faults of one file among the contract and a source. */
function faultsOf(path, text) {
    const texts = new Map([
        ['proxy/contract.md', CONTRACT],
        ['proxy/net/guard.c', 'bool hl_guard_is_blocked(int ip)\n{\n}\n'],
        [path, text],
    ]);
    return new Tree(texts).faultsOf(path).length;
}

test('a citation of what is not there is found', () => {
    const comment = (words) => `/* ${words} */\nint x;\n`;
    for (const [faults, path, text] of [
        [0, 'proxy/a.c', comment('net/guard.c judges (contract 5)')],
        [1, 'proxy/a.c', comment('net/gard.c judges')],
        [1, 'proxy/a.c', comment('as contract 6 says')],
        [1, 'proxy/a.c', comment('by contract\n * 5 and 7')],
        [1, 'proxy/a.c', '// spec 5\n'],
        [1, 'proxy/a.c', comment('store.md')],
        [0, 'proxy/a.c', 'const char *text = "as net/gard.c, contract 6";\n'],
        [0, 'proxy/a.c', comment('contract.md, "Address guard"')],
        [1, 'proxy/a.c', comment('contract.md, "Address guards"')],
        [1, 'tests/a.mjs', '// guard.mjs - a test (contract 5)\n'],
        [1, 'tests/a.sh', '# see gone.md\n'],
        [0, 'proxy/a.md', '[it](contract.md#5-deliveries), `net/guard.c: hl_guard_is_blocked`\n'],
        [1, 'proxy/a.md', '[it](contract.md#6-deliveries)\n'],
        [1, 'proxy/a.md', '[it](../deploy)\n'],
        [1, 'proxy/a.md', 'what `net/` knows and `run/` does\n'],
        [2, 'proxy/a.md', '`net/guard.c: hl_guard_blocks` judges, as `is_judged` says\n'],
        [1, 'proxy/a.md', 'set `HOOKLINE_GARD`\n'],
        [0, 'proxy/a.md', '```\nset HOOKLINE_GARD in gone.c\n```\n'],
    ])
        assert.equal(faultsOf(path, text), faults, text);
});
