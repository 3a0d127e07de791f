"use strict";
// For node --require: gives Azurite's table service an index of each table by PartitionKey and RowKey.
//
// As it is, it looks for an entity among all of its partition, and filters and sorts a whole table for every page of an
// answer: loading n rows takes n x n steps, an hour and more for a table of some 100,000. What it answers stays the same.

const path = require("path");

const folder = path.dirname(process.argv[1]);
const service = (name) => require(path.join(folder, "persistence", name)).default;
const store = service("LokiTableMetadataStore").prototype;
const filters = service("LokiTableStoreQueryGenerator");

/** The entities of one table in the order of their keys. */
class KeyIndex {
  constructor(collection) {
    this.entities = [];
    this.collection = collection;
    collection.find().forEach((entity) => this.add(entity));
    this.followChanges();
  }

  /** Where the first entity is that is not before these keys. */
  position(partitionKey, rowKey) {
    let low = 0;
    let high = this.entities.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entity = this.entities[middle];
      const isBefore =
        entity.PartitionKey === partitionKey ? entity.RowKey < rowKey : entity.PartitionKey < partitionKey;
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  get(partitionKey, rowKey) {
    const entity = this.entities[this.position(partitionKey, rowKey)];
    return entity?.PartitionKey === partitionKey && entity.RowKey === rowKey ? entity : null;
  }

  add(entity) {
    this.entities.splice(this.position(entity.PartitionKey, entity.RowKey), 0, entity);
  }

  /** All ways in which the service changes a table. */
  followChanges() {
    const { collection } = this;
    const { insert, remove, update, findOne } = collection;
    collection.insert = (entity) => {
      const inserted = insert.call(collection, entity);
      this.add(entity);
      return inserted;
    };
    collection.remove = (entity) => {
      const position = this.position(entity.PartitionKey, entity.RowKey);
      if (this.get(entity.PartitionKey, entity.RowKey)) this.entities.splice(position, 1);
      return remove.call(collection, entity);
    };
    collection.update = (entity) => {
      const updated = update.call(collection, entity);
      this.entities[this.position(entity.PartitionKey, entity.RowKey)] = collection.get(entity.$loki);
      return updated;
    };
    collection.findOne = (query) => {
      const isByKey = Object.keys(query).sort().join() === "PartitionKey,RowKey";
      return isByKey ? this.get(query.PartitionKey, query.RowKey) : findOne.call(collection, query);
    };
  }
}

const indexes = new WeakMap();

function indexOf(collection) {
  if (!indexes.has(collection)) indexes.set(collection, new KeyIndex(collection));
  return indexes.get(collection);
}

const { getEntityCollection } = store;
store.getEntityCollection = function (...table) {
  return indexOf(getEntityCollection.apply(this, table)).collection;
};

store.queryTableEntities = async function (context, account, table, options, nextPartitionKey, nextRowKey) {
  const index = indexOf(this.getEntityCollection(account, table, context));
  const matches = filters.generateQueryForPersistenceLayer(options, context);
  const most = this.getMaxResultsOption(options);
  const from = [nextPartitionKey, nextRowKey].map((key) => this.decodeContinuationHeader(key) ?? "");
  const found = [];
  // One more than is asked for tells where the next page begins.
  for (let at = index.position(...from); at < index.entities.length && found.length <= most; at++) {
    if (matches(index.entities[at])) found.push(index.entities[at]);
  }
  const next = this.adjustQueryResultforTop(found, most);
  return [found, next.nextPartitionKeyResponse, next.nextRowKeyResponse];
};
