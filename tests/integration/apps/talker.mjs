// talker.mjs - an app for a hookline that starts it: says on stdout and stderr what a request's body tells it to.
import http from 'node:http';

const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { out = [], err = [], ms = 0, status = 200 } = text ? JSON.parse(text) : {};
    for (const line of out) process.stdout.write(`${line}\n`);
    for (const line of err) process.stderr.write(`${line}\n`);
    setTimeout(() => response.writeHead(status).end(), ms);
});
server.keepAliveTimeout = 60_000;
server.listen(process.env.PORT, '127.0.0.1');
