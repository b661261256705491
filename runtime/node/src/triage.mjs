// triage.mjs - what becomes of a request: an answer of the server's own, or a call of a function. Pure.
import { isIPv6 } from 'node:net';
import { REFUSALS } from './problem.mjs';

const JSON_TYPE = /^(?:application\/json|[^\s;,/]+\/[^\s;,/]+\+json)[ \t]*(?:;|$)/i;
const FORM_TYPE = /^multipart\/form-data[ \t]*(?:;|$)/i;
const ZERO = /^q=0(?:\.0{0,3})?$/i;

/** Whether an Accept field asks for a stream of events. */
export function wantsEvents(accept = '') {
    return accept.split(',').some((element) => {
        const [type, ...parameters] = element.split(';').map((part) => part.trim());
        return type.toLowerCase() === 'text/event-stream' && !parameters.some((parameter) => ZERO.test(parameter));
    });
}

const refuse = (name) => ({ refusal: REFUSALS[name] });

function readOnly(method, name, body) {
    return method === 'GET' || method === 'HEAD' ? { body } : refuse(name);
}

/** `{ refusal }`, `{ body }` of the server's own, or `{ callee, isForm }`. */
export function triage(directory, isStopping, request) {
    const { method, url, headers } = request;
    const framing = wrongFraming(request);
    if (framing !== undefined) return refuse(framing);
    const host = wrongHost(request);
    if (host !== undefined) return refuse(host);
    if (!url.startsWith('/')) return refuse('noPath');
    const [path] = url.split('?', 1);
    if (path === '/healthz')
        return isStopping && (method === 'GET' || method === 'HEAD')
            ? refuse('stopping')
            : readOnly(method, 'healthMethod', '{"status":"ok"}');
    if (path === '/_hookline/functions') return readOnly(method, 'listingMethod', directory.listing);
    const callee = directory.find(path.slice(1));
    if (callee === undefined) return { refusal: [404, directory.unknown] };
    if (method !== 'POST') return refuse('method');
    const type = headers['content-type'];
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    const isForm = type !== undefined && FORM_TYPE.test(type);
    if (hasBody && type !== undefined && !isForm && !JSON_TYPE.test(type)) return refuse('type');
    return { callee, isForm: hasBody && isForm };
}

/** What node:http takes, and the other hosts do not: others may frame it in another way. */
function wrongFraming({ httpVersion, headers }) {
    const coding = headers['transfer-encoding'];
    if (httpVersion === '0.9') return 'version';
    if (coding === undefined) return undefined;
    if (httpVersion === '1.0') return 'codingVersion';
    return coding.toLowerCase() === 'chunked' ? undefined : 'codingOther';
}

const AUTHORITY = /^(?:[\w!$&'()*+.;=~-]+|\[([^\]%]*)(?:%25[\w!$&'()*+.;=~-]+)?\])(?::(\d*))?$/;

/** What the other hosts refuse as well (RFC 9112 3.2); HTTP/1.0 needs no such field. */
function wrongHost({ httpVersion, rawHeaders }) {
    let host;
    let count = 0;
    for (let i = 0; i < rawHeaders.length; i += 2)
        if (rawHeaders[i].length === 4 && /^host$/i.test(rawHeaders[i])) {
            host = rawHeaders[i + 1];
            count++;
        }
    if (count === 0 && httpVersion === '1.0') return undefined;
    if (count !== 1) return 'host';
    const [, address, port] = AUTHORITY.exec(host) ?? ['', '', '65536'];
    const isGood = Number(port ?? 0) <= 65535 && (address === undefined || isIPv6(address));
    return isGood ? undefined : 'hostForm';
}

const LONGEST_LIST = 800; // characters of names in a detail

/** The functions by name. */
export class Directory {
    #numbers;
    #names;

    /** `callees`: `{ name, input }`, the input as JSON text or null. */
    constructor(callees) {
        this.#numbers = new Map(callees.map(({ name }, i) => [name, i]));
        this.#names = callees.map(({ name }) => name);
        const items = callees.map(({ name, input }) => `{"name":"${name}","input":${input ?? 'null'}}`);
        this.listing = `{"functions":[${items}]}`;
        let names = '';
        for (const { name } of callees) {
            if (names.length > LONGEST_LIST) {
                names += ', and more';
                break;
            }
            names += `${names && ', '}${name}`;
        }
        this.unknown = `There is no function of that name; available are: ${names}.`;
    }

    nameOf(number) {
        return this.#names[number];
    }

    find(name) {
        return this.#numbers.get(name);
    }
}
