// Webhooks to names: what DNS says is judged at each attempt, whatever it said before, address by address.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { DnsServer } from './lib/dns.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { freePort } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { until } from './lib/until.mjs';

const ALLOWED = { HOOKLINE_WEBHOOK_ALLOW: '127.0.0.2/32, 127.0.0.3/32, 127.0.0.4/32' };

/**
 * A sidecar that asks our name server, and the same port on several addresses: receivers on 127.0.0.2
 * and .3, which may be reached; 127.0.0.4, where nobody listens; traps on 127.0.0.1 and ::1, which may
 * not. null: skipped.
 */
async function open(t, env = {}, options) {
    const started = await DnsServer.start(t, options);
    if (!started) return null;
    const { dns, command } = started;
    const staged = await stage(t, { env: { ...ALLOWED, ...env }, command });
    const port = await freePort();
    const scripts = new Map();
    const listen = (host) => startServer(t, (x) => answer(scripts, x), port, host);
    const [trap, good, other] = [
        await listen('127.0.0.1'),
        await listen('127.0.0.2'),
        await listen('127.0.0.3'),
    ];
    const traps = [trap, await listen('::1').catch(() => trap)]; // a machine may have no IPv6
    /** Calls with a webhook at that name; returns the call's run id. */
    const send = async (host, path = '/hook') => {
        const webhookEndpoint = `http://${host}:${port}${path}`;
        const { status, id } = await staged.call(RUN, { query: { webhookEndpoint } });
        assert.equal(status, 200, host);
        return id;
    };
    const dead = (count) =>
        until(
            `${count} dead letters`,
            async () => (await staged.sidecar.metric('hookline_dead_letters_total')) === count,
        );
    const delivered = (server, path, count = 1, timeout = undefined) =>
        until(
            `${count} deliveries at ${path}`,
            () => server.requests.filter((x) => x.path === path && x.bytes).length === count,
            timeout,
        );
    /** `of(id)`: a run's attempts, `{ n, error }`, once the sidecar has ended. */
    const attempts = async () => {
        await staged.sidecar.stop();
        const rows = await staged.sidecar.sql(
            'SELECT lower(hex(run_id)) AS run, a.n, error FROM attempt a ' +
                'JOIN delivery USING (delivery_id) ORDER BY a.n',
        );
        return (id) => rows.filter(({ run }) => run === id.replaceAll('-', ''));
    };
    const untouched = () => {
        for (const { connections } of traps)
            assert.equal(connections, 0, 'reached what is blocked');
    };
    return {
        ...staged,
        dns,
        port,
        scripts,
        good,
        other,
        send,
        dead,
        delivered,
        attempts,
        untouched,
    };
}

/** Answers to the successive requests for a path; 200 unless there is a script. */
async function answer(scripts, exchange) {
    await exchange.body();
    const script = scripts.get(exchange.path) ?? [200];
    const next = script.length > 1 ? script.shift() : script[0];
    if (typeof next === 'function') await next(exchange);
    else await exchange.send(next);
}

const BLOCKED = [
    ...[
        '0.0.0.0',
        '0.1.2.3',
        '10.1.2.3',
        '100.64.0.1',
        '100.127.255.255',
        '127.0.0.1',
        '127.0.0.5',
    ],
    ...['127.255.255.254', '168.63.129.16', '169.254.169.254', '172.16.0.1', '172.31.255.255'],
    ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1', '198.51.100.1'],
    ...['203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::127.0.0.1', '::7f00:2', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe'],
    ...['::ffff:0:127.0.0.1', '64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::7f00:2'],
    ...[
        '100::1',
        '2001::1',
        '2001:0:7f00:1::',
        '2001:db8::1',
        '2002:7f00:1::',
        '2002:a9fe:a9fe::1',
    ],
    ...['3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1'],
];

test('a name with a blocked address is refused for good, whichever it is', async (t) => {
    const s = await open(t);
    if (!s) return;
    const ids = [];
    for (const [i, address] of BLOCKED.entries()) {
        s.dns.set(`n${i}.test`, [address]);
        ids.push(await s.send(`n${i}.test`));
    }
    await s.dead(BLOCKED.length);
    const of = await s.attempts();
    for (const [i, address] of BLOCKED.entries()) {
        assert.equal(of(ids[i]).length, 1, `${address} is tried again`);
        assert.match(of(ids[i])[0].error, /^blocked_address.*HOOKLINE_WEBHOOK_ALLOW/, address);
    }
    s.untouched();
});

test('what no server has is found in /etc/hosts, where nsswitch.conf names the files behind the servers', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('*', 'NXDOMAIN');
    s.dns.set('both.test', ['127.0.0.2']);
    await s.dns.order({ nsswitch: 'hosts: dns files\n', hosts: '127.0.0.2 inside.test\n127.0.0.1 both.test blocked.test\n' });
    for (const name of ['inside', 'both']) {
        await s.send(`${name}.test`, `/${name}`);
        await s.delivered(s.good, `/${name}`);
    }
    const id = await s.send('blocked.test');
    await s.dead(1);
    const of = await s.attempts();
    assert.match(of(id)[0].error, /^blocked_address/);
    s.untouched();
});

