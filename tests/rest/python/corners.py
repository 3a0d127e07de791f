"""azure-data-tables in its odd corners: keys and values at their limits, what answers say at each level of metadata, errors of
batches and their places."""

import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import (
    AccountSasPermissions,
    EdmType,
    EntityProperty,
    RequestTooLargeError,
    ResourceTypes,
    TableAccessPolicy,
    TableClient,
    TableSasPermissions,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_account_sas,
    generate_table_sas,
)

from common import ACCOUNT, CONNECTION, CREDENTIAL, ENDPOINT, KEY, SOON, check, fails, new_table, run_checks, service

KEYS = ["", "'", "''", "it's", '"', "%", "%25", "a%20b", "+", "a b", " ", "&=", "$,;:@!*()[]{}<>~^|`", "é", "ä\u0308", "日本", "😀", "x" * 512, "(", "='"]


@check
def every_key_is_found_by_every_operation():
    table = new_table("keys")
    for index, key in enumerate(KEYS):
        for pk, rk in ((key, "r"), ("p", key), (key, key)):
            entity = {"PartitionKey": pk, "RowKey": rk, "n": index}
            if (pk, rk) != ("p", "r"):
                table.create_entity(entity)
            fails(ResourceExistsError, "EntityAlreadyExists", lambda: table.create_entity(entity))
            back = table.get_entity(pk, rk)
            assert (back["PartitionKey"], back["RowKey"], back["n"]) == (pk, rk, index)
            table.update_entity({**entity, "n": -1})
            table.update_entity({**entity, "m": 1}, mode=UpdateMode.REPLACE)
            table.upsert_entity({**entity, "k": 1})
            assert set(table.get_entity(pk, rk)) == {"PartitionKey", "RowKey", "n", "m", "k"}
            found = list(table.query_entities("PartitionKey eq @p and RowKey eq @r", parameters={"p": pk, "r": rk}))
            assert len(found) == 1, (pk, rk, found)
            table.submit_transaction([("upsert", {**entity, "b": 1}, {"mode": "replace"})])
            table.submit_transaction([("update", {**entity, "c": 1})])
            assert table.get_entity(pk, rk)["c"] == 1
            table.submit_transaction([("delete", entity)])
            fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.get_entity(pk, rk))
            table.submit_transaction([("create", entity)])
            table.delete_entity(pk, rk)


@check
def keys_that_cannot_be_are_refused():
    table = new_table("nokeys")
    for bad in ["a/b", "a\\b", "a#b", "a?b", "a\nb", "\t", "\u0000", "\u007f", "\u0085"]:
        for keys in ({"PartitionKey": bad, "RowKey": "r"}, {"PartitionKey": "p", "RowKey": bad}):
            error = fails(HttpResponseError, "OutOfRangeInput", lambda: table.create_entity(keys))
            assert error.status_code == 400 and "out of range" in str(error), error
    fails(HttpResponseError, "PropertyValueTooLarge", lambda: table.create_entity({"PartitionKey": "x" * 1025, "RowKey": ""}))
    fails(ValueError, "PartitionKey must be present", lambda: table.create_entity({"RowKey": "r"}))
    fails(ValueError, "RowKey must be present", lambda: table.create_entity({"PartitionKey": "p"}))
    for wrong in [1, 1.5, True, b"x", datetime.now(timezone.utc), uuid.uuid4()]:
        error = fails(HttpResponseError, "InvalidInput", lambda: table.create_entity({"PartitionKey": wrong, "RowKey": "r"}))
        assert error.status_code == 400


