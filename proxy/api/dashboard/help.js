// help.js - which keys there are, and the switch for them.
import { button, dialog, h } from './dom.js';
import { PLACES, areOn, setOn } from './shortcuts.js';

const KEYS = [
    [['j'], 'next row'],
    [['k'], 'row before'],
    [['Enter'], 'open the row beside the list'],
    [['↑', '↓'], 'the same for the next row, or the one before', ' or '],
    [['o'], 'open it as a page of its own'],
    [['Esc'], 'close what is open'],
    [['/'], 'to the search, or the first filter'],
    [['Ctrl K'], 'go to, find or change anything'],
    [['?'], 'this list'],
];

export function open() {
    return dialog('Keyboard', (close) => {
        const box = h('input', { type: 'checkbox', checked: areOn(), onchange: () => setOn(box.checked) });
        const places = Object.entries(PLACES).map(([key, [, name]]) => [['g', key], name]);
        return [
            h('dl.key-list', {}, [...KEYS, ...places].map(showKey)),
            h('label.choice', {}, box, h('span', {}, 'Single keys do this. It is remembered in this browser.')),
            h('div.actions', {}, button('Close', () => close(true), 'main', { autofocus: true })),
        ];
    });
}

function showKey([keys, what, between = ' then ']) {
    const shown = keys.map((key, i) => [i ? between : null, h('kbd', {}, key)]);
    return h('div', {}, h('dt', {}, shown), h('dd', {}, what));
}
