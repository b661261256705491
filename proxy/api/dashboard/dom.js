// dom.js - making elements. Text becomes text nodes and nothing else: no markup is ever parsed.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element: `h('p.note', { title: 'x', onclick: f }, 'text', child, [more], null)`. Attributes that
 * are null, undefined or false are left out; functions are listeners.
 */
export function h(what, attributes = {}, ...children) {
    return make((tag) => document.createElement(tag), what, attributes, children);
}

/** The same in SVG. */
export function s(what, attributes = {}, ...children) {
    return make((tag) => document.createElementNS(SVG, tag), what, attributes, children);
}

function make(create, what, attributes, children) {
    const [tag, ...classes] = what.split('.');
    const element = create(tag);
    if (classes.length) element.setAttribute('class', classes.join(' '));
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === 'function') element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, '');
        else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat(9).filter((child) => child !== null && child !== undefined));
    return element;
}

/** Puts `children` in the place of what is in `element`. */
export function fill(element, ...children) {
    element.replaceChildren(...children.flat(9).filter((child) => child !== null));
    return element;
}

/** The same with elements: what is equal stays, and the focus stays in it, or else near by. */
export function refill(element, ...children) {
    const hadFocus = element.contains(document.activeElement);
    renew(element, children.flat(9).filter((child) => child !== null));
    if (hadFocus && !element.contains(document.activeElement))
        (element.querySelector('button, a') ?? element.closest('main')).focus({ preventScroll: true });
}

/**
 * Those of an element's children that differ from `fresh` are made anew: a press or a selection in the others stays,
 * and the focus on what is there again.
 */
export function renew(element, fresh) {
    const focused = element.contains(document.activeElement) && document.activeElement;
    let at = element.firstElementChild;
    for (const child of fresh) {
        const same = findEqual(at, child);
        if (!same) element.insertBefore(child, at);
        else at = removeUntil(at, same).nextElementSibling;
    }
    removeUntil(at, null);
    if (focused && !focused.isConnected) findSame(element, focused)?.focus({ preventScroll: true });
}

/** The first that is equal to `child`, of `one` and those behind it; or null. */
function findEqual(one, child) {
    while (one && !one.isEqualNode(child)) one = one.nextElementSibling;
    return one;
}

/** Removes `one` and those behind it that stand before `end`, which it answers. */
function removeUntil(one, end) {
    while (one !== end) {
        const next = one.nextElementSibling;
        one.remove();
        one = next;
    }
    return end;
}

/** What `one` was made anew as: what leads to the same place, or is called the same. */
function findSame(element, one) {
    const nameOf = (other) => other.getAttribute('href') ?? other.getAttribute('aria-label') ?? other.textContent;
    const all = nameOf(one) ? [...element.querySelectorAll(one.localName)] : [];
    return all.find((other) => nameOf(other) === nameOf(one));
}

const status = document.getElementById('status');
const main = document.getElementById('main');

/** Text for those who hear the page; the same one twice is read twice. Beside an open dialog nothing is heard. */
export function announce(text) {
    const home = document.querySelector('dialog[open]') ?? document.body;
    if (status.parentNode !== home) home.append(status);
    status.textContent = '';
    setTimeout(() => (status.textContent = text), 50);
}

/**
 * What is made when it is wanted: `get()` resolves with a module. Null where there is none, as after an upgrade of hookline,
 * whose files have other addresses: that is seen then, for nothing else would happen.
 */
export async function load(get) {
    try {
        return await get();
    } catch {
        showMissing();
        return null;
    }
}

/** Something that was done, for a moment. */
export function tell(text) {
    document.querySelector('.told')?.remove();
    const box = h('div.note.told', {}, text);
    document.body.append(box);
    setTimeout(() => box.remove(), 3000);
    announce(text);
}

function showMissing() {
    const opener = document.activeElement;
    const close = () => {
        box.remove();
        opener.focus();
    };
    const box = note(
        'error',
        'This could not be loaded',
        h('p', {}, `hookline does not answer at ${location.host}, or is another version than this page. What you see stays as it is.`),
        h('div.actions', {}, button('Close', close, 'small'), button('Load the page again', () => location.reload(), 'main.small')),
    );
    box.classList.add('missing');
    document.querySelector('.missing')?.remove();
    (document.querySelector('dialog[open]') ?? document.body).append(box);
}

const ICONS = {
    success: 'M3 8.5 6.5 12 13 4.5',
    failure: 'M4 4l8 8M12 4l-8 8',
    cancelled: 'M3.5 8h9',
    running: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
    queued: 'M8 4v4l2.5 1.5M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2z',
    retry: 'M12.5 5.5A5 5 0 1 0 13 9M13 2.5v3.2H9.8',
    lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
    warning: 'M8 2.5 14 13H2zM8 6.5v3M8 11.3v.2',
    overview: 'M2.5 13V8.5M6.2 13V3M9.8 13V6.5M13.5 13V9.5',
    runs: 'M4.5 3 12.5 8l-8 5z',
    deliveries: 'M2.5 7.5 13.5 3l-4 10.5L7.2 9zM7.2 9l6.3-6',
    destinations: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
    jobs: 'M2.5 4h11M2.5 8h7.5M2.5 12h4',
    logs: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3',
    audit: 'M8 2l5 1.8V8c0 3-2.2 5-5 6-2.8-1-5-3-5-6V3.8zM6 8l1.5 1.5L10.3 6.6',
    keys: 'M10.3 2.5a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4zM8 8l-5.5 5.5M4.5 11.5l1.6 1.6',
    light: 'M8 5.3a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM8 1.3v1.2M8 13.5v1.2M1.3 8h1.2M13.5 8h1.2M3.3 3.3l.8.8M11.9 11.9l.8.8M3.3 12.7l.8-.8M11.9 4.1l.8-.8',
    dark: 'M13.2 9.6A5.7 5.7 0 0 1 6.4 2.8a5.7 5.7 0 1 0 6.8 6.8z',
    system: 'M2 3h12v8H2zM5.5 13.5h5',
    dense: 'M2.5 3.5h11M2.5 6.5h11M2.5 9.5h11M2.5 12.5h11',
    comfortable: 'M2.5 4h11M2.5 8h11M2.5 12h11',
    search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2',
};

