// tags.js - what a run is marked with, as its caller writes it.
import { visible } from './format.js';

const MOST = 8;
const NAME = /^[A-Za-z0-9._/-]{1,64}$/;
const VALUE = /^[ -~]{1,64}$/;
const NEVER = /[",\\]/;

/** What of "tier=gold, order=17" is no tag, in a sentence; '' if all are, or there are none. */
export function findTagFault(text) {
    const names = new Set();
    if (!text.trim()) return '';
    for (const tag of text.split(',').map((part) => part.trim())) {
        const at = tag.indexOf('=');
        const [name, value] = [tag.slice(0, at).trim(), tag.slice(at + 1).trim()];
        const shown = `“${visible(tag)}”`;
        if (!tag) return 'There is a comma too many.';
        if (at < 0) return `${shown} is not name=value.`;
        if (!NAME.test(name)) return `The name of ${shown} is not 1 to 64 of A-Z a-z 0-9 . _ - /`;
        if (!VALUE.test(value) || NEVER.test(value)) return `The value of ${shown} is not 1 to 64 ASCII characters without " and \\`;
        if (names.has(name)) return `${shown} has a name that is there already.`;
        names.add(name);
    }
    return names.size > MOST ? `There are ${names.size} tags, and may be ${MOST}.` : '';
}