test('a name is a name in any spelling, and so are numbers that are not an address', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('*', ['127.0.0.1', '::1']);
    const hosts = [
        ...[
            'inside.test',
            'inside.test.',
            'INSIDE.Test',
            'xn--bcher-kva.test',
            'a_b.test',
            'inside',
        ],
        ...[
            'localhost',
            'LOCALHOST',
            'localhost.',
            'a.localhost',
            'ip6-localhost',
            '127.0.0.1.nip.test',
        ],
        ...[
            '256.0.0.1',
            '127.0.0.256',
            '127.0.0.1.1',
            '0x7f.0.0.0.1',
            '08.0.0.1',
            '0x1g',
            '4294967296',
        ],
    ];
    const ids = [];
    for (const host of hosts) ids.push(await s.send(host));
    await s.dead(hosts.length);
    const of = await s.attempts();
    for (const [i, host] of hosts.entries())
        assert.match(of(ids[i])[0].error, /^(blocked_address|dns_failed|bad_url)/, host);
    s.untouched();
});

test('of mixed answers the addresses that are not blocked are used, in any order', async (t) => {
    const s = await open(t);
    if (!s) return;
    const mixed = [
        ['127.0.0.1', '127.0.0.2'],
        ['127.0.0.2', '127.0.0.1'],
        ['::1', '127.0.0.2'],
        ['127.0.0.2', '::1', 'fd00::1', '::ffff:127.0.0.1'],
        ['10.0.0.1', '169.254.169.254', '127.0.0.2', '127.0.0.1', '0.0.0.0'],
    ];
    for (const [i, addresses] of mixed.entries()) {
        s.dns.set(`m${i}.test`, addresses);
        await s.send(`m${i}.test`, `/${i}`);
        await s.delivered(s.good, `/${i}`);
    }
    s.untouched();
});

test('an address that does not answer is tried again, the blocked ones beside it are not', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('down.test', ['127.0.0.4', '127.0.0.1', '::1']);
    const id = await s.send('down.test');
    await s.dead(1);
    const of = await s.attempts();
    assert.equal(of(id).length, 3);
    for (const { error } of of(id)) assert.match(error, /^connect_failed/);
    s.untouched();
});

test('a name that is bound to a blocked address between attempts is refused then', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('rebound.test', ['127.0.0.2'], ['127.0.0.1']);
    s.scripts.set('/hook', [404]); // the connection stays open, and may not be used again
    const id = await s.send('rebound.test');
    await s.dead(1);
    const of = await s.attempts();
    assert.equal(of(id).length, 2);
    assert.match(of(id)[1].error, /^blocked_address/);
    assert.equal(s.good.requests.length, 1);
    s.untouched();
});

test('a receiver that moves between attempts is found at its new address', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('moved.test', ['127.0.0.2'], ['127.0.0.4'], ['127.0.0.3']);
    s.scripts.set('/hook', [404, 200]);
    await s.send('moved.test');
    await s.delivered(s.other, '/hook');
    assert.equal(s.good.requests.length, 1);
    assert.equal(s.dns.count('moved.test'), 3, 'one look-up for each attempt');
});

test('a look-up that fails is a network error, and the next attempt asks again', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('late.test', 'NXDOMAIN', [], ['127.0.0.2']);
    const id = await s.send('late.test');
    await s.delivered(s.good, '/hook');
    const of = await s.attempts();
    assert.match(of(id)[0].error, /^dns_failed/);
    assert.match(of(id)[1].error, /^dns_failed/);
});

test('a kept connection leads to the address that was allowed, never to what the name means by now', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.scripts.set('/last', [
        async (x) => {
            await x.respond(200, { Connection: 'close', 'Content-Length': 0 });
            x.end();
        },
    ]);
    s.dns.set('kept.test', ['127.0.0.2']);
    await s.send('kept.test', '/first');
    await s.delivered(s.good, '/first');
    s.dns.set('kept.test', ['127.0.0.1', '::1']);
    await s.send('kept.test', '/last');
    await until('it is settled', async () => {
        const isBlocked = (await s.sidecar.metric('hookline_dead_letters_total')) === 1;
        return isBlocked || s.good.requests.some((x) => x.path === '/last');
    });
    await s.send('kept.test', '/gone'); // the connection, if it was used, has ended
    const dead = s.good.requests.some((x) => x.path === '/last') ? 1 : 2;
    await s.dead(dead);
    s.untouched();
});

