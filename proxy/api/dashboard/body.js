// body.js - a kept body, of a run's response or request: as text that is read and drawn in slices, so that the page goes on
// whatever its size is; formatted or as it was sent; to copy and to download.
// Promise: it is markup to nobody; what is no text is only downloaded.
import * as api from './api.js';
import { announce, button, copy, fill, h, note } from './dom.js';
import { bytes, visible } from './format.js';
import { jsonFormatter } from './pretty.js';
import { textPane } from './text_pane.js';

const SHOWN_MAX = 10 * 1024 * 1024; /* bytes: of what is larger, the beginning is shown */
const START = 64 * 1024; /* bytes */
const PIECE = 32 * 1024; /* bytes that are read, formatted and drawn at once */
const SLICE = 12; /* ms of work before the page has its turn */

/**
 * `{ actions, view }` of a body: `of` has its `path`, `size`, `encoding`, whether it `isJson` or `isText`, what it is
 * called in sentences (`name`), the `file` name without its end, and the heading's id (`title`). `hint`: shown in its place.
 */
export function showBody(of, { signal, hint }) {
    const problem = h('div');
    const view = h('div.body');
    const actions = h('div.body-actions', {}, downloadButton(of, problem));
    const element = h('div', {}, problem, view);
    const why = hint ?? (of.isText ? null : 'This is not text: download it to look at it.');
    if (why) {
        fill(view, h('p.hint', {}, why));
        return { actions, view: element };
    }
    const isWhole = of.size === null || of.size <= SHOWN_MAX;
    const source = bodySource(of, isWhole ? Infinity : START, signal);
    const draw = drawer(of, source, view, (error) =>
        fill(problem, note('error', `The ${of.name} could not be read`, h('p', {}, explain(error, of)))),
    );
    if (of.size > START) view.classList.add('is-large');
    if (isWhole) addSwitch(actions, of, source, draw);
    else fill(problem, h('p.hint', {}, `These are the first ${bytes(START)}; download it for all of it.`));
    draw(of.isJson && isWhole);
    return { actions, view: element };
}

function addSwitch(actions, of, source, draw) {
    let isFormatted = of.isJson;
    const all = () => wholeText(source, isFormatted);
    const tab = (text, value) =>
        h('button.tab', { type: 'button', 'aria-pressed': String(value === isFormatted), onclick: () => choose(value) }, text);
    const tabs = [tab('Formatted', true), tab('Raw', false)];
    function choose(value) {
        if (value === isFormatted) return;
        isFormatted = value;
        tabs.forEach((one, i) => one.setAttribute('aria-pressed', String((i === 0) === value)));
        draw(value);
    }
    if (of.isJson) actions.prepend(h('div.tabs', { role: 'group', 'aria-label': `How the ${of.name} is shown` }, tabs));
    actions.lastChild.before(copy(all, `Copy ${of.name}`));
}

/* ---- reading ---- */

/** Its text, piece by piece: what has come stays, so that it can be drawn another time. */
function bodySource({ path }, most, signal) {
    const pieces = [];
    const decoder = new TextDecoder();
    let reader = null,
        reading = null,
        left = most,
        isRead = false;

    async function readOne() {
        reader ??= (await api.request('GET', path, { signal })).body.getReader();
        const { done, value } = await reader.read();
        if (done) {
            pieces.push(decoder.decode());
            isRead = true;
            return;
        }
        for (let at = 0; at < Math.min(value.length, left); at += PIECE)
            pieces.push(decoder.decode(value.subarray(at, Math.min(at + PIECE, left)), { stream: true }));
        left -= value.length;
        if (left > 0) return;
        isRead = true;
        reader.cancel().catch(() => {});
    }

    /** The piece of that number; null: it had fewer. */
    async function get(i) {
        while (i >= pieces.length && !isRead) await (reading ??= readOne().finally(() => (reading = null)));
        return pieces[i] ?? null;
    }

    return { get };
}

/** The page has its turn when a slice of work is over. */
function rester() {
    let began = performance.now();
    return async () => {
        if (performance.now() - began < SLICE) return;
        await new Promise((resolve) => setTimeout(resolve));
        began = performance.now();
    };
}

/** Each piece, formatted if that is wanted, with the formatter's word on it. */
async function* textOf(source, isFormatted) {
    const json = isFormatted ? jsonFormatter() : null;
    const rest = rester();
    for (let i = 0, text; (text = await source.get(i)) !== null; i++) {
        yield { text: json ? json.feed(text) : text, isCut: json?.isCut() ?? false };
        await rest();
    }
}

async function wholeText(source, isFormatted) {
    const parts = [];
    for await (const { text } of textOf(source, isFormatted)) parts.push(text);
    return parts.join('');
}

/* ---- drawing ---- */

/** Draws it anew with each call, and leaves off what it was drawing. */
function drawer(of, source, view, onError) {
    let turn = 0;
    return async (isFormatted) => {
        const mine = ++turn;
        const pane = textPane(of.title);
        const hint = h('p.hint', { hidden: true });
        let size = 0;
        const show = () => view.contains(pane.element) || !pane.element.firstChild || fill(view, pane.element, hint);
        view.setAttribute('aria-busy', 'true');
        try {
            for await (const { text, isCut } of textOf(source, isFormatted)) {
                if (mine !== turn) return;
                size += text.length;
                pane.write(text);
                show();
                if (isCut && hint.hidden) say(hint, 'Formatted, it is longer than can be shown: its end is as it was sent.');
            }
            pane.end();
            show();
            if (!size) fill(view, h('p.hint', {}, `The ${of.name} was empty.`));
        } catch (error) {
            if (error.name === 'AbortError') return;
            onError(error);
            if (!size) fill(view);
        }
        view.removeAttribute('aria-busy');
    };
}

function say(hint, text) {
    hint.textContent = text;
    hint.hidden = false;
    announce(text);
}

/** Browsers undo a Content-Encoding, and give nothing of what does not keep to it. */
function explain(error, { encoding }) {
    const isBroken = encoding && !(error instanceof api.ApiError);
    return isBroken
        ? `It says that its Content-Encoding is ${visible(encoding)}, and this browser cannot decode it.`
        : error.message;
}

/* ---- downloading ---- */

function downloadButton(of, problem) {
    const fail = (error) => fill(problem, note('error', 'The download failed', h('p', {}, explain(error, of))));
    return button(`Download${of.size === null ? '' : ` (${bytes(of.size)})`}`, () => save(of).catch(fail), '', {
        'aria-label': `Download the ${of.name}${of.size === null ? '' : ` (${bytes(of.size)})`}`,
    });
}

async function save({ path, file, isJson, isText }) {
    const response = await api.request('GET', path);
    const blob = new Blob([await response.arrayBuffer()], { type: 'application/octet-stream' });
    const end = isJson ? 'json' : isText ? 'txt' : 'bin';
    const url = URL.createObjectURL(blob);
    h('a', { href: url, download: `${file}.${end}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Of a Content-Type, whether it is text that can be shown. */
export function isTextType(type) {
    return /^(text\/|application\/(\S+\+)?(json|xml|x-www-form-urlencoded)\b)/i.test(type ?? '');
}

export function isJsonType(type) {
    return /^application\/(\S+\+)?json\b/i.test(type ?? '');
}
