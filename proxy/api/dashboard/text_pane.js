// text_pane.js - long text that can be read from its first line while the rest comes: in blocks, of which the browser lays
// out those in sight alone. What is searched for or selected is found in all of them.
import { h } from './dom.js';
import { visible } from './format.js';

const BLOCK = 8 * 1024; /* characters, at most */
const LINE = 1.5; /* em */
const COLUMNS = 100; /* of a line, about: for the height of what was never in sight */

/** `{ element, write(text), end() }`. A text of one block is the element's own. */
export function textPane(labelledBy) {
    const element = h('pre.result', { tabindex: 0, 'aria-labelledby': labelledBy });
    let rest = '',
        count = 0;

    function write(text) {
        rest += text;
        while (rest.length > 2 * BLOCK) put(takeBlock());
    }

    function end() {
        while (rest) put(takeBlock());
    }

    function takeBlock() {
        const at = rest.length <= BLOCK ? rest.length : findEnd(rest);
        const text = rest.slice(0, at);
        rest = rest.slice(at);
        return text;
    }

    function put(text) {
        count++;
        if (count === 1) element.textContent = visible(text);
        else if (count === 2) element.replaceChildren(block(element.textContent), block(visible(text)));
        else element.append(block(visible(text)));
    }

    return { element, write, end };
}

/** Behind the last line that is whole, if there is one; never inside of a character. */
function findEnd(text) {
    const line = text.lastIndexOf('\n', BLOCK - 1) + 1;
    if (line) return line;
    const isInside = /[\ud800-\udbff\r]/.test(text[BLOCK - 1]);
    return isInside ? BLOCK - 1 : BLOCK;
}

function block(text) {
    const element = h('div.block', {}, text);
    const lines = Math.max(text.split('\n').length - 1, Math.ceil(text.length / COLUMNS));
    element.style.setProperty('contain-intrinsic-block-size', `auto ${LINE * lines}em`);
    return element;
}
