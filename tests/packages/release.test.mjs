// The files that are handed out: what they say is in them, that they are the same each time, and their signatures.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, copyFile, readFile, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from '../integration/lib/case.mjs';
import { openssl } from '../integration/lib/certificates.mjs';
import { temporaryDirectory } from '../integration/lib/sidecar.mjs';
import { ARCHIVE, bundle, lacking as skip } from './roots.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);
const sumOf = async (file) => createHash('sha256').update(await readFile(file)).digest('hex');
const sbomOf = async (folder) => JSON.parse(await readFile(join(folder, 'sbom.spdx.json'), 'utf8'));

test('the SBOM has each file of the bundle with its sum, and each library with its package and licence', { skip }, async () => {
    const folder = await bundle();
    const { spdxVersion, files, packages, relationships } = await sbomOf(folder);
    assert.equal(spdxVersion, 'SPDX-2.3');
    const told = new Map(files.map(({ fileName, SPDXID, checksums }) => [
        fileName.slice(2), { id: SPDXID, sum: checksums.find(({ algorithm }) => algorithm === 'SHA256').checksumValue },
    ]));
    const { stdout } = await execute('find', [folder, '-type', 'f', '-printf', '%P\n']);
    const found = stdout.trim().split('\n').filter((name) => name !== 'sbom.spdx.json');
    assert.deepEqual([...told.keys()].sort(), found.sort());
    for (const name of found) assert.equal(told.get(name).sum, await sumOf(join(folder, name)), name);

    const licences = await readdir(join(folder, 'licenses'));
    for (const name of found.filter((one) => /^lib\/.*\.so/.test(one))) {
        const owner = relationships.find(({ relatedSpdxElement }) => relatedSpdxElement === told.get(name).id)?.spdxElementId;
        const known = packages.find(({ SPDXID }) => SPDXID === owner);
        assert.match(known?.externalRefs?.[0].referenceLocator ?? '', /^pkg:deb\/debian\/[^@]+@\d\S+\?arch=/, name);
        assert.ok(licences.includes(known.name), name);
    }
    for (const name of ['node-llhttp', 'ca-certificates', 'libc6-dev'])
        assert.ok(packages.some((one) => one.name === name) && licences.includes(name), name);
});

test('a bundle and an image that are made again are the same', { skip }, async () => {
    const before = await sumOf(ARCHIVE);
    const image = ARCHIVE.replace(/\.tar\.gz$/, '.image.tar');
    const make = async () => {
        await execute('cmake', ['--build', dirname(ARCHIVE), '--target', 'image']);
        return sumOf(image);
    };
    const first = await make();
    assert.equal(await make(), first);
    assert.equal(await sumOf(ARCHIVE), before);
});

test('a release’s files are verified with its public key, and one that was changed is not', { skip }, async (t) => {
    const directory = await temporaryDirectory(t);
    const [key, file] = [join(directory, 'release.key'), join(directory, basename(ARCHIVE))];
    await copyFile(ARCHIVE, file);
    await openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key);
    await execute(join(ROOT, 'deploy/bundle/sign.sh'), [key, file]);
    const verify = () =>
        openssl('dgst', '-sha256', '-verify', join(directory, 'hookline-release.pub'), '-signature', `${file}.sig`, file);
    assert.match((await verify()).stdout, /Verified OK/);
    await appendFile(file, 'x');
    await assert.rejects(verify());
    assert.doesNotMatch(await readFile(join(directory, 'hookline-release.pub'), 'utf8'), /PRIVATE/);
});
