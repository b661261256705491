// look.js - theme and density of rows, as this reader chose them: classes of the document, remembered in this browser.
// Not here: that they hold before the first paint (early.js), what they look like (style.css).

const KEY = 'hookline-look';
const root = document.documentElement;

export const THEMES = ['system', 'light', 'dark'];

export const theme = () => THEMES.find((name) => root.classList.contains(`theme-${name}`)) ?? 'system';
export const isComfortable = () => root.classList.contains('rows-comfortable');

export function setTheme(name) {
    take(name, isComfortable());
    keep();
}

export function setComfortable(isWanted) {
    take(theme(), isWanted);
    keep();
}

function take(name, isWide) {
    for (const one of THEMES) root.classList.toggle(`theme-${one}`, one === name && name !== 'system');
    root.classList.toggle('rows-comfortable', isWide);
    dispatchEvent(new Event('look'));
}

/** Storage that is full or not allowed costs the memory, not the page. */
function keep() {
    try {
        localStorage.setItem(KEY, root.className);
    } catch {
        return;
    }
}

/** What was chosen in another tab holds in this one. */
addEventListener('storage', ({ key, newValue }) => {
    if (key !== KEY) return;
    const chosen = (newValue ?? '').split(' ');
    take(THEMES.find((name) => chosen.includes(`theme-${name}`)) ?? 'system', chosen.includes('rows-comfortable'));
});
