// The bundle in root file systems of other kinds of system: all that hookline does, with nothing of theirs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFile, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { FILE, test } from '../integration/lib/case.mjs';
import { issue, makePair } from '../integration/lib/certificates.mjs';
import { atEnd } from '../integration/lib/cleanup.mjs';
import { DnsServer } from '../integration/lib/dns.mjs';
import { compile, inRepository, startHost } from '../integration/lib/function.mjs';
import { postgres } from '../integration/lib/postgres.mjs';
import { freePort, temporaryDirectory } from '../integration/lib/sidecar.mjs';
import { RUN, stage } from '../integration/lib/stage.mjs';
import { startServer } from '../integration/lib/server.mjs';
import { until } from '../integration/lib/until.mjs';
import { Root, SOMEBODY, bundle, kinds, lacking } from './roots.mjs';

/** What a user's environment has for the app, and what must not disturb hookline. */
const FOR_LOADERS = { INSIDE_LD_PRELOAD: '/nowhere/preloaded.so', INSIDE_LD_LIBRARY_PATH: '/lib:/nowhere' };
const NAMES = { app: 'app.names.test', receiver: 'receiver.names.test', database: 'database.names.test' };

/** An https receiver under a name, whose authority nobody knows but who is told: `{ url, bodies, authority }`. */
async function startReceiver(t) {
    const directory = await temporaryDirectory(t);
    const authority = await makePair(directory, 'authority');
    const names = { subject: '/CN=receiver', names: `DNS:${NAMES.receiver}`, usage: 'serverAuth' };
    const { cert, key } = await issue(directory, authority, 'receiver', names);
    const bodies = [];
    const server = https.createServer({ cert, key }, async (incoming, response) => {
        bodies.push(JSON.parse(Buffer.concat(await incoming.toArray())));
        response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => {
        server.closeAllConnections();
        server.close();
    });
    return { url: `https://${NAMES.receiver}:${server.address().port}/hook`, bodies, authority: authority.cert };
}

/** Where a list of authorities lies over the root's, or the bundle's where the root has none; with that one at its end. */
async function trusting(t, root, authority) {
    const path = root.authorities ?? `${root.place}/ca-certificates.crt`;
    const file = join(await temporaryDirectory(t), 'authorities.pem');
    if (root.authorities) await root.write(path, '');
    else await copyFile(join(await bundle(), 'ca-certificates.crt'), file);
    await appendFile(file, await readFile(authority));
    return { [path]: file };
}

/** A name server that knows all of this machine's names, and a root that asks it. */
async function withNames(t, root) {
    const dns = await DnsServer.beside(t);
    for (const name of Object.values(NAMES)) dns.set(name, ['127.0.0.1']);
    await root.write('/etc/resolv.conf', `nameserver ${dns.address}\n`);
    return dns;
}

const MODES = {
    async '/answer'(exchange) {
        await exchange.json({ got: (await exchange.body()).toString() });
    },
    async '/events'(exchange) {
        await exchange.body();
        await exchange.send(200, { 'Content-Type': 'text/event-stream' }, 'data: one\n\ndata: two\n\n');
    },
};

const app = (exchange) => (MODES[exchange.target] ?? MODES['/answer'])(exchange);

const wordsOf = (text, kind) =>
    text.split('\n').filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));

