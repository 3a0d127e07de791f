"""azure-data-tables against a tablegate store, as its users use it: every operation, both kinds of keys and signatures,
batches, pages, all types there and back."""

import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import (
    AccountSasPermissions,
    EdmType,
    EntityProperty,
    ResourceTypes,
    TableAccessPolicy,
    TableAnalyticsLogging,
    TableClient,
    TableCorsRule,
    TableMetrics,
    TableRetentionPolicy,
    TableSasPermissions,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_account_sas,
    generate_table_sas,
)

from common import ACCOUNT, CREDENTIAL, ENDPOINT, KEY, SOON, check, fails, new_table, run_checks, service


@check
def tables_are_made_listed_and_deleted():
    client = service()
    for name in ["listedA", "listedB", "otherC"]:
        client.create_table(name)
    fails(ResourceExistsError, "TableAlreadyExists", lambda: client.create_table("LISTEDA"))
    fails(ValueError, "must be alphanumeric", lambda: client.create_table("1bad"))
    assert client.create_table_if_not_exists("listedA").table_name == "listedA"
    names = [table.name for table in client.list_tables()]
    assert {"listedA", "listedB", "otherC"} <= set(names), names
    assert not [name for name in names if name.lower().startswith("tablegate")], names
    pages = list(client.list_tables(results_per_page=1).by_page())
    assert len(pages) == len(names), (len(pages), names)
    found = client.query_tables("TableName ge @low and TableName lt @high", parameters={"low": "listed", "high": "listee"})
    assert [table.name for table in found] == ["listedA", "listedB"]
    for name in ["listedA", "listedB", "otherC"]:
        client.delete_table(name)
    client.delete_table("listedA")
    fails(ResourceNotFoundError, "TableNotFound", lambda: list(client.get_table_client("listedA").list_entities()))


@check
def all_types_come_back_as_they_went():
    table = new_table("types")
    entity = {
        "PartitionKey": "it's",
        "RowKey": "a b%é",
        "text": "Grüße 😀 \"quoted\"\n",
        "small": 5,
        "large": EntityProperty(2**40, EdmType.INT64),
        "real": 1.5,
        "whole": 3.0,
        "infinite": float("inf"),
        "yes": True,
        "at": datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=timezone.utc),
        "id": uuid.uuid4(),
        "bytes": b"\x00\x01\xff",
        "gone": None,
    }
    table.create_entity(entity)
    back = table.get_entity("it's", "a b%é")
    for name, value in entity.items():
        if name == "gone":
            assert name not in back
        else:
            assert back[name] == value and isinstance(back[name], type(value)), (name, back[name], value)
    assert type(back["whole"]) is float and type(back["small"]) is int
    assert back.metadata["timestamp"] and back.metadata["etag"].startswith("W/\"datetime'")
    chosen = table.get_entity("it's", "a b%é", select=["text", "absent"])
    assert chosen["text"] == entity["text"] and chosen["absent"] is None and "small" not in chosen
    for metadata in ["application/json;odata=nometadata", "application/json;odata=fullmetadata"]:
        plain = table.get_entity("it's", "a b%é", headers={"Accept": metadata})
        assert plain["text"] == entity["text"]


@check
def entities_are_written_with_conditions():
    table = new_table("writes")
    key = {"PartitionKey": "p", "RowKey": "r"}
    made = table.create_entity({**key, "a": 1})
    assert made["etag"]
    fails(ResourceExistsError, "EntityAlreadyExists", lambda: table.create_entity(key))
    table.update_entity({**key, "b": 2})
    assert dict(table.get_entity("p", "r")).items() >= {"a": 1, "b": 2}.items()
    now = table.update_entity({**key, "c": 3}, mode=UpdateMode.REPLACE)
    assert set(table.get_entity("p", "r")) == {"PartitionKey", "RowKey", "c"}
    stale = dict(etag=made["etag"], match_condition=MatchConditions.IfNotModified)
    fails(ResourceModifiedError, "UpdateConditionNotSatisfied", lambda: table.update_entity({**key, "d": 4}, **stale))
    table.update_entity({**key, "d": 4}, etag=now["etag"], match_condition=MatchConditions.IfNotModified)
    fails(ResourceModifiedError, "UpdateConditionNotSatisfied", lambda: table.delete_entity("p", "r", **stale))
    table.upsert_entity({**key, "e": 5})
    table.upsert_entity({"PartitionKey": "p", "RowKey": "new", "e": 5}, mode=UpdateMode.REPLACE)
    assert "d" in table.get_entity("p", "r")
    table.delete_entity("p", "r")
    table.delete_entity("p", "r")
    fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.get_entity("p", "r"))
    fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.update_entity({**key, "d": 4}))
    fails(HttpResponseError, "PropertyValueTooLarge", lambda: table.create_entity({**key, "t": "x" * 32769}))
    large = {f"p{i}": "x" * 32000 for i in range(20)}
    fails(HttpResponseError, "EntityTooLarge", lambda: table.create_entity({**key, **large}))
    many = {f"p{i}": i for i in range(253)}
    fails(HttpResponseError, "TooManyProperties", lambda: table.create_entity({**key, **many}))


