// The verdict of the cases: a relay that reads nothing, and passes all on as it came, is found out by each hostile one.
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import { test } from '../lib/runner.mjs';
import { atEnd } from '../lib/cleanup.mjs';
import { requestGroups, responseGroups } from './cases/index.mjs';
import { Origin } from './lib/origin.mjs';
import { runCase } from './lib/run-case.mjs';

/** The worst of proxies, as a stage of cases. */
async function relay(t) {
    const origin = await new Origin().listen();
    atEnd(t, () => origin.close());
    const sockets = new Set();
    const server = net.createServer({ noDelay: true }, (caller) => {
        const app = net.connect({ port: origin.port, host: '127.0.0.1', noDelay: true });
        for (const [from, to] of [
            [caller, app],
            [app, caller],
        ]) {
            sockets.add(from);
            from.on('error', () => to.destroy()).pipe(to);
        }
    });
    atEnd(t, () => {
        for (const socket of sockets) socket.destroy();
        return new Promise((resolve) => server.close(resolve));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: server.address().port, origin };
}

const named = (groups, title, ...names) => {
    const { cases } = groups.find((group) => group.title === title);
    return names.map((name) => cases.find((one) => one.name === name) ?? assert.fail(name));
};

const HOSTILE = [
    ...named(requestGroups, 'request lines', 'two spaces before the target', 'HTTP/2.0'),
    ...named(requestGroups, 'request targets', 'a fragment in the target', 'a NUL in the target'),
    ...named(
        requestGroups,
        'field lines',
        'a space before the colon',
        'a fold',
        'a NUL in a value',
    ),
    ...named(requestGroups, 'Host', 'no Host', 'two Hosts', 'Host: "a b"'),
    ...named(requestGroups, 'Content-Length', 'a plus sign', 'two that differ', 'a list of two'),
    ...named(requestGroups, 'Transfer-Encoding', 'a length before chunks', 'in HTTP/1.0'),
    ...named(requestGroups, 'chunks of requests', 'a bare LF behind a size', 'a size: 0x'),
    ...named(requestGroups, 'trailers of requests', 'trailers: forbidden: Content-Length: 50'),
    ...named(requestGroups, 'Connection', 'nominated: a field', 'Keep-Alive goes no further'),
    ...named(requestGroups, 'upgrades', 'upgrade to h2c: served as plain HTTP'),
    ...named(responseGroups, 'heads of answers', 'a fold', 'a NUL in a value', 'bare LFs'),
    ...named(responseGroups, 'fields of answers', 'nominated: a field'),
    ...named(responseGroups, 'bodies of answers', 'two lengths', 'chunks and a length'),
    ...named(responseGroups, 'chunks of answers', 'a bare LF behind a size'),
    ...named(responseGroups, 'interim answers', '101 that nobody asked for'),
];

for (const theCase of HOSTILE) {
    test(`passed on as it came: ${theCase.name} [${theCase.rfc}]`, async (t) => {
        await assert.rejects(runCase(await relay(t), theCase, 'whole'));
    });
}

test('what is good passes, through a relay too', async (t) => {
    const stage = await relay(t);
    for (const theCase of named(requestGroups, 'request lines', 'a plain request', 'PUT', 'DELETE'))
        await runCase(stage, theCase, 'whole');
});