@check
def values_at_their_limits_come_back():
    table = new_table("values")
    key = {"PartitionKey": "p", "RowKey": "r"}
    values = {
        "largest": EntityProperty(2**63 - 1, EdmType.INT64),
        "least": EntityProperty(-(2**63), EdmType.INT64),
        "int": 2**31 - 1,
        "negative": -(2**31),
        "tiny": 5e-324,
        "huge": 1.7976931348623157e308,
        "third": 1 / 3,
        "minus": -0.0,
        "text": "x" * 32768,
        "bytes": bytes(range(256)) * 256,
        "empty": "",
        "nothing": b"",
        "spaces": "   ",
        "first": datetime(1601, 1, 1, tzinfo=timezone.utc),
        "last": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
        "micros": datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=timezone.utc),
        "east": datetime(2024, 2, 29, 12, 0, 0, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        "guid": uuid.UUID(int=2**128 - 1),
        "啊齄丂狛狜": "ꀕ",
        "_x1": False,
    }
    table.upsert_entity({**key, **values})
    back = table.get_entity("p", "r")
    for name, value in values.items():
        assert back[name] == value, (name, back[name])
    assert str(back["minus"]) == "-0.0" and type(back["int"]) is int
    for infinite in [float("inf"), float("-inf")]:
        table.upsert_entity({**key, "d": infinite})
        assert table.get_entity("p", "r")["d"] == infinite
    table.upsert_entity({**key, "d": float("nan")})
    assert table.get_entity("p", "r")["d"] != table.get_entity("p", "r")["d"]
    for early in [datetime(1600, 12, 31, tzinfo=timezone.utc), datetime(1, 1, 1, tzinfo=timezone.utc)]:
        assert fails(HttpResponseError, "", lambda: table.upsert_entity({**key, "t": early})).status_code == 400
    for name, value, code in [
        ("t", "x" * 32769, "PropertyValueTooLarge"),
        ("b", b"x" * 65537, "PropertyValueTooLarge"),
        ("a-b", 1, "PropertyNameInvalid"),
        ("x" * 256, 1, "PropertyNameTooLong"),
    ]:
        fails(HttpResponseError, code, lambda: table.upsert_entity({**key, name: value}))
    # What is written as Timestamp is the server's to say; a name of another case is a property.
    table.upsert_entity({**key, "Timestamp": datetime(1999, 1, 1, tzinfo=timezone.utc), "timestamp": "mine"}, mode="replace")
    back = table.get_entity("p", "r")
    assert back["timestamp"] == "mine" and "Timestamp" not in back and back.metadata["timestamp"].year > 2000


@check
def parameters_of_all_types_find_their_entities():
    table = new_table("parameters")
    at, guid = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=timezone.utc), uuid.uuid4()
    values = {"i": 5, "l": EntityProperty(2**40, EdmType.INT64), "d": 1.5, "b": True, "t": at, "g": guid, "x": b"\x00\xff", "s": "it's"}
    table.create_entity({"PartitionKey": "p", "RowKey": "r", **values})
    given = {**values, "l": 2**40}
    for name, value in given.items():
        for op, expected in (("eq", 1), ("ne", 0), ("ge", 1), ("le", 1), ("gt", 0), ("lt", 0)):
            found = list(table.query_entities(f"{name} {op} @v", parameters={"v": value}))
            assert len(found) == expected, (name, op, value, len(found))
    every = " and ".join(f"{name} eq @{name}" for name in given)
    assert len(list(table.query_entities(every, parameters=given))) == 1
    assert list(table.query_entities("s eq @v", parameters={"v": "x' or PartitionKey ne '"})) == []
    pages = table.query_entities("i eq @v", parameters={"v": 5}, select=["i", "s"], results_per_page=1).by_page()
    assert [dict(entity) for page in pages for entity in page] == [{"i": 5, "s": "it's"}]


