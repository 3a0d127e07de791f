"""Reads the sample table with psycopg 3, and changes one row as a transaction.

    pip install "psycopg[binary]"
    python examples/python/employees.py
"""

import os

import psycopg

DSN = os.environ.get("PG_DSN", "host=127.0.0.1 port=5433 dbname=tablegate user=example")


def main() -> None:
    with psycopg.connect(DSN) as connection:
        rows = connection.execute(
            'SELECT "RowKey", FirstName, LastName, Salary FROM employees '
            'WHERE "PartitionKey" = %s AND "RowKey" < %s ORDER BY "RowKey"',
            ("Marketing", "Department"),
        )
        for key, first, last, salary in rows:
            print(f"{key}  {first} {last}  {salary}")
        connection.commit()

        # One entity group transaction: both rows are in one partition, so they change together.
        with connection.transaction():
            connection.execute(
                'UPDATE employees SET "Age" = "Age" + 1 WHERE "PartitionKey" = %s AND "RowKey" IN (%s, %s)',
                ("Marketing", "00001", "00002"),
            )

        try:
            with connection.transaction():
                for department in ("Marketing", "Sales"):
                    connection.execute(
                        'UPDATE employees SET "Floor" = %s WHERE "PartitionKey" = %s AND "RowKey" = %s',
                        ("Third floor", department, "Department"),
                    )
        except psycopg.errors.FeatureNotSupported as error:
            print("refused:", error.diag.message_primary)
            print("hint:   ", error.diag.message_hint)


if __name__ == "__main__":
    main()
