// runs.js - the page of runs: its filters as a line of chips, when the runs were accepted, their list, and one of them beside
// it. Not here: each of these (run_filter.js, chips.js, run_histogram.js, run_list.js, run_panel.js).
import * as api from './api.js';
import { Beside } from './beside.js';
import { bulkButtons } from './bulk_buttons.js';
import { showChips } from './chips.js';
import { addStyle, button, fill, h, load } from './dom.js';
import { exportButton } from './export_button.js';
import { fillAround, parametersOf, take } from './filter.js';
import { rememberRuns } from './place.js';
import { chosenColumns } from './run_columns.js';
import { FILTER, ownFilter } from './run_filter.js';
import { RunList } from './run_list.js';

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const BESIDE = { page: 'runs', name: 'run', label: 'Run', load: async () => (await import('./run_panel.js')).openRun };
let current; // list: a button beside the filters stays when another comes
const LOOKS = Promise.all(['list.css', 'runs.css'].map(addStyle)).catch(() => {}); // without it there is a list, too

export function show(main) {
    const filter = FILTER.read();
    let histogram = null;
    const list = new RunList(filter, chosenColumns(), () => histogram?.renew());
    current = list;
    const frame = h('div.list', {}, h('div.histogram-place'), list.elements);
    const beside = new Beside(frame, BESIDE);
    const tools = showTools(list);
    fillAround(main, showFilters(filter), [h('h1', {}, 'Runs')], [tools, FILTER.showIgnored(), ...beside.elements]);
    showOwn(main);
    rememberRuns(FILTER.addressOf(filter, { cols: parametersOf().get('cols') }));
    const endList = list.begin();
    const endBeside = beside.begin();
    let isGone = false;
    showHistogram(frame, list, () => isGone).then((made) => (histogram = made));
    return () => {
        isGone = true;
        endBeside();
        endList();
        histogram?.end();
    };
}

/** It comes when the list is there already. Resolves with `{ renew, end }`, or null. */
async function showHistogram(frame, list, isGone) {
    const module = await import('./run_histogram.js').catch(() => null);
    await LOOKS;
    if (!module || isGone()) return null;
    const choose = ({ from, until }) => FILTER.change({ time: 'own', from, until });
    const histogram = new module.RunHistogram({ query: () => list.filter, isSearch: () => list.isSearch, choose });
    fill(frame.querySelector('.histogram-place'), histogram.element);
    const end = histogram.begin();
    return { renew: () => histogram.renew(), end };
}

/* ---- filters ---- */

/** Says beside what is typed that it is a filter's value. */
function showOwn(main) {
    const { q } = main.querySelector('#filters-runs').elements;
    const [label, name, value] = ownFilter(q.value.trim().toLowerCase()) ?? [];
    const choose = () => {
        q.value = '';
        FILTER.change({ q: '', [name]: value });
    };
    fill(main.querySelector('.own'), name ? ['As a filter: ', button(`${label} ${value}`, choose, 'small')] : null);
}

function showFilters(filter) {
    const find = h('input', {
        type: 'search',
        name: 'q',
        value: filter.q,
        'aria-label': 'Find',
        placeholder: 'Id, path, error, tag',
        spellcheck: 'false',
        autocomplete: 'off',
        oninput: () => showOwn(find.closest('main')),
    });
    const onsubmit = (event) => {
        event.preventDefault();
        const text = find.value.trim();
        take(find, text);
        if (ID.test(text.toLowerCase())) location.hash = `#/runs/${text.toLowerCase()}`;
        else FILTER.change({ q: text });
    };
    const box = h('div.find', {}, find, h('button.button.small', { type: 'submit' }, 'Find'));
    const bulk = bulkButtons({ state: filter.state, filter: () => current.filter });
    return h('form.filters.narrow', { id: 'filters-runs', onsubmit, role: 'search' }, box, h('span.own.hint'), showChips(FILTER.line(filter)), h('span.bulk', {}, bulk));
}

/* ---- columns, views, a file ---- */

function showTools(list) {
    const menu = (text, id, open) => {
        const element = button(text, () => open(element), 'small', { id, 'aria-haspopup': 'dialog', 'aria-expanded': 'false' });
        return element;
    };
    const loadViews = async (use) => {
        const module = await load(() => import('./views.js'));
        if (module) use(module);
    };
    const onchange = (names) => {
        const hash = FILTER.addressOf(FILTER.read(), { run: parametersOf().get('run') });
        if (hash !== location.hash) history.replaceState(history.state, '', hash); // which columns it said is no longer so
        list.setColumns(names);
    };
    return h(
        'div.actions.tools',
        {},
        menu('Views', 'open-views', (anchor) => loadViews((views) => views.openViews(anchor))),
        menu('Columns', 'open-columns', (anchor) => loadViews((views) => views.openColumns(anchor, onchange))),
        exportButton({ name: 'runs', path: '/runs', rows: 'runs', query: () => list.filter }),
        api.mayRun() ? h('a.button.small', { href: '#/new' }, 'New run') : null,
    );
}
