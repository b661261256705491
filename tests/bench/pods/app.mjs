// app.mjs - the app of these benches: answers a call after as many ms as its body says; SIGTERM ends it at once, whatever is
// inside. `{"last": true}`: the call after which it ends by itself, with 0 (a Job's).
import http from 'node:http';

const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { ms = 0, last = false } = text ? JSON.parse(text) : {};
    const answer = () => {
        const body = `{"ms":${ms}}`;
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
        response.end(body, () => last && setTimeout(() => process.exit(0), 100));
    };
    if (ms > 0) setTimeout(answer, ms);
    else answer();
});
server.keepAliveTimeout = 3_600_000;
server.listen(8000, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
