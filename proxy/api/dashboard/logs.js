// logs.js - the log of all runs as it goes on: the newest at the end, of an app, a run, a level.
// Not here: the log of one run, on its page (log.js); which lines there are (the REST interface's GET /logs).
import * as api from './api.js';
import { addStyle, announce, badge, button, fill, h, select } from './dom.js';
import { appField, changeFilter, fillAround, readFilter, showIgnored, take } from './filter.js';
import { plural, tail, time, visible } from './format.js';
import { showStale } from './stale.js';

const LINES_MAX = 10_000; // on the page; older ones go
const BLOCK = 200; // lines that the browser lays out together
const FIRST = 200;
const WAIT = 10; /* s that one question waits for a line: less than the patience of api.js */
const SOON = 300; /* ms between an answer with lines and the next question */
const NEAR = 40; /* px from the end that count as the end */
const OWN = ['time', 'level', 'msg', 'run_id', 'stream', 'line'];
const LEVELS = { warn: ['cancelled', 'warning'], error: ['failure', 'failure'] }; // those that stand out
const OPTIONS = {
    app: null,
    level: [['', 'All levels'], ['info', 'info and worse'], ['warn', 'warn and worse'], ['error', 'error']],
    run_id: null,
    q: null,
};

export function show(main, route) {
    const query = readFilter(route.query, OPTIONS);
    const lines = new Tail(query);
    const title = h('div.title-row', {}, h('h1', { id: 'logs' }, 'Logs'), lines.actions);
    const ready = addStyle('logs.css');
    fillAround(main, showFilters(query), [title], [showIgnored(route.query, OPTIONS), ...lines.elements]);
    ready.then(() => lines.begin());
    return () => lines.end();
}

function showFilters(query) {
    const go = (change) => changeFilter('logs', OPTIONS, change);
    return h(
        'div.filters',
        { id: 'logs-filters' },
        appField(query.app, (app) => go({ app })),
        select('Level', OPTIONS.level, query.level, (level) => go({ level })),
        textField('Run', 'its whole id', query.run_id, (text) => go({ run_id: text.toLowerCase() }), 36),
        textField('Text', 'shown lines that have it', query.q, (q) => go({ q }), 24),
    );
}

function textField(label, placeholder, value, onchange, size) {
    const input = h('input', { type: 'search', value, placeholder, size, spellcheck: 'false', autocomplete: 'off' });
    input.addEventListener('change', () => {
        const text = input.value.trim();
        take(input, text);
        onchange(text);
    });
    return h('label.field.grow', {}, h('span', {}, label), input);
}

class Tail {
    #query;
    #next = null;
    #polling = null;
    #isPaused = false;
    #isOver = false;
    #shown = 0;
    #unseen = 0; // that came while the reader was further up
    #sticks = true; // to the end: the reader has not gone up
    #top = 0; // as it was scrolled last
    #replica;
    #problem = h('div');
    #about = h('p.sub');
    #list = h('div.log-lines', { role: 'log', 'aria-live': 'off', 'aria-labelledby': 'logs', tabindex: 0 });
    #empty = h('p.hint.log-empty', {}, 'Nothing has been logged that this lets through. What comes is shown here.');
    #jump = button('', () => this.#toEnd(), 'main', { hidden: true });
    #pause = button('Pause', () => this.#togglePause(), '', { 'aria-pressed': 'false' });

    constructor(query) {
        this.#query = query;
        this.#list.addEventListener('scroll', () => this.#onScroll(), { passive: true });
    }

