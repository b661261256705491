// Names are found where other programs of the machine find them: what getaddrinfo finds, a webhook reaches.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { startConnectProxy } from './lib/connect_proxy.mjs';
import { DnsServer } from './lib/dns.mjs';
import { control } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { BINARY, freePort, temporaryDirectory } from './lib/sidecar.mjs';
import { jwks, makeKey, sign } from './lib/tokens.mjs';
import { until } from './lib/until.mjs';

const HERE = ['127.0.0.2'];
const BOTH = ['127.0.0.2', '::1'];
const OPTIONS = 'options timeout:3 attempts:2';

/** resolv.conf: `servers` are DnsServers or addresses; `lines` follow. */
const resolvConf = (servers, ...lines) =>
    [...servers.map((one) => `nameserver ${one.address ?? one}`), OPTIONS, ...lines, ''].join('\n');

/** Where nobody listens. */
const DEAD = '127.255.0.53';

/**
 * What a network does, and what is looked for in it: `ask(one, two, six)`, name servers, the last one's address of
 * IPv6 (or null), sets what they say and gives the name, the servers and lines of resolv.conf. Names are of the
 * case's own.
 */
const CASES = [
    ['both families are there', (one) => (one.set('both.test', BOTH), ['both.test', [one]])],
    ['AAAA is dropped', (one) => (one.set('no6.test', { A: HERE, AAAA: 'SILENCE' }), ['no6.test', [one]])],
    ['A is dropped', (one) => (one.set('no4.test', { A: 'SILENCE', AAAA: ['::1'] }), ['no4.test', [one]])],
    ['AAAA is late', (one) => (one.set('late6.test', { A: HERE, AAAA: { answer: [], after: 1500 } }), ['late6.test', [one]])],
    ['AAAA is late, and A leads nowhere', (one) => (one.set('late.test', { A: ['127.0.0.4'], AAAA: { answer: ['::1'], after: 1000 } }), ['late.test', [one]])],
    ['there is AAAA alone', (one) => (one.set('only6.test', ['::1']), ['only6.test', [one]])],
    ...['SERVFAIL', 'REFUSED', 'NOTIMP', 'NXDOMAIN', 'LAME'].map((bad) => [
        `AAAA is ${bad}`, (one) => (one.set(`aaaa-${bad.toLowerCase()}.test`, { A: HERE, AAAA: bad }), [`aaaa-${bad.toLowerCase()}.test`, [one]])]),
    ['both are slow', (one) => (one.set('slow.test', { A: { answer: HERE, after: 1300 }, AAAA: { answer: [], after: 1300 } }), ['slow.test', [one]])],
    ['the first packets are lost', (one) => (one.set('lost.test', 'SILENCE', HERE), ['lost.test', [one]])],
    ['SERVFAIL passes', (one) => (one.set('passing.test', 'SERVFAIL', HERE), ['passing.test', [one]])],
    ['the answer has another name', (one) => (one.set('alias.test', { A: { answer: HERE, cname: 'real.test' } }), ['alias.test', [one]])],
    ['answers are too long for UDP', (one) => (one.set('long.test', { A: { answer: HERE, isTruncated: true } }), ['long.test', [one]])],
    ['TCP alone passes', (one) => (one.set('tcp.test', { A: { answer: HERE, isByTcp: true }, AAAA: { answer: [], isByTcp: true } }), ['tcp.test', [one], 'options use-vc'])],

    ['a search domain has it', (one) => (one.set('svc.good1.test', HERE), ['svc', [one], 'search bad1.test good1.test'])],
    ['a search domain answers SERVFAIL', (one) => (
        one.set('svc2.bad2.test', 'SERVFAIL'), one.set('svc2.good2.test', HERE),
        ['svc2', [one], 'search bad2.test good2.test', 'options ndots:5'])],
    ['a search domain answers SERVFAIL, and the name itself is there', (one) => (
        one.set('a.b3.test.bad3.test', 'SERVFAIL'), one.set('a.b3.test', HERE),
        ['a.b3.test', [one], 'search bad3.test', 'options ndots:5'])],
    ['a search domain refuses, and the name itself is there', (one) => (
        one.set('a.b4.test.bad4.test', 'REFUSED'), one.set('a.b4.test.good4.test', ['127.0.0.4']), one.set('a.b4.test', HERE),
        ['a.b4.test', [one], 'search bad4.test good4.test', 'options ndots:5'])],
    ['a search domain is silent, and the name itself is there', (one) => (
        one.set('a.b5.test.bad5.test', 'SILENCE'), one.set('a.b5.test', HERE),
        ['a.b5.test', [one], 'search bad5.test', 'options ndots:5'])],
    ['a search domain is slow, and comes first', (one) => (
        one.set('a.b6.test.slow6.test', { A: { answer: HERE, after: 1200 }, AAAA: { answer: [], after: 1200 } }), one.set('a.b6.test', ['127.0.0.4']),
        ['a.b6.test', [one], 'search slow6.test', 'options ndots:5'])],
    ['many search domains know nothing', (one) => (
        one.set('a.b7.test', HERE),
        ['a.b7.test', [one], `search ${['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((x) => `${x}7.test`).join(' ')}`, 'options ndots:5'])],
    ['the name itself comes first, with dots enough', (one) => (
        one.set('a.b8.test', HERE), one.set('a.b8.test.also8.test', ['127.0.0.4']),
        ['a.b8.test', [one], 'search also8.test', 'options ndots:2'])],
    ['a name with a last dot is not searched for', (one) => (
        one.set('a9.also9.test', ['127.0.0.4']), one.set('a9', HERE), ['a9.', [one], 'search also9.test', 'options ndots:5'])],
    ['the last of search and domain counts', (one) => (
        one.set('b10.one10.test', ['127.0.0.4']), one.set('b10.two10.test', HERE), ['b10', [one], 'search one10.test', 'domain two10.test'])],
    ['AAAA is not to be asked for', (one) => (
        one.set('noaaaa.test', { A: HERE, AAAA: ['::1'] }), ['noaaaa.test', [one], 'options no-aaaa'])],
    ['options of all kinds are there', (one) => (
        one.set('x.options.test', HERE),
        ['x', [one], '# a comment', 'search\toptions.test.', 'options edns0 trust-ad rotate single-request', 'options ndots:3 single-request-reopen'])],

    ['the first server is dead', (one) => (one.set('dead1.test', HERE), ['dead1.test', [DEAD, one]])],
    ['all servers but the last are dead', (one) => (one.set('dead2.test', HERE), ['dead2.test', [DEAD, '127.255.1.53', one]])],
    ['the first server is silent', (one, two) => (
        one.set('mute1.test', 'SILENCE'), two.set('mute1.test', HERE), ['mute1.test', [one, two]])],
    ['the first server is silent, and the second knows no search domain', (one, two) => (
        one.set('a.mute2.test', 'SILENCE'), one.set('a.mute2.test.x.test', 'SILENCE'), one.set('a.mute2.test.y.test', 'SILENCE'),
        two.set('a.mute2.test', HERE), ['a.mute2.test', [one, two], 'search x.test y.test', 'options ndots:5'])],
    ...['SERVFAIL', 'REFUSED', 'NOTIMP', 'LAME'].map((bad) => [
        `the first server says ${bad}`, (one, two) => (
            one.set(`first-${bad.toLowerCase()}.test`, bad), two.set(`first-${bad.toLowerCase()}.test`, HERE),
            [`first-${bad.toLowerCase()}.test`, [one, two]])]),
    ['the first server refuses, and A leads nowhere', (one, two) => (
        one.set('third.test', 'REFUSED'), two.set('third.test', { A: ['127.0.0.4'], AAAA: { answer: ['::1'], after: 300 } }), ['third.test', [one, two]])],
    ['the first server is silent, and the second fails once', (one, two) => (
        one.set('once.test', 'SILENCE'), two.set('once.test', 'SERVFAIL', HERE), ['once.test', [one, two]])],
    ['the first server is slow, and the second knows less', (one, two) => (
        one.set('split.test', { A: { answer: HERE, after: 1300 }, AAAA: { answer: [], after: 1300 } }), two.set('split.test', 'NXDOMAIN'),
        ['split.test', [one, two]])],
    ['the first server is slow, and the second knows another address', (one, two) => (
        one.set('other.test', { A: { answer: HERE, after: 1300 }, AAAA: { answer: [], after: 1300 } }), two.set('other.test', ['127.0.0.4']),
        ['other.test', [one, two]])],
    ['the first server knows less', (one, two) => (
        one.set('less.test', 'NXDOMAIN'), two.set('less.test', HERE), ['less.test', [one, two]])],
    ...['short', 'random', 'otherId', 'otherName', 'question'].map((noise) => [
        `what is no answer (${noise}) comes before it`, (one) => (
            one.set(`noise-${noise.toLowerCase()}.test`, { A: { answer: HERE, noise }, AAAA: { answer: [], noise } }),
            [`noise-${noise.toLowerCase()}.test`, [one]])]),
    ['the first server answers nonsense', (one, two) => (
        one.set('nonsense.test', { A: { answer: 'SILENCE', noise: 'random' }, AAAA: { answer: 'SILENCE', noise: 'random' } }), two.set('nonsense.test', HERE),
        ['nonsense.test', [one, two]])],
    ['EDNS is refused', (one) => (
        one.set('plain.test', { A: { answer: HERE, isPlain: true }, AAAA: { answer: [], isPlain: true } }), ['plain.test', [one], 'options edns0'])],
    ['a name has fifty addresses', (one) => (
        one.set('fifty.test', { A: { answer: Array.from({ length: 50 }, (_, i) => `127.0.0.${i ? 100 + i : 2}`), isTruncated: true }, AAAA: [] }), ['fifty.test', [one]])],
    ['the other family has an alias that leads nowhere', (one) => (
        one.set('half.test', { A: { answer: HERE, cname: 'real.test' }, AAAA: { answer: [], cname: 'gone.test' } }), ['half.test', [one]])],
    ['the second server is reached by IPv6', (one, two, six) => (six?.set('six.test', HERE), ['six.test', [DEAD, six ?? one]])],
    ['the answer comes in the second try', (one) => (
        one.set('second.test', { A: { answer: HERE, after: 7000 }, AAAA: { answer: [], after: 7000 } }), ['second.test', [one], 'options timeout:5'])],
    ['the only answer comes by TCP, and late', (one) => (
        one.set('tcplate.test', { A: { answer: HERE, isByTcp: true, after: 6000 }, AAAA: { answer: [], isByTcp: true, after: 6000 } }),
        ['tcplate.test', [one], 'options use-vc'])],
    ['the first server is very slow, and the second knows less', (one, two) => (
        one.set('veryslow.test', { A: { answer: HERE, after: 4000 }, AAAA: { answer: [], after: 4000 } }), two.set('veryslow.test', 'NXDOMAIN'),
        ['veryslow.test', [one, two], 'options timeout:8'])],
    ['a search domain is very slow, and comes first', (one) => (
        one.set('a.b11.test.slow11.test', { A: { answer: HERE, after: 4000 }, AAAA: { answer: [], after: 4000 } }), one.set('a.b11.test', ['127.0.0.4']),
        ['a.b11.test', [one], 'search slow11.test', 'options ndots:5 timeout:8'])],
    ['nobody knows it', (one, two) => ['nowhere.test', [one, two], 'search x.test']],
    ['nobody answers for it', (one) => (one.set('mute3.test', 'SILENCE'), ['mute3.test', [one]])],
    ['every server fails', (one, two) => (
        one.set('fails.test', 'SERVFAIL'), two.set('fails.test', 'REFUSED'), ['fails.test', [one, two]])],
];

