// Where webhooks may go: bad and blocked endpoints are refused, at the call when they can be, else at the connection.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

const NO_ALLOW = { HOOKLINE_WEBHOOK_ALLOW: '' };

test('a value that is not an absolute http(s) URL is 400 and the app is not called', async (t) => {
    const { app, call } = await stage(t);
    const bad = [
        'x',
        '/relative',
        '//host/path',
        'ftp://example.com/',
        'file:///etc/passwd',
        'gopher://example.com/',
        'http:/one-slash',
        'http://',
        'https://',
        'http:///path',
        'http://user@example.com/',
        'http://user:pw@example.com/',
        'http://@example.com/',
        'http://example.com:0x50/',
        'http://example.com:99999/',
        'http://example.com:-1/',
        'http://exa mple.com/',
        'http://example.com/a b',
        'http://example.com/\r\nX-Injected: 1',
        'http://example.com/\u0000',
        'http://example.com/ä',
        'http://example.com\\@evil.com/',
        'http://[::1',
        'http://[zz]/',
        'javascript:alert(1)',
        'http://example.com/%zz',
        ' http://example.com/',
    ];
    for (const webhookEndpoint of bad) {
        for (const mode of [{}, { async: 'true' }]) {
            const response = await call(RUN, { query: { ...mode, webhookEndpoint } });
            assert.equal(response.status, 400, JSON.stringify(webhookEndpoint));
            assertProblem(response, 400);
        }
    }
    assert.equal(app.requests.length, 0);
});

test('an empty or broken webhookEndpoint is 400', async (t) => {
    const { app, connect } = await stage(t);
    for (const query of [
        'webhookEndpoint',
        'webhookEndpoint=',
        'webhookEndpoint=http%3A%2F%2Fx%2',
        'webhookEndpoint=%00',
    ]) {
        const client = await connect();
        await client.send(request('POST', `${RUN}?${query}`, {}, '{}'));
        assertProblem(await client.response(), 400);
    }
    assert.equal(app.requests.length, 0);
});

test('a URL of 2,048 bytes is taken, a longer one is 400', async (t) => {
    const { app, call, receiver } = await stage(t);
    const base = receiver.url('/');
    const longest = base + 'x'.repeat(2048 - base.length);
    assert.equal((await call(RUN, { query: { webhookEndpoint: longest } })).status, 200);
    await until('it arrived', () => receiver.requests.length === 1);
    assertProblem(await call(RUN, { query: { webhookEndpoint: `${longest}x` } }), 400);
    assert.equal(app.requests.length, 1);
});

test('a literal blocked address is 400 in every textual form', async (t) => {
    const { app, call } = await stage(t, { env: NO_ALLOW });
    const hosts = [
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f000001',
        '0x7f.1',
        '0177.0.0.1',
        '017700000001',
        '127.0.0.1.',
        '127.255.255.254',
        '0.0.0.0',
        '0',
        '10.0.0.1',
        '172.16.0.1',
        '172.31.255.255',
        '192.168.1.1',
        '100.64.0.1',
        '169.254.169.254',
        '169.254.0.1',
        '224.0.0.1',
        '239.255.255.255',
        '240.0.0.1',
        '255.255.255.255',
        '192.0.2.1',
        '198.51.100.1',
        '203.0.113.1',
        '198.18.0.1',
        '192.0.0.1',
        '168.63.129.16',
        '[::1]',
        '[::]',
        '[fe80::1]',
        '[fc00::1]',
        '[fd12:3456::1]',
        '[ff02::1]',
        '[2001:db8::1]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[::127.0.0.1]',
        '[2002:7f00:1::]',
        '[2002:a00:1::]',
        '[64:ff9b::7f00:1]',
        '[64:ff9b::169.254.169.254]',
        '[::ffff:169.254.169.254]',
        '[0:0:0:0:0:0:0:1]',
        // decimal, octal, hex, in one to four parts, mixed, with a final dot
        ...['127.0.1', '127.65535', '0X7F.0X0.0X0.0X1', '0x7f.0.0.1', '0x7F000001', '0x0000007f.1'],
        ...[
            '0177.1',
            '0177.0.01',
            '00000000177.0.0.01',
            '0177.0x0.1',
            '2130706433.',
            '0x7f000001.',
        ],
        ...['017700000001.', '4294967295', '0xffffffff', '037777777777', '0x', '0.', '00', '0x0'],
        ...['2852039166', '0xa9fea9fe', '025177524776', '169.0xfea9fe', '0251.0376.0251.0376'],
        // IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo
        ...['[::FFFF:7F00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::ffff:0:0]', '[::a9fe:a9fe]'],
        ...['[::ffff:0:7f00:1]', '[64:ff9b::a00:1]', '[0064:FF9B:0::192.168.0.1]'],
        ...['[64:ff9b:1::7f00:1]', '[2002:c0a8:101::1]', '[2002:A9FE:A9FE::]', '[2001:0:7f00:1::]'],
        // zone identifiers, and other ranges of IPv6
        ...['[fe80::1%25lo]', '[fe80::1%25eth0]', '[::1%251]', '[ff02::1%25a-b]'],
        ...['[fec0::1]', '[100::1]', '[5f00::1]', '[2001::1]', '[3fff::1]', '[FE80:0:0:0::0001]'],
    ];
    for (const host of hosts) {
        const response = await call(RUN, {
            query: { webhookEndpoint: `http://${host}:8080/hook` },
        });
        assert.equal(response.status, 400, host);
        const problem = assertProblem(response, 400);
        assert.match(problem.detail, /HOOKLINE_WEBHOOK_ALLOW/, 'it says what to do');
    }
    assert.equal(app.requests.length, 0);
});

