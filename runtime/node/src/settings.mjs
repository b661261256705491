// settings.mjs - what the host is told from outside: the options and variables of every function host, by the rules of
// runtime/core/settings.c.
import { isIP } from 'node:net';
import { isatty } from 'node:tty';

const MOST_SIZE = 2 ** 40;
const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const TIMES = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

export class BadSetting extends Error {}

function whole(text, least, most) {
    const n = /^[0-9]{1,15}$/.test(text) ? Number(text) : NaN;
    return n >= least && n <= most ? n : undefined;
}

function withUnit(text, units, least, most) {
    const [, digits, unit] = /^([0-9]{1,15})([A-Za-z]+)$/.exec(text) ?? [];
    const n = Object.hasOwn(units, unit ?? '') ? Number(digits) * units[unit] : NaN;
    return n >= least && n <= most ? n : undefined;
}

const size = (text) => withUnit(text, SIZES, 1024, MOST_SIZE);
const duration = (text) => (text === '0' ? 0 : withUnit(text, TIMES, 0, 24 * TIMES.h));
const oneOf = (names) => (text) => (names.includes(text) ? text : undefined);

const ROWS = [
    {
        name: 'host',
        option: '--host',
        variable: 'HOOKLINE_FUNCTION_HOST',
        fallback: '127.0.0.1',
        read: (text) => (isIP(text) ? text : undefined),
        allowed: 'allowed is an IPv4 or IPv6 address, without brackets',
    },
    {
        name: 'port',
        option: '--port',
        variable: 'PORT',
        fallback: '8000',
        read: (text) => whole(text, 0, 65535),
        allowed: 'allowed is a port from 0 to 65535; 0 lets the system choose',
    },
    {
        name: 'socket',
        option: '--socket',
        variable: 'HOOKLINE_FUNCTION_SOCKET',
        read: (text) => (text && Buffer.byteLength(text) <= 107 ? text : undefined),
        allowed: 'allowed is the path of a unix socket, 1 to 107 bytes',
    },
    {
        name: 'concurrency',
        variable: 'HOOKLINE_FUNCTION_CONCURRENCY',
        fallback: '1',
        read: (text) => whole(text, 1, 1024),
        allowed: 'allowed is 1 to 1024 calls at once',
    },
    {
        name: 'envelope',
        variable: 'HOOKLINE_FUNCTION_ENVELOPE',
        fallback: 'off',
        read: oneOf(['on', 'off']),
        allowed: 'allowed is on or off',
    },
    {
        name: 'maxBody',
        variable: 'HOOKLINE_FUNCTION_MAX_BODY',
        fallback: '64MiB',
        read: size,
        allowed: 'allowed is a size from 1KiB to 1TiB, such as 64MiB',
    },
    {
        name: 'setupTimeout',
        variable: 'HOOKLINE_FUNCTION_SETUP_TIMEOUT',
        fallback: '30m',
        read: duration,
        allowed: 'allowed is a time up to 24h, such as 10m; 0 is none',
    },
    {
        name: 'logLevel',
        variable: 'HOOKLINE_LOG_LEVEL',
        fallback: 'info',
        read: oneOf(['debug', 'info', 'warn', 'error']),
        allowed: 'allowed are debug, info, warn, error',
    },
    {
        name: 'logFormat',
        variable: 'HOOKLINE_LOG_FORMAT',
        fallback: 'auto',
        read: oneOf(['auto', 'json', 'text']),
        allowed: 'allowed are auto, json, text',
    },
];

function readRow(row, options, environment) {
    const given = row.option && options[row.option];
    const source = given === undefined ? row.variable : row.option;
    const text = given ?? (environment[row.variable] || row.fallback); // an empty variable counts as none
    if (text === undefined) return undefined;
    const value = row.read(text);
    if (value === undefined) throw new BadSetting(`${source} is ${JSON.stringify(text)}: ${row.allowed}`);
    return value;
}

/** The settings, from `options` ("--port": "80") and the environment; an option beats a variable. Throws BadSetting. */
export function readSettings(options, environment) {
    const settings = {};
    for (const row of ROWS) settings[row.name] = readRow(row, options, environment);
    if (options['--port'] !== undefined && options['--socket'] === undefined) settings.socket = undefined;
    settings.envelope = settings.envelope === 'on';
    if (settings.logFormat === 'auto') settings.logFormat = isatty(2) ? 'text' : 'json';
    // hookline's own limit, where the host is told of it: what hookline lets through has room in a form.
    settings.maxUpload = Math.max(settings.maxBody, size(environment.HOOKLINE_MAX_REQUEST_BODY ?? '') ?? 0);
    return settings;
}
