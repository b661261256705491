// run.js - the page of one run.
// Not here: what is shown of it (run_panel.js).
import { fill, h } from './dom.js';
import { tail } from './format.js';
import { lastRuns } from './place.js';
import { openRun } from './run_panel.js';

export function show(main, route) {
    const runId = route.path[1];
    const isFiltered = lastRuns().includes('?');
    const place = h('div');
    fill(main, h('p.crumb', {}, h('a', { href: lastRuns() }, isFiltered ? 'Back to the list' : 'All runs')), place);
    document.title = `Run ${tail(runId)} · hookline`;
    return openRun(place, runId);
}
