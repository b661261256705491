// The app of frameworks.test.mjs in Express.
import express from 'express';
import { WebSocketServer } from 'ws';

const app = express();
let release;
app.use(express.json({ limit: '64mb' }));

app.post('/run', (request, response) => {
    const { prompt } = request.body;
    response.json({ output: [...prompt].reverse().join(''), run: request.get('x-request-id') });
});

app.post('/stream', async (request, response) => {
    response.set('Content-Type', 'text/event-stream');
    response.write('data: one\n\n');
    await new Promise((resolve) => (release = resolve));
    response.write('data: two\n\n');
    response.end('data: three\n\n');
});

app.post('/release', (request, response) => {
    release();
    response.sendStatus(204);
});

app.post('/fail', () => {
    throw new Error('the function failed');
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1');
const sockets = new WebSocketServer({ server, path: '/ws' });
sockets.on('connection', (socket) =>
    socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary })),
);