for (const kind of kinds) {
    let made;
    const make = () => {
        atEnd(FILE, () => (made = undefined));
        return Root.make(kind);
    };
    const given = async (t) => {
        const one = await (made ??= make());
        if (one.lacking) t.skip(one.lacking);
        return one.lacking ? null : one;
    };

    test(`${kind}: a call of each mode is answered, and its webhook sent by TLS to a name`, { skip: lacking }, async (t) => {
        const place = await given(t);
        if (!place) return;
        await withNames(t, place);
        const receiver = await startReceiver(t);
        const port = await freePort();
        const { call, sidecar } = await stage(t, {
            app: null,
            command: await place.command({ over: await trusting(t, place, receiver.authority) }),
            env: { ...FOR_LOADERS, HOOKLINE_APP_URL: `http://${NAMES.app}:${port}`, HOOKLINE_DATA_DIR: '/data/65534', TZ: 'Europe/Berlin' },
        });
        await startServer(t, app, port);
        await sidecar.until('readyz');

        const answer = await call('/v4/p/a/answer', { body: 'hello' });
        assert.deepEqual([answer.status, answer.json()], [200, { got: 'hello' }]);
        const events = await call('/v4/p/a/events', { headers: { Accept: 'text/event-stream' } });
        assert.equal(events.text, 'data: one\n\ndata: two\n\n');
        const accepted = await call('/v4/p/a/answer', { query: { async: 'true', webhookEndpoint: receiver.url }, body: 'later' });
        assert.equal(accepted.status, 202);
        const told = () => receiver.bodies.find((body) => body.run_id === accepted.json().run_id);
        assert.deepEqual((await until('the webhook has come', told)).response, { got: 'later' });

        assert.match(sidecar.log[0].time, /Z$/);
        const health = await place.run(['health'], { env: { HOOKLINE_LISTEN: `127.0.0.1:${sidecar.port}`, HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}` } });
        assert.deepEqual([health.code, health.stderr], [0, '']);
        const maps = await readFile(`/proc/${sidecar.pid}/maps`, 'utf8');
        const foreign = maps.match(/\/.*\.so\b.*$/gm).filter((file) => !file.includes(place.path + place.place)); // a chroot's own path may be before it
        assert.deepEqual(foreign, []);
        assert.equal((await readFile(`/proc/${sidecar.pid}/comm`, 'utf8')).trim(), 'hookline');
    });

    test(`${kind}: runs are kept in PostgreSQL`, { skip: lacking }, async (t) => {
        const place = await given(t);
        if (!place) return;
        await withNames(t, place);
        const database = await postgres(t);
        const url = new URL(database.url);
        url.hostname = NAMES.database;
        const { call } = await stage(t, {
            app,
            command: await place.command(),
            env: { ...FOR_LOADERS, ...database.env, HOOKLINE_POSTGRES_URL: url.href, HOOKLINE_DATA_DIR: '/data/65534' },
        });
        const { run_id: id } = (await call('/v4/p/a/answer', { query: { async: 'true' }, body: 'kept' })).json();
        const result = await call(`/v2/projects/p/apps/a/runs/${id}/result`, { method: 'GET', query: { wait: '30' } });
        assert.deepEqual(result.json(), { got: 'kept' });
        const [{ n }] = await database.query(`SELECT count(*) AS n FROM ${database.schema}.node`);
        assert.equal(n, 1);
    });

    test(`${kind}: the app is started by its own loader, in the user’s environment and as the user that is named`, { skip: lacking }, async (t) => {
        const place = await given(t);
        if (!place) return;
        const port = await freePort();
        const user = { alpine: SOMEBODY.name, distroless: SOMEBODY.name, debian: 'games' }[kind];
        for (const [who, expected] of [['1234:1234', '1234:1234'], ...(user ? [[user, user === 'games' ? '5:60' : '4711:4711']] : [])]) {
            const { call, sidecar } = await stage(t, {
                app: null,
                wait: 'readyz',
                command: await place.command({ user: 0, isBare: kind === 'empty' }),
                env: {
                    ...FOR_LOADERS,
                    INSIDE_LD_PRELOAD: '',
                    HOOKLINE_APP_URL: `http://localhost:${port}`,
                    HOOKLINE_APP_COMMAND: '["/app", "argument"]',
                    HOOKLINE_APP_USER: who,
                    HOOKLINE_DATA_DIR: '/data/0',
                    OWN: 'of the user',
                },
            });
            const { text } = await call(RUN);
            const variables = wordsOf(text, 'variable');
            assert.ok(variables.includes('OWN=of the user') && variables.includes('LD_LIBRARY_PATH=/lib:/nowhere') && variables.includes('LD_PRELOAD='), text);
            assert.deepEqual(variables.filter((entry) => /BUNDLE|HIDDEN/.test(entry)), []);
            assert.deepEqual(wordsOf(text, 'user'), [expected]);
            assert.deepEqual(wordsOf(text, 'name'), ['/app']);
            assert.deepEqual(wordsOf(text, 'file').filter((file) => file.includes(place.place)), []);
            await sidecar.end();
        }
    });

    test(`${kind}: functions in C are served`, { skip: lacking }, async (t) => {
        const place = await given(t);
        if (!place) return;
        await copyFile(await compile(t, inRepository('tests/integration/functions/probe.c')), join(place.path, 'functions.so'));
        const [program, ...args] = await place.command({ path: `${place.place}/hookline-function` });
        const host = await startHost(t, [...args, '/functions.so'], { ...FOR_LOADERS, TMPDIR: '/data/65534' }, program);
        const answer = await host.call('run', { text: 'of C' });
        assert.deepEqual([answer.status, answer.json().input], [200, { text: 'of C' }]);
    });

    test(`${kind}: it is called through a link, without /proc and as any user; a part of it says what is missing`, { skip: lacking }, async (t) => {
        const place = await given(t);
        if (!place) return;
        for (const options of [
            {},
            { path: '/usr/local/bin/hookline' },
            { path: '/usr/local/bin/hookline', isBare: true },
            { user: 0 },
            { user: 123456, isBare: true },
        ]) {
            const { code, stdout, stderr } = await place.run(['--version'], { ...options, env: FOR_LOADERS });
            assert.match(stdout, /^hookline \d/, stderr);
            assert.deepEqual([code, stderr], [0, '']);
        }
        const folder = join(await temporaryDirectory(t), 'part');
        await mkdir(folder);
        for (const name of ['hookline', 'ca-certificates.crt']) await copyFile(join(await bundle(), name), join(folder, name));
        const part = await place.run(['--version'], { folder });
        assert.equal(part.code, 127);
        assert.match(part.stderr, /^hookline: \S[^\n]*\/lib\/ld-linux[^\n]*: it is missing[^\n]*copy the whole folder[^\n]*\n$/);
    });
}
