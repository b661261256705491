// The app of frameworks.test.mjs in Hono on its Node server.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { WebSocketServer } from 'ws';

const app = new Hono();
let release;

app.post('/run', async (c) => {
    const { prompt } = await c.req.json();
    return c.json({ output: [...prompt].reverse().join(''), run: c.req.header('x-request-id') });
});

app.post('/stream', (c) =>
    streamSSE(c, async (stream) => {
        await stream.writeSSE({ data: 'one' });
        await new Promise((resolve) => (release = resolve));
        await stream.writeSSE({ data: 'two' });
        await stream.writeSSE({ data: 'three' });
    }),
);

app.post('/release', (c) => {
    release();
    return c.body(null, 204);
});

app.post('/fail', () => {
    throw new Error('the function failed');
});

const server = serve({
    fetch: app.fetch,
    port: Number(process.env.PORT),
    hostname: '127.0.0.1',
});
const sockets = new WebSocketServer({ server, path: '/ws' });
sockets.on('connection', (socket) =>
    socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary })),
);
