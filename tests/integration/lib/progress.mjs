// progress.mjs - what a function host sends of a call before its answer, read from the bytes themselves.
import assert from 'node:assert/strict';
import { connect, request } from './raw.mjs';
import { readResponseHead } from './http1.mjs';

/** A call whose interim responses are read one at a time. `host` has a port. */
export class Told {
    constructor(client) {
        this.client = client;
    }

    static async call(t, host, name, members = {}, headers = {}) {
        const told = new Told(await connect(t, host));
        await told.ask(name, members, headers);
        return told;
    }

    async ask(name, members = {}, headers = {}) {
        const fields = { 'Content-Type': 'application/json', ...headers };
        await this.client.send(request('POST', `/${name}`, fields, JSON.stringify(members)));
    }

    /** The bytes of the next interim response's value; it must be one. */
    async nextLine() {
        const head = await readResponseHead(this.client.reader, 'POST');
        return lineOf(head);
    }

    async next() {
        return JSON.parse(await this.nextLine());
    }

    /** The interim responses that are left, as values, and the answer. */
    async rest() {
        const response = await this.client.response('POST');
        const told = response.interim.map((head) => JSON.parse(lineOf(head)));
        return { told, response };
    }

    close() {
        this.client.close();
    }
}

/** An interim response is a status line, one field of ASCII and nothing else, byte for byte. */
function lineOf(head) {
    const bytes = head.raw.toString('latin1');
    const match = /^HTTP\/1\.1 103 Early Hints\r\nX-Run-Progress: ([\x20-\x7e]+)\r\n\r\n$/.exec(bytes);
    assert.ok(match, `an interim response: ${JSON.stringify(bytes)}`);
    assert.ok(match[1].length <= 1024, `${match[1].length} bytes`);
    return match[1];
}
