// @azure/data-tables in its odd corners: keys of all characters, types as they are told, errors of transactions.
"use strict";

const assert = require("node:assert");
const { TableClient, TableServiceClient, odata } = require("@azure/data-tables");
const { parts, credential, insecure, service, table, all, fails, run } = require("./common.js");

const CHARACTERS = ["", "'", "''", '"', "{}", "[]", "()", ":", "@", "&", "=", "+", ",", "$", "-", "_", "<>", ";", "~", "^", "!", "%", "*", "é", "😀", " "];

const checks = {
  async "every key is found by every operation"() {
    const client = await table("jsKeys");
    for (const text of CHARACTERS) {
      const [partitionKey, rowKey] = [`foo${text}`, `${text}bar`];
      const entity = { partitionKey, rowKey, value: `test${text}` };
      assert.ok((await client.createEntity(entity)).etag);
      for (const mode of ["Merge", "Replace"]) {
        assert.ok((await client.upsertEntity(entity, mode)).etag);
        assert.ok((await client.updateEntity(entity, mode)).etag);
      }
      const back = await client.getEntity(partitionKey, rowKey);
      assert.deepStrictEqual([back.partitionKey, back.rowKey, back.value], [partitionKey, rowKey, `test${text}`]);
      for (const filter of [odata`PartitionKey eq ${partitionKey}`, odata`RowKey eq ${rowKey}`, odata`value eq ${`test${text}`}`]) {
        const found = await all(client.listEntities({ queryOptions: { filter } }));
        assert.deepStrictEqual(found.map((one) => one.rowKey), [rowKey], filter);
      }
    }
    const keys = CHARACTERS.map((text) => ({ partitionKey: "in'one", rowKey: `${text}bar`, value: text }));
    for (const action of [["create"], ["upsert", "Merge"], ["upsert", "Replace"], ["update", "Merge"], ["update", "Replace"], ["delete"]]) {
      const done = await client.submitTransaction(keys.map((key) => [action[0], key, ...action.slice(1)]));
      assert.strictEqual(done.status, 202);
      assert.strictEqual(done.subResponses.length, keys.length);
      assert.ok(done.subResponses.every((one) => one.status === 204));
      const found = await all(client.listEntities({ queryOptions: { filter: odata`PartitionKey eq ${"in'one"}` } }));
      assert.strictEqual(found.length, action[0] === "delete" ? 0 : keys.length);
    }
  },

  async "types are told as they are"() {
    const client = await table("jsKinds");
    const key = { partitionKey: "p", rowKey: "r" };
    const typed = {
      int32: { value: "10", type: "Int32" },
      int64: { value: "12345678910", type: "Int64" },
      double: { value: "123.123", type: "Double" },
      whole: { value: "7", type: "Double" },
      boolean: { value: "true", type: "Boolean" },
      dateTime: { value: "1999-12-31T23:59:59.9999999Z", type: "DateTime" },
      guid: { value: "a493e37b-e7ed-4c60-9b56-4c0e4f0a1d3c", type: "Guid" },
      binary: { value: "AP8=", type: "Binary" },
      string: { value: "it's", type: "String" },
    };
    await client.createEntity({ ...key, ...typed });
    const back = await client.getEntity("p", "r", { disableTypeConversion: true });
    for (const name of ["int64", "dateTime", "guid", "binary"]) assert.deepStrictEqual(back[name], typed[name], name);
    const plain = await client.getEntity("p", "r");
    assert.deepStrictEqual([plain.int32, plain.int64, plain.double, plain.whole], [10, 12345678910n, 123.123, 7]);
    assert.deepStrictEqual([plain.boolean, plain.string], [true, "it's"]);
    const filters = [
      odata`int32 eq ${10}`,
      "int64 eq 12345678910L",
      "double gt 123.0",
      "dateTime eq datetime'1999-12-31T23:59:59.9999999Z'",
      "guid eq guid'a493e37b-e7ed-4c60-9b56-4c0e4f0a1d3c'",
      "binary eq X'00ff'",
      odata`string eq ${"it's"}`,
    ];
    for (const filter of filters) {
      assert.strictEqual((await all(client.listEntities({ queryOptions: { filter } }))).length, 1, filter);
    }
    const chosen = await client.getEntity("p", "r", { queryOptions: { select: ["int32", "none"] } });
    assert.strictEqual(chosen.int32, 10);
    assert.ok(!("double" in chosen) && chosen.partitionKey === undefined);
  },

  async "a transaction names what it fails for"() {
    const client = await table("jsFailures");
    await client.createEntity({ partitionKey: "p", rowKey: "there" });
    const failing = [
      ["upsert", { partitionKey: "p", rowKey: "1" }],
      ["create", { partitionKey: "p", rowKey: "there" }],
    ];
    await assert.rejects(client.submitTransaction(failing), (error) => {
      assert.strictEqual(error.statusCode, 409);
      assert.strictEqual(error.code, "EntityAlreadyExists");
      assert.ok(error.message.includes("1:The specified entity already exists."), error.message);
      return true;
    });
    assert.strictEqual((await all(client.listEntities())).length, 1);
    const missing = new TableClient(parts.TableEndpoint, "jsNowhere", credential, insecure);
    await fails("TableNotFound", () => missing.submitTransaction([["create", { partitionKey: "p", rowKey: "1" }]]));
    await assert.rejects(missing.getEntity("p", "r"), (error) => {
      assert.strictEqual(error.statusCode, 404);
      assert.strictEqual(error.details.odataError.code, "TableNotFound");
      return true;
    });
  },

  async "tables have pages and policies"() {
    const names = Array.from({ length: 5 }, (_, index) => `jsPaged${index}`);
    for (const name of names) await service.createTable(name);
    const filter = odata`TableName ge ${"jsPaged0"} and TableName lt ${"jsPagee"}`;
    const pages = await all(service.listTables({ queryOptions: { filter } }).byPage({ maxPageSize: 2 }));
    assert.deepStrictEqual(pages.map((page) => page.map((one) => one.name)), [names.slice(0, 2), names.slice(2, 4), names.slice(4)]);
    const client = new TableClient(parts.TableEndpoint, "jsPaged0", credential, insecure);
    const [start, expiry] = [new Date("2021-06-08T02:10:09Z"), new Date("2099-06-08T02:10:09Z")];
    await client.setAccessPolicy([{ id: "null" }, { id: "empty", accessPolicy: {} }, { id: "full", accessPolicy: { start, expiry, permission: "raud" } }]);
    const kept = await client.getAccessPolicy();
    assert.deepStrictEqual(kept.map((one) => one.id), ["null", "empty", "full"]);
    assert.deepStrictEqual(kept[2].accessPolicy.start, start);
    assert.strictEqual(kept[2].accessPolicy.permission, "raud");
  },
};

run(checks);
