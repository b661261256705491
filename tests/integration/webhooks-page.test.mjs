// What deploy/webhooks.md says of errors and settings is what hookline has: no error is missing there, none is invented.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from './lib/case.mjs';
import { run, temporaryDirectory } from './lib/sidecar.mjs';

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = await read('deploy/webhooks.md');
const blocks = (language) => [...page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(([, code]) => code);

/** The words that errors of attempts begin with, as the sources write them. */
async function errorsOfSources() {
    const sources = await Promise.all(['webhook/transfer_result.c', 'webhook/courier.c', 'dns/resolver.c'].map((name) => read(`proxy/${name}`)));
    const words = sources.flatMap((text) => [...text.matchAll(/"([a-z]+_[a-z_]+|timeout)(?=[":])/g)].map(([, word]) => word));
    return [...new Set(words)].sort();
}

test('each error that an attempt can have is explained, and no other', async () => {
    const table = /^\| error or status [^]*?\n\n/m.exec(page)[0];
    const firsts = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell);
    const explained = firsts.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)(?=[`:])/g)].map(([, word]) => word));
    const errors = [...new Set(explained)].filter((word) => !['pending', 'next_attempt_at'].includes(word)).sort();
    assert.deepEqual(errors, await errorsOfSources());
});

test('each schedule of the page can be set', async (t) => {
    const schedules = blocks('sh');
    assert.equal(schedules.length, 3);
    for (const block of schedules) {
        const settings = block.trim().split('\n');
        const env = Object.fromEntries(settings.map((line) => line.split('=')));
        const result = await run(['config', 'show'], { HOOKLINE_DATA_DIR: await temporaryDirectory(t), ...env });
        assert.equal(result.code, 0, result.stderr);
        for (const line of settings) assert.ok(result.stdout.split('\n').includes(line), line);
    }
});

test('the record of the page has the members of a real one', async () => {
    const record = JSON.parse(blocks('json')[0]);
    const source = await read('proxy/api/rest_delivery.c');
    const members = (value) => Object.entries(value ?? {}).flatMap(([name, more]) => [name, ...(typeof more === 'object' ? members(more) : [])]);
    for (const name of members(record)) assert.ok(source.includes(`"${name}"`), name);
});
