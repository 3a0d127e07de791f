// @azure/data-tables against a tablegate store, as its users use it.
"use strict";

const assert = require("node:assert");
const {
  AzureNamedKeyCredential,
  AzureSASCredential,
  TableClient,
  TableServiceClient,
  TableTransaction,
  generateTableSas,
  generateAccountSas,
  odata,
} = require("@azure/data-tables");
const { parts, credential, insecure, service, table, all, fails, run } = require("./common.js");

const checks = {
  async "tables are made, listed and deleted"() {
    await service.createTable("jsListed");
    await service.createTable("jsListed"); // The SDK takes a table that is there for made.
    const names = (await all(service.listTables())).map((one) => one.name);
    assert.ok(names.includes("jsListed"), names);
    const found = await all(service.listTables({ queryOptions: { filter: odata`TableName eq ${"jsListed"}` } }));
    assert.deepStrictEqual(found.map((one) => one.name), ["jsListed"]);
    await service.deleteTable("jsListed");
    await service.deleteTable("jsListed");
  },

  async "all types come back as they went"() {
    const client = await table("jsTypes");
    const at = new Date("2024-02-29T12:30:15.123Z");
    const guid = { value: "a493e37b-e7ed-4c60-9b56-4c0e4f0a1d3c", type: "Guid" };
    await client.createEntity({
      partitionKey: "it's",
      rowKey: "a b%é",
      text: "Grüße 😀 \"quoted\"\n",
      small: 5,
      real: 1.5,
      large: 9007199254740993n,
      typed: { value: "12", type: "Int64" },
      yes: true,
      at,
      guid,
      bytes: new Uint8Array([0, 1, 255]),
    });
    const back = await client.getEntity("it's", "a b%é");
    assert.strictEqual(back.text, "Grüße 😀 \"quoted\"\n");
    assert.strictEqual(back.small, 5);
    assert.strictEqual(back.real, 1.5);
    assert.strictEqual(back.large, 9007199254740993n);
    assert.strictEqual(back.typed, 12n);
    assert.strictEqual(back.yes, true);
    assert.strictEqual(new Date(back.at).getTime(), at.getTime());
    assert.deepStrictEqual(back.guid, guid);
    assert.deepStrictEqual([...back.bytes], [0, 1, 255]);
    assert.ok(back.etag && back.timestamp);
    const exact = await client.getEntity("it's", "a b%é", { disableTypeConversion: true });
    assert.deepStrictEqual(exact.small, { value: "5", type: "Int32" });
  },

  async "entities are written with conditions"() {
    const client = await table("jsWrites");
    const key = { partitionKey: "p", rowKey: "r" };
    const made = await client.createEntity({ ...key, a: 1 });
    await fails("EntityAlreadyExists", () => client.createEntity(key));
    await client.updateEntity({ ...key, b: 2 }, "Merge");
    const now = await client.updateEntity({ ...key, c: 3 }, "Replace");
    await fails("UpdateConditionNotSatisfied", () => client.updateEntity({ ...key, d: 4 }, "Merge", { etag: made.etag }));
    await client.updateEntity({ ...key, d: 4 }, "Merge", { etag: now.etag });
    const back = await client.getEntity("p", "r");
    assert.deepStrictEqual([back.a, back.b, back.c, back.d], [undefined, undefined, 3, 4]);
    await client.upsertEntity({ ...key, e: 5 }, "Merge");
    await client.upsertEntity({ partitionKey: "p", rowKey: "new", e: 5 }, "Replace");
    await client.deleteEntity("p", "r");
    await fails("ResourceNotFound", () => client.deleteEntity("p", "r"));
    await fails("ResourceNotFound", () => client.getEntity("p", "r"));
  },

  async "batches are all or nothing"() {
    const client = await table("jsBatches");
    const transaction = new TableTransaction();
    for (let i = 0; i < 99; i++) transaction.createEntity({ partitionKey: "p", rowKey: `${i}`, n: i });
    transaction.upsertEntity({ partitionKey: "p", rowKey: "99", n: 99 }, "Replace");
    const done = await client.submitTransaction(transaction.actions);
    assert.strictEqual(done.status, 202);
    assert.strictEqual(done.subResponses.length, 100);
    assert.ok(done.subResponses.every((one) => one.status === 204 && one.etag));
    const refused = [
      ["delete", { partitionKey: "p", rowKey: "0" }],
      ["create", { partitionKey: "p", rowKey: "1" }],
    ];
    await fails("EntityAlreadyExists", () => client.submitTransaction(refused));
    assert.strictEqual((await client.getEntity("p", "0")).n, 0);
  },

  async "queries have pages and filters"() {
    const client = await table("jsQueries");
    const row = (i) => ["create", { partitionKey: "a", rowKey: `${i}`.padStart(3, "0"), n: i, even: i % 2 === 0 }];
    await client.submitTransaction(Array.from({ length: 100 }, (_, i) => row(i)));
    const filter = odata`PartitionKey eq ${"a"} and n lt ${6} and even eq ${true}`;
    const found = await all(client.listEntities({ queryOptions: { filter, select: ["n"] } }));
    assert.deepStrictEqual(found.map((one) => one.n), [0, 2, 4]);
    const pages = await all(client.listEntities().byPage({ maxPageSize: 30 }));
    assert.deepStrictEqual(pages.map((page) => page.length), [30, 30, 30, 10]);
    const rest = await all(client.listEntities().byPage({ maxPageSize: 100, continuationToken: pages[0].continuationToken }));
    assert.strictEqual(rest.flat().length, 70);
    await fails("InvalidInput", () => all(client.listEntities({ queryOptions: { filter: "aaa bbb ccc" } })));
  },

  async "signatures let in as far as they say"() {
    const client = await table("jsSigned");
    await client.createEntity({ partitionKey: "a", rowKey: "1" });
    const expiresOn = new Date(Date.now() + 3600_000);
    const sas = generateTableSas("jsSigned", credential, { permissions: { query: true }, expiresOn });
    const reader = new TableClient(parts.TableEndpoint, "jsSigned", new AzureSASCredential(sas), insecure);
    assert.strictEqual((await all(reader.listEntities())).length, 1);
    await fails("AuthorizationPermissionMismatch", () => reader.deleteEntity("a", "1"));
    await client.setAccessPolicy([{ id: "reader", accessPolicy: { permission: "r", expiry: expiresOn } }]);
    assert.strictEqual((await client.getAccessPolicy())[0].id, "reader");
    const ofAccount = generateAccountSas(credential, { permissions: { list: true }, resourceTypes: "sco", expiresOn });
    const lister = new TableServiceClient(parts.TableEndpoint, new AzureSASCredential(ofAccount), insecure);
    assert.ok((await all(lister.listTables())).length > 0);
    const wrong = new AzureNamedKeyCredential(parts.AccountName, "d3Jvbmc=");
    await fails("AuthenticationFailed", () => all(new TableServiceClient(parts.TableEndpoint, wrong, insecure).listTables()));
  },

  async "the service is set and asked"() {
    const cors = [{ allowedOrigins: "http://a", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds: 5 }];
    await service.setProperties({ cors });
    assert.strictEqual((await service.getProperties()).cors[0].allowedOrigins, "http://a");
    await service.setProperties({ cors: [] });
  },
};

run(checks);
