// chart.js - a chart over time, as lines or as bars upon each other, in SVG. What is pointed at is told above it; a click
// or Enter opens it, and a span that is drawn over, or marked by Shift and an arrow key, is what all charts show next.
import { fill, h, s } from './dom.js';
import { formatter, isUtc, onZone } from './zone.js';

const LEAST_WIDTH = 240;
const LEFT = 54;
const RIGHT = 8;
const BOTTOM = 20;
const TOP = 8;
const CHARACTER = 6.5; /* px of the axis' text */
const GAP = 2; /* characters */
const LEAST_DRAG = 5; /* px: less is a click */
const MINUTE = 60_000;
const DAY = 86_400_000;
/** Minutes between two times of the axis. */
const STEPS = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 20_160, 40_320, Infinity];
const clock = formatter({ timeStyle: 'short' });
const day = formatter({ day: 'numeric', month: 'short' });
const seconds = formatter({ timeStyle: 'medium' });
const exact = formatter({ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' });

/** The next round number, of which the half is one too; of a few, whole ones. */
function ceiling(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    const steps = value < 10 ? [1, 2, 4, 6, 10] : [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10];
    return steps.map((n) => n * power).find((n) => n >= value * 0.9999) ?? value;
}

/** From 0 to its top. */
function linear(least, highest) {
    const top = ceiling(Math.max(least, highest));
    return { marks: [0, top / 2, top], part: (value) => value / top };
}

/** ms, as people count them: ten times as much, and from a minute on what is near it. */
const DECADES = [1e-3, 1e-2, 0.1, 1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 5 * DAY, 50 * DAY, 500 * DAY];

/** Around all of them: a tenth of what is typical is as far from it as the tenfold. `list` of positive ones. */
function logarithmic(least, list) {
    const lowest = Math.min(least, ...list),
        highest = Math.max(least, ...list);
    const first = Math.max(0, DECADES.findLastIndex((ms) => ms <= lowest * 1.0001));
    const end = DECADES.findIndex((ms) => ms >= highest * 0.9999);
    const last = Math.min(DECADES.length - 1, Math.max(first + 2, end < 0 ? DECADES.length : end));
    const span = DECADES.slice(first, last + 1);
    const every = Math.ceil((span.length - 1) / 4);
    const [from, to] = [span[0], span.at(-1)].map(Math.log);
    return {
        marks: span.filter((_, i) => i % every === 0),
        part: (value) => (value > span[0] ? Math.min(1, (Math.log(value) - from) / (to - from)) : 0),
    };
}

/** Charts of one group are over the same times: what is pointed at in one is told by all. */
export class Group {
    charts = [];
}

/**
 * Drawn again with each `draw({ at, from, to, step, values })`: `at` are ms since the epoch, `values` a list of numbers
 * (or null) for each of `columns` (`{ name, kind }`), all between `from` and `to`. `step` 0: of the moment; else
 * of as many ms from then on. Options: `title`, `id`, `format` makes a value text; `least` is the least that its height stands
 * for; `isBars`, `isLog`, `height`; `of`: what it is called after its title; `onOpen(from, to)`, `onChoose(from, to)`;
 * `tells`: of what one who does not see it hears, `'last'` or `'highest'`.
 */
export class Chart {
    #options;
    #svg;
    #readout = h('p.readout', { 'aria-hidden': 'true' });
    #drawn = null;
    #pointer = null; // the index of the point that is pointed at
    #mark = null; // likewise, where a span begins that is being marked
    #press = null; // where the pointer was pressed
    figure;

    constructor(options, group = new Group()) {
        this.#options = { height: 132, isBars: false, isLog: false, group, ...options };
        group.charts.push(this);
        const { title, id, onOpen } = options;
        this.#svg = s(`svg${onOpen ? '.is-open' : ''}`, { id, tabindex: 0, role: 'img', 'aria-describedby': onOpen && 'chart-keys' });
        this.figure = h('figure.chart', {}, h('figcaption', {}, h('h3', {}, title), this.#readout), this.#svg);
        const on = (name, act) => this.#svg.addEventListener(name, (event) => this.#drawn?.at.length && act(event));
        on('pointermove', (event) => this.#onMove(event));
        on('pointerleave', () => this.#press === null && this.#tellAll(null));
        on('blur', () => this.#leave());
        on('keydown', (event) => this.#onKey(event));
        onZone(this.#svg, () => this.#redraw());
        new ResizeObserver(() => this.#drawn?.width !== this.#room() && this.#redraw()).observe(this.#svg);
        if (!onOpen) return;
        on('pointerdown', (event) => this.#onPress(event));
        on('pointerup', (event) => this.#onRelease(event));
        on('pointercancel', () => this.#leave());
    }

    draw(data) {
        const { least, isBars, isLog, height } = this.#options;
        const { at, values } = data;
        const sums = isBars ? at.map((_, i) => values.reduce((sum, list) => sum + list[i], 0)) : values.flat().filter((value) => value !== null);
        const scale = isLog ? logarithmic(least, sums.filter((value) => value > 0)) : linear(least, Math.max(0, ...sums));
        this.#drawn = { ...data, scale, width: this.#room() };
        fill(this.#svg, this.#axes(), isBars ? this.#bars() : values.map((list, i) => this.#line(list, i)));
        this.#svg.setAttribute('viewBox', `0 0 ${this.#drawn.width} ${height}`);
        this.#svg.setAttribute('aria-label', this.#describe());
        if (at.length) this.point(this.#pointer);
        else fill(this.#readout, 'The first figures come after ten seconds.');
    }

    #redraw() {
        if (this.#drawn) this.draw(this.#drawn);
    }

    /** As wide as there is room for, so that its text is as large as the page's. */
    #room() {
        return Math.max(LEAST_WIDTH, this.#svg.clientWidth);
    }

    /* ---- where things are ---- */

    #x(ms) {
        const { from, to, width } = this.#drawn;
        return LEFT + ((ms - from) / (to - from)) * (width - LEFT - RIGHT);
    }

    #y(value) {
        return TOP + (1 - this.#drawn.scale.part(value)) * (this.#options.height - TOP - BOTTOM);
    }

    /** The middle of what a point is of. */
    #middle(index) {
        const { at, step } = this.#drawn;
        return this.#x(at[index] + step / 2);
    }

    #timeAt({ clientX }) {
        const { from, to, width } = this.#drawn;
        const box = this.#svg.getBoundingClientRect();
        const x = ((clientX - box.left) / box.width) * width;
        return from + ((x - LEFT) / (width - LEFT - RIGHT)) * (to - from);
    }

    #indexAt(event) {
        const { at, step } = this.#drawn;
        const ms = this.#timeAt(event) - step / 2;
        let best = 0;
        for (let i = 1; i < at.length; i++) if (Math.abs(at[i] - ms) < Math.abs(at[best] - ms)) best = i;
        return best;
    }

    /* ---- what is drawn ---- */

    #axes() {
        const { width, scale } = this.#drawn;
        const heights = scale.marks.map((value) => {
            const y = this.#y(value);
            return [
                s('line.grid', { x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
                s('text.axis', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, this.#options.format(value)),
            ];
        });
        return [heights, this.#times()];
    }

    /** Round times, as many as there is room for: with a 12-hour clock they are long. */
    #times() {
        const { width, from, to } = this.#drawn;
        const room = (1.5 * clock(to).length + GAP) * CHARACTER;
        const least = (room / (width - LEFT - RIGHT)) * (to - from);
        const step = STEPS.find((minutes) => minutes * MINUTE >= least) * MINUTE;
        const ahead = isUtc() ? 0 : new Date(from).getTimezoneOffset() * MINUTE;
        const list = [];
        for (let ms = Math.ceil((from - ahead) / step) * step + ahead; ms <= to; ms += step) {
            const isDay = step >= DAY || (to - from > DAY && (ms - ahead) % DAY === 0);
            const x = this.#x(ms);
            const half = (clock(ms).length * CHARACTER) / 2;
            if (x - half >= LEFT && x + half <= width)
                list.push(s('text.axis', { x, y: this.#options.height - 5, 'text-anchor': 'middle' }, (isDay ? day : clock)(ms)));
        }
        return list;
    }

    #line(values, column) {
        const { at, step } = this.#drawn;
        const { kind } = this.#options.columns[column];
        const far = Math.max(60_000, step * 1.5);
        let path = '',
            isDown = false;
        const dots = [];
        values.forEach((value, i) => {
            if (value === null || (i > 0 && at[i] - at[i - 1] > far)) isDown = false;
            if (value === null) return;
            path += `${isDown ? 'L' : 'M'}${this.#middle(i).toFixed(1)} ${this.#y(value).toFixed(1)}`;
            // A value between two that are missing.
            if (!isDown && values[i + 1] == null)
                dots.push(s(`circle.area.is-${kind}`, { cx: this.#middle(i), cy: this.#y(value), r: 2 }));
            isDown = true;
        });
        return [s(`path.line.is-${kind}`, { d: path }), dots];
    }

    /** One upon the other. */
    #bars() {
        const { at, values, step } = this.#drawn;
        return at.flatMap((ms, i) => {
            const x = this.#x(ms);
            const width = Math.max(1, this.#x(ms + step) - x - 1.5);
            let below = 0;
            return values.map((list, j) => {
                const height = this.#y(below) - this.#y(below + list[i]);
                below += list[i];
                const place = { x, y: this.#y(below), width, height };
                return height === 0 ? null : s(`rect.area.is-${this.#options.columns[j].kind}`, place);
            });
        });
    }

    /** For those who do not see it. */
    #describe() {
        const { title, columns, format, isBars, of = '', tells } = this.#options;
        const words = columns.map(({ name }, i) => {
            const values = this.#drawn.values[i].filter((value) => value !== null);
            if (!values.length) return `${name}: none`;
            if (isBars) return `${name}: ${format(values.reduce((a, b) => a + b, 0))} in all`;
            return `${name}: ${tells === 'last' ? `last ${format(values.at(-1))}, ` : ''}highest ${format(Math.max(...values))}`;
        });
        return `${title}${of}. ${words.join('. ')}.`;
    }

    /* ---- what is pointed at ---- */

    #onMove(event) {
        if (this.#press !== null && Math.abs(event.clientX - this.#press.clientX) >= LEAST_DRAG) this.#mark ??= this.#press.index;
        this.#tellAll(this.#indexAt(event));
    }

    #onPress(event) {
        if (event.button !== 0) return;
        event.preventDefault(); // no text is selected meanwhile
        this.#svg.focus({ preventScroll: true });
        this.#svg.setPointerCapture(event.pointerId);
        this.#mark = null;
        this.#press = { clientX: event.clientX, index: this.#indexAt(event) };
    }

    /** A press without a way is a click; a way to where nothing is chooses what was passed. */
    #onRelease(event) {
        if (this.#press === null) return;
        this.#press = null;
        this.#pointer = this.#indexAt(event);
        this.#finish();
    }

    #onKey(event) {
        const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
        const { onOpen } = this.#options;
        if (move) {
            event.preventDefault();
            const here = this.#pointer ?? this.#drawn.at.length;
            if (!event.shiftKey || !onOpen) this.#mark = null;
            else this.#mark ??= Math.min(here, this.#drawn.at.length - 1);
            this.#tellAll(here + move);
        } else if (event.key === 'Enter' && onOpen && this.#pointer !== null) {
            event.preventDefault();
            this.#finish();
        } else if (event.key === 'Escape' && this.#mark !== null) {
            this.#mark = null;
            this.#tellAll(this.#pointer);
        }
    }

    /** What is marked is chosen, or else what is pointed at is opened. */
    #finish() {
        const { at, step } = this.#drawn;
        const { onOpen, onChoose } = this.#options;
        const [first, last] = [this.#mark ?? this.#pointer, this.#pointer].sort((a, b) => a - b);
        const act = this.#mark === null ? onOpen : onChoose;
        this.#mark = null;
        act(at[first], at[last] + step);
    }

    #leave() {
        this.#mark = this.#press = null;
        this.#tellAll(null);
    }

    /** `null`: nothing is. */
    #tellAll(index) {
        const { length } = this.#drawn.at;
        const inside = index === null ? null : Math.max(0, Math.min(length - 1, index));
        for (const chart of this.#options.group.charts) chart.point(inside);
    }

    /** Shows where it is, and its figures; of the newest that says something where nothing is pointed at. */
    point(index) {
        if (!this.#drawn?.at.length) return;
        const { at, values } = this.#drawn;
        this.#pointer = index === null ? null : Math.min(at.length - 1, index);
        this.#svg.querySelectorAll('.cursor, .marked').forEach((element) => element.remove());
        if (this.#mark !== null && this.#pointer !== null) this.#svg.append(this.#showMark());
        if (this.#pointer !== null) {
            const x = this.#middle(this.#pointer);
            this.#svg.append(s('line.cursor', { x1: x, x2: x, y1: TOP, y2: this.#options.height - BOTTOM }));
        }
        const newest = at.findLastIndex((_, i) => values.some((list) => list[i]));
        this.#say(this.#pointer ?? (newest < 0 ? at.length - 1 : newest));
    }

    #showMark() {
        const { at, step } = this.#drawn;
        const [first, last] = [this.#mark, this.#pointer].sort((a, b) => a - b);
        const x = this.#x(at[first]);
        const size = { width: this.#x(at[last] + step) - x, height: this.#options.height - TOP - BOTTOM };
        return s('rect.marked', { x, y: TOP, ...size });
    }

    #say(index) {
        const { columns, format, isBars } = this.#options;
        const { at, step, from, to } = this.#drawn;
        const parts = columns.map(({ name, kind }, i) => {
            const value = this.#drawn.values[i][index];
            return h('span', {}, h(`i.key.is-${kind}`), `${name} `, h('b', {}, value == null ? '–' : format(value)));
        });
        const when = to - from > 3_600_000 * 2 || step >= 3_600_000 ? exact : isBars || step ? clock : seconds;
        fill(this.#readout, parts, h('span.when', {}, when(at[index])));
    }
}
