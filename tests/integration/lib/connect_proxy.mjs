// connect_proxy.mjs - a CONNECT proxy: keeps the heads that it got, and opens tunnels or refuses.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { atEnd } from './cleanup.mjs';

/**
 * `credentials`: "user:password" that it wants. `refuse`: a status that it answers CONNECT with, or a function of what
 * is asked. `route(authority)`: where a tunnel leads, by default to what was asked. `tls`: `{ key, cert }` of one that is
 * spoken to over TLS. Answers
 * `{ port, asked: [{ authority, head }], others, tunnels }`; `others` counts requests that are no CONNECT.
 */
export async function startConnectProxy(t, { credentials, refuse, route, tls } = {}) {
    const proxy = { asked: [], others: 0, tunnels: 0 };
    const sockets = new Set();
    const onOther = (_, response) => {
        proxy.others++;
        response.writeHead(403).end();
    };
    const server = tls ? https.createServer(tls, onOther) : http.createServer(onOther);
    server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => sockets.delete(socket));
    });
    server.on('connect', (request, socket, rest) => {
        proxy.asked.push({ authority: request.url, head: request.headers });
        const wanted = `Basic ${Buffer.from(credentials ?? '').toString('base64')}`;
        const isKnown = !credentials || request.headers['proxy-authorization'] === wanted;
        const status = typeof refuse === 'function' ? refuse(request.url) : refuse;
        if (status || !isKnown) {
            socket.end(`HTTP/1.1 ${status ?? 407} No\r\nContent-Length: 0\r\n\r\n`);
            return;
        }
        const { hostname, port } = new URL(`http://${route ? route(request.url) : request.url}`);
        const to = net.connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), () => {
            proxy.tunnels++;
            socket.write('HTTP/1.1 200 Connection established\r\nX-Via: proxy\r\n\r\n');
            to.write(rest);
            socket.pipe(to).pipe(socket);
        });
        sockets.add(to);
        to.on('error', () => socket.destroy());
        socket.on('close', () => to.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => {
        for (const socket of sockets) socket.destroy();
        server.close();
    });
    proxy.port = server.address().port;
    const scheme = tls ? 'https' : 'http';
    proxy.url = (userinfo) => `${scheme}://${userinfo ? `${userinfo}@` : ''}127.0.0.1:${proxy.port}`;
    return proxy;
}
