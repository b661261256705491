// What README.md and the pages say of errors is what hookline refuses with: the one table in http/refusal.c.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { filesBelow } from './lib/citations.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = ['README.md', 'deploy/tokens.md', 'deploy/troubleshooting.md', 'runtime/README.md'];

const read = (path) => readFile(join(ROOT, path), 'utf8');
const sorted = (values) => [...new Set(values)].sort();
const settingsIn = (text) => text.match(/HOOKLINE_[A-Z_]+[A-Z]/g) ?? [];
const statusesIn = (text) => (text.match(/\b[45]\d\d\b/g) ?? []).map(Number);

/** The causes, in order, and Retry-After's names with their seconds: as http/refusal.h has them. */
async function readNames() {
    const header = await read('proxy/http/refusal.h');
    const seconds = [...header.matchAll(/HL_RETRY_(\w+) = (\d+)/g)];
    const causes = [...header.matchAll(/^ {4}HL_REFUSAL_(\w+),$/gm)].map(([, name]) => name);
    return {
        seconds: Object.fromEntries(seconds.map(([, name, n]) => [name, Number(n)])),
        causes: causes.filter((name) => name !== 'NONE' && name !== 'COUNT'),
    };
}

/** The table's rows: cause, status, seconds to wait (0: no Retry-After), detail. */
async function readTable() {
    const { seconds } = await readNames();
    const source = await read('proxy/http/refusal.c');
    const row = /\b(ROW|LATER|WITH)\(\s*([A-Z]\w*),\s*(\d+),((?:[^"()]|"(?:[^"\\]|\\.)*")*)\)/g;
    return [...source.matchAll(row)].map(([, kind, cause, status, rest]) => ({
        cause,
        status: Number(status),
        retry: kind === 'LATER' ? seconds[rest.match(/\w+/)[0]] : 0,
        detail: [...rest.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, part]) => part).join(''),
    }));
}

/** The rows of a page's tables, as lists of cells. */
function cellsOf(page) {
    const lines = page.match(/^\|.*\|$/gm) ?? [];
    return lines.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
}

/** Those of them whose first cell is or begins with a status. */
const statusRowsOf = (page) => cellsOf(page).filter(([first]) => /^[45]\d\d\b/.test(first));

test('each cause has one row, and each row is used', async () => {
    const rows = await readTable();
    const { causes } = await readNames();
    assert.deepEqual(rows.map(({ cause }) => cause), causes);
    const paths = (await filesBelow(join(ROOT, 'proxy'))).map((path) => join('proxy', path));
    paths.push(...(await filesBelow(join(ROOT, 'runtime'))).map((path) => join('runtime', path)));
    const sources = paths.filter((path) => path.endsWith('.c') && path !== 'proxy/http/refusal.c');
    const used = new Set();
    for (const path of sources)
        for (const [, cause] of (await read(path)).matchAll(/\bHL_REFUSAL_(\w+)/g)) used.add(cause);
    assert.deepEqual(causes.filter((cause) => !used.has(cause)), []);
});

test('no refusal and no Retry-After is made anywhere else', async () => {
    const statuses = (await readTable()).filter(({ retry }) => retry > 0).map(({ status }) => status);
    assert.deepEqual(sorted(statuses), [429, 503]);
    const paths = (await filesBelow(ROOT)).filter((path) => /^(?:proxy|runtime)\/.*\.[ch]$/.test(path));
    const made = /\bhl_refusal\b[^;{}]*\{\s*(?:\.status = )?[45]\d\d/;
    const faults = [];
    for (const path of paths) {
        const source = await read(path);
        if (/"[^"\n]*Retry-After: /.test(source)) faults.push(`${path} writes Retry-After`);
        if (made.test(source)) faults.push(`${path} makes a refusal`);
    }
    assert.deepEqual(faults, ['proxy/http/problem.c writes Retry-After']);
});

test('README names every status that hookline refuses with, and no other', async () => {
    const rows = await readTable();
    const named = statusRowsOf(await read('README.md'));
    assert.deepEqual(
        sorted(named.flatMap(([first]) => statusesIn(first))),
        sorted(rows.map(({ status }) => status)),
    );
    const waits = named.filter((cells) => cells.join(' ').includes('`Retry-After`'));
    assert.deepEqual(
        sorted(waits.flatMap(([first]) => statusesIn(first))),
        sorted(rows.filter(({ retry }) => retry > 0).map(({ status }) => status)),
    );
});

test('the other pages name no status that hookline does not refuse with', async () => {
    const known = new Set((await readTable()).map(({ status }) => status));
    for (const path of PAGES) {
        const rows = statusRowsOf(await read(path));
        if (path !== 'runtime/README.md') assert.ok(rows.length > 0, `${path} has a table of errors`);
        for (const [first] of rows)
            for (const status of statusesIn(first)) assert.ok(known.has(status), `${path}: ${status}`);
    }
});

test('troubleshooting says of each Retry-After which settings are in the way', async () => {
    const rows = (await readTable()).filter(({ retry }) => retry > 0);
    const page = await read('deploy/troubleshooting.md');
    const said = cellsOf(page.slice(page.indexOf('| `Retry-After` |')).split('\n\n')[0]).slice(2);
    assert.deepEqual(sorted(said.map(([n]) => Number(n))), sorted(rows.map(({ retry }) => retry)));
    for (const [n, text] of said) {
        const details = rows.filter(({ retry }) => retry === Number(n)).map(({ detail }) => detail);
        const named = sorted(details.flatMap(settingsIn));
        for (const name of named) assert.ok(text.includes(`\`${name}\``), `${n}: ${name}`);
        const others = rows.filter(({ retry }) => retry !== Number(n));
        for (const name of settingsIn(text))
            if (others.some(({ detail }) => settingsIn(detail).includes(name)))
                assert.ok(named.includes(name), `${name} is not of ${n}`);
    }
    const [, full] = statusRowsOf(page).find(([first]) => first === '429');
    assert.deepEqual(
        sorted(settingsIn(full)),
        sorted(rows.filter(({ status }) => status === 429).flatMap(({ detail }) => settingsIn(detail))),
    );
});

/** Where each number of the contract's limits that no setting changes stands in the source: "#define NAME number". */
const FIXED = {
    'fields of a head': [['http/head.h', 'HL_HEAD_MAX_FIELDS']],
    'names in `Connection`': [['http/framing.c', 'MAX_OPTIONS']],
    'empty lines': [['http/head.c', 'MAX_EMPTY_LINES']],
    'digits of a chunk': [['http/chunked.c', 'MAX_DIGITS'], ['http/chunked.c', 'MAX_EXTENSION']],
    'a project': [['http/url.h', 'HL_NAME_MAX']],
    '`webhookEndpoint`': [
        ['route/plan.h', 'HL_WEBHOOK_URL_MAX'],
        ['config/secret.c', 'SECRET_MAX'],
        ['route/mode.c', 'MAX_KEY'],
        ['http/sse.h', 'HL_EVENT_ID_MAX'],
    ],
    '`Access-Control-Request-Headers`': [['http/browser.c', 'ECHO_MAX']],
    'a token’s `kid`': [
        ['auth/jwt.h', 'HL_JWT_KID_MAX'],
        ['auth/claims.h', 'HL_SUBJECT_MAX'],
        ['auth/jwt.h', 'HL_JWT_SIGNATURE_MAX'],
        ['auth/jwt.h', 'HL_JWT_DEPTH_MAX'],
    ],
    'new tokens whose': [['auth/checker.h', 'HL_CHECKER_MAX']],
    'new tokens that wait for the keys': [['auth/key_keeper.h', 'HL_KEEPER_PARKED_MAX']],
    'new tokens that wait for what': [['auth/checker.h', 'HL_LOOKUPS_MAX']],
    'subjects of tokens from elsewhere': [['auth/outsider.h', 'HL_OUTSIDERS_MAX']],
    'a set of keys': [['auth/jwks.h', 'HL_JWKS_MAX'], ['auth/key_set.h', 'HL_KEYS_MAX']],
    'asynchronous calls': [['store/intake.c', 'MAX_REQUESTS'], ['store/intake.c', 'MAX_BYTES']],
    'the body of a request to': [['worker/inquiry.h', 'HL_INQUIRY_BODY_MAX'], ['api/admin_connection.h', 'HL_ADMIN_MAX_BODY']],
    'a head on the admin': [['api/admin_connection.h', 'HL_ADMIN_MAX_HEAD']],
    'a call that the admin': [['api/admin_pass.h', 'HL_ADMIN_MAX_CALL_BODY']],
    'connections of the admin': [['api/admin.h', 'HL_ADMIN_MAX_CONNECTIONS']],
    'a service account': [['api/rest_account.c', 'NAME_MAX_CHARACTERS']],
    'its `max_running`': [['base/limits.h', 'HL_LIMIT_MAX'], ['base/rate.h', 'HL_RATE_MAX']],
    'tags of a run': [['base/tag.h', 'HL_TAGS_MAX'], ['base/tag.h', 'HL_TAG_MAX']],
    '`limit` of a list': [['store/question.h', 'HL_LIST_MAX'], ['store/search.h', 'HL_SEARCH_PATH_MAX']],
    'the head of the answer': [['app/readiness.c', 'PROBE_HEAD_MAX']],
    'heads of a webhook': [['webhook/transfer.h', 'HL_TRANSFER_HEAD_MAX']],
};

/** "4,096 bytes; 64 KiB" as numbers. */
const amountsIn = (text) =>
    [...text.matchAll(/([\d,]+)( KiB| MiB)?/g)].map(([, number, unit]) =>
        Number(number.replaceAll(',', '')) * (unit ? { ' KiB': 1 << 10, ' MiB': 1 << 20 }[unit] : 1));

/** A constant's value: a number, a product, or a shift. */
async function constant([path, name]) {
    const [, text] = new RegExp(`#define\\s+${name}\\s+(?:\\\\\\s+)?(\\(?[\\du<* ]+\\)?)`).exec(await read(`proxy/${path}`));
    const [first, operator, second] = text.replace(/[u()]/g, '').trim().split(' ');
    return operator === '*' ? first * second : operator === '<<' ? first * 2 ** second : Number(first);
}

test('the contract has the limits that no setting changes as they are', async () => {
    const contract = await read('proxy/contract.md');
    const rows = cellsOf(contract.slice(contract.indexOf('**Limits that no setting changes.**')).split('\n\n')[1]);
    for (const [what, constants] of Object.entries(FIXED)) {
        const row = rows.find(([first]) => first.startsWith(what));
        assert.ok(row, what);
        const amounts = amountsIn(row[1]);
        for (const one of constants) assert.ok(amounts.includes(await constant(one)), `${what}: ${one} is ${await constant(one)}`);
    }
});

test('the contract gives each limit the status with which it is refused', async () => {
    const rows = await readTable();
    const limits = cellsOf(await read('proxy/contract.md')).filter(
        ([setting, , then]) => /^`HOOKLINE_\w+`$/.test(setting) && statusesIn(then ?? '').length > 0,
    );
    assert.ok(limits.length >= 5, `${limits.length} limits`);
    for (const [setting, , then] of limits) {
        const own = rows.filter(({ detail }) => settingsIn(detail).includes(setting.slice(1, -1)));
        assert.deepEqual(sorted(own.map(({ status }) => status)), sorted(statusesIn(then)), setting);
    }
});