@check
def answers_say_as_much_as_was_asked_for():
    table = new_table("metadata")
    key = {"PartitionKey": "p", "RowKey": "r"}
    seen = {}

    def remember(response):
        seen["headers"] = {name.lower(): value for name, value in response.http_response.headers.items()}
        seen["body"] = response.http_response.body().decode()

    made = table.create_entity({**key, "n": EntityProperty(5, EdmType.INT64)}, raw_response_hook=remember)
    assert set(made) == {"date", "etag", "version"} and made["date"] and made["version"], made
    asked = table.get_entity("p", "r", raw_response_hook=remember, headers={"x-ms-client-request-id": "my-request"})
    assert seen["headers"]["x-ms-client-request-id"] == "my-request" and seen["headers"]["etag"] == asked.metadata["etag"]
    assert seen["headers"]["content-type"] == "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
    assert '"n@odata.type":"Edm.Int64","n":"5"' in seen["body"] and '"odata.etag"' in seen["body"]
    assert f'"odata.metadata":"{ENDPOINT}/$metadata#metadata/@Element"' in seen["body"], seen["body"]
    full = table.get_entity("p", "r", raw_response_hook=remember, headers={"Accept": "application/json;odata=fullmetadata"})
    for name in ("odata.type", "odata.id", "odata.editLink", "Timestamp@odata.type"):
        assert f'"{name}"' in seen["body"], (name, seen["body"])
    assert full.metadata["timestamp"] == asked.metadata["timestamp"]
    table.get_entity("p", "r", raw_response_hook=remember, headers={"Accept": "application/json;odata=nometadata"})
    assert "odata" not in seen["body"]
    made = table.create_entity({**key, "RowKey": "2"}, headers={"Prefer": "return-content"})
    assert made["preference_applied"] == "return-content" and made["content"]["RowKey"] == "2", made
    made = table.create_entity({**key, "RowKey": "3"}, headers={"Prefer": "return-no-content"})
    assert made["preference_applied"] == "return-no-content", made
    list(table.list_entities(select=["n"], raw_response_hook=remember))
    assert f'"odata.metadata":"{ENDPOINT}/$metadata#metadata' in seen["body"], seen["body"]
    refused = fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.get_entity("p", "none"))
    assert refused.error_code == "ResourceNotFound" and "RequestId:" in refused.message and "Time:" in refused.message
    assert "x-ms-error-code" not in {name.lower() for name in refused.response.headers}


@check
def writes_are_as_conditional_as_they_say():
    table = new_table("conditions")
    key = {"PartitionKey": "p", "RowKey": "r"}
    first = table.upsert_entity({**key, "n": 1})["etag"]
    second = table.upsert_entity({**key, "n": 2})["etag"]
    unmodified = lambda etag: dict(etag=etag, match_condition=MatchConditions.IfNotModified)
    for mode in (UpdateMode.MERGE, UpdateMode.REPLACE):
        error = fails(ResourceModifiedError, "UpdateConditionNotSatisfied", lambda: table.update_entity(key, mode=mode, **unmodified(first)))
        assert error.status_code == 412
    third = table.update_entity({**key, "n": 3}, **unmodified(second))["etag"]
    assert len({first, second, third}) == 3
    table.update_entity({**key, "n": 5}, match_condition=MatchConditions.Unconditionally)
    entity = table.get_entity("p", "r")
    table.delete_entity(entity, match_condition=MatchConditions.IfNotModified)
    fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.update_entity(key, **unmodified(third)))
    other = {**key, "RowKey": "other"}
    kept = table.create_entity(other)["etag"]
    for operation in ("update", "delete"):
        stale = [("upsert", {**key, "n": 1}), (operation, other, unmodified(first))]
        error = fails(TableTransactionError, "UpdateConditionNotSatisfied", lambda: table.submit_transaction(stale))
        assert error.index == 1 and error.status_code == 412, (error.index, error.status_code)
    fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.get_entity("p", "r"))
    table.submit_transaction([("update", {**other, "n": 1}, unmodified(kept))])


@check
def a_transaction_names_what_it_fails_for():
    table = new_table("failures")
    row = lambda i, **more: {"PartitionKey": "p", "RowKey": str(i), **more}
    table.create_entity(row("there"))
    good = [("upsert", row(i)) for i in range(9)]
    for bad, code, status in [
        (("create", row("there")), "EntityAlreadyExists", 409),
        (("upsert", row("t", t="x" * 32769)), "PropertyValueTooLarge", 400),
        (("upsert", row("t", **{"a-b": 1})), "PropertyNameInvalid", 400),
        (("upsert", row("a/b")), "OutOfRangeInput", 400),
        (("upsert", row(0)), "InvalidDuplicateRow", 400),
    ]:
        error = fails(TableTransactionError, code, lambda: table.submit_transaction(good + [bad]))
        assert (error.index, error.status_code, error.error_code) == (9, status, code), (error.index, error.status_code)
    fails(HttpResponseError, "ResourceNotFound", lambda: table.submit_transaction(good + [("delete", row("none"))]))
    assert len(list(table.list_entities())) == 1
    fails(HttpResponseError, "TableNotFound", lambda: service().get_table_client("nowhere").submit_transaction(good))
    large = [("upsert", row(i, **{f"t{j}": "x" * 30000 for j in range(2)})) for i in range(99)]
    error = fails(RequestTooLargeError, "RequestBodyTooLarge", lambda: table.submit_transaction(large))
    assert error.status_code == 413
    done = table.submit_transaction(good + [("delete", row("there"))])
    assert len(done) == 10 and all("etag" in one for one in done[:-1])


