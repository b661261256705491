// dns.mjs - a DNS server whose answers a test decides, and surroundings in which the binary asks no other:
// a mount namespace with resolv.conf, nsswitch.conf and hosts of its own. It listens on port 53, for a resolver
// asks nowhere else, by UDP and TCP, of an address of 127/8 that is drawn at random.
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEnd } from './cleanup.mjs';
import { BINARY, temporaryDirectory } from './sidecar.mjs';

const TYPES = { 1: 'A', 28: 'AAAA' };
const RCODES = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };
const SILENCE = 'SILENCE';
const LAME = 'LAME';
const FLAGS = { answered: 0x8180, lame: 0x8100, truncated: 0x0200 };
const MOUNTS =
    'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && mount --bind "$3" /etc/hosts && ' +
    'shift 3 && exec "$@"';

/** What is no answer to a question, though it looks like one. */
const NOISE = {
    short: (query) => query.subarray(0, 7),
    random: (query) => Buffer.concat([query.subarray(0, 2), Buffer.from([0x81, 0x80, 0xff, 0xff, 0xff, 0xff, 7, 7, 7])]),
    otherId: (query) => changed(query, 0, query.readUInt16BE(0) ^ 1),
    otherName: (query) => changed(query, 13, query.readUInt16BE(13) ^ 1),
    question: (query) => query,
};

/** The question made an answer without records, with two bytes changed. */
function changed(query, at, value) {
    const answer = Buffer.from(query);
    answer.writeUInt16BE(0x8183, 2);
    answer.writeUInt16BE(value, at);
    return answer;
}

export class DnsServer {
    #socket;
    #answers = new Map();
    #asked = new Map();
    #surroundings;
    #isOpen = false;

    address;

    /** Each question, as `name type`, in order. */
    questions = [];

    /**
     * Starts one that ends with the test: `{ dns, command }`, the command being the binary in its
     * surroundings; `options`: resolv.conf's. Where the machine does not allow that, the test is skipped
     * with the reason: null.
     */
    static async start(t, options) {
        const dns = new DnsServer();
        try {
            await dns.#listen(t);
            dns.#surroundings = await surround(t, nameserver(dns.address, options));
            return { dns, command: dns.#surroundings.command };
        } catch (error) {
            t.skip(`a name server of its own is not possible here: ${error.message.trim()}`);
            return null;
        }
    }

    /** Another one, at that address or one that is drawn; it ends with the test. */
    static async beside(t, address) {
        const dns = new DnsServer();
        await dns.#listen(t, address);
        return dns;
    }

    /** What getaddrinfo finds with that resolv.conf (nsswitch.conf, hosts), in surroundings of its own: a set of addresses. */
    static async getaddrinfo(t, resolvConf, name, files = {}) {
        const { prefix } = await surround(t, resolvConf, files);
        const [program, ...args] = [...prefix, 'getent', 'ahosts', name];
        const { stdout } = await promisify(execFile)(program, args).catch(() => ({ stdout: '' }));
        return new Set(stdout.split('\n').filter(Boolean).map((line) => line.split(/\s/)[0]));
    }

    /**
     * The answers to the successive look-ups of a name (lower case, no final dot): lists of addresses of
     * both families, a name of RCODES, 'SILENCE', or 'LAME': neither an answer nor a way to one; the last
     * one stays. Or an object with the answers of each family, `{ A, AAAA }`; and, for each of them,
     * `{ answer, after, cname, isTruncated, isByTcp, isPlain, noise }`: what, after how many milliseconds,
     * under which other name, whether it is whole, or there at all, by TCP alone, whether a question with
     * EDNS is refused, and what comes before it: see NOISE. '*' stands for all other names.
     */
    set(name, ...answers) {
        this.#answers.set(name, answers);
        for (const type of Object.values(TYPES)) this.#asked.delete(`${name} ${type}`);
    }

    /** From now on the surroundings' resolv.conf names that other one instead. */
    async giveWayTo(other) {
        await this.write(nameserver(other.address));
    }

    /** From now on that is the surroundings' resolv.conf. */
    async write(resolvConf) {
        await writeFile(this.#surroundings.resolv, resolvConf);
    }

    /** From now on the surroundings' nsswitch.conf and hosts are that. */
    async order({ nsswitch, hosts }) {
        await writeFile(this.#surroundings.hosts, hosts);
        await writeFile(this.#surroundings.nsswitch, nsswitch);
    }

    /** How often the name was looked up. */
    count(name) {
        return this.questions.filter((question) => question === `${name} A`).length;
    }

    async #listen(t, address) {
        const byte = () => 1 + Math.floor(Math.random() * 254);
        this.address = address ?? `127.${byte()}.${byte()}.${byte()}`;
        this.#socket = createSocket(isIPv6(this.address) ? 'udp6' : 'udp4');
        const sockets = new Set();
        const streams = createServer((socket) => {
            sockets.add(socket);
            socket.on('error', () => {}).on('data', (bytes) => this.#takeStream(socket, bytes));
        });
        this.#socket.on('message', (query, peer) =>
            this.#answer(query, 'udp', (bytes) => this.#socket.send(bytes, peer.port, peer.address)),
        );
        this.#socket.bind(53, this.address);
        await once(this.#socket, 'listening');
        streams.listen(53, this.address);
        await once(streams, 'listening');
        this.#isOpen = true;
        atEnd(t, () => {
            if (this.#isOpen) this.#socket.close();
            this.#isOpen = false;
            streams.close();
            for (const socket of sockets) socket.destroy();
        });
    }

    #takeStream(socket, bytes) {
        for (let at = 0; at + 2 < bytes.length; at += 2 + bytes.readUInt16BE(at)) {
            const query = bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at));
            this.#answer(query, 'tcp', (answer) => {
                const length = Buffer.alloc(2);
                length.writeUInt16BE(answer.length);
                socket.write(Buffer.concat([length, answer]));
            });
        }
    }

