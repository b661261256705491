// panes.js - several views of one thing behind tabs, one of which is seen: each is made when it is wanted.
import { h } from './dom.js';

/**
 * `panes`: `[{ key, title, panel, onshow }]`. Answers `{ element, set(keys), choose(key), chosen(), mark(key, what) }`: `set` says which
 * there are now; `onchoose(key)`: the reader has chosen one. `mark`: something small beside the title.
 */
export function paneTabs(label, panes, onchoose) {
    const tabs = panes.map(({ key, title }) => {
        const button = h(
            'button.pane-tab',
            { type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': `pane-${key}`, 'aria-selected': 'false', tabindex: -1, hidden: true },
            title,
            h('span.pane-mark'),
        );
        button.addEventListener('click', () => pick(key));
        return { key, button };
    });
    const panels = panes.map(({ key, panel }) =>
        h('div.pane', { role: 'tabpanel', id: `pane-${key}`, 'aria-labelledby': `tab-${key}`, hidden: true }, panel),
    );
    const bar = h('div.pane-tabs', { role: 'tablist', 'aria-label': label, onkeydown }, tabs.map(({ button }) => button));
    let chosen = null;

    function pick(key) {
        choose(key);
        onchoose(key);
    }

    function choose(key) {
        chosen = key;
        tabs.forEach(({ key: other, button }, i) => {
            const isIt = other === key;
            button.setAttribute('aria-selected', String(isIt));
            button.setAttribute('tabindex', isIt ? 0 : -1);
            panels[i].hidden = !isIt;
        });
    }

    function set(keys) {
        tabs.forEach(({ key, button }) => (button.hidden = !keys.includes(key)));
    }

    function mark(key, what) {
        const place = tabs.find((tab) => tab.key === key).button.querySelector('.pane-mark');
        if (place.textContent !== what) place.textContent = what;
    }

    function onkeydown(event) {
        const seen = tabs.filter(({ button }) => !button.hidden);
        const at = seen.findIndex(({ key }) => key === chosen);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + seen.length, Home: 0, End: seen.length - 1 }[event.key];
        if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        const { key, button } = seen[to % seen.length];
        pick(key);
        button.focus();
    }

    return { element: h('div.panes', {}, bar, panels), set, choose, mark, chosen: () => chosen };
}
