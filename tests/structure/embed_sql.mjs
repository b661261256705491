// What the build says of a .sql file that is wrong: each mistake is an error with file and line.
//
//   node tests/structure/embed_sql.mjs
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directory = mkdtempSync(join(tmpdir(), 'hookline-sql-'));
let faults = 0;

// `bound`: what the only C file says. What was written, or what was said of it.
function embed(sql, bound = '') {
    const file = join(directory, 'run.sql'), source = join(directory, 'run.c'), out = join(directory, 'out');
    writeFileSync(file, sql);
    writeFileSync(source, bound);
    const result = spawnSync('cmake', [`-DOUT=${out}`, '-DINCLUDE=out.h', '-DDIALECT=postgres', '-DNAME=hl_try', '-DSTATEMENT=HL_TRY',
        '-DPARAM=HL_P', `-DFILES=${file}`, '-DPARTS=', '-DROOT=proxy', '-DHEADERS=store/record.h', '-DTABLES=store/record.h;store/record.c', `-DSOURCES=${source}`,
        '-P', 'proxy/store/embed_sql.cmake'], { encoding: 'utf8' });
    return result.status === 0 ? { text: readFileSync(`${out}.c`, 'utf8'), plain: readFileSync(join(out, 'run.sql'), 'utf8') }
        : { error: result.stderr };
}

function check(what, holds, seen) {
    if (holds)
        return;
    faults++;
    console.error(`embed_sql: ${what}:\n${seen}`);
}

function refuses(what, sql, line, words) {
    const { error = 'it was taken' } = embed(sql, 'HL_P_RUN_ID');
    check(what, error.includes(`run.sql:${line}: `) && error.includes(words), error);
}

refuses('a state that there is none of', '-- name: A\nSELECT 1\nWHERE state = {run_state.done};\n', 3, '{run_state.done}');
refuses('a part that comes later', '-- name: A\nSELECT {all} FROM run;\n-- part: all\n*;\n', 2, '{all}');
refuses('a part without its argument', '-- part: of(x)\n{x}.*;\n-- name: A\nSELECT {of};\n', 4, '(x)');
refuses('the same name twice', '-- name: A\nSELECT 1;\n-- name: A\nSELECT 2;\n', 4, 'A has been said before: run.sql:1');
refuses('no semicolon before the next', '-- name: A\nSELECT 1\n-- name: B\nSELECT 2;\n', 3, 'run.sql:1 A does not end');
refuses('no semicolon at the end', '-- name: A\nSELECT 1\n', 3, 'run.sql:1 A does not end');
refuses('two statements of one name', '-- name: A\nSELECT 1; SELECT 2;\n', 2, 'a semicolon ends A');
refuses('a statement without a name', '-- name: A\nSELECT 1;\nSELECT 2;\n', 3, 'has no name');
refuses('a name in small letters', '-- name: run_add\nSELECT 1;\n', 1, '"run_add"');
refuses('a parameter that nobody binds', '-- name: A\nSELECT 1 FROM run\nWHERE run_id = :run OR run_id = :run_id;\n', 3, ':run is bound nowhere');

const made = embed(`-- part: ended
state >= {run_state.success}; -- all that are final

-- name: A
-- It's a comment; with a semicolon and :no parameter.
SELECT ':text {run_state.success}', '{0,1}'::text[], x::bigint FROM :schema.run -- why
WHERE app = :app::text AND \` <> '' AND {ended} AND run_id = :run_id::uuid AND (:app::text)[1] <> ':schema.x;';
`, 'HL_P_APP HL_P_RUN_ID');
for (const part of ['"SELECT \':text 2\', \'{0,1}\'::text[], x::bigint FROM ~.run\\n"',
    '"WHERE app = $1::text AND ` <> \'\' AND state >= 2 AND run_id = $2::uuid AND ($1::text)[1] <> \'~.x;\'"',
    'params_of_A[] = {HL_P_APP, HL_P_RUN_ID, HL_STATEMENT_END}', '_Static_assert(HL_RUN_SUCCESS == 2'])
    check(`C has ${part}`, made.text?.includes(part), made.text ?? made.error);
for (const part of ['-- It\'s a comment', 'FROM :schema.run', 'app = :app::text AND \'?\' <> \'\' AND state >= 2 AND', '<> \'hookline.x;\';'])
    check(`psql reads ${part}`, made.plain?.includes(part), made.plain ?? made.error);

// Tables of columns, and lists of rows in a header: their parameters are bound by where they stand.
const listed = embed('-- name: A\nINSERT INTO t ({outcome_columns})\nSELECT {run_columns_of(r)} FROM unnest({terms_arrays}, {account_arrays});\n');
for (const part of ['INSERT INTO t (finished_ms, reason, http_status, content_type, content_encoding, encoding, escaped_size, error, gate_us, connect_us, first_byte_us)',
    'SELECT r.created_ms, r.method, r.path, r.identity, r.rerun_of, r.priority, r.tags FROM', 'unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::bigint[]',
    '{HL_P_PRIORITY, HL_P_TAGS, HL_P_PROJECT, HL_P_NAME, HL_P_ROLE,'])
    check(`a table makes ${part}`, listed.text?.includes(part), listed.text ?? listed.error);

rmSync(directory, { recursive: true });
console.log(faults ? `embed_sql: ${faults} faults` : 'embed_sql: no faults');
process.exitCode = faults ? 1 : 0;
