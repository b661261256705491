// loglines.mjs - what a program writes to its log, as it comes: the text, the lines that are JSON, the others.

/** Takes a stream of text; `text` is all of it, `log` the parsed lines, `noise` those that are no JSON. */
export class LogLines {
    #rest = '';
    text = '';
    log = [];
    noise = [];

    read(stream) {
        stream.setEncoding('utf8').on('data', (text) => this.#take(text));
    }

    #take(text) {
        this.text += text;
        const lines = (this.#rest + text).split('\n');
        this.#rest = lines.pop();
        for (const line of lines) {
            try {
                this.log.push(JSON.parse(line));
            } catch {
                this.noise.push(line);
            }
        }
    }
}