    get actions() {
        return h('div.actions', {}, this.#pause, button('Clear', () => this.#clear()));
    }

    get elements() {
        return [this.#problem, h('div.log-frame', {}, this.#list, this.#empty, this.#jump), this.#about];
    }

    begin() {
        if (this.#isOver) return;
        this.#polling = api.poll(SOON, (signal) => this.#ask(signal), (error, at) => showStale(this.#problem, 'The log is', error, at));
    }

    end() {
        this.#isOver = true;
        this.#polling?.stop();
    }

    async #ask(signal) {
        const { app, level, run_id } = this.#query;
        const more = this.#next ? { after: this.#next, wait: WAIT, limit: FIRST } : { limit: FIRST };
        const answer = await api.get('/logs', { query: { app, level, run_id, ...more }, signal });
        if (this.#isPaused) return;
        if (this.#next && era(answer.next) !== era(this.#next)) this.#say('hookline was started again: what follows is another process’s');
        if (answer.missed) this.#say(`${plural(answer.missed, 'line')} of all runs went by before they could be read`);
        this.#next = answer.next;
        this.#add(answer.lines.filter((line) => this.#has(line)).map(makeLine));
        if (this.#replica !== answer.replica || !this.#about.hasChildNodes()) this.#tell(answer.replica);
        return answer.has_more ? 0 : SOON;
    }

    #has({ line }) {
        return !this.#query.q || textOf(line).toLowerCase().includes(this.#query.q.toLowerCase());
    }

    /** What is here, and what is not. */
    #tell(replica) {
        this.#replica = replica;
        fill(
            this.#about,
            replica === null
                ? 'The lines of this hookline, from memory. '
                : `The lines of the replica ${visible(replica)} alone, from memory: each shows its own. `,
            'What the app writes is among them where hookline starts it (HOOKLINE_APP_COMMAND); else it is where the app runs.',
        );
    }

    #say(text) {
        this.#add([h('div.log-line.is-note', {}, text)]);
    }

    #add(lines) {
        if (!lines.length) return this.#showEmpty();
        for (const line of lines) {
            let block = this.#list.lastElementChild;
            if (!block || block.childElementCount >= BLOCK) this.#list.append((block = h('div.log-block')));
            block.append(line);
        }
        this.#shown += lines.length;
        while (this.#shown > LINES_MAX) {
            this.#shown -= this.#list.firstElementChild.childElementCount;
            this.#list.firstElementChild.remove();
        }
        this.#showEmpty();
        if (this.#sticks) this.#toEnd();
        else this.#count(lines.length);
    }

    /** What grows above or below is no scrolling up. */
    #onScroll() {
        const { scrollHeight, clientHeight, scrollTop } = this.#list;
        if (scrollHeight - clientHeight - scrollTop < NEAR) this.#seeAll();
        else if (scrollTop < this.#top) this.#sticks = false;
        this.#top = scrollTop;
    }

    /** Once more when it is laid out: blocks that were not are as high as it was guessed. */
    #toEnd() {
        const go = () => (this.#list.scrollTop = this.#list.scrollHeight);
        go();
        this.#seeAll();
        requestAnimationFrame(() => this.#sticks && go());
    }

    #seeAll() {
        this.#unseen = 0;
        this.#sticks = true;
        if (document.activeElement === this.#jump) this.#list.focus({ preventScroll: true });
        this.#jump.hidden = true;
    }

    #count(n) {
        this.#unseen += n;
        this.#jump.textContent = `${plural(this.#unseen, 'new line')} ↓`;
        this.#jump.hidden = false;
    }

    #showEmpty() {
        this.#empty.hidden = this.#shown > 0;
    }

    /** What comes meanwhile waits where it is kept: what that has no room for is told afterwards. */
    #togglePause() {
        this.#isPaused = !this.#isPaused;
        this.#pause.textContent = this.#isPaused ? 'Go on' : 'Pause';
        this.#pause.setAttribute('aria-pressed', String(this.#isPaused));
        announce(this.#isPaused ? 'The log stands still' : 'The log goes on');
        this.#polling?.stop();
        if (!this.#isPaused) this.begin();
    }

    #clear() {
        this.#list.replaceChildren();
        this.#shown = 0;
        this.#seeAll();
        this.#showEmpty();
    }
}

/** Of one process. */
const era = (next) => next.split('-')[0];

/** "app" says nothing beside the line that it wrote. */
function textOf(line) {
    const rest = Object.entries(line).filter(([name]) => !OWN.includes(name));
    const said = line.line === undefined ? line.msg : line.line;
    return [said, ...rest.map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)].join(' ');
}

function makeLine({ run_id, app_name, line }) {
    const [kind, shape] = LEVELS[line.level] ?? ['plain'];
    const from = line.line === undefined ? 'hookline' : (line.stream ?? 'app');
    return h(
        `div.log-line.is-${kind}`,
        {},
        time(line.time, { style: 'precise' }),
        shape ? badge(kind, line.level, shape) : h('span.badge', {}, line.level),
        h('span.log-from', { title: app_name && visible(app_name) }, app_name ? visible(app_name) : '–'),
        run_id ? h('a.log-run', { href: `#/runs/${run_id}`, title: `Run ${run_id}` }, `…${tail(run_id)}`) : h('span.log-run', {}, '–'),
        h('span.log-source', {}, from),
        h('span.log-text', {}, visible(textOf(line))),
    );
}
