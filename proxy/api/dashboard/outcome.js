// outcome.js - what comes of a call that was sent from here: its run, the answer or the events as they come, the end.
// Promise: whatever the app answers, text stays text, and no more of it is held than is shown and can be saved.
import * as api from './api.js';
import { addStyle, announce, badge, button, fill, h, note, refill } from './dom.js';
import { eventParser } from './event_stream.js';
import { bytes, duration, id, plural, visible } from './format.js';
import { showStale } from './stale.js';

const SHOWN_MAX = 64 * 1024; /* of an answer; the rest can be saved */
const KEPT_MAX = 16 * 1024 * 1024;
const EVENTS_MAX = 500; /* on the page: the newest */
const LONGEST_EVENT = 8 * 1024;
const EVERY = 1000;

export class Outcome {
    #gone = null; // AbortController of what is under way
    #polling = null;
    #panel = null;
    #head = h('div.outcome-head');
    #body = h('div.outcome');
    element = h(
        'section.outcome',
        { 'aria-label': 'What came of it' },
        note(
            'empty',
            'Nothing was sent yet',
            h('p', {}, 'What comes of the call is shown here, and it is a run like any other.'),
        ),
    );

    end() {
        this.#gone?.abort();
        this.#polling?.stop();
        this.#panel?.stop();
    }