@check
def a_table_is_one_whatever_its_case():
    table = new_table("CaseTable")
    table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    for name in ["casetable", "CASETABLE", "CaseTable"]:
        other = service().get_table_client(name)
        assert len(list(other.list_entities())) == 1
        fails(ResourceExistsError, "TableAlreadyExists", other.create_table)
        sas = generate_table_sas(CREDENTIAL, name, permission=TableSasPermissions(read=True), expiry=SOON())
        for asked in ["casetable", "CASETABLE"]:
            assert len(list(TableClient(ENDPOINT, asked, credential=AzureSasCredential(sas)).list_entities())) == 1
    names = [found.name for found in service().query_tables("TableName eq 'CaseTable'")]
    assert names == ["CaseTable"], names
    for wrong in ["1table", "ab", "a" * 64, "a//", "my_table", "a-b"]:
        client = service().get_table_client(wrong)
        for run in (
            client.create_table,
            lambda: client.create_entity({"PartitionKey": "p", "RowKey": "r"}),
            lambda: client.upsert_entity({"PartitionKey": "p", "RowKey": "r"}),
            lambda: client.delete_entity("p", "r"),
            client.get_table_access_policy,
        ):
            fails(ValueError, "Storage table names must be alphanumeric", run)
    # Addresses of an account that end in a table's name: one that is not there, and one that is.
    lost = TableServiceClient(f"{ENDPOINT}/NoSuchTable", credential=CREDENTIAL)
    fails(ResourceNotFoundError, "table specified does not exist", lambda: lost.create_table("inside"))
    lost = TableServiceClient(f"{ENDPOINT}/CaseTable", credential=CREDENTIAL)
    fails(HttpResponseError, "values are not specified", lambda: lost.create_table("inside"))
    fails(HttpResponseError, "URI does not match number of key properties", lambda: lost.delete_table("inside"))


@check
def policies_are_kept_and_hold():
    table = new_table("policies")
    start, expiry = datetime(2021, 6, 8, 2, 10, 9, tzinfo=timezone.utc), SOON().replace(microsecond=0)
    policies = {f"p{i}": TableAccessPolicy(start=start, expiry=expiry, permission=TableSasPermissions(read=True)) for i in range(4)}
    table.set_table_access_policy({**policies, "empty": None})
    kept = table.get_table_access_policy()
    assert list(kept) == ["p0", "p1", "p2", "p3", "empty"], kept
    assert kept["p0"].permission == "r" and kept["p0"].start == start and kept["p0"].expiry == expiry, vars(kept["p0"])
    by_policy = generate_table_sas(CREDENTIAL, "policies", policy_id="p1")
    client = TableClient(ENDPOINT, "policies", credential=AzureSasCredential(by_policy))
    assert list(client.list_entities()) == []
    fails(HttpResponseError, "AuthorizationPermissionMismatch", lambda: client.create_entity({"PartitionKey": "", "RowKey": ""}))
    unknown = generate_table_sas(CREDENTIAL, "policies", policy_id="none")
    fails(HttpResponseError, "AuthenticationFailed", lambda: list(TableClient(ENDPOINT, "policies", credential=AzureSasCredential(unknown)).list_entities()))


