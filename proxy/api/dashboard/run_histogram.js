// run_histogram.js - how many runs of a list were accepted when, drawn above it: bars by state, of which a span is chosen by
// mouse, touch or keys. Not here: the counting (GET …/runs/histogram).
import * as api from './api.js';
import { now } from './clock.js';
import { announce, h, s } from './dom.js';
import { number } from './format.js';
import { formatter, onZone } from './zone.js';

const HEIGHT = 64;
const FOOT = 14; /* px: the times below the bars */
const LEAST = 3; /* px: a brush that is narrower has no width */
const EVERY = 15_000;
const EVERY_SEARCH = 60_000; // the server looks at many for each answer
const FITS = 4; /* times that a span is drawn closer at once */
const DAY = 86_400_000;
const STATES = ['failure', 'cancelled', 'success', 'running', 'queued']; // upwards
const WORDS = { failure: 'failed', cancelled: 'cancelled', success: 'succeeded', running: 'running', queued: 'queued' };
const clock = formatter({ timeStyle: 'short' });
const seconds = formatter({ timeStyle: 'medium' });
const dayAndTime = formatter({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const onlyDay = formatter({ day: 'numeric', month: 'short' });

export class RunHistogram {
    #options;
    #data = null; // as it was answered, times as ms
    #since = ''; // where the first run is, when no other bound is set
    #at = null; // the point of the keyboard
    #from = null; // where a choice by keys began
    #brush = null; // `{ from, to, pointer }` in px
    #polling = null;
    #svg;
    #said = h('p.readout', { 'aria-hidden': 'true' });
    #resized = new ResizeObserver(() => this.#draw());
    element;

    /** `query()`: the list's filter as the server takes it; `isSearch()`; `choose({ from, until })`: ISO texts, or ''. */
    constructor(options) {
        this.#options = options;
        this.#svg = s('svg', {
            role: 'slider',
            tabindex: 0,
            'aria-label': 'Runs over time. Arrows go through it, with Shift they choose a span, Enter takes it',
            'aria-valuemin': 0,
            'aria-valuemax': 0,
            'aria-valuenow': 0,
            'aria-valuetext': 'nothing yet',
        });
        this.element = h('figure.histogram', {}, this.#svg, this.#said);
        const on = (name, listener) => this.#svg.addEventListener(name, listener);
        on('pointerdown', (event) => this.#onDown(event));
        on('pointermove', (event) => this.#onMove(event));
        on('pointerup', (event) => this.#onUp(event));
        on('pointercancel', () => this.#drop());
        on('pointerleave', () => !this.#brush && this.#say(null));
        on('keydown', (event) => this.#onKey(event));
        on('blur', () => this.#drop());
        onZone(this.element, () => this.#draw());
        this.#resized.observe(this.element);
    }

    /** Answers what ends it. */
    begin() {
        const onError = (error) => this.element.classList.toggle('is-stale', Boolean(error));
        const every = () => (this.#options.isSearch() ? EVERY_SEARCH : EVERY);
        this.#polling = api.poll(EVERY, async (signal) => (await this.#ask(signal), every()), onError);
        return () => {
            this.#polling.stop();
            this.#resized.disconnect();
        };
    }

    /** What has come anew. */
    renew() {
        this.#polling.now();
    }

    async #ask(signal) {
        const filter = this.#options.query();
        const isOpen = !filter.since;
        for (let fits = 0; fits <= FITS; fits++) {
            const since = filter.since || this.#since;
            const data = await api.get('/runs/histogram', { query: { ...filter, since }, signal });
            data.at = data.at.map(Date.parse);
            this.#data = data;
            const first = data.at.findIndex((_, i) => sumAt(data, i) > 0);
            if (!isOpen || first <= data.at.length / 4) break;
            this.#since = new Date(data.at[first]).toISOString();
        }
        this.#draw();
    }

    /* ---- drawing ---- */

    #draw() {
        const width = this.element.clientWidth;
        if (!this.#data || !width) return;
        const { at } = this.#data;
        const step = width / at.length;
        const most = Math.max(1, ...at.map((_, i) => sumAt(this.#data, i)));
        const room = HEIGHT - FOOT - 2;
        const bars = at.flatMap((_, i) => {
            let y = HEIGHT - FOOT;
            return STATES.map((state) => {
                const n = this.#data[state][i];
                if (!n) return null;
                const height = Math.max(n && state === 'failure' ? 2 : 1, (n / most) * room);
                y -= height;
                const x = i * step;
                return s('rect', { x: x.toFixed(2), y: Math.max(0, y).toFixed(2), width: Math.max(0.8, step - 1).toFixed(2), height: height.toFixed(2), class: `area is-${state}` });
            });
        });
        this.#svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
        this.#svg.setAttribute('aria-valuemax', Math.max(0, at.length - 1));
        const line = s('line', { x1: 0, x2: width, y1: HEIGHT - FOOT + 0.5, y2: HEIGHT - FOOT + 0.5, class: 'grid' });
        this.#svg.replaceChildren(...[line, ...bars, ...this.#labels(width), this.#chosen(step)].filter(Boolean));
        this.#say(this.#at);
    }

    #labels(width) {
        const { at } = this.#data;
        if (!at.length) return []; // a span of which nothing is kept
        const count = Math.max(2, Math.min(6, Math.floor(width / 150)));
        return Array.from({ length: count }, (_, i) => {
            const share = i / (count - 1);
            const where = Math.min(at.length - 1, Math.round(share * at.length));
            const anchor = ['start', 'middle', 'end'][i === 0 ? 0 : i === count - 1 ? 2 : 1];
            const ms = i === count - 1 ? this.#endOf(at.length - 1) : at[where];
            return s('text', { class: 'axis', x: (share * width).toFixed(1), y: HEIGHT - 3, 'text-anchor': anchor }, this.#label(ms));
        });
    }

    #label(ms) {
        const span = this.#endOf(this.#data.at.length - 1) - this.#data.at[0];
        const format = span < 300_000 ? seconds : span <= DAY ? clock : span < 4 * DAY ? dayAndTime : onlyDay;
        return format(new Date(ms));
    }

    #endOf(i) {
        return this.#data.at[i] + this.#data.step_seconds * 1000;
    }

    /** What is being chosen. */
    #chosen(step) {
        const span = this.#span();
        if (!span) return null;
        const [first, last] = span;
        return s('rect', { class: 'brush', x: first * step, y: 0, width: (last - first + 1) * step, height: HEIGHT - FOOT });
    }

    /** The first and the last point of it. */
    #span() {
        if (this.#brush) {
            const at = [this.#pointAt(this.#brush.from), this.#pointAt(this.#brush.to)];
            return Math.abs(this.#brush.to - this.#brush.from) < LEAST ? null : [Math.min(...at), Math.max(...at)];
        }
        if (this.#at === null) return null;
        const from = this.#from ?? this.#at;
        return [Math.min(from, this.#at), Math.max(from, this.#at)];
    }

    #pointAt(x) {
        const { at } = this.#data;
        return Math.max(0, Math.min(at.length - 1, Math.floor((x / this.element.clientWidth) * at.length)));
    }

    /* ---- in words ---- */

    #say(point) {
        if (!this.#data) return;
        const span = this.#span() ?? (point === null ? null : [point, point]);
        const text = span ? this.#wordsOf(span) : this.#whole();
        this.#said.textContent = text;
        this.#svg.setAttribute('aria-valuenow', this.#at ?? 0);
        this.#svg.setAttribute('aria-valuetext', text);
    }

    #wordsOf([first, last]) {
        const counts = STATES.map((state) => {
            let n = 0;
            for (let i = first; i <= last; i++) n += this.#data[state][i];
            return n && `${number(n)} ${WORDS[state]}`;
        });
        const format = this.#data.step_seconds < 60 ? seconds : this.#endOf(last) - this.#data.at[0] > DAY ? dayAndTime : clock;
        const when = `${format(new Date(this.#data.at[first]))} – ${format(new Date(this.#endOf(last)))}`;
        return `${when}: ${counts.filter(Boolean).join(', ') || 'none'}`;
    }

    #whole() {
        const { total, counted_by: by, counted_since: counted, since } = this.#data;
        const counts = STATES.map((state) => total[state] && `${number(total[state])} ${WORDS[state]}`).filter(Boolean);
        const parts = [counts.join(' · ') || 'no runs'];
        if (by === 'finished_at') parts.push('by when they ended');
        if (Date.parse(counted) > Date.parse(since)) parts.push(`counted since ${dayAndTime(new Date(counted))}`);
        return parts.join(', ');
    }

    /* ---- choosing ---- */

    #onDown(event) {
        if (!this.#data?.at.length || event.button !== 0) return;
        const x = this.#xOf(event);
        this.#brush = { from: x, to: x, pointer: event.pointerId };
        this.#at = this.#from = null;
        this.#svg.setPointerCapture(event.pointerId);
    }

    #onMove(event) {
        if (!this.#data?.at.length) return;
        if (!this.#brush) return this.#say(this.#pointAt(this.#xOf(event)));
        this.#brush.to = this.#xOf(event);
        this.#draw();
    }

    #onUp() {
        const span = this.#brush && this.#span();
        this.#drop();
        if (span) this.#take(span);
    }

    #xOf(event) {
        return event.clientX - this.#svg.getBoundingClientRect().left;
    }

    #drop() {
        this.#brush = this.#at = this.#from = null;
        this.#draw();
    }

    #onKey(event) {
        if (!this.#data?.at.length || event.altKey || event.ctrlKey || event.metaKey) return;
        const last = this.#data.at.length - 1;
        const to = { ArrowLeft: (this.#at ?? last + 1) - 1, ArrowRight: (this.#at ?? -1) + 1, Home: 0, End: last }[event.key];
        if (to !== undefined) {
            if (event.shiftKey) this.#from ??= this.#at ?? to;
            else this.#from = null;
            this.#at = Math.max(0, Math.min(last, to));
            this.#draw();
        } else if (event.key === 'Enter' && this.#at !== null) this.#take(this.#span());
        else if (event.key === 'Escape' && this.#at !== null) this.#drop();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** The last point goes on: what comes next belongs to it. */
    #take([first, last]) {
        const isEnd = this.#endOf(last) >= now();
        const iso = (ms) => new Date(ms).toISOString();
        announce(this.#wordsOf([first, last]));
        this.#options.choose({ from: iso(this.#data.at[first]), until: isEnd ? '' : iso(this.#endOf(last)) });
    }
}

function sumAt(data, i) {
    return STATES.reduce((sum, state) => sum + data[state][i], 0);
}
