// hosts.mjs - the function hosts, one for each language, on functions that do the same: functions/probe.c, .py and .mjs.
import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { FILE } from './case.mjs';
import { FUNCTION_BINARY, compile, inRepository, runHost, startHost } from './function.mjs';
import { DEBIAN, PACKAGE, PURE, coreSettings } from './python.mjs';
import { BINARY } from './sidecar.mjs';

/** The Node host: beside the binary in a build, else where it is installed. */
export const NODE_HOST = [
    process.env.HOOKLINE_NODE,
    join(dirname(BINARY), 'node/hookline-functions'),
    join(dirname(BINARY), '../lib/hookline/node/hookline-functions'),
]
    .filter(Boolean)
    .map((folder) => join(folder, 'bin/hookline-functions.mjs'))
    .find(existsSync);

const probe = (ending) => inRepository(`tests/integration/functions/probe.${ending}`);

/** The file's one of a kind: made when a test asks for it, until what the file's tests share ends. */
export function once(make) {
    let made;
    return () => {
        if (!made) FILE.after(() => (made = undefined));
        return (made ??= make());
    };
}

const compiled = once(() => compile(FILE, probe('c')));

class Language {
    #command;

    /** `command()`: the program, its arguments before the options and behind them, what its environment must have. */
    constructor(name, command) {
        this.name = name;
        this.#command = command;
    }

    async #parts(env, options) {
        const { program, before = [], file, own = {} } = await this.#command();
        return [[...before, ...options, file], { ...own, ...env }, program];
    }

    /** The host of the probe, listening; see startHost. */
    async start(t, env = {}, options = []) {
        const [args, all, program] = await this.#parts(env, options);
        return startHost(t, args, all, program);
    }

    /** The same, to its end; see runHost. */
    async run(env = {}, options = []) {
        const [args, all, program] = await this.#parts(env, options);
        return runHost(args, all, program);
    }
}

const python = (core) => ({
    program: DEBIAN,
    before: ['-m', 'hookline_runtime'],
    file: probe('py'),
    own: { PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ...core },
});

export const LANGUAGES = [
    new Language('C', async () => ({ program: FUNCTION_BINARY, file: await compiled() })),
    new Language('Python', () => python(coreSettings())),
    new Language('Python without the extension', () => python(PURE)),
    new Language('Node', () => ({ program: process.execPath, before: [NODE_HOST], file: probe('mjs') })),
];
