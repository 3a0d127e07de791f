// What the checks of the JavaScript SDK share: the account, how a refusal is expected, how they are run.
"use strict";

const assert = require("node:assert");
const { AzureNamedKeyCredential, TableClient, TableServiceClient } = require("@azure/data-tables");

const connection = process.env.TABLES_CONNECTION_STRING;
const parts = Object.fromEntries(connection.split(";").filter(Boolean).map((part) => part.split(/=(.*)/s).slice(0, 2)));
const credential = new AzureNamedKeyCredential(parts.AccountName, parts.AccountKey);
const insecure = { allowInsecureConnection: true };
const service = TableServiceClient.fromConnectionString(connection, insecure);
const table = async (name) => {
  await service.createTable(name);
  return new TableClient(parts.TableEndpoint, name, credential, insecure);
};
const all = async (pages) => {
  const found = [];
  for await (const one of pages) found.push(one);
  return found;
};
const fails = async (code, run) => {
  await assert.rejects(run, (error) => {
    const told = `${error.code} ${error.details?.odataError?.code} ${error.message}`;
    assert.ok(told.includes(code), `${told} instead of ${code}`);
    return true;
  });
};

const run = async (checks) => {
  try {
    for (const [name, check] of Object.entries(checks)) {
      if (process.argv[2] && !name.includes(process.argv[2])) continue;
      await check();
      console.log("ok", name);
    }
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
};

module.exports = { parts, credential, insecure, service, table, all, fails, run };
