// citations.mjs - what comments and pages of this repository cite: files, sections, functions, settings; and whether it
// is there. Fences (```) hold what users type and see, and are not looked at.
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';

const SKIPPED =
    /^(?:\.git|node_modules|build.*|\.build.*|corpus|regression|hookline-data|__pycache__)$/;
// A name with an ending that is ours; not what is included from the system, nor a part of a URL, pattern or <…>.
const CITED_FILE = new RegExp(
    String.raw`(?<![\w/.<*…-])(?!(?:linux|mbedtls|sys)/)` +
        String.raw`((?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.(?:c|h|mjs|js|sh|md|py|cmake|yaml))` +
        String.raw`(?![\w/(-]|\.\w)`,
    'g',
);
// Files of users that examples name, and what only looks like a file.
const EXAMPLES = new Set([
    ...['app.py', 'main.py', 'server.js', 'demo.c'],
    ...['node.js', 'Node.js', 'a.b.c'],
    // what the build makes of the .sql files
    ...['store/sqlite/sql.h', 'store/sqlite/ask.h', 'store/postgres/sql.h', 'store/postgres/once.h'],
    ...['store/import/read.h', 'store/import/write.h'],
    ...['corpus/', 'regression/', 'bodies/', 'build-bench/', 'build-sanitize/', 'build-sanitize/test-logs/', 'build/'],
]);
// What a path may be relative to: the includes' folders, and where tests and pages stand.
const ROOTS = [
    ...['', 'proxy', 'runtime', 'runtime/python', 'include', 'deploy', 'deploy/demo'],
    ...['tests', 'tests/unit', 'tests/integration', 'tests/integration/lib'],
];

/** All files of the tree below `root`, as paths relative to it. */
export async function filesBelow(root, folder = '') {
    const found = [];
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (entry.isDirectory() && SKIPPED.test(entry.name)) continue;
        if (entry.isDirectory()) found.push(...(await filesBelow(root, path)));
        else if (entry.isFile()) found.push(path);
    }
    return found;
}

