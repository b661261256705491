// talker.mjs - an app for a hookline that starts it: says on stdout and stderr what a request's body tells it to.
import http from 'node:http';

/** Until the pipe has it all. */
const say = (stream, lines) =>
    lines.length && new Promise((resolve) => stream.write(lines.map((line) => `${line}\n`).join(''), resolve));

const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { out = [], err = [], ms = 0, status = 200 } = text ? JSON.parse(text) : {};
    await say(process.stdout, out);
    await say(process.stderr, err);
    setTimeout(() => response.writeHead(status).end(), ms);
});
server.keepAliveTimeout = 60_000;
server.listen(process.env.PORT, '127.0.0.1');
