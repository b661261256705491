// The app of frameworks.test.mjs in Fastify.
import Fastify from 'fastify';
import { Readable } from 'node:stream';
import { WebSocketServer } from 'ws';

const app = Fastify({ bodyLimit: 64 << 20 });
let release;

app.post('/run', async (request) => ({
    output: [...request.body.prompt].reverse().join(''),
    run: request.headers['x-request-id'],
}));

app.post('/stream', (request, reply) => {
    async function* events() {
        yield 'data: one\n\n';
        await new Promise((resolve) => (release = resolve));
        yield 'data: two\n\n';
        yield 'data: three\n\n';
    }
    reply.type('text/event-stream').send(Readable.from(events()));
});

app.post('/release', (request, reply) => {
    release();
    reply.code(204).send();
});

app.post('/fail', async () => {
    throw new Error('the function failed');
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
const sockets = new WebSocketServer({ server: app.server, path: '/ws' });
sockets.on('connection', (socket) =>
    socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary })),
);