test('a host that only some readers take for an address is 400', async (t) => {
    const { app, call } = await stage(t, { env: NO_ALLOW });
    const hosts = [
        // IDN: what a reader makes 127.0.0.1 of
        ...['\uff11\uff12\uff17.0.0.1', '127\u30020\u30020\u30021', '\u2460\u2461\u2466.0.0.1'],
        ...['127\uff0e0.0.1', 'loc\u00adalhost', '\u24db\u24deca\u24db.test', 'b\u00fccher.test'],
        // escapes, white space, brackets and zones that are none
        ...[
            '%31%32%37.0.0.1',
            '127%2e0.0.1',
            '127.0.0.1%00',
            '127.0.0.1%20',
            'a%2eb',
            '127.0.0.1%25lo',
        ],
        ...[
            '127.0.0.1\t',
            '[127.0.0.1]',
            '[::1',
            '::1',
            '[::1]]',
            '[[::1]]',
            '[::1%lo]',
            '[::1%25]',
        ],
        ...['[::1%25a b]', '[:::1]', '[::g]', '[1::2::3]', '[::ffff:127.1]', '[::ffff:0177.0.0.1]'],
        ...['[v1.x]', '[]', '127.0.0.1\\.test', 'a@127.0.0.1', '@127.0.0.1'],
    ];
    for (const host of hosts) {
        const response = await call(RUN, { query: { webhookEndpoint: `http://${host}/hook` } });
        assert.equal(response.status, 400, JSON.stringify(host));
        assertProblem(response, 400);
    }
    assert.equal(app.requests.length, 0);
});

test('an address in HOOKLINE_WEBHOOK_ALLOW is reached in any of its forms', async (t) => {
    const { call, receiver } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_ALLOW: '10.0.0.0/8, 127.0.0.0/8' },
    });
    const { port } = new URL(receiver.url());
    for (const [i, host] of ['127.0.0.1', '127.1', '2130706433', '0x7f.1'].entries()) {
        await call(RUN, { query: { webhookEndpoint: `http://${host}:${port}/${i}` } });
        await receiver.delivered(`/${i}`);
    }
});

test('a name that leads to a blocked address is refused at the connection, for good', async (t) => {
    const { call, receiver, sidecar } = await stage(t, { env: NO_ALLOW });
    const { port } = new URL(receiver.url());
    const { status, id } = await call(RUN, {
        query: { webhookEndpoint: `http://localhost:${port}/hook` },
    });
    assert.equal(status, 200, 'a name can only be judged when it is resolved');
    await until(
        'it was given up',
        async () => (await sidecar.metric('hookline_dead_letters_total')) === 1,
    );
    await until('it is logged', () =>
        sidecar.log.some(
            (line) => line.run_id === id && /blocked_address/.test(JSON.stringify(line)),
        ),
    );
    assert.equal(receiver.connections, 0);
    await sidecar.stop();
    const attempts = await sidecar.sql('SELECT * FROM attempt');
    assert.equal(attempts.length, 1, 'it is not tried again');
    assert.match(JSON.stringify(attempts), /blocked_address.*HOOKLINE_WEBHOOK_ALLOW/);
});

test('of a name’s addresses the allowed ones are used', async (t) => {
    const { call, receiver } = await stage(t, { env: { HOOKLINE_WEBHOOK_ALLOW: '127.0.0.1/32' } });
    const { port } = new URL(receiver.url());
    await call(RUN, { query: { webhookEndpoint: `http://localhost:${port}/hook` } });
    await receiver.delivered();
});

test('a name that cannot be resolved is a network error', async (t) => {
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '2' } });
    await call(RUN, { query: { webhookEndpoint: 'http://no-such-name.invalid/hook' } });
    await until(
        'it was given up',
        async () => (await sidecar.metric('hookline_dead_letters_total')) === 1,
    );
    await sidecar.stop();
    const [{ n }] = await sidecar.sql('SELECT count(*) AS n FROM attempt');
    assert.equal(n, 2, 'it is tried again');
});

test('HOOKLINE_WEBHOOK_HTTPS_ONLY refuses http', async (t) => {
    const { app, call } = await stage(t, { env: { HOOKLINE_WEBHOOK_HTTPS_ONLY: 'on' } });
    assertProblem(await call(RUN, { query: { webhookEndpoint: 'http://example.com/' } }), 400);
    assert.equal(app.requests.length, 0);
});

test('a proxy in the environment is not used', async (t) => {
    const { call, receiver } = await stage(t, {
        env: {
            http_proxy: 'http://127.0.0.1:1',
            HTTP_PROXY: 'http://127.0.0.1:1',
            ALL_PROXY: 'http://127.0.0.1:1',
            all_proxy: 'http://127.0.0.1:1',
        },
    });
    await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    await receiver.delivered();
});
