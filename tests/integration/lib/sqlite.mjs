// sqlite.mjs - rows of SQLite's files. One shell answers all questions of this process: to start one for each costs more
// than they do, since a process as large as Node's is copied for it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { withUs } from './cleanup.mjs';

let shell;
let last = Promise.resolve(); // one question after the other

/** The rows of a statement, as objects; the file is open, for reading alone, only meanwhile. */
export function rowsOf(file, sql) {
    const answer = last.then(() => (shell ??= new Shell()).ask([`.open --readonly "${file}"`, `${sql};`, '.open :memory:']));
    last = answer.catch(() => {});
    return answer;
}

class Shell {
    /** What is wrong comes in its place among the rows, and is no JSON. */
    #child = withUs(spawn('sh', ['-c', 'exec sqlite3 -batch -json 2>&1'], { stdio: ['pipe', 'pipe', 'inherit'] }));

    constructor() {
        this.#child.stdin.on('error', () => {}); // its end is seen where its output ends
        this.#child.stdout.setEncoding('utf8');
    }

    async ask(lines) {
        const mark = randomUUID();
        this.#hold('ref');
        try {
            this.#child.stdin.write([...lines, `.print ${mark}`, ''].join('\n'));
            return rowsIn((await this.#through(`${mark}\n`)).trim());
        } finally {
            this.#hold('unref');
        }
    }

    #through(mark) {
        const { stdout } = this.#child;
        return new Promise((resolve, reject) => {
            const pieces = [];
            let tail = '';
            const onData = (piece) => {
                pieces.push(piece);
                tail = (tail + piece).slice(-mark.length);
                if (tail === mark) finish(() => resolve(pieces.join('').slice(0, -mark.length)));
            };
            const onEnd = () => finish(() => reject(new Error(`sqlite3 ended: ${pieces.join('')}`)));
            const finish = (settle) => {
                stdout.off('data', onData).off('close', onEnd);
                settle();
            };
            stdout.on('data', onData).on('close', onEnd);
            if (stdout.destroyed) onEnd();
        });
    }

    /** While nobody asks it this process does not wait for it. */
    #hold(how) {
        for (const handle of [this.#child, this.#child.stdin, this.#child.stdout]) handle[how]();
    }
}

function rowsIn(text) {
    try {
        return text ? JSON.parse(text) : [];
    } catch {
        throw new Error(`sqlite3: ${text.slice(0, 2000)}`);
    }
}
