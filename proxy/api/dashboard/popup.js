// popup.js - a box beside what it belongs to. It stays where it is while the page behind it changes its filter, goes with
// Escape, a press elsewhere or another page, and gives the focus back.
import { h } from './dom.js';

const GAP = 4; /* px */

let shut = () => {};

/**
 * `content(close)` gives what is in it; the first that can have the focus gets it. `onclose` is called however it ends.
 * Another press of `anchor` closes it. Answers the box.
 */
export function openPopup(anchor, label, content, onclose = () => {}) {
    const wasOpen = anchor.getAttribute('aria-expanded') === 'true';
    shut();
    if (wasOpen) return null;
    const gone = new AbortController();
    const page = pageOf(location.hash);
    const close = () => {
        if (gone.signal.aborted) return;
        gone.abort();
        const hadFocus = box.contains(document.activeElement) || document.activeElement === document.body;
        box.remove();
        const home = findAgain(anchor);
        home?.setAttribute('aria-expanded', 'false');
        if (hadFocus) home?.focus({ preventScroll: true });
        onclose();
    };
    shut = close;
    const box = h('div.popup', { role: 'dialog', 'aria-label': label });
    box.append(...[content(close)].flat().filter(Boolean));
    box.addEventListener('keydown', (event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
    });
    const options = { signal: gone.signal };
    addEventListener('pointerdown', ({ target }) => !box.contains(target) && !findAgain(anchor)?.contains(target) && close(), options);
    addEventListener('hashchange', () => pageOf(location.hash) !== page && close(), options);
    addEventListener('resize', () => place(box, anchor), options);
    box.addEventListener('focusout', ({ relatedTarget }) => relatedTarget && !box.contains(relatedTarget) && close());
    document.body.append(box);
    anchor.setAttribute('aria-expanded', 'true');
    place(box, anchor);
    box.querySelector('[autofocus], input, button, a')?.focus({ preventScroll: true });
    return box;
}

const pageOf = (hash) => hash.split('?')[0];

/** What was made anew meanwhile has the same id. */
function findAgain(anchor) {
    return anchor.isConnected ? anchor : document.getElementById(anchor.id);
}

/** Below it, within the window. */
function place(box, anchor) {
    const at = findAgain(anchor)?.getBoundingClientRect();
    if (!at) return;
    const left = Math.max(GAP, Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - GAP));
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${at.bottom + GAP + scrollY}px`;
}
