// A store whose file or directory is moved away under the process: no call is accepted that the next start would not find.
import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { assertProblem, RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const moves = [
    ['its data directory', (dir) => [dir, `${dir}.away`]],
    ['its database', (dir) => [join(dir, 'hookline.db'), join(dir, 'away.db')]],
];

for (const [what, pathsOf] of moves) {
    test(`a hookline that loses ${what} refuses asynchronous calls, says why, and goes on when it is back`, async (t) => {
        const { call, sidecar } = await stage(t);
        const accept = () => call(RUN, { query: { async: 'true' } });
        const ready = () => sidecar.admin('/readyz');
        const first = await accept();
        assert.equal(first.status, 202);
        const [from, to] = pathsOf(sidecar.dataDir);

        await rename(from, to);
        const refused = await until('it is refused', async () => {
            const answer = await accept();
            return answer.status === 503 && answer;
        });
        assertProblem(refused, 503);
        assert.equal(refused.json().detail, 'The store cannot accept runs now; try again later.');
        assert.match((await ready()).text, /the store is failing: .* see the log/);
        assert.equal((await call()).status, 200);
        const said = () => sidecar.log.filter((line) => /hookline\.db is not where it was opened/.test(line.msg));
        await until('the log says so', () => said().length > 0);
        assert.equal(said()[0].level, 'error');
        assert.equal(said()[0].path, sidecar.dataDir);

        await rename(to, from);
        await until('it is ready again', async () => (await ready()).status === 200);
        assert.equal((await accept()).status, 202);
        assert.equal((await call(first.headers.location, { method: 'GET' })).status, 200);
        assert.equal(said().length, 1);
    });
}
