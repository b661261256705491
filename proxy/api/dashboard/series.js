// series.js - a chart of a span of any length: points of equal steps, as lines or as bars upon each other, in SVG.
import { fill, h, s } from './dom.js';
import { formatter } from './zone.js';

const LEAST_WIDTH = 240;
const HEIGHT = 132;
const LEFT = 54;
const RIGHT = 6;
const BOTTOM = 20;
const TOP = 8;
const ROOM = 84; /* for the text of a time */
const DAY = 86_400_000;
const clock = formatter({ timeStyle: 'short' });
const day = formatter({ day: 'numeric', month: 'short' });
const exact = formatter({ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' });

/** The next of 1, 2, 4, 6 times a power of ten: of which the half is a round number too. */
function ceiling(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 4, 6, 10].map((n) => n * power).find((n) => n >= value * 0.9999) ?? value;
}

/** `columns`: `{ name, kind, of }`, `of` a member of the series. `least`: the least that the height stands for. */
export class Series {
    #options;
    #svg = s('svg', { tabindex: 0, role: 'img' });
    #readout = h('p.readout', { 'aria-hidden': 'true' });
    #drawn = null;
    #pointer = null; // the index of the point that is pointed at
    figure;

    constructor(options) {
        this.#options = options;
        this.figure = h('figure.chart', {}, h('figcaption', {}, h('h3', {}, options.title), this.#readout), this.#svg);
        this.#svg.addEventListener('pointermove', (event) => this.#onMove(event));
        this.#svg.addEventListener('pointerleave', () => this.#point(null));
        this.#svg.addEventListener('blur', () => this.#point(null));
        this.#svg.addEventListener('keydown', (event) => this.#onKey(event));
    }

    draw(series) {
        const at = series.at.map((text) => Date.parse(text));
        const values = this.#options.columns.map(({ of }) => series[of]);
        const heights = this.#options.isBars ? at.map((_, i) => values.reduce((sum, list) => sum + list[i], 0)) : values.flat();
        const width = Math.max(LEAST_WIDTH, this.#svg.clientWidth);
        this.#drawn = { at, values, width, step: series.step_seconds * 1000, top: ceiling(Math.max(this.#options.least, ...heights)) };
        fill(this.#svg, this.#axes(), this.#options.isBars ? this.#bars() : values.map((list, i) => this.#line(list, i)));
        this.#svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
        this.#svg.setAttribute('aria-label', this.#describe());
        this.#point(this.#pointer);
    }

    /** Points stand in the middle of their steps. */
    #x(index) {
        const { at, width } = this.#drawn;
        return LEFT + (index / at.length) * (width - LEFT - RIGHT);
    }

    #y(value) {
        return TOP + (1 - value / this.#drawn.top) * (HEIGHT - TOP - BOTTOM);
    }

    #axes() {
        const { top, width, at, step } = this.#drawn;
        const heights = [0, 0.5, 1].map((part) => [
            s('line.grid', { x1: LEFT, x2: width - RIGHT, y1: this.#y(top * part), y2: this.#y(top * part) }),
            s('text.axis', { x: LEFT - 6, y: this.#y(top * part) + 4, 'text-anchor': 'end' }, this.#options.format(top * part)),
        ]);
        const many = Math.max(2, Math.min(6, Math.floor((width - LEFT - RIGHT) / ROOM)));
        const text = at.length * step > 2 * DAY ? day : clock;
        const times = Array.from({ length: many }, (_, i) => {
            const index = Math.round((i / (many - 1)) * (at.length - 1));
            const anchor = i === 0 ? 'start' : i === many - 1 ? 'end' : 'middle';
            const x = i === 0 ? LEFT : i === many - 1 ? width - RIGHT : this.#x(index + 0.5);
            return s('text.axis', { x, y: HEIGHT - 5, 'text-anchor': anchor }, text(at[index]));
        });
        return [heights, times];
    }

    #line(values, column) {
        const { kind } = this.#options.columns[column];
        let path = '';
        const dots = [];
        values.forEach((value, i) => {
            if (value === null) return;
            const isFirst = i === 0 || values[i - 1] === null;
            const x = this.#x(i + 0.5).toFixed(1);
            path += `${isFirst ? 'M' : 'L'}${x} ${this.#y(value).toFixed(1)}`;
            // A value between two that are missing.
            if (isFirst && values[i + 1] == null)
                dots.push(s(`circle.area.is-${kind}`, { cx: x, cy: this.#y(value), r: 2 }));
        });
        return [s(`path.line.is-${kind}`, { d: path }), dots];
    }

    #bars() {
        const { at, values } = this.#drawn;
        const width = Math.max(1, this.#x(1) - this.#x(0) - 1);
        return at.flatMap((_, i) => {
            let below = 0;
            return values.map((list, j) => {
                const height = this.#y(below) - this.#y(below + list[i]);
                below += list[i];
                const place = { x: this.#x(i), y: this.#y(below), width, height };
                return height === 0 ? null : s(`rect.area.is-${this.#options.columns[j].kind}`, place);
            });
        });
    }

    /** For those who do not see it. */
    #describe() {
        const { title, columns, format, isBars } = this.#options;
        const words = columns.map(({ name }, i) => {
            const values = this.#drawn.values[i].filter((value) => value !== null);
            if (!values.length) return `${name}: none`;
            const sum = values.reduce((a, b) => a + b, 0);
            return isBars ? `${name}: ${format(sum)} in all` : `${name}: highest ${format(Math.max(...values))}`;
        });
        return `${title}. ${words.join('. ')}.`;
    }

    /* ---- what is pointed at ---- */

    #onMove({ clientX }) {
        if (!this.#drawn) return;
        const { at, width } = this.#drawn;
        const box = this.#svg.getBoundingClientRect();
        const x = ((clientX - box.left) / box.width) * width;
        this.#point(Math.floor(((x - LEFT) / (width - LEFT - RIGHT)) * at.length));
    }

    #onKey(event) {
        const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
        if (!move || !this.#drawn) return;
        event.preventDefault();
        this.#point((this.#pointer ?? this.#drawn.at.length) + move);
    }

    /** The last point that says something. */
    #newest() {
        const { at, values } = this.#drawn;
        const index = at.findLastIndex((_, i) => values.some((list) => list[i]));
        return index < 0 ? at.length - 1 : index;
    }

    /** `null`: nothing is, and the readout is of the newest that says something. */
    #point(index) {
        if (!this.#drawn) return;
        const { at } = this.#drawn;
        this.#pointer = index === null ? null : Math.max(0, Math.min(at.length - 1, index));
        this.#svg.querySelector('.cursor')?.remove();
        if (this.#pointer !== null) {
            const x = this.#x(this.#pointer + 0.5);
            this.#svg.append(s('line.cursor', { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
        }
        this.#say(this.#pointer ?? this.#newest());
    }

    #say(index) {
        const { columns, format } = this.#options;
        const parts = columns.map(({ name, kind }, i) => {
            const value = this.#drawn.values[i][index];
            return h('span', {}, h(`i.key.is-${kind}`), `${name} `, h('b', {}, value == null ? '–' : format(value)));
        });
        fill(this.#readout, parts, h('span.when', {}, exact(this.#drawn.at[index])));
    }
}
