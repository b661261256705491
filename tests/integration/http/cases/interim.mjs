// interim.mjs - 1xx responses: passed on before the final one, never in its place (RFC 9110 15.2).
import assert from 'node:assert/strict';
import { broken, get, lie, passed, post, scripted } from '../lib/case.mjs';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const SWITCH =
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

/** These came before the final response, which is whole. */
const after =
    (...statuses) =>
    (response, interim) => {
        assert.equal(response.text, 'ok');
        assert.deepEqual(
            interim.map(({ status }) => status),
            statuses,
        );
    };
/** They may have been kept back. */
const afterAny =
    (...statuses) =>
    (response, interim) => {
        assert.equal(response.text, 'ok');
        for (const { status } of interim) assert.ok(statuses.includes(status), `${status}`);
    };

const good = [
    passed('103', '9110 15.2', HINTS + OK, (response, interim) => {
        after(103)(response, interim);
        assert.deepEqual(interim[0].all('link'), ['</a>']);
        assert.deepEqual(
            response.all('link'),
            [],
            'a field of the interim response in the final one',
        );
    }),
    passed('two of 103', '9110 15.2', HINTS + HINTS + OK, after(103, 103)),
    passed('102', '9110 15.2', `HTTP/1.1 102 Processing\r\n\r\n${OK}`, after(102)),
    passed(
        'an unknown 199',
        '9110 15.2',
        `HTTP/1.1 199 Whatever\r\nX-A: 1\r\n\r\n${OK}`,
        after(199),
    ),
    passed('100 that nobody asked for', '9110 15.2', CONTINUE + OK, after(100)),
    passed('100 and 103', '9110 15.2', CONTINUE + HINTS + OK, after(100, 103)),
    passed('100 twice', '9110 15.2', CONTINUE + CONTINUE + OK, after(100, 100)),
    passed('100 to a POST', '9110 15.2', CONTINUE + OK, after(100), {
        send: post('Content-Length: 5\r\n', 'hello'),
    }),
    passed('30 of 103', '9110 15.2', HINTS.repeat(30) + OK, after(...Array(30).fill(103))),
    passed(
        '103 before 204',
        '9110 15.2',
        `${HINTS}HTTP/1.1 204 No Content\r\n\r\n`,
        (response, interim) => {
            assert.equal(response.status, 204);
            assert.equal(interim.length, 1);
        },
    ),
    passed(
        '103 before an answer to HEAD',
        '9110 15.2',
        HINTS + OK.slice(0, -2),
        { status: 200 },
        {
            send: get().replace('GET', 'HEAD'),
            method: 'HEAD',
        },
    ),
    passed(
        '103 with hop-by-hop fields',
        '9110 7.6.1',
        HINTS.replace('Link', 'Connection: x-hop\r\nX-Hop: 1\r\nLink') + OK,
        (response, interim) => {
            after(103)(response, interim);
            assert.deepEqual(interim[0].all('x-hop'), []);
        },
    ),
];

const bad = [
    lie(
        '103 with a length',
        '9110 8.6',
        HINTS.replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\n') + OK,
        afterAny(103),
    ),
    lie(
        '103 with chunks',
        '9112 6.1',
        HINTS.replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n') + OK,
        afterAny(103),
    ),
    lie(
        '100 with a body',
        '9110 15.2',
        `HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nok${OK}`,
        undefined,
        { then: 'close' },
    ),
    lie('garbage behind 103', '9112 4', `${HINTS}garbage\r\n\r\n`, undefined, { then: 'close' }),
    lie('103 with a bad field', '9112 5', HINTS.replace('Link', 'Li nk') + OK, afterAny(103)),
    lie('nothing behind 103', '9112 8', HINTS, undefined, { then: 'close' }),
    lie('nothing behind 103, RST', '9112 8', HINTS, undefined, { then: 'reset' }),
    lie('half a head behind 100', '9112 8', `${CONTINUE}HTTP/1.1 200`, undefined, {
        then: 'close',
    }),
    lie('101 that nobody asked for', '9110 15.2.2', `${SWITCH}evil`, undefined),
    lie('101 that nobody asked for, and an answer', '9110 15.2.2', SWITCH + OK, undefined),
    lie('101 behind 100', '9110 15.2.2', `${CONTINUE}${SWITCH}evil`, undefined),
    lie('101 to a POST', '9110 15.2.2', `${SWITCH}evil`, undefined, {
        send: post('Content-Length: 5\r\n', 'hello'),
    }),
    lie(
        '101 to an upgrade to another protocol',
        '9110 7.8',
        `${SWITCH.replace('websocket', 'h2c')}evil`,
        undefined,
        {
            send: get('Connection: Upgrade\r\nUpgrade: h2c\r\n'),
        },
    ),
    lie('101 behind 103', '9110 15.2.2', `${HINTS}${SWITCH}evil`, undefined),
    lie('101 with a length', '9110 15.2.2', `${SWITCH.slice(0, -2)}Content-Length: 4\r\n\r\nevil`),
    lie('101 without fields', '9110 15.2.2', 'HTTP/1.1 101 Switching Protocols\r\n\r\nevil'),
    lie('101 to a request that closes', '9110 15.2.2', `${SWITCH}evil`, undefined, {
        send: get('Connection: close\r\n'),
    }),
    lie('101 to chunks', '9110 15.2.2', `${SWITCH}evil`, undefined, {
        send: post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'),
    }),
    lie('101 to HEAD', '9110 15.2.2', `${SWITCH}evil`, undefined, {
        send: get().replace('GET', 'HEAD'),
        method: 'HEAD',
    }),
    lie('101 to HTTP/1.0', '9110 15.2.2', `${SWITCH}evil`, undefined, {
        send: get('Connection: Upgrade\r\nUpgrade: websocket\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
    }),
    lie('101 to an upgrade that only Connection names', '9110 7.8', `${SWITCH}evil`, undefined, {
        send: get('Connection: Upgrade\r\n'),
    }),
    lie('1xx without end', '9110 15.2', HINTS.repeat(5000), undefined, { then: 'close' }),
    broken(
        '1xx in the place of a body',
        '9112 8',
        `HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n${HINTS}`,
        {
            then: 'close',
        },
    ),
];

/** The caller reads nothing: the app must be held back, or refused, before memory has filled. */
const FLOOD = 16 * 1024 * 1024;
const flood = scripted(
    '1xx without end to a caller that reads none',
    '9110 15.2',
    async (tools) => {
        const { origin, connect, send } = tools;
        const piece = HINTS.repeat(2000);
        let sent = 0;
        let isHeldBack;
        origin.begin(async (exchange) => {
            await exchange.whole;
            isHeldBack = (async () => {
                for (; sent < FLOOD; sent += piece.length) {
                    const isTaken = exchange.write(piece).then(() => true);
                    if (!(await Promise.race([isTaken, pause(500)])) || exchange.isGone)
                        return true;
                }
                return false;
            })();
        });
        const caller = await connect();
        caller.socket.pause();
        await send(caller, get());
        while (!isHeldBack) await pause(5);
        assert.ok(await isHeldBack, `the app could send ${sent} bytes`);
    },
);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default { title: 'interim answers', cases: [...good, ...bad, flood] };
