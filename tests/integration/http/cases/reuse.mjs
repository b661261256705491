// reuse.mjs - connections to the app that are used again, race with their end, or carry an early answer (RFC 9112 9).
import assert from 'node:assert/strict';
import { get, post, scripted } from '../lib/case.mjs';
import { echo } from '../lib/origin.mjs';

const answer = (body, lines = '') =>
    `HTTP/1.1 200 OK\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One call on a connection of its own; its answer. */
async function call({ connect, send }, bytes = get()) {
    const caller = await connect();
    await send(caller, bytes);
    const { message } = await caller.response();
    caller.close();
    return message;
}

/** The app ends the connection in this way once it has answered; ten calls in a row all succeed. */
const races = [
    ['FIN behind each answer', (exchange) => exchange.end()],
    ['RST behind each answer', (exchange) => exchange.reset()],
    ['FIN a moment later', (exchange) => setTimeout(() => exchange.end(), 1)],
    ['FIN, with Connection: close', (exchange) => exchange.end(), 'Connection: close\r\n'],
    ['FIN, with Keep-Alive: timeout=0', (exchange) => exchange.end(), 'Keep-Alive: timeout=0\r\n'],
].map(([name, leave, lines]) =>
    scripted(name, '9112 9.5', async (tools) => {
        tools.origin.begin(async (exchange) => {
            await exchange.whole;
            await exchange.writeAtOnce(answer('ok', lines));
            leave(exchange);
        });
        for (let i = 0; i < 10; i++) {
            assert.equal((await call(tools))?.text, 'ok');
            await pause(2);
        }
    }),
);

/** The app takes a second request on the connection and ends that without a byte. */
const lost = [
    ['GET', get(), true],
    ['PUT', post('Content-Length: 5\r\n', 'hello').replace('POST', 'PUT'), true],
    ['DELETE', get().replace('GET', 'DELETE'), true],
    ['OPTIONS', get().replace('GET', 'OPTIONS'), true],
    ['POST', post('Content-Length: 5\r\n', 'hello'), false],
    ['POST with chunks', post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'), false],
    ['POST of nothing', post('Content-Length: 0\r\n'), false],
    ['POST without a body', post(''), false],
    ['PATCH', post('Content-Length: 5\r\n', 'hello').replace('POST', 'PATCH'), false],
    ['another method', get().replace('GET', 'M-X'), false],
].flatMap(([method, bytes, mayRepeat]) =>
    ['end', 'reset'].map((leave) =>
        scripted(`${method} meets ${leave} on a used connection`, '9110 9.2.2', async (tools) => {
            const used = new Set();
            tools.origin.begin(async (exchange) => {
                await exchange.whole;
                if (used.has(exchange.connection)) return exchange[leave]();
                used.add(exchange.connection);
                await exchange.writeAtOnce(answer('ok'));
            });
            assert.equal((await call(tools))?.text, 'ok');
            const message = await call(tools, bytes);
            const wanted = bytes.split(' ')[0];
            const first = wanted === 'GET' ? 1 : 0; // the one that opened the connection
            const seen = tools.origin.requests.filter((r) => r.method === wanted).length - first;
            if (message) assert.ok(message.text === 'ok' || message.status >= 500);
            if (!mayRepeat) assert.equal(seen, 1, 'sent twice');
        }),
    ),
);

/** The app ends a used connection inside its answer: the caller sees that, and nothing is sent twice. */
const insideAnswer = [
    ['half a status line', 'HTTP/1.1 2'],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'],
    ['a head', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'],
    ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel'],
    ['half a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel'],
].flatMap(([name, bytes]) =>
    ['end', 'reset'].map((leave) =>
        scripted(`${leave} behind ${name} on a used connection`, '9112 8', async (tools) => {
            const { origin, connect, send } = tools;
            const used = new Set();
            origin.begin(async (exchange) => {
                await exchange.whole;
                const isUsed = used.has(exchange.connection);
                used.add(exchange.connection);
                if (!isUsed) return void (await exchange.writeAtOnce(answer('ok')));
                await exchange.write(bytes);
                if (leave === 'reset') await pause(60); // the bytes arrive before it
                exchange[leave]();
            });
            assert.equal((await call(tools))?.text, 'ok');
            const caller = await connect();
            await send(caller, post('Content-Length: 5\r\n', 'hello'));
            const { message } = await caller.response('POST');
            if (message) assert.ok(message.text === 'ok' || message.status >= 500, message.text);
            const posts = origin.requests.filter(({ method }) => method === 'POST').length;
            assert.equal(posts, 1, 'sent twice');
        }),
    ),
);

/** What comes on an idle connection answers nobody. */
const stray = [
    [
        '408 and FIN',
        'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
        true,
    ],
    ['an answer', answer('evil'), false],
    ['garbage', '\0\0\r\n\r\n', false],
    ['a byte', 'H', false],
    ['CR LF', '\r\n', false],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le', false],
    ['100', 'HTTP/1.1 100 Continue\r\n\r\n', false],
    ['103', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', false],
    [
        '101',
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        false,
    ],
    ['an answer without length', 'HTTP/1.1 200 OK\r\n\r\nevil', false],
    ['the end of chunks', '0\r\n\r\n', false],
    ['an answer and FIN', answer('evil'), true],
    ['half a head and FIN', 'HTTP/1.1 200', true],
].map(([name, bytes, ends]) =>
    scripted(`${name} on an idle connection`, '9112 9.3', async (tools) => {
        let strayed;
        tools.origin.begin(async (exchange) => {
            await exchange.whole;
            await exchange.writeAtOnce(answer('ok'));
            strayed ??= pause(30).then(async () => {
                await tools.write(exchange, bytes);
                if (ends) exchange.end();
            });
        });
        assert.equal((await call(tools))?.text, 'ok');
        await strayed;
        await pause(10);
        for (let i = 0; i < 3; i++) assert.equal((await call(tools))?.text, 'ok');
    }),
);

const BIG = 300_000;
const upload = post(`Content-Length: ${BIG}\r\n`);

/** The app answers before the body is there. */
const early = [
    scripted('413 before the body, then FIN', '9112 9.3', async (tools) => {
        const { origin, connect } = tools;
        origin.begin(async (exchange) => {
            await exchange.write(
                'HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno',
            );
            exchange.end();
        });
        const caller = await connect();
        await caller.send(upload);
        const sending = caller.send('b'.repeat(BIG));
        const { message, head } = await caller.response('POST');
        await sending;
        if (message) assert.ok([413, 502].includes(message.status), `${message.status}`);
        else assert.equal(head, null);
    }),
    scripted('an early answer on a connection that stays', '9112 9.3', async (tools) => {
        const { origin, connect, send } = tools;
        origin.begin((exchange) => exchange.write(answer('early')));
        const caller = await connect();
        await send(caller, upload);
        await send(caller, 'GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n'); // body, so far
        const { message } = await caller.response('POST', 1500).catch(() => ({ message: null }));
        if (message && message.status < 400) assert.equal(message.text, 'early');
        caller.close();
        // The rest of the body never came: the connection to the app may not carry another request.
        origin.begin();
        for (let i = 0; i < 3; i++) assert.equal((await call(tools))?.text, '/x');
        assert.equal(origin.requests.length, 3);
    }),
    scripted('an early answer, and the body is sent all the same', '9112 9.3', async (tools) => {
        const { origin, connect } = tools;
        origin.begin((exchange) => exchange.write(answer('early')));
        const caller = await connect();
        await caller.send(upload);
        const sending = caller.send('b'.repeat(BIG) + get('', '/next'));
        const { message } = await caller.response('POST');
        await sending;
        assert.ok(message && (message.text === 'early' || message.status >= 400));
        if (!message.list('connection').includes('close')) {
            assert.equal((await caller.response()).message?.text, 'early');
        } else assert.ok(await caller.isClosed());
    }),
    scripted('an answer that goes on while the body comes', '9112 9.3', async (tools) => {
        const { origin, connect } = tools;
        origin.begin(async (exchange) => {
            await exchange.write(
                'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n',
            );
            await exchange.whole;
            await exchange.write('4\r\nlast\r\n0\r\n\r\n');
        });
        const caller = await connect();
        await caller.send(upload);
        await caller.send('b'.repeat(BIG));
        const { message } = await caller.response('POST');
        assert.equal(message?.text, 'firstlast');
        assert.equal(origin.requests[0].body.length, BIG);
    }),
    scripted('RST in the middle of the body', '9112 9.5', async (tools) => {
        const { origin, connect } = tools;
        origin.begin((exchange) => exchange.reset());
        const caller = await connect();
        await caller.send(upload);
        void caller.send('b'.repeat(BIG));
        const { message, head } = await caller.response('POST');
        assert.ok(message ? message.status >= 500 && message.status <= 504 : !head);
    }),
];

const cutOff = [
    scripted('RST in a body without length, and a caller that lags', '9112 8', async (tools) => {
        const { origin, connect, send } = tools;
        let isCut = false;
        origin.begin(async (exchange) => {
            await exchange.whole;
            await exchange.write('HTTP/1.1 200 OK\r\n\r\n');
            const piece = 'b'.repeat(65_536);
            // Until the caller's side is full, and the rest waits on ours; a proxy may take it all.
            for (let i = 0; i < 256; i++) {
                if (!(await Promise.race([exchange.write(piece).then(() => true), pause(200)])))
                    break;
            }
            exchange.reset();
            isCut = true;
        });
        const caller = await connect();
        caller.socket.pause();
        await send(caller, get());
        while (!isCut) await pause(5);
        caller.socket.resume();
        const { message, head } = await caller.response();
        assert.equal(message, null, 'a part that looks whole');
        if (!head.framing) assert.equal(caller.closed, 'reset');
    }),
];

const pooled = [
    scripted(
        'a connection is used again, and each call gets its own answer',
        '9112 9.3',
        async (tools) => {
            for (let i = 0; i < 10; i++) {
                assert.equal((await call(tools, get('', `/${i}`)))?.text, `/${i}`);
            }
        },
    ),
    scripted('calls at once do not mix', '9112 9.3.2', async (tools) => {
        tools.origin.begin(async (exchange) => {
            await pause(exchange.nth % 3);
            await echo(exchange);
        });
        const targets = Array.from({ length: 30 }, (_, i) => `/${i}`);
        const answers = await Promise.all(targets.map((target) => call(tools, get('', target))));
        assert.deepEqual(
            answers.map((message) => message?.text),
            targets,
        );
    }),
    scripted('an app of HTTP/1.0 that closes', '9112 9.3', async (tools) => {
        tools.origin.begin(async (exchange) => {
            await exchange.whole;
            await exchange.write(answer('old').replace('1.1', '1.0'));
            exchange.end();
        });
        for (let i = 0; i < 5; i++) assert.equal((await call(tools))?.text, 'old');
    }),
    scripted('an app of HTTP/1.0 that keeps the connection', '9112 C.2.2', async (tools) => {
        tools.origin.begin(async (exchange) => {
            await exchange.whole;
            await exchange.write(answer('old', 'Connection: keep-alive\r\n').replace('1.1', '1.0'));
        });
        for (let i = 0; i < 5; i++) assert.equal((await call(tools))?.text, 'old');
    }),
    scripted('a caller that goes while the app works', '9112 9.5', async (tools) => {
        const { origin, connect, send } = tools;
        origin.begin(async (exchange) => {
            await exchange.whole;
            if (exchange.nth === 0) await pause(60);
            await exchange.write(answer(exchange.head.target));
        });
        const caller = await connect();
        await send(caller, get('', '/gone'));
        await pause(20);
        caller.close();
        for (let i = 0; i < 5; i++) {
            assert.equal((await call(tools, get('', `/${i}`)))?.text, `/${i}`);
            await pause(15);
        }
    }),
];

export default {
    title: 'connections to the app',
    cases: [...races, ...lost, ...insideAnswer, ...stray, ...early, ...cutOff, ...pooled],
};