@check
def batches_are_all_or_nothing():
    table = new_table("batches")
    row = lambda i, **more: {"PartitionKey": "p", "RowKey": str(i), **more}
    done = table.submit_transaction([("create", row(i, n=i)) for i in range(100)])
    assert len(done) == 100 and all(one["etag"] for one in done)
    table.submit_transaction(
        [
            ("upsert", row(1, n=-1), {"mode": "replace"}),
            ("update", row(2, m=2)),
            ("update", row(3, n=-3), {"mode": "replace"}),
            ("delete", row(4)),
            ("upsert", row("new", n=0)),
            ("create", row("more", n=0)),
        ]
    )
    assert table.get_entity("p", "1")["n"] == -1 and dict(table.get_entity("p", "2"))["n"] == 2
    fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.get_entity("p", "4"))
    error = fails(
        TableTransactionError,
        "EntityAlreadyExists",
        lambda: table.submit_transaction([("upsert", row("x")), ("delete", row(5)), ("create", row(6))]),
    )
    assert error.index == 2, error.index
    assert table.get_entity("p", "5")["n"] == 5
    fails(ResourceNotFoundError, "ResourceNotFound", lambda: table.get_entity("p", "x"))
    twice = lambda: table.submit_transaction([("upsert", row("x")), ("upsert", row("x"))])
    assert fails(TableTransactionError, "InvalidDuplicateRow", twice).index == 1
    apart = [("upsert", row("x")), ("upsert", {"PartitionKey": "q", "RowKey": "x"})]
    try:
        table.submit_transaction(apart)
    except (ValueError, TableTransactionError):
        pass
    else:
        raise AssertionError("two partitions were taken")
    fails(TableTransactionError, "InvalidInput", lambda: table.submit_transaction([("upsert", row(i)) for i in range(101)]))
    missing = [("update", row("none", n=1))]
    fails(TableTransactionError, "ResourceNotFound", lambda: table.submit_transaction(missing))


@check
def queries_find_what_their_filters_say():
    table = new_table("queries")
    for partition in ["a", "b"]:
        rows = [{"PartitionKey": partition, "RowKey": f"{i:03}", "n": i, "even": i % 2 == 0} for i in range(100)]
        table.submit_transaction([("create", {**row, "half": row["n"] / 2}) for row in rows])
    find = lambda text, **parameters: [e["PartitionKey"] + e["RowKey"] for e in table.query_entities(text, parameters=parameters)]
    assert find("PartitionKey eq 'a' and RowKey ge '098'") == ["a098", "a099"]
    assert find("n eq 7") == ["a007", "b007"]
    assert find("7 gt n and PartitionKey eq 'b' and even eq true") == ["b000", "b002", "b004", "b006"]
    assert find("not (n ge 1) or half gt 49.0") == ["a000", "a099", "b000", "b099"]
    assert find("half eq 3") == ["a006", "b006"]
    assert find("absent ne 1") == [] and len(find("not (absent eq 1)")) == 200
    assert find("PartitionKey eq @p and n lt @n", p="a", n=2) == ["a000", "a001"]
    assert find("Timestamp lt @t", t=datetime(2000, 1, 1, tzinfo=timezone.utc)) == []
    fails(HttpResponseError, "InvalidInput", lambda: find("aaa bbb ccc"))
    pages = [len(list(page)) for page in table.list_entities(results_per_page=30).by_page()]
    assert pages == [30, 30, 30, 30, 30, 30, 20], pages
    first = table.list_entities(results_per_page=30).by_page()
    next(first)
    rest = [e["RowKey"] for page in table.list_entities(results_per_page=30).by_page(first.continuation_token) for e in page]
    assert len(rest) == 170 and rest[0] == "030"
    chosen = list(table.query_entities("PartitionKey eq 'a' and n eq 1", select=["n", "PartitionKey"]))
    assert [dict(e) for e in chosen] == [{"PartitionKey": "a", "n": 1}]


