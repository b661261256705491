// chips.js - the filters of a list as one line: a chip each that changes it, and one that removes it, "Add filter", "Clear
// all". Not here: choosing (picker.js, loaded when it is wanted).
import { button, h, load } from './dom.js';
import { visible } from './format.js';

/**
 * `set`: what is on: `{ field, key, text, change, remove }`; `fields`: see openPicker. `pick(field, value, replaced)` takes
 * a choice, `clear` takes all away.
 */
export function showChips({ set, fields, pick, clear }) {
    const add = button('Add filter', () => open(add, fields, null, pick), 'small', {
        id: 'add-filter',
        'aria-haspopup': 'dialog',
        'aria-expanded': 'false',
        onpointerenter: preload,
        onfocus: preload,
    });
    const chips = set.map((one) => showChip(one, fields, pick));
    const all = set.length > 1 ? button('Clear all', () => (focusAdd(), clear()), 'quiet.small', { id: 'clear-filters' }) : null;
    return h('div.chips', { role: 'group', 'aria-label': 'Filters' }, chips, add, all);
}

/** Whoever presses the button types at once. */
function preload() {
    import('./picker.js').catch(() => null);
}

async function open(anchor, fields, field, pick) {
    (await load(() => import('./picker.js')))?.openPicker(anchor, fields, field, pick);
}

/** What is chosen next is near; the chip goes. */
function focusAdd() {
    document.getElementById('add-filter')?.focus({ preventScroll: true });
}

function showChip({ field, key, text, remove }, fields, pick) {
    const words = `${field.label} ${visible(text)}`;
    const change = h(
        'button',
        {
            type: 'button',
            id: `chip-${key}`,
            title: `${words}: change`,
            'aria-haspopup': 'dialog',
            'aria-expanded': 'false',
            onclick: () => open(change, fields, field, (one, value) => pick(one, value, key)),
        },
        h('span.of', {}, `${field.label} `),
        h('b', {}, visible(text)),
    );
    const onclick = () => (focusAdd(), remove());
    return h('span.filter', {}, change, h('button', { type: 'button', 'aria-label': `Remove ${words}`, onclick }, '×'));
}
