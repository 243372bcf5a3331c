"""Makes and reads tables with delta-rs, as a line of JSON asks; answers with a line of JSON."""
import datetime
import decimal
import json
import sys

import pyarrow
from deltalake import DeltaTable, write_deltalake

UTC = datetime.timezone.utc


def types(path, _):
    """A table with all types, nulls among them."""
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    number = decimal.Decimal
    columns = {
        "id": pyarrow.array([1, 2, 3], pyarrow.int64()),
        "i32": pyarrow.array([1, None, -3], pyarrow.int32()),
        "i16": pyarrow.array([1, None, -3], pyarrow.int16()),
        "i8": pyarrow.array([1, None, -3], pyarrow.int8()),
        "f32": pyarrow.array([1.5, None, float("nan")], pyarrow.float32()),
        "f64": pyarrow.array([0.1, None, float("inf")], pyarrow.float64()),
        "flag": pyarrow.array([True, None, False]),
        "text": pyarrow.array(["é", "", None]),
        "bytes": pyarrow.array([b"\x00\xff", None, b""], pyarrow.binary()),
        "day": pyarrow.array([datetime.date(2024, 2, 29), None, datetime.date(1900, 1, 1)]),
        "at": pyarrow.array([moment.replace(tzinfo=UTC), None, None], pyarrow.timestamp("us", "UTC")),
        "wall": pyarrow.array([moment, None, None], pyarrow.timestamp("us")),
        "dec": pyarrow.array([number("1.10"), None, number("-99999.99")], pyarrow.decimal128(7, 2)),
        "big": pyarrow.array(
            [number("12345678901234567890123456789.123456789"), None, None],
            pyarrow.decimal128(38, 9),
        ),
        "list": pyarrow.array([[1, None], None, []], pyarrow.list_(pyarrow.int32())),
        "nested": pyarrow.array(
            [{"a": 1, "b": {"c": moment.replace(tzinfo=UTC)}}, None, {"a": None, "b": None}],
            pyarrow.struct(
                [
                    ("a", pyarrow.int64()),
                    ("b", pyarrow.struct([("c", pyarrow.timestamp("us", "UTC"))])),
                ]
            ),
        ),
        "map": pyarrow.array(
            [[("k", 1), ("l", None)], None, []], pyarrow.map_(pyarrow.string(), pyarrow.int64())
        ),
    }
    write_deltalake(path, pyarrow.table(columns))


def partitions(path, _):
    """A table whose partition columns have all types that they may have."""
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    columns = {
        "id": pyarrow.array([1, 2, 3], pyarrow.int64()),
        "day": pyarrow.array([datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 2)]),
        "name": pyarrow.array(["a b", None, "x/y=%é"]),
        "n": pyarrow.array([1, None, -2], pyarrow.int32()),
        "flag": pyarrow.array([True, None, False]),
        "at": pyarrow.array([moment.replace(tzinfo=UTC)] * 3, pyarrow.timestamp("us", "UTC")),
        "wall": pyarrow.array([moment] * 3, pyarrow.timestamp("us")),
        "dec": pyarrow.array(
            [decimal.Decimal("1.10"), None, decimal.Decimal("2.00")], pyarrow.decimal128(5, 2)
        ),
        "f": pyarrow.array([1.5, None, 2.0]),
        "bytes": pyarrow.array([b"ab", None, b"\x01"], pyarrow.binary()),
    }
    names = [name for name in columns if name != "id"]
    write_deltalake(path, pyarrow.table(columns), partition_by=names)


def changes(path, _):
    """Many commits with checkpoints among them, rows that are deleted and changed."""
    for at in range(25):
        table = pyarrow.table({"id": pyarrow.array([2 * at, 2 * at + 1], pyarrow.int64()), "v": [f"v{at}", "w"]})
        write_deltalake(path, table, mode="append", configuration={"delta.checkpointInterval": "10"})
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).delete("id < 5")
    DeltaTable(path).update(updates={"v": "'new'"}, predicate="id = 10")


def append(path, options):
    """As many commits as asked for, of one row each."""
    for number in range(options["count"]):
        table = pyarrow.table({"id": pyarrow.array([options["from"] + number], pyarrow.int64()), "v": ["theirs"]})
        write_deltalake(path, table, mode="append")


def read(path, options):
    """The rows of a version, and what the log says of them."""
    table = DeltaTable(path, version=options.get("version"))
    rows = table.to_pyarrow_table()
    return {
        "version": table.version(),
        "rows": rows.to_pylist(),
        "types": {name: str(kind) for name, kind in zip(rows.schema.names, rows.schema.types)},
        "partitions": table.metadata().partition_columns,
        "adds": pyarrow.table(table.get_add_actions(flatten=True)).to_pylist(),
    }


def clean(path, _):
    """Replaces the log by a checkpoint, so that nothing but it is read."""
    DeltaTable(path).create_checkpoint()


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return str(value)


for line in sys.stdin:
    asked = json.loads(line)
    answer = globals()[asked["do"]](asked["path"], asked)
    print(json.dumps(answer, default=plain), flush=True)