/** A sidecar in surroundings of its own with receivers at 127.0.0.2 and ::1; null: skipped. */
async function open(t, env = {}) {
    const started = await DnsServer.start(t);
    if (!started) return null;
    const port = await freePort();
    await startServer(t, (x) => x.send(200), port, '127.0.0.2');
    await startServer(t, (x) => x.send(200), port, '::1').catch(() => null); // a machine may have no IPv6
    const all = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/29, ::1/128',
            HOOKLINE_WEBHOOK_ATTEMPTS: '1',
            ...env,
        },
        command: started.command,
    });
    return { ...all, port, dns: started.dns };
}

/** The last attempt of the run's delivery, once it is over. */
async function attemptOf(sidecar, id) {
    const ask = control(sidecar);
    const over = await until('it is over', async () => {
        const answer = await ask('GET', `/v2/projects/p/deliveries?run_id=${id}`);
        return answer.json().deliveries.find((one) => one.state === 'delivered' || one.state === 'dead');
    });
    return (await ask('GET', `/v2/projects/p/deliveries/${over.delivery_id}`)).json().attempts.at(-1);
}

const hostOf = (address) => address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');

test('what getaddrinfo finds is found, whatever name servers and resolv.conf do', async (t) => {
    const s = await open(t);
    if (!s) return;
    const two = await DnsServer.beside(t);
    const six = await DnsServer.beside(t, '::1').catch(() => null);
    const cases = [];
    for (const [what, ask] of CASES) {
        /* The same network twice: what comes in turn is in turn for each. */
        const [other, another] = [await DnsServer.beside(t), await DnsServer.beside(t)];
        const [name, servers, ...lines] = ask(s.dns, two, six);
        const [, theirs] = ask(other, another, six);
        const bare = name.replace(/\.$/, '');
        const isAsked = () => [s.dns, two, six ?? two].some(({ questions }) => questions.some((q) => /^[. ]/.test(q.slice(bare.length)) && q.startsWith(bare)));
        await s.dns.write(resolvConf(servers, ...lines));
        const { id } = await s.call(RUN, { query: { webhookEndpoint: `http://${name}:${s.port}/` } });
        await until(`${what}: it is looked for`, isAsked);
        cases.push({ what, id, found: DnsServer.getaddrinfo(t, resolvConf(theirs, ...lines), name) });
    }
    const wrong = [];
    for (const { what, id, found } of cases) {
        const [expected, attempt] = [await found, await attemptOf(s.sidecar, id)];
        const isGood = expected.size === 0 || (attempt.address && expected.has(hostOf(attempt.address)));
        if (!isGood) wrong.push(`${what}: ${[...expected]} is found, but ${attempt.address ?? attempt.error}`);
    }
    assert.deepEqual(wrong, []);
});