    #answer(query, transport, send) {
        const labels = [];
        let at = 12;
        for (let n; (n = query[at]) > 0; at += n + 1)
            labels.push(query.toString('latin1', at + 1, at + 1 + n));
        const question = query.subarray(12, at + 5);
        const name = labels.join('.').toLowerCase();
        const type = TYPES[query.readUInt16BE(at + 1)];
        this.questions.push(`${name} ${type}`);
        const one = whole(this.#next(name, type), type);
        const { after, cname, isTruncated, isByTcp, noise } = one;
        const answer = one.isPlain && query.readUInt16BE(10) > 0 ? 'FORMERR' : one.answer;
        if (noise) send(NOISE[noise](query));
        if (answer === SILENCE || (isByTcp && transport === 'udp')) return;
        const list = Array.isArray(answer) && !(isTruncated && transport === 'udp') ? answer : [];
        const records = list
            .filter((one) => isIPv6(one) === (type === 'AAAA'))
            .map((one) => record(cname ? encodeName(cname) : POINTER, type, one));
        if (cname && records.length > 0) records.unshift(alias(cname));
        const head = Buffer.from(query.subarray(0, 12));
        const flags = answer === LAME ? FLAGS.lame : FLAGS.answered;
        const isCut = isTruncated && transport === 'udp';
        head.writeUInt16BE(flags | (isCut ? FLAGS.truncated : 0) | (RCODES[answer] ?? 0), 2);
        for (const [offset, n] of [
            [4, 1],
            [6, records.length],
            [8, 0],
            [10, 0],
        ])
            head.writeUInt16BE(n, offset);
        setTimeout(() => this.#isOpen && send(Buffer.concat([head, question, ...records])), after ?? 0);
    }

    #next(name, type) {
        const key = this.#answers.has(name) ? name : '*';
        const answers = this.#answers.get(key) ?? ['NXDOMAIN'];
        const nth = this.#asked.get(`${key} ${type}`) ?? 0;
        this.#asked.set(`${key} ${type}`, nth + 1);
        return answers[Math.min(nth, answers.length - 1)];
    }
}

/** An answer as an object. */
function whole(given, type) {
    const one = typeof given === 'object' && !Array.isArray(given) && ('A' in given || 'AAAA' in given) ? (given[type] ?? []) : given;
    return typeof one === 'object' && !Array.isArray(one) ? one : { answer: one };
}

const POINTER = Buffer.from([0xc0, 0x0c]);

const encodeName = (name) =>
    Buffer.concat([...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.from([0])]);

/** Good for an hour: who keeps it longer than an attempt is found out. */
function resource(owner, type, bytes) {
    const head = Buffer.alloc(10);
    head.writeUInt16BE(type, 0);
    head.writeUInt16BE(1, 2);
    head.writeUInt32BE(3600, 4);
    head.writeUInt16BE(bytes.length, 8);
    return Buffer.concat([owner, head, bytes]);
}

const alias = (name) => resource(POINTER, 5, encodeName(name));

function record(owner, type, address) {
    const bytes = type === 'AAAA' ? bytesOfIPv6(address) : address.split('.').map(Number);
    return resource(owner, type === 'AAAA' ? 28 : 1, Buffer.from(bytes));
}

function bytesOfIPv6(address) {
    const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
    if (dotted) {
        const [a, b, c, d] = dotted.slice(2).map(Number);
        address = `${dotted[1]}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    }
    const groups = (text) => (text ? text.split(':').map((group) => parseInt(group, 16)) : []);
    const [before, after] = address.split('::').map(groups);
    const gap = after ? Array(8 - before.length - after.length).fill(0) : [];
    return [...before, ...gap, ...(after ?? [])].flatMap((group) => [group >> 8, group & 255]);
}

const nameserver = (address, options = 'timeout:2 attempts:2') =>
    `nameserver ${address}\noptions ${options}\n`;

async function surround(t, content, files = {}) {
    const directory = await temporaryDirectory(t);
    const resolv = join(directory, 'resolv.conf');
    const nsswitch = join(directory, 'nsswitch.conf');
    await writeFile(resolv, content, { mode: 0o644 });
    const hosts = join(directory, 'hosts');
    await writeFile(nsswitch, files.nsswitch ?? 'hosts: dns\n', { mode: 0o644 });
    await writeFile(hosts, files.hosts ?? '', { mode: 0o644 });
    const prefix = ['unshare', '--mount', 'sh', '-c', MOUNTS, 'sh', resolv, nsswitch, hosts];
    await promisify(execFile)(prefix[0], [...prefix.slice(1), 'true']);
    return { resolv, nsswitch, hosts, prefix, command: [...prefix, BINARY] };
}
