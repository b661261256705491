// tokens.mjs - an issuer of tokens: keys made when a test runs, signed by the jose library, and hostile ones by hand.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createHmac, createSign, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { SignJWT, base64url, exportJWK, exportSPKI, generateKeyPair } from 'jose';

/** Everything that a test run's tokens and secrets are recognised by in an output: see sidecar.mjs. */
export const MARK = 'c0ffee-token';

export const seconds = (offset = 0) => Math.floor(Date.now() / 1000) + offset;

/** One key pair: `{ alg, kid, privateKey, publicKey, jwk }`. */
export async function makeKey(alg = 'ES256', kid = `key-${randomUUID()}`, options = {}) {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true, ...options });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
    return { alg, kid, privateKey, publicKey, jwk, pem: () => exportSPKI(publicKey) };
}

/** A shared secret of `bytes` bytes, as text. */
export const makeSecret = (bytes = 48) => randomBytes(bytes).toString('base64url').slice(0, bytes);

export const jwks = (...keys) => JSON.stringify({ keys: keys.map((key) => key.jwk ?? key) });

/** The claims of a good token for project p; `claims` overrides, undefined takes one out. */
export function makeClaims(claims = {}) {
    const all = {
        sub: `someone-${randomUUID()}`,
        project_id: 'p',
        iat: seconds(),
        exp: seconds(3600),
        jti: `${MARK}-${randomUUID()}`,
        ...claims,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** A token, by jose. `key` of makeKey, or a secret's text. */
export async function sign(key, claims = {}, header = {}) {
    const isSecret = typeof key === 'string';
    const all = { alg: isSecret ? 'HS256' : key.alg, kid: key.kid, typ: 'JWT', ...header };
    for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name];
    return new SignJWT(makeClaims(claims))
        .setProtectedHeader(all)
        .sign(isSecret ? new TextEncoder().encode(key) : key.privateKey);
}

const encode = (value) =>
    base64url.encode(typeof value === 'string' ? value : JSON.stringify(value));

/** A certificate that vouches for itself, for a key set's server at 127.0.0.1: `{ file, key, cert }`. */
export async function makeCertificate(directory, name = 'issuer') {
    const [keyFile, file] = ['key', 'cert'].map((what) => join(directory, `${name}-${what}.pem`));
    await promisify(execFile)('openssl', [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
        ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', file],
    ]);
    return { file, key: await readFile(keyFile), cert: await readFile(file) };
}

/** A token of any header and claims (objects, or the very text), with a signature of the caller's making. */
export function forge(header, claims, signature = () => '') {
    const part = `${encode(header)}.${encode(claims)}`;
    return `${part}.${base64url.encode(signature(part))}`;
}

export const hmac = (secret) => (part) => createHmac('sha256', secret).update(part).digest();

/** ES256 or RS256 with this key, in the raw form of JWS, or as DER. */
export const signature =
    (key, { dsaEncoding = 'ieee-p1363' } = {}) =>
    (part) =>
        createSign('sha256').update(part).sign({ key: key.privateKey, dsaEncoding });

/** The same token with one part replaced. */
export function withPart(token, index, replace) {
    const parts = token.split('.');
    parts[index] = replace(parts[index]);
    return parts.join('.');
}

export const decode = (part) => JSON.parse(new TextDecoder().decode(base64url.decode(part)));
export const changeClaims = (token, change) =>
    withPart(token, 1, (part) => encode({ ...decode(part), ...change }));

export { generateKeyPairSync };