/** Lines of nsswitch.conf; of each name it is looked for in hosts and asked of a server, as `NAMES` has it. */
const LINES = [
    'hosts: files dns', 'hosts: dns files', 'hosts: files', 'hosts: dns', 'hosts:dns[!UNAVAIL=return]files', 'hosts: dns [!UNAVAIL=return] files',
    'hosts: dns [NOTFOUND=return] files', 'hosts: dns [ NotFound = RETURN ] files', 'hosts: dns [UNAVAIL=return] files',
    'hosts: dns [TRYAGAIN=return] files', 'hosts: files [NOTFOUND=return] dns', 'hosts: files [!SUCCESS=return] dns', 'hosts: files [SUCCESS=continue] dns',
    'hosts: files [SUCCESS=continue NOTFOUND=return] dns', 'hosts: nothing [UNAVAIL=return] files dns', 'hosts: nothing [NOTFOUND=return] dns files',
    'hosts: resolve [!UNAVAIL=return] files dns', 'hosts: files nothing [!UNAVAIL=return] dns',
    '  hosts: dns', 'hosts dns', 'networks: dns\n', 'hosts: files\nhosts: dns', '',
];
/** Where a name is in hosts, and what the server says of it. */
const NOBODY = '127.0.0.4'; // listens there
const NAMES = [[null, HERE], [HERE[0], 'NXDOMAIN'], [HERE[0], 'SERVFAIL'], [HERE[0], [NOBODY]], [HERE[0], []]];

