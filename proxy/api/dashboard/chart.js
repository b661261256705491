// chart.js - small line and bar charts of the last hour, in SVG.
import { fill, h, s } from './dom.js';
import { formatter } from './zone.js';

const LEAST_WIDTH = 240;
const HEIGHT = 132;
const LEFT = 50;
const RIGHT = 6;
const BOTTOM = 20;
const TOP = 8;
const CHARACTER = 6.5; /* px of the axis' text */
const GAP = 2; /* characters */
const SPAN = 3_600_000;
const clock = formatter({ timeStyle: 'short' });
const exact = formatter({ timeStyle: 'medium' });

/** The next of 1, 2, 4, 6 times a power of ten: of which the half is a round number too. */
function ceiling(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 4, 6, 10].map((n) => n * power).find((n) => n >= value * 0.9999) ?? value;
}

/** Whole minutes of the last hour, with the sums of what is in them. */
function sumMinutes({ at, now, values }) {
    const first = Math.ceil((now - SPAN) / 60_000) * 60_000;
    const minutes = [...new Set(at.map((ms) => Math.floor(ms / 60_000) * 60_000))].filter(
        (minute) => minute >= first,
    );
    const sums = values.map((list) =>
        minutes.map((minute) =>
            list.reduce((sum, value, i) => sum + (at[i] >= minute && at[i] < minute + 60_000 ? value : 0), 0),
        ),
    );
    return { at: minutes, now, values: sums };
}

/**
 * A chart that is drawn again with each `draw({ at, now, values })`: `at` are ms since the epoch, `values` a
 * list of numbers (or null) for each of `series` (`{ name, kind }`). `format` makes a value text; `least` is the
 * least that its height stands for.
 */
export class Chart {
    #options;
    #svg = s('svg', { tabindex: 0, role: 'img' });
    #readout = h('p.readout', { 'aria-hidden': 'true' });
    #drawn = null;
    #pointer = null; // the index of the sample that is pointed at
    figure;

