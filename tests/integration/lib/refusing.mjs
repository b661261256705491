// refusing.mjs - a replica whose database can be told to refuse what it asks.
import { fleet } from './replicas.mjs';
import { gate } from './until.mjs';

/** One replica whose runs wait in its app for `doors`; `change` as the superuser, `~` is the schema. */
export async function refusing(t, env, database) {
    const doors = gate();
    const all = await fleet(t, {
        database,
        env: { HOOKLINE_REPLICA_TTL: '60s', ...env },
        app: async (x) => {
            const body = await x.body();
            await doors.promise;
            await x.send(200, { 'content-type': 'text/plain' }, body);
        },
    });
    const a = await all.add('a');
    const change = (sql) => all.database.superuser(sql.replaceAll('~', all.database.schema));
    const readyz = async () => (await a.sidecar.admin('/readyz')).text;
    return { all, a, doors, change, readyz };
}

/** The log has a refusal of that SQLSTATE. */
export const refused = (a, state) => a.sidecar.logged(({ sqlstate }) => sqlstate === state);

/** The table as somebody else's, of which the replica may do all but `right`. */
export async function keepFrom({ all, change }, right, table) {
    await change(`ALTER TABLE ~.${table} OWNER TO postgres`);
    await change(`GRANT ALL ON ~.${table} TO ${all.database.role}`);
    await change(`REVOKE ${right} ON ~.${table} FROM ${all.database.role}`);
}
