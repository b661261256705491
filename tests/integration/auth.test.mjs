// Authentication: who has a good token reaches the app, and nobody else does.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { jwks, makeKey, makeSecret, sign } from './lib/tokens.mjs';

test('good tokens of all three algorithms reach the app', async (t) => {
    const ec = await makeKey('ES256');
    const rsa = await makeKey('RS256');
    const secret = makeSecret();
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, jwks(ec, rsa));
    const { app, call } = await stage(t, {
        env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_JWKS_FILE: file, HOOKLINE_JWT_SECRET: secret },
    });
    for (const key of [ec, rsa, secret]) {
        const token = await sign(key);
        for (let i = 0; i < 3; i++) {
            const r = await call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' });
            assert.equal(r.status, 200, r.text);
        }
    }
    assertProblem(await call(RUN, { body: '{}' }), 401);
});