    constructor(options) {
        this.#options = options;
        const caption = h('figcaption', {}, h('h2', {}, options.title), this.#readout);
        this.figure = h('figure.chart', {}, caption, this.#svg);
        this.#svg.addEventListener('pointermove', (event) => this.#onMove(event));
        this.#svg.addEventListener('pointerleave', () => this.#leave());
        this.#svg.addEventListener('blur', () => this.#leave());
        this.#svg.addEventListener('keydown', (event) => this.#onKey(event));
    }

    draw(data) {
        const { series, least, isBars } = this.#options;
        const drawn = isBars ? sumMinutes(data) : { ...data };
        const heights = isBars
            ? drawn.at.map((_, i) => drawn.values.reduce((sum, values) => sum + values[i], 0))
            : drawn.values.flat();
        drawn.top = ceiling(Math.max(least, ...heights));
        // As wide as there is room for, so that its text is as large as the page's.
        drawn.width = Math.max(LEAST_WIDTH, this.#svg.clientWidth);
        this.#drawn = drawn;
        const shapes = isBars ? this.#bars() : series.map(({ kind }, i) => this.#line(drawn.values[i], kind));
        fill(this.#svg, this.#axes(), shapes);
        this.#svg.setAttribute('viewBox', `0 0 ${drawn.width} ${HEIGHT}`);
        this.#svg.setAttribute('aria-label', this.#describe());
        if (!drawn.at.length) fill(this.#readout, 'The first figures come after ten seconds.');
        else if (this.#pointer === null) this.#say(drawn.at.length - 1);
        else this.#point(this.#pointer);
    }

    #x(at) {
        const { now, width } = this.#drawn;
        return LEFT + ((at - (now - SPAN)) / SPAN) * (width - LEFT - RIGHT);
    }

    #y(value) {
        return TOP + (1 - value / this.#drawn.top) * (HEIGHT - TOP - BOTTOM);
    }

    #axes() {
        const { top, width, now } = this.#drawn;
        const heights = [0, 0.5, 1].map((part) => {
            const y = this.#y(top * part);
            const text = this.#options.format(top * part);
            return [
                s('line.grid', { x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
                s('text.axis', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, text),
            ];
        });
        return [heights, this.#times()];
    }

    /** As many as there is room for: with a 12-hour clock they are long. Those at the ends lie on one side of their place. */
    #times() {
        const { width, now } = this.#drawn;
        const room = (1.5 * clock(now).length + GAP) * CHARACTER;
        const every = [15, 30, 60].find((minutes) => (width - LEFT - RIGHT) * (minutes / 60) >= room) ?? 60;
        const list = [];
        for (let minutes = 60; minutes >= 0; minutes -= every) {
            const at = now - minutes * 60_000;
            const anchor = minutes === 0 ? 'end' : minutes === 60 ? 'start' : 'middle';
            const place = { x: this.#x(at), y: HEIGHT - 5, 'text-anchor': anchor };
            list.push(s('text.axis', place, clock(at)));
        }
        return list;
    }

    #line(values, kind) {
        const { at } = this.#drawn;
        let path = '',
            isDown = false;
        const dots = [];
        values.forEach((value, i) => {
            const isGap = i > 0 && at[i] - at[i - 1] > 60_000;
            if (value === null || isGap) isDown = false;
            if (value === null) return;
            path += `${isDown ? 'L' : 'M'}${this.#x(at[i]).toFixed(1)} ${this.#y(value).toFixed(1)}`;
            // A value between two that are missing.
            if (!isDown && values[i + 1] == null)
                dots.push(s(`circle.area.is-${kind}`, { cx: this.#x(at[i]), cy: this.#y(value), r: 2 }));
            isDown = true;
        });
        return [s(`path.line.is-${kind}`, { d: path }), dots];
    }

    /** One upon the other. */
    #bars() {
        const { at, values, now } = this.#drawn;
        const width = Math.max(1, this.#x(now) - this.#x(now - 60_000) - 1.5);
        return at.flatMap((minute, i) => {
            let below = 0;
            return values.map((list, j) => {
                const height = this.#y(below) - this.#y(below + list[i]);
                below += list[i];
                const place = { x: this.#x(minute), y: this.#y(below), width, height };
                return height === 0 ? null : s(`rect.area.is-${this.#options.series[j].kind}`, place);
            });
        });
    }

    /** For those who do not see it. */
    #describe() {
        const { title, series, format, isBars } = this.#options;
        const words = series.map(({ name }, i) => {
            const values = this.#drawn.values[i].filter((value) => value !== null);
            if (!values.length) return `${name}: none`;
            const sum = values.reduce((a, b) => a + b, 0);
            return isBars
                ? `${name}: ${format(sum)} in all`
                : `${name}: last ${format(values.at(-1))}, highest ${format(Math.max(...values))}`;
        });
        return `${title}, last hour. ${words.join('. ')}.`;
    }

    /* ---- what is pointed at ---- */

    #onMove({ clientX }) {
        if (!this.#drawn?.at.length) return;
        const { at, now, width } = this.#drawn;
        const box = this.#svg.getBoundingClientRect();
        const x = ((clientX - box.left) / box.width) * width;
        const wanted = now - SPAN + ((x - LEFT) / (width - LEFT - RIGHT)) * SPAN;
        const index = at.findIndex((ms) => ms >= wanted);
        this.#point(index < 0 ? at.length - 1 : index);
    }

    #onKey(event) {
        const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
        if (!move || !this.#drawn) return;
        event.preventDefault();
        this.#point((this.#pointer ?? this.#drawn.at.length) + move);
    }

    #point(index) {
        const { at } = this.#drawn;
        if (!at.length) return;
        this.#pointer = Math.max(0, Math.min(at.length - 1, index));
        const x = this.#x(at[this.#pointer]);
        this.#svg.querySelector('.cursor')?.remove();
        this.#svg.append(s('line.cursor', { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
        this.#say(this.#pointer);
    }

    #leave() {
        this.#pointer = null;
        this.#svg.querySelector('.cursor')?.remove();
        if (this.#drawn?.at.length) this.#say(this.#drawn.at.length - 1);
    }

    #say(index) {
        const { series, format, isBars } = this.#options;
        const parts = series.map(({ name, kind }, i) => {
            const value = this.#drawn.values[i][index];
            const text = value == null ? '–' : format(value);
            return h('span', {}, h(`i.key.is-${kind}`), `${name} `, h('b', {}, text));
        });
        const when = (isBars ? clock : exact)(this.#drawn.at[index]);
        fill(this.#readout, parts, h('span.when', {}, when));
    }
}
