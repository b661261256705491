// Each test that README.md names for a section of the contract exists in its file, and so does the section.
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from './lib/case.mjs';

const read = (name) => readFile(new URL(name, import.meta.url), 'utf8');

/** The names of a file's tests as patterns: what stands in ${…} may be anything. */
function namesIn(source) {
    const calls = source.matchAll(/\btest\(\s*(['`])((?:\\.|(?!\1)[^\\])*)\1/g);
    return [...calls].map(([, quote, name]) => {
        const parts = quote === '`' ? name.split(/\$\{[^}]*\}/) : [name];
        const escaped = parts.map((part) =>
            part.replace(/\\(.)/g, '$1').replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
        );
        return new RegExp(`^${escaped.join('.+')}$`);
    });
}

test('the tables of the contract and the REST interface name tests that exist', async () => {
    const contract = await read('../../proxy/contract.md');
    const rows = [
        ...(await read('README.md')).matchAll(
            /^\| ((\d+) .*) \| ([\w-]+) \| `(.*)` \|$/gm,
        ),
    ];
    assert.ok(rows.length > 90, `${rows.length} rows`);
    for (const [, line, section, file, name] of rows) {
        assert.match(contract, new RegExp(`^## ${section}\\. `, 'm'), `contract ${section}`);
        const names = namesIn(await read(`${file}.test.mjs`));
        assert.ok(
            names.some((pattern) => pattern.test(name)),
            `${line}: no test "${name}" in ${file}.test.mjs`,
        );
    }
});

test('the security page names tests that exist', async () => {
    const page = await read('../../deploy/security.md');
    const rows = [...page.matchAll(/^\| [^|]+ \| ([\w-]+) \| `(.*)` \|$/gm)];
    assert.ok(rows.length > 15, `${rows.length} rows`);
    for (const [, file, name] of rows) {
        const names = namesIn(await read(`${file}.test.mjs`));
        assert.ok(names.some((pattern) => pattern.test(name)), `no test "${name}" in ${file}.test.mjs`);
    }
});

test('each test file begins with one sentence of what it is about', async () => {
    const files = (await readdir(new URL('.', import.meta.url))).filter((name) =>
        name.endsWith('.test.mjs'),
    );
    assert.ok(files.length > 20);
    for (const file of files) assert.match(await read(file), /^\/\/ \S.*[.]\n/, file);
});
