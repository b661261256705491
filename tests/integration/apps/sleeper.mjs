// sleeper.mjs - an app for a hookline that stops and starts it: says what comes to it, and to whom it came too late.
import http from 'node:http';

const { TEST_GOES_MS = 0, TEST_STARTS_MS = 0, TEST_IGNORES_SIGTERM, PORT, SOCKET } = process.env;
const log = (text) => process.stdout.write(`${text}\n`);
let isGoing = false;
let isAsleep = false;
let failures = Number(process.env.TEST_WAKE_FAILURES ?? 0);

process.on('SIGTERM', () => {
    log('SIGTERM');
    isGoing = true;
    if (!TEST_IGNORES_SIGTERM) setTimeout(() => process.exit(0), Number(TEST_GOES_MS));
});

function answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://app');
    const id = request.headers['x-request-id'] ?? '';
    if (pathname === '/health') return void (response.statusCode = isAsleep ? 503 : 200, response.end());
    log(`${isGoing ? 'too late: ' : isAsleep && pathname !== '/wake_up' ? 'asleep: ' : ''}${request.method} ${request.url}`);
    switch (pathname) {
        case '/sleep':
            isAsleep = true;
            return void response.end();
        case '/wake_up':
            if (failures > 0) return void (failures--, response.writeHead(500).end());
            isAsleep = false;
            return void response.end();
        case '/fails':
            return void response.writeHead(500).end();
        default:
            setTimeout(() => response.end(`${process.pid} ${id}`), Number(searchParams.get('ms') ?? 0));
    }
}

const server = http.createServer((request, response) => request.resume().on('end', () => answer(request, response)));
server.on('upgrade', (request, socket) => {
    log(`upgrade ${request.url}`);
    socket.on('error', () => {});
    socket.on('data', (data) => socket.write(data)).on('end', () => socket.end());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
});
server.keepAliveTimeout = 60_000;
setTimeout(() => server.listen(SOCKET ?? { port: PORT, host: '127.0.0.1' }, () => log('listening')), Number(TEST_STARTS_MS));
