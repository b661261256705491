// chart.js - small line and bar charts of the last hour, in SVG.
import { fill, h, s } from './dom.js';

const LEAST_WIDTH = 240;
const HEIGHT = 132;
const LEFT = 50;
const RIGHT = 6;
const BOTTOM = 20;
const TOP = 8;
const SPAN = 3_600_000;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

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
 * list of numbers (or null) for each of `series` (`{ name, kind }`). `format` makes a value text.
 */
export function chart({ title, series, format, least, isBars = false }) {
    const svg = s('svg', { tabindex: 0, role: 'img' });
    const readout = h('p.readout', { 'aria-hidden': 'true' });
    const legend = h('figcaption', {}, h('h2', {}, title), readout);
    const figure = h('figure.chart', {}, legend, svg);
    let drawn,
        pointer = null;

    const x = (at) => LEFT + ((at - (drawn.now - SPAN)) / SPAN) * (drawn.width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - value / drawn.top) * (HEIGHT - TOP - BOTTOM);

    function say(index) {
        const parts = series.map(({ name, kind }, i) => {
            const value = drawn.values[i][index];
            return h(
                'span',
                {},
                h(`i.key.is-${kind}`),
                `${name} `,
                h('b', {}, value == null ? '–' : format(value)),
            );
        });
        fill(
            readout,
            parts,
            h('span.when', {}, (isBars ? clock : exact).format(drawn.at[index])),
        );
    }

    function point(index) {
        if (!drawn?.at.length) return;
        pointer = Math.max(0, Math.min(drawn.at.length - 1, index));
        const at = x(drawn.at[pointer]);
        svg.querySelector('.cursor')?.remove();
        svg.append(s('line.cursor', { x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
        say(pointer);
    }

    function leave() {
        pointer = null;
        svg.querySelector('.cursor')?.remove();
        if (drawn?.at.length) say(drawn.at.length - 1);
    }

    svg.addEventListener('pointermove', (event) => {
        if (!drawn?.at.length) return;
        const box = svg.getBoundingClientRect();
        const wanted =
            drawn.now -
            SPAN +
            ((((event.clientX - box.left) / box.width) * drawn.width - LEFT) /
                (drawn.width - LEFT - RIGHT)) *
                SPAN;
        const index = drawn.at.findIndex((at) => at >= wanted);
        point(index < 0 ? drawn.at.length - 1 : index);
    });
    svg.addEventListener('pointerleave', leave);
    svg.addEventListener('blur', leave);
    svg.addEventListener('keydown', (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
        if (!move || !drawn) return;
        event.preventDefault();
        point((pointer ?? drawn.at.length) + move);
    });

    function line(values, kind) {
        let path = '',
            isDown = false;
        const dots = [];
        values.forEach((value, i) => {
            const isGap = i > 0 && drawn.at[i] - drawn.at[i - 1] > 60_000;
            if (value === null || isGap) isDown = false;
            if (value === null) return;
            path += `${isDown ? 'L' : 'M'}${x(drawn.at[i]).toFixed(1)} ${y(value).toFixed(1)}`;
            // A value between two that are missing.
            if (!isDown && values[i + 1] == null)
                dots.push(s(`circle.area.is-${kind}`, { cx: x(drawn.at[i]), cy: y(value), r: 2 }));
            isDown = true;
        });
        return [s(`path.line.is-${kind}`, { d: path }), dots];
    }

    /** One upon the other. */
    function bars() {
        const width = Math.max(1, (60_000 / SPAN) * (drawn.width - LEFT - RIGHT) - 1.5);
        return drawn.at.flatMap((at, i) => {
            let below = 0;
            return drawn.values.map((values, j) => {
                const height = y(below) - y(below + values[i]);
                below += values[i];
                return height === 0
                    ? null
                    : s(`rect.area.is-${series[j].kind}`, { x: x(at), y: y(below), width, height });
            });
        });
    }

    function axes() {
        const parts = [0, 0.5, 1].map((part) => {
            const at = y(drawn.top * part);
            return [
                s('line.grid', { x1: LEFT, x2: drawn.width - RIGHT, y1: at, y2: at }),
                s('text.axis', { x: LEFT - 6, y: at + 4, 'text-anchor': 'end' }, format(drawn.top * part)),
            ];
        });
        for (const minutes of [60, 45, 30, 15, 0]) {
            const at = drawn.now - minutes * 60_000;
            const anchor = minutes === 0 ? 'end' : minutes === 60 ? 'start' : 'middle';
            parts.push(s('text.axis', { x: x(at), y: HEIGHT - 5, 'text-anchor': anchor }, clock.format(at)));
        }
        return parts;
    }

    function draw(data) {
        drawn = isBars ? sumMinutes(data) : { ...data };
        // As wide as there is room for, so that its text is as large as the page's.
        drawn.width = Math.max(LEAST_WIDTH, svg.clientWidth);
        svg.setAttribute('viewBox', `0 0 ${drawn.width} ${HEIGHT}`);
        const heights = isBars
            ? drawn.at.map((_, i) => drawn.values.reduce((sum, values) => sum + values[i], 0))
            : drawn.values.flat();
        drawn.top = ceiling(Math.max(least, ...heights));
        const shapes = isBars ? bars() : series.map(({ kind }, i) => line(drawn.values[i], kind));
        fill(svg, axes(), shapes);
        const words = series.map(({ name }, i) => {
            const values = drawn.values[i].filter((value) => value !== null);
            if (!values.length) return `${name}: none`;
            const sum = values.reduce((a, b) => a + b, 0);
            return isBars
                ? `${name}: ${format(sum)} in all`
                : `${name}: last ${format(values.at(-1))}, highest ${format(Math.max(...values))}`;
        });
        svg.setAttribute('aria-label', `${title}, last hour. ${words.join('. ')}.`);
        if (!drawn.at.length) fill(readout, 'The first figures come after ten seconds.');
        else if (pointer === null) say(drawn.at.length - 1);
        else point(pointer);
    }

    return { figure, draw };
}
