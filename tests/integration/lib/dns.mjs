// dns.mjs - a DNS server whose answers a test decides, and surroundings in which the binary asks no other:
// a mount namespace with resolv.conf and nsswitch.conf of its own. It listens on port 53, for a resolver
// asks nowhere else, of an address of 127/8 that is drawn at random.
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEnd } from './cleanup.mjs';
import { BINARY, temporaryDirectory } from './sidecar.mjs';

const TYPES = { 1: 'A', 28: 'AAAA' };
const RCODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 };
const SILENCE = 'SILENCE';
const MOUNTS =
    'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@"';

export class DnsServer {
    #socket = createSocket('udp4');
    #answers = new Map();
    #asked = new Map();
    #resolv;

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
            const { resolv, command } = await surround(t, nameserver(dns.address, options));
            dns.#resolv = resolv;
            return { dns, command };
        } catch (error) {
            t.skip(`a name server of its own is not possible here: ${error.message.trim()}`);
            return null;
        }
    }

    /**
     * The answers to the successive look-ups of a name (lower case, no final dot): lists of addresses of
     * both families, a name of RCODES, or 'SILENCE'; the last one stays. '*' stands for all other names.
     */
    set(name, ...answers) {
        this.#answers.set(name, answers);
        for (const type of Object.values(TYPES)) this.#asked.delete(`${name} ${type}`);
    }

    /** From now on the surroundings' resolv.conf names that other one instead. */
    async giveWayTo(other) {
        await writeFile(this.#resolv, nameserver(other.address));
    }

    /** How often the name was looked up. */
    count(name) {
        return this.questions.filter((question) => question === `${name} A`).length;
    }

    async #listen(t) {
        const byte = () => 1 + Math.floor(Math.random() * 254);
        this.address = `127.${byte()}.${byte()}.${byte()}`;
        this.#socket.on('message', (query, peer) => {
            const answer = this.#answer(query);
            if (answer) this.#socket.send(answer, peer.port, peer.address);
        });
        this.#socket.bind(53, this.address);
        await once(this.#socket, 'listening');
        atEnd(t, () => this.#socket.close());
    }

    #answer(query) {
        const labels = [];
        let at = 12;
        for (let n; (n = query[at]) > 0; at += n + 1)
            labels.push(query.toString('latin1', at + 1, at + 1 + n));
        const question = query.subarray(12, at + 5);
        const name = labels.join('.').toLowerCase();
        const type = TYPES[query.readUInt16BE(at + 1)];
        this.questions.push(`${name} ${type}`);
        const found = this.#next(name, type);
        if (found === SILENCE) return null;
        const addresses = Array.isArray(found) ? found : [];
        const records = addresses
            .filter((address) => isIPv6(address) === (type === 'AAAA'))
            .map((address) => record(type, address));
        const head = Buffer.from(query.subarray(0, 12));
        head.writeUInt16BE(0x8180 | (RCODES[found] ?? 0), 2);
        for (const [offset, n] of [
            [4, 1],
            [6, records.length],
            [8, 0],
            [10, 0],
        ])
            head.writeUInt16BE(n, offset);
        return Buffer.concat([head, question, ...records]);
    }

    #next(name, type) {
        const key = this.#answers.has(name) ? name : '*';
        const answers = this.#answers.get(key) ?? ['NXDOMAIN'];
        const nth = this.#asked.get(`${key} ${type}`) ?? 0;
        this.#asked.set(`${key} ${type}`, nth + 1);
        return answers[Math.min(nth, answers.length - 1)];
    }
}

/** An answer for the question's name, good for an hour: who keeps it longer than an attempt is found out. */
function record(type, address) {
    const bytes = type === 'AAAA' ? bytesOfIPv6(address) : address.split('.').map(Number);
    const head = Buffer.alloc(12);
    head.writeUInt16BE(0xc00c, 0);
    head.writeUInt16BE(type === 'AAAA' ? 28 : 1, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt32BE(3600, 6);
    head.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([head, Buffer.from(bytes)]);
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

async function surround(t, content) {
    const directory = await temporaryDirectory(t);
    const resolv = join(directory, 'resolv.conf');
    const nsswitch = join(directory, 'nsswitch.conf');
    await writeFile(resolv, content, { mode: 0o644 });
    await writeFile(nsswitch, 'hosts: dns\n', { mode: 0o644 });
    const prefix = ['unshare', '--mount', 'sh', '-c', MOUNTS, 'sh', resolv, nsswitch];
    await promisify(execFile)(prefix[0], [...prefix.slice(1), 'true']);
    return { resolv, command: [...prefix, BINARY] };
}