/** What a resolver does that waits for a silent name server longer than any delivery may take. */
const PATIENT = 'timeout:30 attempts:2';

/** Calls with webhooks to names of which the name server says nothing, until it was asked for all. */
async function callSilentNames(s) {
    const ids = [];
    for (const name of ['mute.test', 'dumb.test', 'quiet.test']) {
        s.dns.set(name, 'SILENCE');
        ids.push(await s.send(name));
        await until(`${name} is looked up`, () => s.dns.count(name) > 0);
    }
    return ids;
}

test('a name server that does not answer delays no other delivery', async (t) => {
    const s = await open(t, { HOOKLINE_WEBHOOK_TIMEOUT: '1s' }, PATIENT);
    if (!s) return;
    s.dns.set('prompt.test', ['127.0.0.2']);
    const ids = await callSilentNames(s);
    await s.send('prompt.test', '/meanwhile');
    await s.delivered(s.good, '/meanwhile');
    await s.dead(3);
    await s.send('prompt.test', '/after');
    await s.delivered(s.good, '/after');
    const of = await s.attempts();
    for (const id of ids) {
        assert.equal(of(id).length, 3);
        for (const { error } of of(id)) assert.match(error, /^dns_failed/);
    }
});

test('names without end under one suffix that nobody answers for hold up no other name', async (t) => {
    const names = 1500;
    const s = await open(t, {}, PATIENT);
    if (!s) return;
    s.dns.set('*', 'SILENCE');
    s.dns.set('hook.prompt.test', ['127.0.0.2']);
    const count = (name, labels) => s.sidecar.metric(`hookline_${name}`, labels);
    let left = names;
    const sendMany = async () => {
        while (left-- > 0) await s.send(`n${left}.silent.test`);
    };
    await Promise.all(Array.from({ length: 50 }, sendMany));
    await s.send('hook.prompt.test');
    await until('it is delivered', () => s.good.requests.some((x) => x.bytes), 90_000);
    const asked = new Set(s.dns.questions.filter((q) => q.endsWith('.silent.test A'))).size;
    const over = await count('delivery_attempts_total');
    assert.ok(asked <= 64 + over, `${asked} names are asked for, ${over} attempts are over`);
    assert.ok(over < names - 256, 'it has not waited for their turns');
    s.dns.set('*', ['127.0.0.2']);
    await s.sidecar.restart();
    await s.delivered(s.good, '/hook', names + 1, 90_000);
});

test('a look-up under way does not hold up the end, and the delivery is made after the next start', async (t) => {
    const s = await open(t, {}, PATIENT);
    if (!s) return;
    await callSilentNames(s);
    await s.sidecar.stop();
    s.dns.set('mute.test', ['127.0.0.2']);
    await s.sidecar.restart();
    await s.delivered(s.good, '/hook');
});

test('a name server that has changed in resolv.conf is asked from then on', async (t) => {
    const s = await open(t);
    const next = s && (await DnsServer.start(t));
    if (!next) return;
    s.dns.set('moved.test', ['127.0.0.2']);
    next.dns.set('moved.test', ['127.0.0.3']);
    s.scripts.set('/hook', [
        async (x) => {
            await s.dns.giveWayTo(next.dns);
            await x.send(404);
        },
        200,
    ]);
    await s.send('moved.test');
    await s.delivered(s.other, '/hook');
});

test('ports are numbers of 16 bits, in decimal', async (t) => {
    const s = await open(t);
    if (!s) return;
    s.dns.set('*', ['127.0.0.2']);
    for (const [i, port] of [`0${s.port}`, `000000${s.port}`].entries()) {
        const webhookEndpoint = `http://port.test:${port}/${i}`;
        assert.equal((await s.call(RUN, { query: { webhookEndpoint } })).status, 200, port);
        await s.delivered(s.good, `/${i}`);
    }
    const big = 65536 + s.port;
    const bad = [
        '65536',
        `${big}`,
        '18446744073709551696',
        '-1',
        '+80',
        '0x50',
        '8o',
        ' 80',
        '80 ',
    ];
    for (const port of [...bad, '80:80', '8\uff10', '80%30', '80\u0000', '8_0', '1e3', '.80']) {
        const webhookEndpoint = `http://port.test:${port}/bad`;
        const { status } = await s.call(RUN, { query: { webhookEndpoint } });
        assert.equal(status, 400, JSON.stringify(port));
    }
    assert.equal(s.good.requests.length, 2);
});