const C_TOKEN = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\*[^]*?\*\/|\/\/[^\n]*/g;
const MARKS = {
    c: (text) => (text.match(C_TOKEN) ?? []).filter((token) => token[0] === '/'),
    js: (text) => text.match(/(?<=^|\s)\/\/ [^\n]*|^\s*\/\*[^]*?\*\//gm) ?? [],
    sh: (text) => text.match(/(?<=^|\s)# [^\n]*/gm) ?? [],
    py: (text) => text.match(/(?<=^|\s)# [^\n]*|"""[^]*?"""/gm) ?? [],
};
const LANGUAGE = {
    ...{ c: 'c', h: 'c', css: 'c', mjs: 'js', js: 'js', py: 'py' },
    ...{ sh: 'sh', cmake: 'sh', txt: 'sh', yaml: 'sh', cfg: 'sh', Dockerfile: 'sh', '.ci/run': 'sh' },
};

/** What a file says to its readers: a page without its fences, or a source's comments without their marks. */
export function proseOf(path, text) {
    if (path.endsWith('.md')) return text.replace(/^```[^]*?^```$/gm, '');
    const language = LANGUAGE[path] ?? LANGUAGE[path.split('.').pop()];
    if (!language) return '';
    return MARKS[language](text)
        .join('\n')
        .replace(/\s*\n\s*(?:\*(?!\/)|\/\/|#)\s?/g, '\n');
}

/** GitHub's anchor of a heading. */
const slug = (heading) =>
    heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replace(/ /g, '-');

const headingsOf = (page) =>
    [...page.replace(/^```[^]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);

/** Sections can be cited by their headings and by what begins a paragraph or a point in bold. */
const sectionsOf = (page) => [
    ...headingsOf(page),
    ...[...page.matchAll(/\*\*([^*]+?)[.:,]?\*\*/g)].map(([, words]) => words),
];

/** The tree's files as citations are held against them: `texts` maps paths to contents. */
export class Tree {
    constructor(texts) {
        this.texts = texts;
        const code = [...texts].filter(([path]) => !path.endsWith('.md')).map(([, text]) => text);
        this.words = new Set(code.join('\n').match(/\w+/g));
    }

    /** The path that `cited` stands for in the file `from`, or undefined. A name alone may be any folder's. */
    find(from, cited) {
        const at = [dirname(from), ...ROOTS].map((root) => normalize(join(root, cited)));
        const anywhere = () => [...this.texts.keys()].find((path) => basename(path) === cited);
        return at.find((path) => this.texts.has(path)) ?? (cited.includes('/') ? undefined : anywhere());
    }

    *badFiles(path, prose) {
        for (const [, cited] of prose.replace(/\w+:\/\/\S+/g, '').matchAll(CITED_FILE))
            if (!EXAMPLES.has(cited) && !this.find(path, cited)) yield `there is no file ${cited}`;
    }

    *badFolders(path, prose) {
        for (const [, cited] of prose.matchAll(/`((?:[\w.-]+\/)+)`/g)) {
            const at = [dirname(path), ...ROOTS].map((root) => normalize(join(root, cited)));
            const isThere = [...this.texts.keys()].some((other) => at.some((folder) => other.startsWith(folder)));
            if (!isThere && !EXAMPLES.has(cited)) yield `there is no folder ${cited}`;
        }
    }

    *badSections(path, prose) {
        const words = prose.replace(/\s+/g, ' ');
        const contract = this.texts.get('proxy/contract.md') ?? '';
        for (const [cited, numbers] of words.matchAll(/\bcontract ((?:\d+(?:\.\d+)?(?:, | and | to )?)+)/gi))
            for (const number of numbers.match(/\d+(?:\.\d+)?/g))
                if (!headingsOf(contract).some((heading) => heading.startsWith(`${number}. `)))
                    yield `proxy/contract.md has no section ${number} (${cited.trim()})`;
        for (const [cited] of words.matchAll(/\b(?:spec|interface|architecture) (?:sections? )?\d+(?![\w%])/gi))
            yield `${cited}: a section of a page that is not here`;
        for (const [, page, section] of words.matchAll(/([\w/.-]+\.md),? (?:section )?"([^"]+?)[.,]?"/g)) {
            const target = this.find(path, page);
            if (target && !sectionsOf(this.texts.get(target)).includes(section))
                yield `${target} has no section "${section}"`;
        }
    }

    *badLinks(path, prose) {
        for (const [, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
            if (/^\w+:/.test(target)) continue;
            const [file, anchor] = target.split('#');
            const at = file ? normalize(join(dirname(path), file)).replace(/\/$/, '') : path;
            const isFolder = [...this.texts.keys()].some((other) => other.startsWith(`${at}/`));
            if (!this.texts.has(at) && !isFolder) yield `the link ${target} leads nowhere`;
            else if (anchor && !headingsOf(this.texts.get(at) ?? '').map(slug).includes(anchor))
                yield `the link ${target} leads to no heading`;
        }
    }

    /** `path: function` in a page, and names that can only be code's. */
    *badNames(path, prose) {
        for (const [, cited, name] of prose.matchAll(/`([\w/.-]+\.[ch]): (\w+)`/g)) {
            const file = this.find(path, cited);
            if (file && !new RegExp(`^(?:\\w.*)?\\b${name}\\(`, 'm').test(this.texts.get(file)))
                yield `${file} has no function ${name}`;
        }
        const isOfCode = /^(?:proxy|runtime|tests)\/(?!integration)/.test(path);
        const names =
            /`((?:hl_|HL_)\w+|(?!uv_|curl_|pthread_)[a-z]+(?:_[a-z0-9]+)+)(?:\(\))?`/g;
        for (const [, name] of prose.matchAll(names))
            if ((isOfCode || /^(?:hl_|HL_|hookline_)/.test(name)) && !this.words.has(name))
                yield `no code says ${name}`;
        for (const [name] of prose.matchAll(/\bHOOKLINE_[A-Z0-9_]*[A-Z0-9]\b(?!_|…)/g))
            if (!this.words.has(name) && !this.words.has(name.replace(/^HOOKLINE_|_FILE$/g, '')))
                yield `there is no setting ${name}`;
    }

    /** What of its citations is not there. */
    faultsOf(path) {
        const prose = proseOf(path, this.texts.get(path));
        const faults = [...this.badFiles(path, prose), ...this.badSections(path, prose)];
        if (path.endsWith('.md'))
            for (const find of [this.badFolders, this.badLinks, this.badNames])
                faults.push(...find.call(this, path, prose));
        return faults.map((fault) => `${path}: ${fault}`);
    }
}

export async function readTree(root) {
    const paths = await filesBelow(root);
    const read = async (path) => [path, await readFile(join(root, path), 'utf8')];
    return new Tree(new Map(await Promise.all(paths.map(read))));
}
