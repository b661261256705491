// clogged.mjs - a full pipe as a program's stderr, which nobody reads until a test says so.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { atEnd } from './cleanup.mjs';
import { LogLines } from './loglines.mjs';
import { BINARY, temporaryDirectory } from './sidecar.mjs';

/**
 * `command` for startSidecar, and `read()`, from which on the pipe is read: what comes out of it is the
 * LogLines that it answers, without what the pipe was filled with.
 */
export async function clog(t) {
    const path = join(await temporaryDirectory(t), 'stderr');
    execFileSync('mkfifo', [path]);
    const end = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    let socket;
    atEnd(t, () => (socket ? socket.destroy() : closeSync(end)));
    fill(path);
    return {
        path,
        command: ['/bin/sh', '-c', `exec "$0" "$@" 2>"${path}"`, BINARY],
        read() {
            const output = new LogLines();
            socket = new Socket({ fd: end });
            output.read(socket);
            return output;
        },
    };
}

/** Through a description of its own: that of the program stays blocking. */
function fill(path) {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const piece = Buffer.alloc(4096, '{}\n'.padStart(4096, ' '));
    try {
        for (;;) writeSync(fd, piece);
    } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
    } finally {
        closeSync(fd);
    }
}
