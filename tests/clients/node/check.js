// node-postgres: one line `ok ...` a check, and the first that fails ends the run.
const assert = require("node:assert/strict");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const copy = require("pg-copy-streams");

async function check(name, body) {
  await body();
  console.log("ok", name);
}

const MOMENT = new Date("2024-02-29T23:59:59.123Z");
const CODE = "6f9619ff-8b86-d011-b42d-00c04fc964ff";

async function main() {
  const client = new Client(); // everything comes from the environment
  await check("connects with a password", () => client.connect());
  await check("makes a table", () =>
    client.query(`CREATE TABLE parcels (depot text, id int, name text, price numeric(10, 2), weight float8, serial bigint,
      sent boolean, label bytea, code uuid, posted timestamptz, tags text[], extra jsonb, PRIMARY KEY (depot, id))`));
  await check("all types, there and back", async () => {
    const values = ["north", 1, "Zoë's", "12.50", 2.25, "1099511627776", true, Buffer.from([0, 92, 255]), CODE, MOMENT, ["a", "b,c"], { k: [1, null] }];
    await client.query("INSERT INTO parcels VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", values);
    const { rows, fields } = await client.query("SELECT * FROM parcels");
    assert.deepEqual(Object.values(rows[0]), values);
    assert.deepEqual(fields.map((field) => field.dataTypeID), [25, 23, 25, 1700, 701, 20, 16, 17, 2950, 1184, 1009, 3802]);
  });
  await check("each type as a parameter", async () => {
    for (const [column, value] of [["name", "Zoë's"], ["price", "12.5"], ["weight", 2.25], ["serial", "1099511627776"], ["sent", true], ["code", CODE], ["posted", MOMENT]]) {
      const { rowCount } = await client.query(`SELECT id FROM parcels WHERE ${column} = $1`, [value]);
      assert.equal(rowCount, 1, column);
    }
    const { rows } = await client.query("SELECT count(*)::int AS n FROM parcels WHERE depot = ANY($1)", [["north", "south"]]);
    assert.deepEqual(rows, [{ n: 1 }]);
  });
  await check("a named statement, text and binary", async () => {
    for (let turn = 0; turn < 3; turn++) {
      const asked = { name: "by-key", text: "SELECT name FROM parcels WHERE depot = $1 AND id = $2", values: ["north", 1] };
      assert.equal((await client.query(asked)).rows[0].name, "Zoë's");
    }
    const binary = await client.query({ text: "SELECT id, serial, sent FROM parcels", values: [], binary: true });
    assert.deepEqual([binary.rows[0].id, binary.rows[0].sent], [1, true]);
  });
  await check("several statements in one query", async () => {
    const results = await client.query("SELECT 1 AS a; SELECT 2 AS b");
    assert.deepEqual(results.map((result) => result.rows[0]), [{ a: 1 }, { b: 2 }]);
  });
  await check("upsert, update and delete, with counts and RETURNING", async () => {
    const upsert = "INSERT INTO parcels (depot, id, weight) VALUES ($1, $2, $3) ON CONFLICT (depot, id) DO UPDATE SET weight = EXCLUDED.weight RETURNING weight";
    assert.deepEqual((await client.query(upsert, ["north", 1, 4])).rows, [{ weight: 4 }]);
    assert.equal((await client.query("UPDATE parcels SET weight = weight + 1 WHERE depot = $1", ["north"])).rowCount, 1);
    assert.equal((await client.query("DELETE FROM parcels WHERE depot = $1", ["nowhere"])).rowCount, 0);
  });
  await check("a transaction is rolled back", async () => {
    await client.query("BEGIN");
    await client.query("DELETE FROM parcels");
    await client.query("ROLLBACK");
    assert.equal((await client.query("SELECT * FROM parcels")).rowCount, 1);
  });
  await check("COPY both ways", async () => {
    const lines = Readable.from(Array.from({ length: 300 }, (_, n) => `south\t${n}\t${n / 4}\n`));
    await pipeline(lines, client.query(copy.from("COPY parcels (depot, id, weight) FROM STDIN")));
    let text = "";
    for await (const piece of client.query(copy.to("COPY (SELECT id, weight FROM parcels WHERE depot = 'south' ORDER BY id) TO STDOUT (FORMAT csv, HEADER)"))) text += piece;
    assert.equal(text.split("\n")[300], "299,74.75");
  });
  await check("a cursor", async () => {
    const cursor = client.query(new Cursor("SELECT * FROM parcels WHERE depot = $1", ["south"]));
    let found = 0;
    for (let rows = await cursor.read(70); rows.length > 0; rows = await cursor.read(70)) found += rows.length;
    await cursor.close();
    assert.equal(found, 300);
  });
  await check("errors have SQLSTATEs", async () => {
    for (const [sql, code] of [["SELECT * FROM nowhere", "42P01"], ["INSERT INTO parcels (depot, id) VALUES ('north', 1)", "23505"], ["SELECT 1/0", "22012"]]) {
      await assert.rejects(client.query(sql), { code });
    }
    await assert.rejects(client.query("SELECT $1::int", ["x"]), { code: "22P02" });
  });
  await check("a pool with settings", async () => {
    const pool = new Pool({ max: 3, application_name: "checks", statement_timeout: 5000, options: "-c search_path=public" });
    const answers = await Promise.all([1, 2, 3, 4].map((n) => pool.query("SELECT $1::int AS n, current_setting('application_name') AS name", [n])));
    assert.deepEqual(answers.map((answer) => answer.rows[0]), [1, 2, 3, 4].map((n) => ({ n, name: "checks" })));
    assert.equal((await pool.query("SHOW statement_timeout")).rows[0].statement_timeout, "5s");
    await pool.end();
  });
  await check("notifications", async () => {
    const heard = new Promise((resolve) => client.once("notification", resolve));
    await client.query("LISTEN depots");
    await client.query("NOTIFY depots, 'open'");
    const { channel, payload } = await heard;
    assert.deepEqual([channel, payload], ["depots", "open"]);
  });
  await check("TLS", async () => {
    const encrypted = new Client({ ssl: { rejectUnauthorized: false } });
    await encrypted.connect();
    const { rows } = await encrypted.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    assert.deepEqual(rows, [{ ssl: true }]);
    await encrypted.end();
  });
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