    /** Sends it. Resolves when the answer has ended; of a queued run, when it was accepted. */
    async send(call, mode) {
        this.end();
        const gone = (this.#gone = new AbortController());
        const began = performance.now();
        const stop = button('Stop', () => gone.abort(), 'small');
        fill(this.#head, badge('running', 'sent', 'running'), stop);
        fill(this.#body);
        fill(this.element, this.#head, this.#body);
        this.element.scrollIntoView({ block: 'nearest' }); // below the form, where there is little room
        try {
            const response = await api.call(call.method, call.path, { ...call, signal: gone.signal });
            await this.#take(response, mode, began, stop, gone.signal);
        } catch (error) {
            this.#fail(error, gone.signal.aborted);
        }
    }

    #fail(error, isStopped) {
        const title = isStopped ? 'Stopped' : 'No answer';
        const text = isStopped ? 'The call was taken back here; a run with a webhook goes on.' : error.message;
        fill(this.#head, badge(isStopped ? 'cancelled' : 'failure', title.toLowerCase()));
        this.#body.append(note(isStopped ? 'empty' : 'error', title, h('p', {}, text)));
        announce(title);
    }

    async #take(response, mode, began, stop, signal) {
        const runId = response.headers.get('X-Request-Id');
        const isStream = (response.headers.get('Content-Type') ?? '').startsWith('text/event-stream');
        const tell = (...more) => this.#tell(response, runId, ...more);
        if (mode === 'async' && response.status === 202) return this.#follow(runId, tell);
        tell(h('span.soft', {}, 'is coming'), stop);
        if (isStream) await this.#showEvents(response, signal);
        else await this.#showBody(response, signal);
        tell(h('span.soft', {}, `after ${duration(performance.now() - began)}`));
        announce(`Answered with status ${response.status}`);
    }

    #tell({ status }, runId, ...more) {
        const kind = status < 400 ? 'success' : 'failure';
        const link = runId ? h('a', { href: `#/runs/${runId}` }, 'Run ', id(runId)) : null;
        refill(this.#head, badge(kind, `status ${status}`), link, more);
    }

    /* ---- an answer ---- */

    async #showBody(response, signal) {
        const chunks = [];
        let size = 0;
        for await (const chunk of pieces(response, signal)) {
            size += chunk.length;
            if (size <= KEPT_MAX) chunks.push(chunk);
        }
        const blob = new Blob(chunks, { type: 'application/octet-stream' });
        const type = response.headers.get('Content-Type') ?? '';
        const text = pretty(await blob.slice(0, SHOWN_MAX).text(), type, size);
        const isText = /^(text\/|application\/([\w.+-]+\+)?(json|x-ndjson|xml))/.test(type) || !type;
        const save = size && size <= KEPT_MAX ? button('Save', () => saveAs(blob, type), 'small') : null;
        const part = size > SHOWN_MAX ? `, the first ${bytes(SHOWN_MAX)} shown` : '';
        const about = `${type || 'no content type'}, ${bytes(size)}${part}`;
        fill(
            this.#body,
            h('div.outcome-head', {}, h('span.count', {}, visible(about)), save),
            isText && size ? h('pre.result', { tabindex: 0, 'aria-label': 'Answer' }, visible(text)) : null,
        );
    }

    /* ---- events ---- */

    async #showEvents(response, signal) {
        const began = performance.now();
        const list = h('ol.came', { tabindex: 0, 'aria-label': 'Events, the newest last' });
        const count = h('span.count');
        let seen = 0;
        fill(this.#body, count, list);
        const parser = eventParser(LONGEST_EVENT, {
            retry: () => {},
            event: ({ data, type, size }) => {
                seen++;
                const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
                const cut = size > data.length ? ` … (${bytes(size)})` : '';
                const name = type === 'message' ? '' : `${visible(type)}: `;
                const when = h('span.sub', {}, `+${duration(performance.now() - began)}`);
                list.append(h('li', {}, when, h('span', {}, name, visible(data), cut)));
                if (list.children.length > EVENTS_MAX) list.firstChild.remove();
                if (isAtEnd) list.scrollTop = list.scrollHeight;
            },
        });
        const decoder = new TextDecoder();
        for await (const chunk of pieces(response, signal)) {
            parser.feed(decoder.decode(chunk, { stream: true }));
            const hidden = seen > EVENTS_MAX ? `, the last ${EVENTS_MAX} shown` : '';
            count.textContent = `${plural(seen, 'event')}${hidden}`;
        }
    }

    /* ---- a queued run ---- */

    async #follow(runId, tell) {
        const path = `/runs/${encodeURIComponent(runId)}`;
        const place = h('div.outcome');
        const [{ eventPanel }] = await Promise.all([api.part(() => import('./events.js')), addStyle('run.css').catch(() => {})]);
        this.#panel = eventPanel(path, { progress() {}, lost() {}, end: () => this.#polling.now() });
        fill(this.#body, this.#panel.section, place);
        this.#polling = api.poll(
            EVERY,
            async (signal) => {
                const run = await api.get(path, { signal });
                const took = run.run_ms === null ? null : h('span.soft', {}, duration(run.run_ms));
                tell(badge(run.state, run.state), run.reason ? h('span.soft', {}, run.reason) : null, took);
                this.#panel.update(run);
                if (!run.finished_at) return EVERY;
                this.#polling.stop();
                announce(`The run is ${run.state}`);
                if (run.mode !== 'stream') await this.#showResult(path, place);
                return EVERY;
            },
            (error, at) => showStale(place, 'The run is', error, at),
        );
    }

    async #showResult(path, place) {
        const gone = (this.#gone = new AbortController());
        const inner = new Outcome();
        try {
            const response = await api.request('GET', `${path}/result`, { signal: gone.signal });
            await inner.#showBody(response, gone.signal);
            fill(place, inner.#body);
        } catch (error) {
            if (!gone.signal.aborted) fill(place, note('empty', 'No result is kept', h('p', {}, error.message)));
        }
    }
}

async function* pieces(response, signal) {
    const reader = response.body.getReader();
    const cancel = () => reader.cancel().catch(() => {});
    signal.addEventListener('abort', cancel);
    for (;;) {
        const { done, value } = await reader.read();
        if (signal.aborted) throw new DOMException('', 'AbortError');
        if (done) return;
        yield value;
    }
}

/** JSON with its lines; what is cut off, or is none, as it came. */
function pretty(text, type, size) {
    if (!/json/.test(type) || size > SHOWN_MAX) return text;
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
}

function saveAs(blob, type) {
    const url = URL.createObjectURL(blob);
    h('a', { href: url, download: `answer${/json/.test(type) ? '.json' : ''}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