@check
def signatures_let_in_as_far_as_they_say():
    table = new_table("signed")
    table.create_entity({"PartitionKey": "a", "RowKey": "1"})
    table.create_entity({"PartitionKey": "b", "RowKey": "1"})
    with_sas = lambda sas, name="signed": TableClient(ENDPOINT, name, credential=AzureSasCredential(sas))
    read = generate_table_sas(CREDENTIAL, "signed", permission=TableSasPermissions(read=True), expiry=SOON())
    assert len(list(with_sas(read).list_entities())) == 2
    fails(HttpResponseError, "AuthorizationPermissionMismatch", lambda: with_sas(read).delete_entity("a", "1"))
    bounded = generate_table_sas(
        CREDENTIAL,
        "signed",
        permission=TableSasPermissions(read=True, add=True, update=True),
        expiry=SOON(),
        start_pk="b",
        start_rk="",
        end_pk="b",
        end_rk="9",
    )
    assert [e["PartitionKey"] for e in with_sas(bounded).list_entities()] == ["b"]
    with_sas(bounded).upsert_entity({"PartitionKey": "b", "RowKey": "2"})
    fails(HttpResponseError, "AuthorizationFailure", lambda: with_sas(bounded).get_entity("a", "1"))
    expired = generate_table_sas(
        CREDENTIAL, "signed", permission=TableSasPermissions(read=True), expiry=datetime.now(timezone.utc) - timedelta(1)
    )
    fails(ClientAuthenticationError, "AuthenticationFailed", lambda: list(with_sas(expired).list_entities()))
    policy = TableAccessPolicy(expiry=SOON(), permission="r")
    table.set_table_access_policy({"reader": policy, "empty": None})
    kept = table.get_table_access_policy()
    assert kept["reader"].permission == "r" and set(kept) == {"reader", "empty"}, kept
    by_policy = generate_table_sas(CREDENTIAL, "signed", policy_id="reader")
    assert len(list(with_sas(by_policy).list_entities())) == 3
    table.set_table_access_policy({})
    fails(ClientAuthenticationError, "AuthenticationFailed", lambda: list(with_sas(by_policy).list_entities()))
    of_account = generate_account_sas(
        CREDENTIAL,
        resource_types=ResourceTypes(service=True, object=True, container=True),
        permission=AccountSasPermissions(read=True, list=True, add=True, create=True),
        expiry=SOON(),
    )
    client = TableServiceClient(ENDPOINT, credential=AzureSasCredential(of_account))
    client.create_table("bysignature")
    client.get_table_client("bysignature").create_entity({"PartitionKey": "", "RowKey": ""})
    fails(HttpResponseError, "AuthorizationPermissionMismatch", lambda: client.delete_table("bysignature"))
    wrong = TableServiceClient(ENDPOINT, credential=AzureNamedKeyCredential(ACCOUNT, "d3Jvbmc="))
    fails(ClientAuthenticationError, "AuthenticationFailed", lambda: list(wrong.list_tables()))
    stranger = TableServiceClient(ENDPOINT, credential=AzureNamedKeyCredential("stranger", KEY))
    fails(ClientAuthenticationError, "AuthenticationFailed", lambda: list(stranger.list_tables()))


@check
def the_service_is_set_and_asked():
    client = service()
    assert client.get_service_stats()["geo_replication"]["status"] == "live"
    retention = TableRetentionPolicy(enabled=True, days=5)
    client.set_service_properties(
        analytics_logging=TableAnalyticsLogging(read=True, write=True, delete=True, retention_policy=retention),
        hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=retention),
        minute_metrics=TableMetrics(enabled=False),
        cors=[TableCorsRule(allowed_origins=["http://a"], allowed_methods=["GET"], max_age_in_seconds=5)],
    )
    kept = client.get_service_properties()
    assert kept["analytics_logging"].retention_policy.days == 5 and kept["hour_metrics"].include_apis
    assert [rule.allowed_origins for rule in kept["cors"]] == [["http://a"]]
    client.set_service_properties(cors=[])
    assert client.get_service_properties()["cors"] == []


if __name__ == "__main__":
    run_checks()
