"""What the checks of the Python SDK share: the account, how a refusal is expected, how they are run."""

import os
import sys
from datetime import datetime, timedelta, timezone

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableServiceClient

CONNECTION = os.environ["TABLES_CONNECTION_STRING"]
PARTS = dict(part.split("=", 1) for part in CONNECTION.rstrip(";").split(";"))
ACCOUNT, KEY, ENDPOINT = PARTS["AccountName"], PARTS["AccountKey"], PARTS["TableEndpoint"]
CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
SOON = lambda: datetime.now(timezone.utc) + timedelta(hours=1)
CHECKS = []


def check(run):
    CHECKS.append(run)
    return run


def fails(kind, code, run):
    try:
        run()
    except kind as error:
        told = str(getattr(error, "error_code", None)) + str(error)
        assert code in told, f"{told} instead of {code}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def service():
    return TableServiceClient.from_connection_string(CONNECTION)


def new_table(name):
    client = service()
    client.create_table(name)
    return client.get_table_client(name)


def run_checks():
    for run in CHECKS:
        if len(sys.argv) > 1 and sys.argv[1] not in run.__name__:
            continue
        run()
        print("ok", run.__name__)
