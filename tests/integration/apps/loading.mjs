// loading.mjs - an app that hookline starts and that listens before it is loaded: its health path says 503 until the
// file TEST_LOADED is there. It answers every call with its process id and whether the call came before it had said so.
import { existsSync } from 'node:fs';
import http from 'node:http';

let isLoaded = false;
const server = http.createServer((request, response) => {
    request.resume().on('end', () => {
        if (request.url === '/health') {
            isLoaded ||= existsSync(process.env.TEST_LOADED);
            response.writeHead(isLoaded ? 200 : 503).end();
        } else if (request.url === '/exit') {
            process.exit(1);
        } else {
            response.end(JSON.stringify({ pid: process.pid, isEarly: !isLoaded }));
        }
    });
});
server.listen({ port: process.env.PORT, host: '127.0.0.1' });
