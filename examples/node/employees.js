// Reads the sample table with node-postgres.
//
//   cd examples/node && npm install && npm start
import pg from "pg";

const client = new pg.Client({
  host: process.env.PGHOST ?? "127.0.0.1",
  port: Number(process.env.PGPORT ?? 5433),
  database: "tablegate",
  user: "example",
});

await client.connect();
try {
  const { rows } = await client.query(
    `SELECT "RowKey", FirstName, Age, HiredAt FROM employees
     WHERE "PartitionKey" = $1 AND Age > $2 ORDER BY Age DESC`,
    ["Engineering", 30],
  );
  console.table(rows);

  const made = await client.query(
    `INSERT INTO employees ("PartitionKey", "RowKey", "FirstName", "Age") VALUES ($1, $2, $3, $4)
     ON CONFLICT ("PartitionKey", "RowKey") DO UPDATE SET "FirstName" = EXCLUDED."FirstName", "Age" = EXCLUDED."Age"
     RETURNING etag`,
    ["Support", "90001", "Nova", 22],
  );
  console.log("etag of the written entity:", made.rows[0].etag);
  await client.query(`DELETE FROM employees WHERE "PartitionKey" = $1 AND "RowKey" = $2`, ["Support", "90001"]);
} finally {
  await client.end();
}
