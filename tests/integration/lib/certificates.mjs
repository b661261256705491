// certificates.mjs - certificates and keys of a test's own, made by openssl.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const openssl = (...args) => promisify(execFile)('openssl', args);
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A certificate of its own in files: `{ cert, key, pem }`. */
export async function makePair(directory, name, { kind = EC } = {}) {
    const [cert, key] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
    const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
    await openssl('req', '-x509', ...kind, '-days', '2', ...names, '-keyout', key, '-out', cert);
    return { cert, key, pem: await readFile(cert) };
}

/** A certificate that `ca` issues: `{ cert, key }` as bytes, and `files` of them. */
export async function issue(directory, ca, name, { subject, names = 'DNS:client.example', days = '2', usage = 'clientAuth' }) {
    const [key, request, cert, extensions] = ['key', 'csr', 'pem', 'ext'].map((end) => join(directory, `${name}.${end}`));
    await openssl('req', ...EC, '-subj', subject, '-keyout', key, '-out', request);
    await writeFile(extensions, `subjectAltName=${names}\nextendedKeyUsage=${usage}\n`);
    const by = ['-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial', '-extfile', extensions];
    await openssl('x509', '-req', '-in', request, ...by, '-days', days, '-out', cert);
    return { cert: await readFile(cert), key: await readFile(key), files: { cert, key } };
}
