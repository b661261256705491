// place.js - what a list had on the page when one left it: Back leads to the same rows, at the same height.

const MOST = 20;
const places = new Map(); // by what the history entry is called here

/** What was kept of this entry of the browser's history, or null; and `keep(what)`, to be called when one leaves it. */
export function findPlace() {
    let name = history.state?.place;
    const kept = places.get(name) ?? null;
    if (!name) {
        name = `${performance.timeOrigin + performance.now()}`;
        history.replaceState({ ...history.state, place: name }, '');
    }
    const keep = (what) => {
        places.delete(name);
        places.set(name, { ...what, height: scrollY });
        if (places.size > MOST) places.delete(places.keys().next().value);
    };
    return { kept, keep };
}

let runs = '#/runs';

/** The address of the list of runs that was seen last, to go back to. */
export const lastRuns = () => runs;

export function rememberRuns(address) {
    runs = address;
}

/** Scrolls to where that was; `link` led away, and gets the focus. */
export function goBackTo(kept, link) {
    scrollTo(0, kept.height);
    link?.focus({ preventScroll: true });
}
