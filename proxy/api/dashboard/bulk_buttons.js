// bulk_buttons.js - the buttons of a list of runs that do something to all that it names; what they do is loaded with the first
// press (bulk.js).
import * as api from './api.js';
import { button, load } from './dom.js';
import { visible } from './format.js';

const ENDED = ['success', 'failure', 'cancelled'];

/** For admins; for others none. `filter()` is the list's, as the REST interface has it. */
export function bulkButtons({ state, filter }) {
    if (!api.isAdmin()) return [];
    const make = (what, text) => button(text, async () => {
        const bulk = await load(() => import('./bulk.js'));
        await bulk?.runJob({ what, filter: filter(), which: words(filter()) }); // the list looks again by itself
    }, 'quiet.small');
    return [ENDED.includes(state) ? null : make('cancel', 'Cancel all…'), ENDED.includes(state) || !state ? make('rerun', 'Run all again…') : null].filter(Boolean);
}

/** `state failure, app words`: values that are lists, too. */
function words(filter) {
    const parts = Object.entries(filter).filter(([, value]) => value !== '' && value != null);
    return parts.flatMap(([name, value]) => [value].flat().map((one) => `${name} ${visible(String(one))}`)).join(', ') || 'all of the list';
}