/** Shapes that go with words, so that colour alone says nothing. */
export function icon(name) {
    const path = s('path', { d: ICONS[name] });
    return s(`svg.icon.icon-${name}`, { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, path);
}

/** A state in a word, with its shape and colour. */
export function badge(kind, text, shape = kind) {
    return h(`span.badge.is-${kind}`, {}, icon(shape), text);
}

/** A button. `kind`: '', 'main', 'danger', 'quiet' or 'small'. */
export function button(text, onclick, kind = '', attributes = {}) {
    return h(`button.button${kind && `.${kind}`}`, { type: 'button', onclick, ...attributes }, text);
}

/**
 * A select with its label, which no other on the page has: `options` are pairs of value and text. A value that is none
 * of them is shown, too.
 */
export function select(label, options, value, onchange) {
    if (value && !options.some(([other]) => other === value)) options = [...options, [value, value]];
    const id = `select-${label.toLowerCase()}`;
    const element = h(
        'select',
        { id, onchange: () => onchange(element.value) },
        options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)),
    );
    return h('div.field', {}, h('label', { for: id }, label), element);
}

/** What a page says when there is nothing to show, or something went wrong. */
export function note(kind, title, ...more) {
    const role = kind === 'error' ? 'alert' : null;
    return h(`div.note.is-${kind}`, { role }, h('p.note-title', {}, title), ...more);
}

/** Lines to copy into a terminal. */
export function command(text) {
    return h('div.command', {}, h('pre', { tabindex: 0, 'aria-label': 'command' }, text), copy(text));
}

/** A button that copies `text`, or what that answers or resolves with when it is pressed; null: nothing. */
export function copy(text, label = 'Copy', kind = '') {
    const element = button(label, async () => {
        const content = await Promise.resolve(typeof text === 'function' ? text() : text).catch(() => '');
        if (content === null) return;
        const isCopied = content !== '' && (await toClipboard(content, element).catch(() => false));
        element.textContent = isCopied ? 'Copied' : 'Not allowed: select and copy';
        if (isCopied) announce('Copied');
        setTimeout(() => (element.textContent = label), 3000);
    }, kind);
    return element;
}

/** Whether `text` was copied. A page that came over plain HTTP from another machine has no clipboard: there a selection is. */
export async function toClipboard(text, beside) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
    );
    const area = h('textarea.hidden', { readonly: true }, text);
    beside.after(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    beside.focus();
    return isCopied;
}

/**
 * Does `act` for the button that was pressed, which does nothing until that is over and looks so. It keeps the focus: one that
 * is disabled would lose it.
 */
export async function busy(element, act) {
    if (element.ariaDisabled === 'true') return;
    element.setAttribute('aria-disabled', 'true');
    try {
        await act();
    } finally {
        element.removeAttribute('aria-disabled');
    }
}

/** Whether an element of a long list is in sight, or nearly. */
export function isNear(element) {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > -200 && top < innerHeight + 200;
}

/**
 * A question before something that cannot be taken back. `act` does it; an error that it throws is
 * shown in the dialog. Answers whether it was done.
 */
export function ask({ title, text, yes, kind = 'danger', act }) {
    return dialog(title, (close) => {
        const problem = h('div');
        const confirm = button(
            yes,
            () =>
                busy(confirm, async () => {
                    try {
                        await act();
                        close(true);
                    } catch (error) {
                        fill(problem, note('error', 'That did not work', h('p', {}, error.message)));
                    }
                }),
            kind,
        );
        const no = button('Keep as it is', () => close(false), '', { autofocus: true });
        return [h('div.prose', {}, text), problem, h('div.actions', {}, no, confirm)];
    });
}

/** Where the button was that asked: it may have been made anew meanwhile. */
function focusNear(row) {
    const target = row?.isConnected && row.querySelector('button, a');
    (target || main).focus({ preventScroll: true });
}

let dialogs = 0;

/**
 * A modal dialog; `content(close)` gives what is in it. Resolves with what `close` was given. `onclose` is called however
 * it ends: Escape, too.
 */
export function dialog(title, content, onclose = () => {}) {
    return new Promise((resolve) => {
        const id = `dialog-${++dialogs}`;
        const element = h('dialog', { 'aria-labelledby': id });
        const row = document.activeElement?.closest('li, tr');
        let answer = false;
        const close = (value) => {
            answer = value;
            element.close();
        };
        element.append(h('h2', { id }, title), ...[content(close)].flat());
        element.addEventListener('close', () => {
            element.remove();
            if (document.activeElement === document.body) focusNear(row);
            onclose();
            resolve(answer);
        });
        document.body.append(element);
        element.showModal();
    });
}

const loaded = new Map();

/** What one page alone looks like is loaded with it. Resolves when its rules hold; once for each. */
export function addStyle(name) {
    if (!loaded.has(name))
        loaded.set(
            name,
            new Promise((onload, onerror) => {
                const href = new URL(name, import.meta.url);
                const link = document.createElement('link');
                Object.assign(link, { rel: 'stylesheet', href, onload, onerror });
                document.head.append(link);
            }),
        );
    return loaded.get(name);
}
