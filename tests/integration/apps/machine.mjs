// machine.mjs - an app for another machine (lib/machine.mjs): what it does with a call stands in the path. It says
// `begun <path>` for each call, and no call but /quick ever ends.
import { createServer } from 'node:http';

const server = createServer((request, response) => {
    if (request.url === '/health') return void response.end('ok');
    console.log(`begun ${request.url}`);
    if (request.url === '/quick') return void response.end('done');
    if (request.url === '/deaf') return; // it does not read the body
    request.resume();
    if (request.url === '/stream') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write('data: first\n\n');
    }
});
server.requestTimeout = server.keepAliveTimeout = 0;
server.listen(Number(process.argv[2]), '0.0.0.0', () => console.log('listening'));