@check
def signatures_of_the_account_are_about_what_they_name():
    new_table("ofaccount")
    everything = AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True, update=True)
    sas = lambda types, permission=everything, **more: AzureSasCredential(generate_account_sas(CREDENTIAL, types, permission, SOON(), **more))
    client = lambda credential: TableServiceClient(ENDPOINT, credential=credential)
    objects = client(sas(ResourceTypes(object=True)))
    objects.get_table_client("ofaccount").upsert_entity({"PartitionKey": "p", "RowKey": "r"})
    fails(HttpResponseError, "AuthorizationResourceTypeMismatch", lambda: list(objects.list_tables()))
    fails(HttpResponseError, "AuthorizationResourceTypeMismatch", objects.get_service_properties)
    client(sas(ResourceTypes(service=True))).get_service_properties()
    reader = client(sas(ResourceTypes(object=True), AccountSasPermissions(read=True))).get_table_client("ofaccount")
    assert len(list(reader.list_entities())) == 1
    for run in (
        lambda: reader.create_entity({"PartitionKey": "p", "RowKey": "2"}),
        lambda: reader.update_entity({"PartitionKey": "p", "RowKey": "r"}),
        lambda: reader.upsert_entity({"PartitionKey": "p", "RowKey": "r"}),
        lambda: reader.delete_entity("p", "r"),
        lambda: reader.submit_transaction([("upsert", {"PartitionKey": "p", "RowKey": "r"})]),
    ):
        fails(HttpResponseError, "AuthorizationPermissionMismatch", run)
    later = sas(ResourceTypes(object=True), start=SOON())
    fails(HttpResponseError, "AuthenticationFailed", lambda: list(client(later).get_table_client("ofaccount").list_entities()))
    elsewhere = sas(ResourceTypes(object=True), ip_address_or_range="10.0.0.1-10.0.0.9")
    fails(HttpResponseError, "AuthorizationSourceIPMismatch", lambda: list(client(elsewhere).get_table_client("ofaccount").list_entities()))
    encrypted = sas(ResourceTypes(object=True), protocol="https")
    fails(HttpResponseError, "AuthorizationProtocolMismatch", lambda: list(client(encrypted).get_table_client("ofaccount").list_entities()))


@check
def the_second_place_is_read():
    table = new_table("second")
    table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    named = CONNECTION.rstrip(";") + f";TableSecondaryEndpoint={ENDPOINT.split('//')[1]}-secondary;"
    for place in (named, CONNECTION):
        client = TableClient.from_connection_string(place, "second", location_mode="secondary")
        assert len(list(client.list_entities())) == 1
        assert client.get_entity("p", "r")["RowKey"] == "r"
        error = fails(HttpResponseError, "", lambda: client.create_entity({"PartitionKey": "p", "RowKey": "2"}))
        assert error.status_code == 403, error
    stats = service().get_service_stats()
    assert stats["geo_replication"]["status"] == "live" and stats["geo_replication"]["last_sync_time"]


@check
def pages_go_on_from_where_they_ended():
    table = new_table("pages")
    for partition in "abc":
        table.submit_transaction([("create", {"PartitionKey": partition, "RowKey": f"{i:02}", "n": i}) for i in range(30)])
    found, token = [], None
    while True:
        pages = table.query_entities("n lt 20", results_per_page=7, select=["PartitionKey", "RowKey"]).by_page(token)
        found += [entity["PartitionKey"] + entity["RowKey"] for entity in next(pages)]
        token = pages.continuation_token
        if not token:
            break
    assert found == [f"{p}{i:02}" for p in "abc" for i in range(20)], found
    # What is deleted between two pages is not there, and the next one is not missed.
    pages = table.list_entities(results_per_page=5).by_page()
    next(pages)
    table.delete_entity("a", "05")
    assert next(next(pages))["RowKey"] == "06"
    names = [f"paged{i}" for i in range(5)]
    [service().create_table(name) for name in names]
    pages = service().query_tables("TableName ge 'paged0' and TableName lt 'pagee'", results_per_page=2).by_page()
    assert [[found.name for found in page] for page in pages] == [names[:2], names[2:4], names[4:]]


if __name__ == "__main__":
    run_checks()
