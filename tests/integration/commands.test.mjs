// What people do with the commands: help, tables on a terminal, a run's response and end, webhooks sent again.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { Receiver } from './lib/receiver.mjs';
import { control } from './lib/rest.mjs';
import { BINARY, run, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const lines = (text) => text.split('\n').filter(Boolean);
const NOBODY = '01890a5d-ac96-774b-bcce-b302099a8057';

/** `cli(words, { code, input, env })`, words as a text or a list, beside this sidecar. */
function commands(sidecar, env = {}) {
    return async (words, { code = 0, input, env: more, interrupted } = {}) => {
        const own = { HOOKLINE_DATA_DIR: sidecar.dataDir, HOOKLINE_AUTH: sidecar.env.HOOKLINE_AUTH };
        const list = Array.isArray(words) ? words : words.split(' ').filter(Boolean);
        const result = await run(list, { ...own, ...env, ...more }, { input, interrupted });
        assert.equal(result.code, code, `${words}: ${result.stdout}${result.stderr}`);
        return result;
    };
}

/** The same on a terminal of `columns`, with `input` typed there: what it shows. */
function terminal(sidecar, columns, env = {}) {
    return async (words, { input } = {}) => {
        const command = `stty cols ${columns} -echo; exec ${BINARY} ${words}`;
        const child = spawn('script', ['-qec', command, '/dev/null'], {
            env: { PATH: process.env.PATH, TERM: 'xterm', HOOKLINE_DATA_DIR: sidecar.dataDir, ...env },
            stdio: 'pipe',
            timeout: 60_000,
        });
        let text = '';
        child.stdin.on('error', () => {});
        child.stdout.setEncoding('utf8').on('data', (piece) => {
            text += piece;
            if (input && /\[y\/N\] /.test(text)) child.stdin.write(input);
        });
        const [code] = await new Promise((resolve) => child.on('close', (...all) => resolve(all)));
        return { code, text: text.replaceAll('\r', '') };
    };
}

/** An asynchronous run that has ended. */
async function ended({ call, cli }, path = RUN, options = {}) {
    const { id } = await call(path, { ...options, query: { async: 'true', ...options.query } });
    await cli(`runs wait ${id}`, { code: options.fails ? 1 : 0 });
    return id;
}

async function staged(t, options) {
    const all = await stage(t, options);
    return { ...all, cli: commands(all.sidecar) };
}

test('every command has help with its options and two examples', { limit: 240_000 }, async () => {
    const { stdout } = await run(['help']);
    const names = lines(stdout).filter((line) => /^ {2}\S/.test(line)).map((line) => line.slice(2, 26).trim());
    assert.ok(names.length > 20 && names.includes('deliveries redeliver'), stdout);
    for (const name of names.filter((one) => !one.startsWith('-'))) {
        const ways = [[...name.split(' '), '--help'], [...name.split(' '), '-h'], ['help', ...name.split(' ')]];
        for (const { code, stdout: help, stderr } of await Promise.all(ways.map((words) => run(words)))) {
            assert.equal(code, 0, `${name}: ${stderr}`);
            assert.match(help, new RegExp(`^usage: hookline ${name}`, 'm'));
            assert.equal(help.split('\nexamples:\n')[1].match(/^ {2}hookline /gm).length, 2, help);
        }
    }
    const filters = async (thing) => new Set((await run([thing, 'redeliver', '--help'])).stdout.match(/--[a-z]+/g));
    const elsewhere = new Set(['--to', '--secret']); // of one delivery alone
    assert.deepEqual(await filters('runs'), new Set([...(await filters('deliveries'))].filter((name) => !elsewhere.has(name))), 'both take the same');
});

test('what was mistyped is named with what was meant, and every fault at once', async () => {
    for (const [words, ...patterns] of [
        ['rnus list', /no command "rnus"; did you mean "runs"\?/, /see hookline help/],
        ['runs lsit', /no command "runs lsit"; did you mean "runs list"\?/],
        ['runs', /needs a subcommand: list, show, result/],
        ['runs list --stat dead --limit x', /did you mean --state\?/, /runs list: --limit takes a number/],
        [
            'runs list --state bogus --since xyz --limit 0 --status 6 --reason bad --webhook lost',
            /--state is queued, running, success, failure or cancelled, not "bogus"/,
            /--since is a time .* "xyz" is neither/,
            /--limit takes a number from 1 to 1000000, not "0"/,
            /--status takes a status \(404\), a class \(5xx\) or none, not "6"/,
            /--reason is app_error, .* or response_not_kept, not "bad"/,
            /--webhook is none, pending, delivered or dead, not "lost"/,
        ],
        ['token create --expires soon', /token create: --name NAME is needed/, /token create: --expires takes a duration/],
        [
            'token create --name n --role boss --expires never --rate lots --max-running 0 --max-priority top',
            /--role is invoke, admin or viewer, not "boss"/,
            /--expires takes a duration such as 90d, .*not "never"/,
            /--rate takes calls .* such as 100\/m, not "lots"/,
            /--max-running is a number from 1 to 1000000000, not "0"/,
            /--max-priority is high, normal or low, not "top"/,
        ],
        ['token create --name n --expires 0d', /token create: --expires takes .* in the future and at most ten years away, not "0d"/],
        ['token create --name n --expires 3651d', /at most ten years away, not "3651d"/],
        ['token create --name', /--name needs a value/, /--expires TIME is needed/],
        ['deliveries redeliver --state lost', /needs a delivery's id, --since TIME/, /--state is dead or delivered/],
        ['runs rerun --app a', /^hookline runs rerun: --app needs --all, which is missing\n.*it needs a run's id.*; or --all and filters\nhookline: see .*\n$/],
        ['runs cancel --since 1h --dry', /--since needs --all, which is missing/, /there is no option "--dry"/],
        ['runs rerun abcd --yes', /^hookline runs rerun: --yes needs --all, which is missing\nhookline: see .*\n$/],
        ['runs redeliver --app a', /it needs a run's id, --since TIME for all dead ones since then, or --all/],
        ['runs redeliver --all --dry-run', /--dry-run does not go with --all/],
        ['deliveries redeliver --to https://a.example/ --since 1h', /^hookline deliveries redeliver: --since does not go with --to\n.*it needs a delivery's id.*\nhookline: see .*\n$/],
        ['deliveries redeliver --to https://a.example/ --all', /--all does not go with --to/],
        ['deliveries redeliver abcd --secret-file x', /--secret-file needs --to, which is missing/],
        ['deliveries redeliver abcd --since 1h', /either a delivery's id, or --since/],
        ['deliveries redeliver --to https://a.example/', /needs a delivery's id/],
        ['deliveries test', /either a delivery's id, or --to URL/],
        ['deliveries test abcd --secret-file x', /--secret-file goes with --to/],
        ['deliveries list --destination here', /--destination takes scheme, host and port, .* not "here"/],
        ['runs wait --timeout long', /needs a run's id/, /--timeout takes a duration .* not "long"/],
        ['call', /call: it needs a path such as/, /see hookline call --help/],
        ['call words', /"words" is not a path .*"runs send" takes an app's name/],
        [
            'call words --header x --method get --json {no',
            /is not a path/,
            /--header takes a field such as .*, not "x"/,
            /--method takes a method in capitals .* not "get"/,
            /--json must be JSON/,
        ],
        ['runs send', /runs send: it needs an app's name/, /see hookline runs send --help/],
        ['runs send /v4/p/a/run', /"\/v4\/p\/a\/run" is not an app's name; "call --async" takes a path/],
        ['runs send a --json 1 --data 1 --method PUT', /no option "--method"/, /--json and --data are mutually exclusive/],
        ['completion tcsh', /bash, zsh and fish, not for "tcsh"/],
        ['completion', /bash, zsh or fish/],
        ['runs list --columns run,eror', /^hookline runs list: --columns has no "eror"; it takes run, project, app, .*error\n/],
        ['runs list --columns run,', /--columns has no ""; it takes run/],
        ['runs list --columns run,run', /--columns has "run" twice/],
        ['runs list --columns run --json', /--columns cannot be given with --json/],
        ['runs list --columns run --follow', /--columns cannot be given with --follow/],
        ['deliveries list --columns run,path', /^hookline deliveries list: --columns has no "path"; it takes delivery, run, .*receiver, .*error\n/],
        ['deliveries list --columns run,run --json', /--columns has "run" twice/, /--columns cannot be given with --json/],
        ['runs list --url nowhere', /--url takes an address/],
        ['runs list --token-file x', /--token-file is for --url/],
    ]) {
        const { code, stdout, stderr } = await run(words.split(' '), { HOOKLINE_AUTH: 'none' });
        assert.equal(code, 2, words);
        assert.equal(stdout, '');
        for (const pattern of patterns) assert.match(stderr, pattern);
    }
});

test('a table on a terminal fits it, with times and colours for people', async (t) => {
    const all = await staged(t);
    const id = await ended(all, '/v4/p/a/translate/one/long/text/of/which/there/is/much/more/to/say');
    for (const columns of [60, 80, 100, 200]) {
        const { text } = await terminal(all.sidecar, columns)('runs list');
        // eslint-disable-next-line no-control-regex
        const plain = lines(text.replace(/\x1b\[\d*m/g, ''));
        for (const line of plain) assert.ok([...line].length <= columns, `${columns}: ${line}`);
        assert.ok(plain[1].startsWith(columns < 200 ? `${id.slice(-8)} ` : id), plain[1]);
        assert.match(plain[1], /success .*\b\d+ s ago/);
        assert.ok(columns > 100 || !plain[0].includes('REASON'), 'nothing is in it');
        assert.ok(columns < 80 || plain[1].includes('/translate/one'), plain[1]);
        assert.ok(text.includes('\x1b[32msuccess\x1b[0m'));
    }
    const { text } = await terminal(all.sidecar, 80, { NO_COLOR: '1' })('runs list');
    assert.ok(!text.includes('\x1b'));
    assert.ok(!(await all.cli('runs list')).stdout.includes('\x1b'));
});

test('at 80 columns runs list has each run’s app and why it failed', async (t) => {
    const all = await staged(t, { app: (x) => x.reset() });
    const query = { webhookEndpoint: all.receiver.url('/hook') };
    const id = await ended(all, '/v4/a-project/translate/one/long/text/of/which/there/is', { fails: true, query });
    const { text } = await terminal(all.sidecar, 80, { NO_COLOR: '1' })('runs list');
    const [head, row] = lines(text);
    for (const title of ['RUN', 'APP', 'STATE', 'REASON', 'CREATED']) assert.ok(head.includes(title), head);
    for (const word of [id.slice(-8), 'translate', 'failure', 'upstream_reset']) assert.ok(row.includes(word), row);
    const shown = await all.cli(`runs show ${row.split(' ')[0]} --json`);
    assert.equal(JSON.parse(shown.stdout).run_id, id, 'what the table shows of its id is enough');
});

test('runs list has the columns that are asked for, and what went wrong', async (t) => {
    const all = await staged(t, { app: (x) => x.send(500, { 'content-type': 'text/plain' }, 'no such \x1b[1morder\n') });
    const id = await ended(all, undefined, { fails: true });
    const list = async (words) => lines((await all.cli(`runs list ${words}`)).stdout);
    assert.deepEqual((await list('--columns error,state,run'))[1], `no such \ufffd[1morder  failure  ${id}`);
    assert.match((await list('--columns=run,run_ms,method'))[0], /^RUN +RUN_MS +METHOD$/);
    assert.match((await list(''))[1], / no such \ufffd\[1morder$/, 'the usual ones');
    assert.equal((await list('--find order --columns run')).length, 2);
    assert.equal((await list('--error order --columns run')).length, 1, 'that is not all of it');
    const { text } = await terminal(all.sidecar, 80, { NO_COLOR: '1' })('runs list');
    for (const word of [id.slice(-8), 'app_error', 'no such']) assert.ok(lines(text)[1].includes(word), text);
    assert.equal((await all.cli(`runs wait ${id}`, { code: 1 })).stdout, 'failure: app_error: no such \ufffd[1morder\n');
    const [head, row, ...rest] = lines((await all.cli('runs errors --since 1h')).stdout);
    assert.match(head, /^COUNT +FIRST +LAST +PROJECT +APP +REASON +ERROR$/);
    assert.match(row, /^1 +\S+Z +\S+Z +p +a +app_error +no such \ufffd\[1morder$/);
    assert.deepEqual(rest, []);
    assert.equal(JSON.parse((await all.cli('runs errors --app a --json')).stdout).count, 1);
    assert.equal((await all.cli('runs errors --app b --json')).stdout, '');
    assert.match((await all.cli(`runs show ${id}`)).stdout, /^error +no such \ufffd\[1morder$/m);
});

test('the beginning of an id is enough where it is one thing’s alone', async (t) => {
    const all = await staged(t);
    const first = await ended(all);
    const second = await ended(all);
    const show = async (id, options) => all.cli(`runs show ${id} --json`, options);
    const short = first.slice(0, 23);
    assert.equal(JSON.parse((await show(short)).stdout).run_id, first);
    assert.equal(JSON.parse((await show(short.toUpperCase())).stdout).run_id, first);
    const both = first.slice(0, [...first].findIndex((c, i) => c !== second[i]));
    const { stderr } = await show(both, { code: 1 });
    assert.match(stderr, /more than one run's id begins with/);
    assert.ok(stderr.includes(first) && stderr.includes(second));
    assert.match((await show('ffff', { code: 1 })).stderr, /no run's id begins with "ffff"/);
    assert.equal(JSON.parse((await show(second.slice(-8))).stdout).run_id, second, 'its end is, too');
    assert.match((await show('ffffffff', { code: 1 })).stderr, /no run's id begins or ends with "ffffffff"/);
    assert.equal((await all.cli('runs list --path nowhere --json')).stdout, '');
    assert.equal(lines((await all.cli('runs list --status 2xx --webhook none --json')).stdout).length, 2);
    await all.cli('token create --project p --name ci --expires 1h');
    const [row] = lines((await all.cli('token list --json')).stdout).map(JSON.parse);
    assert.equal((await all.cli(`token revoke ${row.id.slice(0, 13)}`)).stdout, 'revoked\n');
});

test('runs result is the response, beside a sidecar and without one', async (t) => {
    const large = Buffer.alloc(600_000, 'ab\u00e4');
    const all = await staged(t, {
        app: async (x) => {
            await x.body();
            if (x.target === '/large') await x.send(200, {}, large);
            else if (x.target === '/bytes') await x.send(200, {}, Buffer.from([0, 27, 91]));
            else await x.json({ said: 'h\u00e4' });
        },
    });
    const id = await ended(all);
    const big = await ended(all, '/v4/p/a/large');
    const bytes = await ended(all, '/v4/p/a/bytes');
    const file = join(await temporaryDirectory(t), 'result');
    const check = async () => {
        assert.deepEqual(JSON.parse((await all.cli(`runs result ${id}`)).stdout), { said: 'h\u00e4' });
        await all.cli(`runs result ${big} --output ${file}`);
        assert.ok((await readFile(file)).equals(large));
        assert.equal((await all.cli(`runs result ${bytes}`)).stdout, '\0\x1b[');
    };
    await check();
    const shown = await terminal(all.sidecar, 80)(`runs result ${bytes}`);
    assert.match(shown.text, /is not text: --output FILE/);
    const nobody = await all.cli(`runs result ${NOBODY} --output ${file}.none`, { code: 1 });
    assert.match(nobody.stderr, /^hookline runs result: /);
    await assert.rejects(readFile(`${file}.none`), { code: 'ENOENT' });
    await all.cli(`runs result ${NOBODY} --output ${file}`, { code: 1 });
    assert.ok((await readFile(file)).equals(large), 'what was there stays');
    await all.sidecar.stop();
    await check();
});

test('as root a response is written where root may write, and not the data directory’s owner', async (t) => {
    if (process.getuid() !== 0) return t.skip('needs root');
    const all = await staged(t);
    const id = await ended(all);
    await all.sidecar.stop();
    const files = ['.', ...(await readdir(all.sidecar.dataDir, { recursive: true }))];
    const own = (uid) => Promise.all(files.map((name) => chown(join(all.sidecar.dataDir, name), uid, uid)));
    const directory = await temporaryDirectory(t);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = join(directory, 'result');
    await own(1234);
    await all.cli(`runs result ${id} --output ${file}`);
    assert.equal(JSON.parse(await readFile(file)).target, '/run');
    await own(0); // for the end
});

test('runs wait ends with the run and says by its status how that went', async (t) => {
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    const all = await staged(t, {
        app: async (x) => {
            await x.body();
            if (x.target === '/slow') await gate;
            await x.json({}, x.target === '/bad' ? 500 : 200);
        },
    });
    const bad = await ended(all, '/v4/p/a/bad', { fails: true });
    assert.equal((await all.cli(`runs wait ${bad}`, { code: 1 })).stdout, 'failure: app_error\n');
    const { id } = await all.call('/v4/p/a/slow', { query: { async: 'true' } });
    const late = await all.cli(`runs wait ${id} --timeout 1s`, { code: 1 });
    assert.match(late.stderr, /the run is still running/);
    assert.match((await all.cli(`runs wait ${id} --timeout 0`, { code: 1 })).stderr, /the run is still running/);
    const waiting = all.cli(`runs wait ${id}`);
    const result = all.cli(`runs result ${id} --wait`);
    await until('it waits', async () => /running/.test((await all.cli(`runs show ${id}`)).stdout));
    open();
    assert.equal((await waiting).stdout, 'success\n');
    assert.equal((await result).stdout, '{}');
});

test('a call is marked with tags, and runs are listed by them', async (t) => {
    const all = await staged(t);
    const tags = ['--tag', 'tier=gold', '--tag', 'note=two words'];
    await all.cli(['call', '/v4/p/a/run', ...tags]);
    const sent = (await all.cli(['runs', 'send', 'a', '--project', 'p', '--tag', 'tier=silver'])).stdout.trim();
    const list = async (...more) => lines((await all.cli(['runs', 'list', '--json', ...more])).stdout).map((x) => JSON.parse(x));
    assert.deepEqual((await list('--tag', 'tier')).map((run) => run.tags.tier), ['silver', 'gold']);
    const [called] = await list('--tag', 'tier=gold', '--tag', 'note');
    assert.deepEqual(called.tags, { tier: 'gold', note: 'two words' });
    assert.deepEqual(await list('--tag', 'tier=silver', '--tag', 'note'), []);
    const table = (await all.cli('runs list --columns run,tags --tag tier=silver')).stdout;
    assert.match(table, new RegExp(`^RUN +TAGS\n${sent} +tier=silver\n$`));
    assert.match((await all.cli(`runs show ${called.run_id}`)).stdout, /^tags +tier=gold,note=two words$/m);
    for (const [words, said] of [
        [['call', '/v4/p/a/run', '--tag', 'gold'], /--tag takes name=value.*not "gold"/],
        [['call', '/v4/p/a/run', '--tag', 'a=1', '--tag', 'a=2'], /--tag takes name=value.*not "a=2"/],
        [['runs', 'list', '--tag', 'a='], /--tag takes a tag such as tier=gold, or the name of one, not "a="/],
        [['runs', 'list', ...Array(9).fill('--tag=a')], /--tag may be given up to 8 times/],
    ])
        assert.match((await all.cli(words, { code: 2 })).stderr, said);
});

test('runs logs are lines for people on a terminal, and JSON elsewhere', async (t) => {
    const all = await staged(t, { app: (x) => x.send(500) });
    const id = await ended(all, RUN, { fails: true });
    const { text } = await terminal(all.sidecar, 200)(`runs logs ${id}`);
    assert.match(text, /Z {2}\S*(info|warn|error)\S* {2}\S.* {2}status=500/m);
    assert.ok(!text.includes('{"'), text);
    const json = (await all.cli(`runs logs ${id.slice(0, 20)}`)).stdout;
    for (const line of lines(json)) assert.equal(JSON.parse(line).run_id, id);
    const forced = await terminal(all.sidecar, 200)(`runs logs ${id} --json`);
    assert.equal(forced.text, json);
});

for (const auth of ['none', 'jwt', 'jwt, and an open admin listener']) {
    test(`call and runs send reach the app with a token of their own: ${auth}`, async (t) => {
        const env = { HOOKLINE_AUTH: auth.split(',')[0], HOOKLINE_FORWARD_AUTHORIZATION: 'on' };
        if (auth.includes('open')) env.HOOKLINE_ADMIN_AUTH = 'none';
        const all = await staged(t, { env });
        const body = '{"text":"hi"}';
        const call = async (words, options) => (await all.cli(['call', ...words], options)).stdout;
        const got = JSON.parse(await call(['/v4/p/a/run?x=1', '--json', body, '--header', 'X-One: 1', '--header', 'X-Two: 2']));
        assert.equal(got.target, '/run?x=1');
        assert.equal(got.body, body);
        const fields = JSON.stringify(got.fields).toLowerCase();
        for (const part of ['application/json', 'x-one', 'x-two']) assert.ok(fields.includes(part), fields);
        const [, token] = /"Bearer ([^"]+)"/.exec(JSON.stringify(got.fields)) ?? [];
        if (auth === 'none') assert.equal(token, undefined, 'what nobody asks for is not shown to the app');
        else assert.equal(JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).role, 'invoke');
        const file = join(await temporaryDirectory(t), 'body');
        await writeFile(file, 'anything');
        assert.equal(JSON.parse(await call(['/v4/p/a/run', '--data', `@${file}`])).body, 'anything');
        const odd = '[1,18446744073709551616,-1e400,"\\u0000\\ud800"]';
        assert.equal(JSON.parse(await call(['/v4/p/a/run', '--json', '@-'], { input: odd })).body, odd);
        assert.equal(await call(['/v4/p/a/x', '--method', 'HEAD']), '', 'its answer has no body, whatever it says of one');
        const { run_id: queued } = JSON.parse(await call(['/v4/p/a/run', '--async']));
        assert.match(queued, UUID_V7);
        assert.equal((await all.cli(`runs wait ${queued}`)).stdout, 'success\n');
        const refused = await all.cli(['call', '/v4/p/a/run', '--json', '{no'], { code: 2 });
        assert.match(refused.stderr, /--json must be JSON: line 1/);

        const sent = (await all.cli(['runs', 'send', 'a', '--project', 'p', '--json', body])).stdout.trim();
        assert.match(sent, UUID_V7);
        await all.cli(`runs wait ${sent}`);
        const answer = await all.cli(['runs', 'send', 'a', '--project', 'p', '--json', body, '--wait']);
        assert.equal(JSON.parse(answer.stdout).body, body);
        const { service_accounts: accounts } = (await control(all.sidecar)('GET', '/v2/service-accounts')).json();
        assert.deepEqual(accounts, [], 'nothing is left of the token');
    });
}

test('call says when the app’s answer is no good, and needs a sidecar', async (t) => {
    const all = await staged(t, { app: (x) => x.send(418, {}, 'tea') });
    const { stdout, stderr } = await all.cli('call /v4/p/a/run', { code: 1 });
    assert.equal(stdout, 'tea');
    assert.match(stderr, /the answer was 418, of run [0-9a-f-]{36}/);
    const joined = await promisify(execFile)('sh', ['-c', '"$0" "$@" 2>&1; true', BINARY, 'call', '/v4/p/a/run'], {
        env: { HOOKLINE_DATA_DIR: all.sidecar.dataDir, HOOKLINE_AUTH: all.sidecar.env.HOOKLINE_AUTH },
    });
    assert.match(joined.stdout, /^tea\nhookline call: the answer was 418/, 'the error has a line of its own');
    await all.sidecar.stop();
    assert.match((await all.cli('call /v4/p/a/run', { code: 1 })).stderr, /no hookline is running here/);
});

/** `runs result` whose output nobody reads yet: the most memory that it had when the first of it came, and the rest. */
async function unread(sidecar, id) {
    const child = spawn(BINARY, ['runs', 'result', id], { env: { PATH: process.env.PATH, HOOKLINE_DATA_DIR: sidecar.dataDir }, timeout: 60_000 });
    await once(child.stdout, 'readable');
    const [, kib] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'));
    const hash = createHash('sha256');
    let n = 0;
    for await (const piece of child.stdout) {
        n += piece.length;
        hash.update(piece);
    }
    return { mib: kib / 1024, n, hash: hash.digest('hex') };
}

test('a long result is written as it comes, by a sidecar and from the store itself', async (t) => {
    const MIB = 1 << 20;
    const body = (n) => Buffer.alloc(n * MIB, 'a line of what was kept\n');
    const all = await staged(t, {
        env: { HOOKLINE_MAX_KEPT_RESPONSE: '128MiB' },
        app: (x) => x.send(200, { 'content-type': 'text/plain' }, body(x.target.endsWith('long') ? 100 : 2)),
    });
    const [short, long] = [await ended(all, '/v4/p/a/short'), await ended(all, '/v4/p/a/long')];
    const hash = createHash('sha256').update(body(100)).digest('hex');
    for (const where of ['beside a sidecar', 'on the store alone']) {
        const [little, much] = [await unread(all.sidecar, short), await unread(all.sidecar, long)];
        assert.deepEqual([little.n, much.n, much.hash], [2 * MIB, 100 * MIB, hash], where);
        assert.ok(much.mib < little.mib + 32, `${where}: ${little.mib} and ${much.mib} MiB`);
        await all.sidecar.stop();
    }
});

/** A sidecar with `n` dead webhooks. */
async function withDead(t, n) {
    const all = await staged(t);
    all.receiver.script('/hook', ...Array(n).fill(500), ...Array(n).fill(200));
    const query = { webhookEndpoint: all.receiver.url('/hook') };
    for (let i = 0; i < n; i++) await ended(all, RUN, { query });
    const states = async () =>
        lines((await all.cli('deliveries list --json --limit 1000')).stdout).map((line) => JSON.parse(line).state);
    await until('they are dead', async () => (await states()).filter((s) => s === 'dead').length === n);
    return { ...all, states };
}

test('deliveries list and show say where webhooks went and what became of them', async (t) => {
    const all = await withDead(t, 2);
    const [title, row] = lines((await all.cli('deliveries list')).stdout);
    assert.match(title, /^DELIVERY +RUN +APP +STATE +RECEIVER +ATTEMPTS +STATUS +CREATED +ERROR$/);
    const [id, runId] = row.split(/ +/);
    assert.match(row, /^\S+ +\S+ +a +dead +http:\/\/127\.0\.0\.1:\d+\/hook +1 +500 +\S+Z/);
    const { host } = new URL(all.receiver.url());
    for (const [words, place] of [['deliveries list', `${host}/hook`], ['deliveries destinations --project p', host]])
        assert.ok((await terminal(all.sidecar, 80)(words)).text.includes(`${place} `), `${words}: all of it at 80 columns`);
    const of = lines((await all.cli(`deliveries list --run ${runId.slice(0, 23)} --json`)).stdout);
    assert.equal(of.length, 1);
    assert.equal(lines((await all.cli('deliveries list --state pending')).stdout).length, 1);
    assert.equal(lines((await all.cli('deliveries list --limit 1')).stdout).length, 2);
    const shown = (await all.cli(`deliveries show ${id.slice(0, 23)}`)).stdout;
    assert.match(shown, new RegExp(`^run +${runId}$`, 'm'));
    assert.match(shown, /^webhook +dead to http/m);
    assert.match(shown, /^ +1 +1 +\S+Z +\d+ +failed +500 /m);
    assert.equal(JSON.parse((await all.cli(`deliveries show ${id} --json`)).stdout).delivery_id, id);
});

test('deliveries list tells two receivers of one host apart, and has the columns that are asked for', async (t) => {
    const all = await staged(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const base = '/tenants/north-west/webhooks/of/hookline/version/2';
    for (const name of ['orders', 'invoices?key=query-secret']) {
        all.receiver.script(`${base}/${name.split('?')[0]}`, 500);
        const run = (await all.cli(`runs send a --data hi --project p --webhook ${all.receiver.url(`${base}/${name}`)}`)).stdout.trim();
        await all.cli(`runs wait ${run}`);
    }
    const { origin, host } = new URL(all.receiver.url());
    await until('both are dead', async () => lines((await all.cli('deliveries list --state dead')).stdout).length === 3);
    const list = async (words) => lines((await all.cli(`deliveries list ${words}`)).stdout);
    const named = await list('--columns receiver,attempts,error,event,status');
    assert.match(named[0], /^RECEIVER +ATTEMPTS +ERROR +EVENT +STATUS$/);
    assert.ok(named[1].startsWith(`${origin}${base}/invoices?`), named[1]);
    assert.match(named[2], new RegExp(`^${origin}${base}/orders +1 +status 500 +run\\.success +500$`));
    assert.doesNotMatch(named.join(), /query-secret/);
    const { text } = await terminal(all.sidecar, 80, { NO_COLOR: '1' })('deliveries list');
    for (const line of lines(text)) assert.ok([...line].length <= 80, line);
    const shown = lines(text).slice(1).map((line) => / (127\S+…\S+) /.exec(line)?.[1] ?? assert.fail(line));
    assert.ok(shown.every((one) => one.startsWith(host.slice(0, 9))), text);
    assert.ok(shown[0].includes('invoices') && shown[1].endsWith('/orders'), text);
    const [id] = (await list('--state dead --limit 1'))[1].split(' ');
    const dry = (await all.cli(`deliveries redeliver ${id} --dry-run`)).stdout;
    assert.ok(dry.includes(`${origin}${base}/invoices?key=*** `), dry);
    const file = join(await temporaryDirectory(t), 'token');
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, (await all.cli('token create --project p --name v --expires 1h --role viewer')).stdout);
    const seen = lines((await run(['deliveries', 'list', '--columns', 'receiver,label', '--url', all.sidecar.url, '--token-file', file])).stdout);
    const labels = seen.slice(1).map((line) => new RegExp(`^${origin} #([0-9a-f]{8}) +\\1$`).exec(line)?.[1] ?? assert.fail(line));
    assert.equal(new Set(labels).size, 2, 'who may not see a path sees that there are two');
});

test('what was sent is shown, goes to another URL too, and a receiver is tested', async (t) => {
    const all = await staged(t);
    all.receiver.script('/hook', async (x) => x.send(500, { 'content-type': 'text/plain' }, 'out of \u001b[31mstock'));
    await ended(all, RUN, { query: { webhookEndpoint: all.receiver.url('/hook?key=query-secret') } });
    const id = await until('it is dead', async () => {
        const [one] = lines((await all.cli('deliveries list --json')).stdout).map((line) => JSON.parse(line));
        return one.state === 'dead' && one.delivery_id;
    });
    const [{ bytes }] = all.receiver.deliveries('/hook');
    const shown = (await all.cli(`deliveries show ${id}`)).stdout;
    assert.match(shown, new RegExp(`^to +${all.receiver.url('/hook')}\\?key=\\*\\*\\*$`, 'm'));
    const sent = (await all.cli(`deliveries show ${id} --request`)).stdout;
    assert.match(sent, /^attempt 1\.1$/m);
    assert.match(sent, /^Content-Type: application\/json$/m);
    assert.ok(sent.includes(`\n\n${bytes}\n`), sent);
    assert.doesNotMatch(shown + sent, /query-secret/);
    const made = (await all.cli(`deliveries redeliver ${id} --to ${all.receiver.url('/other')}`)).stdout.trim();
    assert.ok((await all.receiver.delivered('/other')).bytes.equals(bytes));
    assert.equal(JSON.parse((await all.cli(`deliveries show ${made} --json`)).stdout).resent, true);
    for (const words of [`deliveries redeliver ${id}`, 'deliveries test --project p']) {
        const name = words.split(' ', 2).join(' ');
        for (const [url, why, code] of [
            ['ftp://a.example/', /: --to takes an absolute http or https URL of at most 2048 bytes, such as https:/, 2],
            ['here', /: --to takes an absolute http/, 2],
            ['http://me:word@a.example/', /: --to contains credentials\. .*: add --secret-file\.\n/, 2],
            ['http://10.1.2.3/', /: --to names an address that webhooks may not reach\. .*HOOKLINE_WEBHOOK_ALLOW\.\n/, 2],
        ]) {
            const { stderr } = await all.cli(`${words} --to ${url}`, { code });
            assert.match(stderr, why);
            assert.ok(stderr.startsWith(`hookline ${name}: `) && !/member|word@/.test(stderr), stderr);
        }
    }
    const failed = (await all.cli(`deliveries test ${id} --project p`, { code: 1 })).stdout;
    assert.match(failed, /^outcome +failed$/m);
    assert.match(failed, /^its answer +out of \\x1b\[31mstock$/m);
    const good = (await all.cli(`deliveries test --to ${all.receiver.url('/other')} --project p`)).stdout;
    assert.match(good, /^outcome +delivered$/m);
    assert.match(good, /^status +200$/m);
    const of = lines((await all.cli('runs show ' + JSON.parse((await all.cli(`deliveries show ${id} --json`)).stdout).run_id)).stdout);
    assert.equal(of.filter((line) => line.startsWith('webhook ')).length, 2);
});

test('redeliver sends what a dry run shows, and asks before many', async (t) => {
    const all = await withDead(t, 12);
    const dead = async () => (await all.states()).filter((state) => state === 'dead').length;
    const dry = lines((await all.cli('deliveries redeliver --project p --since 1h --dry-run')).stdout);
    assert.equal(dry.length, 14);
    assert.equal(dry[13], '12 deliveries would be sent again');
    assert.equal(await dead(), 12, 'nothing was sent');
    const unasked = await all.cli('deliveries redeliver --project p --since 1h', { code: 2 });
    const place = new URL(all.receiver.url()).origin;
    const refusal = `12 deliveries to ${place} would be sent again, and there is no terminal to ask on: --yes`;
    assert.ok(unasked.stderr.includes(refusal), unasked.stderr);
    const ask = terminal(all.sidecar, 100);
    const no = await ask('deliveries redeliver --project p --since 1h', { input: 'n\n' });
    assert.ok(no.text.includes(`Send 12 deliveries again to ${place}? [y/N] `), no.text);
    assert.match(no.text, /nothing was sent/);
    assert.equal(await dead(), 12);
    const [one] = dry[1].split(' ');
    assert.equal((await all.cli(`deliveries redeliver ${one}`)).stdout, '1 delivery is sent again\n');
    await until('it is delivered', async () => (await dead()) === 11);
    const yes = await ask('deliveries redeliver --project p --since 1h', { input: 'y\n' });
    assert.match(yes.text, /11 deliveries are sent again/);
    await until('all are delivered', async () => (await all.states()).every((state) => state === 'delivered'));
    const again = await all.cli('runs redeliver --project p --since 1h --state delivered --yes');
    assert.equal(again.stdout, '12 deliveries are sent again\n');
    const query = { webhookEndpoint: all.receiver.url('/hook').replace('127.0.0.1', 'localhost') };
    await ended(all, RUN, { query });
    const many = 'deliveries redeliver --project p --since 1h --state delivered';
    await until('all are delivered', async () => (await all.states()).every((state) => state === 'delivered'));
    assert.match((await ask(many, { input: 'n\n' })).text, /Send 13 deliveries again to 2 destinations\? \[y\/N\] /);
    const there = await ask(`${many} --destination ${place}/`, { input: 'n\n' });
    assert.ok(there.text.includes(`Send 12 deliveries again to ${place}? [y/N] `), there.text);
});

test('many webhooks sent again leave room for new ones, and an interrupted command goes on where it was', async (t) => {
    const all = await staged(t, { env: { HOOKLINE_MAX_PENDING_DELIVERIES: '8' } });
    const query = { webhookEndpoint: all.receiver.url('/hook') };
    for (let i = 0; i < 10; i++) await ended(all, RUN, { query });
    const listed = async () => lines((await all.cli('deliveries list --json --limit 1000')).stdout).map((line) => JSON.parse(line));
    const count = async (state) => (await listed()).filter((one) => one.state === state).length;
    await until('they are delivered', async () => (await count('delivered')) === 10);
    const [held, stop] = [gate(), gate()];
    all.receiver.script('/hook', async (x) => {
        await held.promise;
        await x.send(200);
    });
    const words = 'deliveries redeliver --project p --state delivered --yes';
    const first = all.cli(`${words} --since 1h`, { code: 1, interrupted: stop.promise });
    await until('half of what may be pending is', async () => (await count('pending')) === 4);
    const other = await Receiver.start(t);
    assert.equal((await all.call(RUN, { query: { webhookEndpoint: other.url() } })).status, 200);
    stop.open();
    const { stdout, stderr } = await first;
    assert.equal(stdout, '4 deliveries are sent again\n');
    const [, rest] = /interrupted: 6 of 10 are left; to go on, repeat the command with (--since \S+Z --after \S+)\n/.exec(stderr) ?? assert.fail(stderr);
    held.open();
    await until('those are delivered again', async () => (await count('pending')) === 0);
    assert.equal((await all.cli(`${words} ${rest}`)).stdout, '6 deliveries are sent again\n');
    await until('all are delivered again', async () => (await count('pending')) === 0);
    assert.deepEqual((await listed()).map((one) => one.round), [1, ...Array(10).fill(2)]);
    await all.sidecar.stop();
    const alone = await all.cli(`${words} --since 1h`, { code: 1, env: { HOOKLINE_MAX_PENDING_DELIVERIES: '8' } });
    assert.equal(alone.stdout, '4 deliveries are sent again\n');
    assert.match(alone.stderr, /Half of HOOKLINE_MAX_PENDING_DELIVERIES .*\n.* 7 of 11 are left; /);
});

test('another machine’s hookline is asked with --url and a token', async (t) => {
    const all = await staged(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const directory = await temporaryDirectory(t);
    await mkdir(directory, { recursive: true });
    const file = join(directory, 'token');
    const make = async (role) => {
        const words = `token create --project p --name ${role} --expires 1h --role ${role}`;
        await writeFile(file, (await all.cli(words)).stdout);
    };
    await make('admin');
    const where = ['--url', `${all.sidecar.url}/`, '--token-file', file];
    const far = async (words, code = 0) => {
        const result = await run([...words.split(' '), ...where], { HOOKLINE_WORKERS: 'many' });
        assert.equal(result.code, code, `${words}: ${result.stdout}${result.stderr}`);
        return result;
    };
    const id = (await far('runs send a --data hi')).stdout.trim();
    assert.match(id, UUID_V7);
    assert.equal((await far(`runs wait ${id.slice(0, 23)}`)).stdout, 'success\n');
    assert.equal(JSON.parse((await far(`runs result ${id}`)).stdout).body, 'hi');
    assert.equal(JSON.parse((await far('runs list --json')).stdout).run_id, id);
    assert.match((await far('runs logs ' + id)).stdout, /^\{/);
    assert.equal(JSON.parse((await far('call /v4/p/a/run --data there')).stdout).body, 'there');
    assert.match((await far('token list')).stdout, / p +admin +admin /);
    assert.equal(lines((await far('deliveries list')).stdout).length, 1);
    await make('invoke');
    assert.match((await far('deliveries list', 1)).stderr, /^hookline deliveries list: /);
    await writeFile(file, 'two words');
    assert.match((await far('runs list', 1)).stderr, /it must hold one token/);
    await rm(file);
    assert.match((await far('runs list', 1)).stderr, /No such file/);
    for (const words of [
        'runs list',
        'runs list --project p',
        'deliveries show abcdef',
        'token list',
        'call /v4/p/a/run',
        'runs send a --project p',
    ]) {
        const { code, stderr } = await run([...words.split(' '), ...where.slice(0, 2)]);
        assert.equal(code, 1, words);
        assert.match(stderr, /^hookline [a-z ]+: (http:.* requires a token|the answer was 401.*): give --token-file FILE/);
    }
    const unsaid = await run(['runs', 'send', 'a', ...where.slice(0, 2)]);
    assert.match(unsaid.stderr, /--project is needed: .* there is no token \(--token-file FILE\) to say it/);
    const open = await staged(t);
    for (const words of ['runs list', 'token list']) {
        const seen = await run([...words.split(' '), '--url', `http://127.0.0.1:${open.sidecar.adminPort}`]);
        assert.equal(`${seen.code} ${seen.stderr}`, '0 ', words);
    }
    const nobody = await run(['runs', 'list', '--url', 'http://127.0.0.1:1'], { HOOKLINE_PROJECT_ID: 'p' });
    assert.equal(nobody.code, 1);
    assert.match(nobody.stderr, /^hookline runs list: http:\/\/127\.0\.0\.1:1\//);
});

test('runs list --follow prints each run as it comes and as it ends', async (t) => {
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    const all = await staged(t, {
        app: async (x) => {
            await x.body();
            if (x.target === '/slow') await gate;
            await x.json({});
        },
    });
    const first = await ended(all);
    const env = { HOOKLINE_DATA_DIR: all.sidecar.dataDir, HOOKLINE_AUTH: 'none' };
    const child = spawn(BINARY, ['runs', 'list', '--follow'], { env, stdio: 'pipe' });
    atEnd(t, () => child.kill('SIGKILL'));
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece));
    await until('the first is there', () => text.includes(first));
    assert.match(lines(text)[0], /^TIME +RUN +STATE +STATUS +REASON +APP +PATH +ERROR$/);
    const { id } = await all.call('/v4/p/a/slow', { query: { async: 'true' } });
    await until('the second runs', () => new RegExp(`Z {2}${id} {2}running +- +- +a +/slow +-$`, 'm').test(text));
    open();
    await until('and has ended', () => new RegExp(`Z {2}${id} {2}success +200 +- +a +/slow +-$`, 'm').test(text));
    assert.equal(lines(text).filter((line) => line.includes(first)).length, 1, text);
    await all.sidecar.stop();
    assert.match((await all.cli('runs list --follow', { code: 1 })).stderr, /no hookline is running here/);
});

test('runs list --follow fits a terminal of 80 columns', async (t) => {
    const all = await staged(t);
    const id = await ended(all);
    const child = spawn('script', ['-qec', `stty cols 80; exec ${BINARY} runs list --follow`, '/dev/null'], {
        env: { PATH: process.env.PATH, TERM: 'dumb', HOOKLINE_DATA_DIR: all.sidecar.dataDir },
        stdio: 'pipe',
    });
    atEnd(t, () => child.kill('SIGKILL'));
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece));
    const [head, row] = await until('its line is there', () => text.split('\r\n').length > 2 && text.split('\r\n'));
    assert.match(head, /^TIME +RUN +STATE +STATUS +REASON +APP +PATH +ERROR$/);
    assert.match(row, new RegExp(`^\\d\\d:\\d\\d:\\d\\dZ {2}${id.slice(-8)} {2}success +200 +- +a +/run +-$`));
    assert.ok(head.length <= 80 && row.length <= 80);
});

test('runs list --follow misses none of more runs than a page holds', async (t) => {
    const all = await staged(t);
    const first = await ended(all);
    const env = { HOOKLINE_DATA_DIR: all.sidecar.dataDir, HOOKLINE_AUTH: 'none' };
    const child = spawn(BINARY, ['runs', 'list', '--follow', '--json'], { env, stdio: 'pipe' });
    atEnd(t, () => child.kill('SIGKILL'));
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece));
    await until('the first is there', () => text.includes(first));
    child.kill('SIGSTOP'); // they all come between two of its looks
    const made = [];
    for (let i = 0; i < 12; i++)
        made.push(...(await Promise.all(Array.from({ length: 50 }, () => all.call('/v4/p/a/run')))).map(({ id }) => id));
    child.kill('SIGCONT');
    const shown = () => lines(text.slice(0, text.lastIndexOf('\n') + 1)).map((line) => JSON.parse(line).run_id);
    await until('all of them', () => shown().length > 600);
    assert.deepEqual(shown().slice(1).sort(), made.sort());
});

const has = (program) =>
    promisify(execFile)('which', [program]).then(
        () => true,
        () => false,
    );

test('completion knows commands, the words of a command, and its options', async (t) => {
    const directory = await temporaryDirectory(t);
    await mkdir(directory, { recursive: true });
    const file = join(directory, 'completion');
    await writeFile(file, (await run(['completion', 'bash'])).stdout);
    const complete = async (...words) => {
        const list = words.map((word) => `'${word}'`).join(' ');
        const script = `. ${file}; COMP_WORDS=(hookline ${list}); COMP_CWORD=${words.length}; _hookline; echo "\${COMPREPLY[@]}"`;
        const { stdout } = await promisify(execFile)('bash', ['-c', script]);
        return stdout.trim().split(' ');
    };
    assert.deepEqual(await complete('del'), ['deliveries']);
    assert.deepEqual(await complete('runs', 're'), ['result', 'rerun', 'redeliver']);
    assert.deepEqual(await complete('runs', 'list', '--s'), ['--state', '--sync', '--status', '--since']);
    assert.deepEqual(await complete('runs', 'wait', NOBODY, '--t'), ['--timeout', '--token-file']);
    assert.deepEqual(await complete('completion', 'z'), ['zsh']);
    for (const [words, values] of [
        ['runs list --state', 'queued running success failure cancelled'],
        ['runs list --webhook', 'none pending delivered dead'],
        ['runs list --status', 'none'],
        ['deliveries redeliver --state', 'dead delivered'],
        ['token create --max-priority', 'high normal low'],
        ['token create --rate', ''],
        ['runs list --project', ''],
        ['runs list --token-file', ''],
        ['call /v4/p/a/run --json', ''],
    ]) {
        assert.equal((await complete(...words.split(' '), '')).join(' '), values, words);
        assert.equal((await complete(...words.split(' '), '=', '')).join(' '), values, `${words}=`);
    }
    const { stderr } = await run(['runs', 'list', '--reason', 'bad']);
    const reasons = stderr.match(/--reason is (.*), not "bad"/)[1].split(/, | or /);
    assert.ok(reasons.includes('app_error') && reasons.length > 5, stderr);
    assert.deepEqual(await complete('runs', 'list', '--reason', ''), reasons, 'those that the command takes');
    assert.deepEqual(await complete('runs', 'list', '--async', '--unt'), ['--until'], 'which takes no value');
    for (const shell of ['bash', 'zsh', 'fish']) {
        const { stdout } = await run(['completion', shell]);
        for (const word of ['deliveries', 'redeliver', 'dry-run']) assert.ok(stdout.includes(word), shell);
        if (!(await has(shell))) continue;
        await writeFile(file, stdout);
        await promisify(execFile)(shell, ['-n', file]);
    }
});

test('completion has files for an option that takes one, and for a body behind @', async (t) => {
    const directory = await temporaryDirectory(t);
    await mkdir(directory, { recursive: true });
    const file = join(directory, 'completion');
    await writeFile(file, (await run(['completion', 'bash'])).stdout);
    await writeFile(join(directory, 'a-token'), '');
    await writeFile(join(directory, 'b c.json'), '');
    const shell = spawn('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], {
        cwd: directory,
        env: { PATH: process.env.PATH, HISTFILE: '', TERM: 'dumb', PS1: 'ready> ' },
        stdio: 'pipe',
        timeout: 60_000,
    });
    atEnd(t, () => shell.kill('SIGKILL'));
    let text = '';
    shell.stdout.setEncoding('utf8').on('data', (piece) => (text += piece));
    /** What the shell has printed of `typed`, until it is ready for more. */
    const type = async (typed) => {
        await until('the shell is ready', () => text.endsWith('ready> '));
        text = '';
        shell.stdin.write(`${typed}\n`);
        await until('it has done that', () => text.endsWith('ready> '));
        return text;
    };
    await type(`. ${file}; hookline() { printf '<%s>' "$@"; echo; }`);
    for (const [typed, last] of [
        ['runs list --token-file a-t', 'a-token'],
        ['sign --secret-file=a-t', '--secret-file=a-token'],
        ['call /v4/p/a/run --json @b', '@b c.json'],
        ['runs send a --data=@b', '--data=@b c.json'],
        ['call /v4/p/a/run --json a', 'a'],
        ['runs list --project a-t', 'a-t'],
        ['runs list --state a-t', 'a-t'],
        ['dev a-t', 'a-token'],
    ]) {
        const shown = await type(`hookline ${typed}\t`);
        assert.ok(shown.includes(`<${last}>\r\n`), `${typed}: ${shown}`);
    }
    const over = new Promise((resolve) => shell.on('close', resolve));
    shell.stdin.write('exit\n');
    await over;
});

test('the manual page has every command and setting, and roff has nothing to say about it', async (t) => {
    const { stdout: page } = await run(['man']);
    for (const part of ['.TH HOOKLINE 1', 'hookline deliveries redeliver', 'HOOKLINE_RETENTION', '\\-\\-dry\\-run'])
        assert.ok(page.includes(part), part);
    if (!(await has('groff'))) return t.skip('no groff here');
    const file = join(await temporaryDirectory(t), 'hookline.1');
    await writeFile(file, page);
    const { stdout, stderr } = await promisify(execFile)('groff', ['-man', '-Tutf8', '-ww', file]);
    assert.equal(stderr, '');
    assert.match(stdout, /runs list --state failure --since 1h/);
});