test('sources of names are asked in the order and on the terms of nsswitch.conf', async (t) => {
    const s = await open(t);
    if (!s) return;
    const [cases, resolv] = [[], resolvConf([s.dns], 'options timeout:1 attempts:1')];
    await s.dns.write(resolv);
    for (const [i, line] of LINES.entries()) {
        const names = NAMES.map((_, k) => `n${k}.line${i}.test`);
        const hosts = NAMES.map(([address], k) => (address ? `${address} ${names[k]}\n` : '')).join('');
        const files = { nsswitch: `${line}\n`, hosts };
        await s.dns.order(files);
        for (const [k, [, answer]] of NAMES.entries()) {
            s.dns.set(names[k], answer);
            const { id } = await s.call(RUN, { query: { webhookEndpoint: `http://${names[k]}:${s.port}/` } });
            cases.push({ what: `${line}: ${JSON.stringify(NAMES[k])}`, id, found: DnsServer.getaddrinfo(t, resolv, names[k], files) });
        }
        for (const { id } of cases.slice(-NAMES.length)) await attemptOf(s.sidecar, id);
    }
    const wrong = [];
    for (const { what, id, found } of cases) {
        const [expected, attempt] = [[...(await found)], await attemptOf(s.sidecar, id)];
        const here = attempt.address ? [hostOf(attempt.address)] : /^connect_failed/.test(attempt.error) ? [NOBODY] : [];
        const isGood = here.length ? expected.includes(here[0]) : expected.length === 0;
        if (!isGood) wrong.push(`${what}: getaddrinfo finds ${expected}, but ${here} ${attempt.error ?? ''}`);
    }
    assert.deepEqual(wrong, []);
});

