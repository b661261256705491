// export.js - saves a list as a file: all that the filters choose, page by page, with what has come so far in sight.
// Not here: the button (export_button.js), what CSV is (csv.js).
import * as api from './api.js';
import { button, dialog, fill, h, note } from './dom.js';
import { columnsOf, csvHead, csvRow } from './csv.js';
import { plural } from './format.js';

const PAGE = 200;
const FORMATS = [
    ['csv', 'CSV', 'for spreadsheets: a line a row', 'text/csv;charset=utf-8'],
    ['ndjson', 'NDJSON', 'for programs: each row as the REST interface has it', 'application/x-ndjson'],
];

/** `list`: see exportButton. */
export function exportList(list) {
    const reading = new Reading(list);
    return dialog(`Export ${list.name}`, (close) => {
        const place = h('div.export');
        reading.onclose = () => close(true);
        reading.place = place;
        reading.choose();
        return place;
    }).then(() => reading.stop());
}

class Reading {
    #list;
    #query; // stays as it was when it began: the page may have moved on
    #gone = null; // AbortController, while pages are read
    #cursor = null;
    #columns = null;
    #blob = new Blob();
    #count = 0;
    #format = FORMATS[0];

    constructor(list) {
        this.#list = list;
        this.#query = list.query();
    }

    stop() {
        this.#gone?.abort();
    }

    choose() {
        const choices = FORMATS.map((format, i) =>
            h(
                'label.choice',
                {},
                h('input', {
                    type: 'radio',
                    name: 'format',
                    checked: i === 0,
                    onchange: () => (this.#format = format),
                }),
                h('span', {}, h('strong', {}, format[1]), ` ${format[2]}`),
            ),
        );
        const which = this.#list.about ?? 'Everything that matches this page’s filters, including what is not shown here.';
        fill(
            this.place,
            h('p', {}, which),
            h('fieldset', {}, h('legend', {}, 'Format'), choices),
            h(
                'div.actions',
                {},
                button('Cancel', () => this.onclose()),
                button('Export', () => this.#begin(), 'main', { autofocus: true }),
            ),
        );
    }

    async #begin() {
        const said = say('Asking…');
        const stop = button('Stop', () => this.#gone.abort());
        fill(this.place, said, h('progress', { 'aria-label': 'Export' }), h('div.actions', {}, stop));
        stop.focus();
        const gone = (this.#gone = new AbortController());
        try {
            do {
                await this.#readPage(gone.signal);
                said.textContent = `${plural(this.#count, 'row')} so far`;
            } while (this.#cursor !== null);
            this.#end(null);
        } catch (error) {
            this.#end(gone.signal.aborted ? null : error, true);
        }
    }

    async #readPage(signal) {
        const query = { ...this.#query, limit: PAGE, cursor: this.#cursor };
        const answer = await api.get(this.#list.path, { query, signal });
        const rows = answer[this.#list.rows];
        this.#add(rows);
        this.#count += rows.length;
        this.#cursor = answer.next_cursor;
    }

    /** What came stays with the browser, which has files for that, and not with the page. */
    #add(rows) {
        const parts = [];
        if (this.#format[0] === 'csv' && !this.#columns && rows.length) {
            this.#columns = columnsOf(rows[0]);
            parts.push(csvHead(this.#columns));
        }
        for (const row of rows)
            parts.push(this.#format[0] === 'csv' ? csvRow(this.#columns, row) : `${JSON.stringify(row)}\n`);
        this.#blob = new Blob([this.#blob, ...parts], { type: this.#format[3] });
    }

    /** `isPart`: there is more that was not read. */
    #end(error, isPart = false) {
        const close = button('Close', () => this.onclose());
        const count = plural(this.#count, 'row');
        if (!isPart) {
            const title = this.#count ? `${count} saved as ${this.#save('')}` : 'There is nothing to be saved';
            fill(this.place, say(title), h('div.actions', {}, close));
            close.focus();
            return;
        }
        const why = error
            ? note('error', 'It could not be read to the end', h('p', {}, `${error.message} ${count} came.`))
            : say(`Stopped after ${count}; there are more.`);
        const keep = button(`Save these ${count}`, () => {
            fill(this.place, say(`${count} saved as ${this.#save('-part')}`), h('div.actions', {}, close));
            close.focus();
        });
        const goOn = button('Go on', () => this.#begin(), 'main');
        fill(this.place, why, h('div.actions', {}, close, this.#count ? keep : null, goOn));
        goOn.focus();
    }

    #save(suffix) {
        const at = new Date().toISOString().slice(0, 19).replaceAll(':', '').replace('T', '-');
        const name = `hookline-${this.#list.name.replaceAll(' ', '-')}-${at}Z${suffix}.${this.#format[0]}`;
        const url = URL.createObjectURL(this.#blob);
        const link = h('a', { href: url, download: name });
        link.click();
        setTimeout(() => URL.revokeObjectURL(url), 60_000);
        return name;
    }
}

function say(text) {
    return h('p', { role: 'status' }, text);
}
