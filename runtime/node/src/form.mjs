// form.mjs - a form (multipart/form-data, RFC 7578) while it arrives: its fields are texts, its files go into files of the
// directory for temporary files.
// Promise: of a file no more is in memory than one read brought; what was made has no name any more by the time it is
// written to, so that nothing is left of it, however this process ends.
// Not here: what a function gets of it (upload.mjs).
import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LONGEST_FIELD = 2 ** 20; // bytes of one that is no file, and of all of them eight times that
const LONGEST_HEAD = 16 * 1024;
const MOST_PARTS = 1000;
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
const PARAMETER = /;\s*([\w*]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g;
const WRITTEN = { '%22': '"', '%0D': '\r', '%0A': '\n' }; // by browsers

/** A body that is no form as its content type says; the text says why. */
export class BadForm extends Error {}

/** The directory for temporary files takes none. */
export class NoRoom extends Error {}

export class FormReader {
    parts = []; // [name, text], or [name, { name, type, size, path }]
    #mark;
    #rest = Buffer.from('\r\n'); // the first boundary may stand at the very beginning
    #state = 'before';
    #part; // { name, chunks, size } of a field, { name, file } of a file
    #files = [];
    #left = 8 * LONGEST_FIELD;

    constructor(contentType) {
        const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
        if ((quoted ?? plain) === undefined) throw new BadForm('its Content-Type names no boundary');
        this.#mark = Buffer.from(`\r\n--${quoted ?? plain}`, 'latin1');
    }

    /** Takes the next bytes, and writes what is of files. Throws BadForm, NoRoom. */
    async feed(chunk) {
        this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
        while (
            this.#state !== 'behind' &&
            (this.#state === 'head' ? await this.#takeHead() : await this.#takeContent())
        );
        if (this.#state === 'behind') this.#rest = Buffer.alloc(0);
    }

    /** The form is whole. */
    end() {
        if (this.#state === 'before' && this.#rest.length <= 2) throw new BadForm('it is empty');
        if (this.#state !== 'behind') throw new BadForm('it has no end: the boundary of its Content-Type is not there');
    }

    /** Gives up what it holds; `path`s are gone. */
    close() {
        for (const { handle } of this.#files.splice(0)) handle.close().catch(() => {});
    }

    /** False: more bytes are needed. */
    async #takeContent() {
        const mark = this.#mark;
        let from = 0;
        for (;;) {
            const at = this.#rest.indexOf(mark, from);
            if (at < 0) {
                const sure = Math.max(this.#rest.length - mark.length + 1, 0);
                await this.#keep(sure);
                return false;
            }
            const what = this.#after(at + mark.length);
            if (what === 'more') {
                await this.#keep(at);
                return false;
            }
            if (what) {
                await this.#keep(at);
                this.#rest = this.#rest.subarray(mark.length + what.skip);
                this.#endPart();
                this.#state = what.state;
                return true;
            }
            from = at + 2; // no boundary, but something that begins like it
        }
    }

    /** What follows the mark: the last part's end, the next part, 'more', or nothing of both. */
    #after(at) {
        const rest = this.#rest;
        if (rest.length < at + 2) return 'more';
        if (rest[at] === 0x2d && rest[at + 1] === 0x2d) return { state: 'behind', skip: 2 };
        let end = at;
        while (rest[end] === 0x20 || rest[end] === 0x09) end++;
        if (rest.length < end + 2) return end - at < 1000 ? 'more' : undefined;
        return rest[end] === 0x0d && rest[end + 1] === 0x0a ? { state: 'head', skip: end - at } : undefined;
    }

    /** The first `n` bytes of the rest are the part's. */
    async #keep(n) {
        const bytes = this.#rest.subarray(0, n);
        this.#rest = this.#rest.subarray(n);
        if (n === 0 || !this.#part) return;
        const { file } = this.#part;
        if (file) {
            try {
                for (let at = 0; at < n;) at += (await file.handle.write(bytes, at)).bytesWritten;
            } catch (error) {
                throw new NoRoom(error.message);
            }
            file.size += n;
            return;
        }
        this.#part.size += n;
        this.#left -= n;
        if (this.#part.size > LONGEST_FIELD || this.#left < 0)
            throw new BadForm(`the field '${this.#part.name.slice(0, 60)}' is too long: send it as a file`);
        this.#part.chunks.push(Buffer.from(bytes));
    }

    #endPart() {
        if (!this.#part) return;
        const { name, file, chunks } = this.#part;
        if (file) this.parts.push([name, { name: file.name, type: file.type, size: file.size, path: file.path }]);
        else this.parts.push([name, Buffer.concat(chunks).toString()]);
        this.#part = undefined;
    }

    /** The rest begins with the line's end before a part's head. */
    async #takeHead() {
        const end = this.#rest.indexOf('\r\n\r\n');
        if (end > LONGEST_HEAD || (end < 0 && this.#rest.length > LONGEST_HEAD))
            throw new BadForm('the head of a part has no end, or is too long');
        if (end < 0) return false;
        const head = this.#rest.toString('utf8', 2, Math.max(end, 2));
        this.#rest = this.#rest.subarray(end + 4);
        await this.#beginPart(head);
        this.#state = 'content';
        return true;
    }

    async #beginPart(head) {
        if (this.parts.length >= MOST_PARTS) throw new BadForm(`it has more than ${MOST_PARTS} parts`);
        const fields = new Map();
        for (const line of head.split('\r\n')) {
            const at = line.indexOf(':');
            if (at > 0) fields.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim());
        }
        const words = parametersOf(fields.get('content-disposition') ?? '');
        const name = words.get('name');
        if (name === undefined) throw new BadForm('a part of it has no name');
        this.#part = { name, size: 0, chunks: [] };
        if (!words.has('filename')) return;
        const fileName = words.get('filename').split(/[/\\]/).at(-1).replaceAll('\0', '');
        this.#part.file = await this.#makeFile(fileName, fields.get('content-type') || 'application/octet-stream');
    }

    async #makeFile(name, type) {
        const path = join(tmpdir(), `hookline-${randomBytes(9).toString('base64url')}`);
        try {
            const handle = await fs.open(path, 'wx+', 0o600);
            const file = { name, type, handle, size: 0, path: `/proc/${process.pid}/fd/${handle.fd}` };
            this.#files.push(file);
            await fs.unlink(path);
            return file;
        } catch (error) {
            throw new NoRoom(error.message);
        }
    }
}

function parametersOf(disposition) {
    const words = new Map();
    for (const [, name, quoted, plain] of disposition.matchAll(PARAMETER)) {
        if (name.endsWith('*')) continue; // RFC 7578 4.2 wants none
        const value = quoted === undefined ? plain : quoted.replace(/\\(["\\])/g, '$1');
        words.set(
            name.toLowerCase(),
            value.replace(/%22|%0D|%0A/g, (written) => WRITTEN[written]),
        );
    }
    return words;
}