/** A network where AAAA is dropped and the first search domain fails, and what is found in it all the same. */
async function openTroubled(t, name, address = HERE[0]) {
    const started = await DnsServer.start(t);
    if (!started) return null;
    started.dns.set(`${name}.broken.test`, 'SERVFAIL');
    started.dns.set(`${name}.whole.test`, { A: [address], AAAA: 'SILENCE' });
    await started.dns.write(resolvConf([started.dns], 'search broken.test whole.test', 'options ndots:5'));
    return started;
}

test('key sets are found so, too', async (t) => {
    const started = await openTroubled(t, 'keys');
    if (!started) return;
    const [key, port] = [await makeKey(), await freePort()];
    await startServer(t, (x) => x.send(200, {}, jwks(key)), port, HERE[0]);
    const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_JWKS_URL: `http://keys:${port}/keys` };
    const { call } = await stage(t, { env, command: started.command });
    const headers = { authorization: `Bearer ${await sign(key)}` };
    await until('they are had', async () => (await call(RUN, { headers, body: '{}' })).status === 200);
});

test('egress proxies are found so, too, and the receivers behind them', async (t) => {
    const started = await openTroubled(t, 'proxy', '127.0.0.1');
    if (!started) return;
    started.dns.set('hook.broken.test', 'SERVFAIL');
    started.dns.set('hook.whole.test', { A: HERE, AAAA: 'SILENCE' });
    const [port, proxy] = [await freePort(), await startConnectProxy(t, {})];
    await startServer(t, (x) => x.send(200), port, HERE[0]);
    const { call, sidecar } = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_PROXY: proxy.url().replace('127.0.0.1', 'proxy'),
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/29',
            HOOKLINE_WEBHOOK_ATTEMPTS: '1',
        },
        command: started.command,
    });
    const { id } = await call(RUN, { query: { webhookEndpoint: `http://hook:${port}/` } });
    const attempt = await attemptOf(sidecar, id);
    assert.equal(attempt.address, `${HERE[0]}:${port}`, attempt.error);
});

test('name servers that are just being started are waited for', async (t) => {
    const s = await open(t);
    if (!s) return;
    await s.dns.write(resolvConf([DEAD, '127.255.2.53']));
    const { id } = await s.call(RUN, { query: { webhookEndpoint: `http://started.test:${s.port}/` } });
    await s.sidecar.logged((line) => line.msg === 'parcel changes state' && line.to === 'resolving');
    const late = await DnsServer.beside(t, '127.255.2.53');
    late.set('started.test', HERE);
    const attempt = await attemptOf(s.sidecar, id);
    assert.equal(attempt.address, `${HERE[0]}:${s.port}`, attempt.error);
});

test('a machine without IPv4 finds names by a name server of IPv6', async (t) => {
    const namespaces = (...command) => promisify(execFile)('unshare', ['--net', '--mount', ...command]);
    try {
        await namespaces('sh', '-c', 'ip link set lo up && ip -6 address show dev lo | grep -q ::1');
    } catch (error) {
        t.skip(`a network of its own is not possible here: ${error.message.trim()}`);
        return;
    }
    const program = fileURLToPath(new URL('./lib/six_only.mjs', import.meta.url));
    const { stdout } = await namespaces(process.execPath, program, BINARY, await temporaryDirectory(t));
    assert.deepEqual(JSON.parse(stdout.trim().split('\n').at(-1)), { status: 200, found: ['::1'], came: ['hook'] });
});

test('an attempt that has little time still uses what is found in half of it', async (t) => {
    const s = await open(t, { HOOKLINE_WEBHOOK_TIMEOUT: '1s' });
    if (!s) return;
    s.dns.set('hasty.test', { A: HERE, AAAA: 'SILENCE' });
    const { id } = await s.call(RUN, { query: { webhookEndpoint: `http://hasty.test:${s.port}/` } });
    const attempt = await attemptOf(s.sidecar, id);
    assert.equal(attempt.address, `${HERE[0]}:${s.port}`, attempt.error);
});
