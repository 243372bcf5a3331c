"""Makes and reads tables with PyIceberg, as a line of JSON asks; answers with a line of JSON.

`path` is the table; `catalog` are the properties of its catalog.
"""
import datetime
import decimal
import json
import sys
import traceback
import uuid

import pyarrow
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

UTC = datetime.timezone.utc


def catalog_of(asked):
    return load_catalog("default", **asked["catalog"])


def make(asked, schema, spec=PartitionSpec()):
    catalog = catalog_of(asked)
    catalog.create_namespace_if_not_exists(asked["path"].rsplit(".", 1)[0])
    return catalog.create_table(asked["path"], schema, partition_spec=spec)


TYPES = [
    ("id", LongType()),
    ("i32", IntegerType()),
    ("f32", FloatType()),
    ("f64", DoubleType()),
    ("flag", BooleanType()),
    ("text", StringType()),
    ("bytes", BinaryType()),
    ("fixed", FixedType(2)),
    ("uuid", UUIDType()),
    ("day", DateType()),
    ("clock", TimeType()),
    ("at", TimestamptzType()),
    ("wall", TimestampType()),
    ("dec", DecimalType(7, 2)),
    ("big", DecimalType(38, 9)),
    ("list", ListType(101, IntegerType(), element_required=False)),
    (
        "nested",
        StructType(
            NestedField(102, "a", LongType(), required=False),
            NestedField(
                103,
                "b",
                StructType(NestedField(104, "c", TimestamptzType(), required=False)),
                required=False,
            ),
        ),
    ),
    ("map", MapType(105, StringType(), 106, LongType(), value_required=False)),
]


def types(asked):
    """A table with all types, nulls among them."""
    fields = [NestedField(i + 1, n, t, required=False) for i, (n, t) in enumerate(TYPES)]
    table = make(asked, Schema(*fields))
    moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    number = decimal.Decimal
    full = {
        "id": 1,
        "i32": 1,
        "f32": 1.5,
        "f64": 0.1,
        "flag": True,
        "text": "é",
        "bytes": b"\x00\xff",
        "fixed": b"ab",
        "uuid": uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes,
        "day": datetime.date(2024, 2, 29),
        "clock": datetime.time(7, 8, 9, 500000),
        "at": moment.replace(tzinfo=UTC),
        "wall": moment,
        "dec": number("1.10"),
        "big": number("12345678901234567890123456789.123456789"),
        "list": [1, None],
        "nested": {"a": 1, "b": {"c": moment.replace(tzinfo=UTC)}},
        "map": [("k", 1), ("l", None)],
    }
    empty = {name: None for name in full} | {"id": 2}
    odd = empty | {"id": 3, "f32": float("nan"), "f64": float("inf"), "list": [], "map": []}
    table.append(pyarrow.Table.from_pylist([full, empty, odd], schema=table.schema().as_arrow()))


def append(asked):
    """Rows as JSON, of the types that JSON has."""
    table = catalog_of(asked).load_table(asked["path"])
    table.append(pyarrow.Table.from_pylist(asked["rows"], schema=table.schema().as_arrow()))


def plain(asked):
    """A table with a number and two texts, partitioned as asked."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "v", StringType(), required=False),
        NestedField(3, "day", DateType(), required=False),
    )
    fields = [
        PartitionField(source, 1000 + i, parse_transform(transform), name)
        for i, (source, transform, name) in enumerate(asked.get("spec", []))
    ]
    make(asked, schema, PartitionSpec(*fields))


def evolve(asked):
    """Renames, adds, drops, moves and widens columns between appends."""
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=False),
        NestedField(2, "old", StringType(), required=False),
        NestedField(3, "gone", StringType(), required=False),
        NestedField(
            4, "s", StructType(NestedField(5, "x", LongType(), required=False)), required=False
        ),
        NestedField(6, "f", FloatType(), required=False),
        NestedField(7, "d", DecimalType(5, 2), required=False),
    )
    table = make(asked, schema)
    first = {"id": 1, "old": "a", "gone": "b", "s": {"x": 1}, "f": 1.5, "d": decimal.Decimal("1.10")}
    table.append(pyarrow.Table.from_pylist([first], schema=table.schema().as_arrow()))
    with table.update_schema() as update:
        update.rename_column("old", "new")
        update.delete_column("gone")
        update.add_column("gone2", StringType())
        update.update_column("id", LongType())
        update.update_column("f", DoubleType())
        update.update_column("d", DecimalType(9, 2))
        update.rename_column("s.x", "y")
        update.add_column(("s", "z"), StringType())
    with table.update_schema() as update:
        update.move_first("new")
        update.rename_column("gone2", "gone")
    table = catalog_of(asked).load_table(asked["path"])
    second = {
        "new": "c",
        "id": 2**40,
        "s": {"y": 2, "z": "q"},
        "f": 0.1,
        "d": decimal.Decimal("1234567.89"),
        "gone": "again",
    }
    table.append(pyarrow.Table.from_pylist([second], schema=table.schema().as_arrow()))


def respec(asked):
    """Changes the partitions of a table."""
    table = catalog_of(asked).load_table(asked["path"])
    with table.update_spec() as update:
        for name in asked.get("remove", []):
            update.remove_field(name)
        for source, transform in asked.get("add", []):
            update.add_field(source, parse_transform(transform))


def delete(asked):
    catalog_of(asked).load_table(asked["path"]).delete(asked["where"])


def overwrite(asked):
    table = catalog_of(asked).load_table(asked["path"])
    table.overwrite(pyarrow.Table.from_pylist(asked["rows"], schema=table.schema().as_arrow()))


def expire(asked):
    table = catalog_of(asked).load_table(asked["path"])
    for snapshot in asked["snapshots"]:
        table.maintenance.expire_snapshots().by_id(int(snapshot)).commit()


def plainly(value):
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, dict):
        return {name: plainly(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plainly(one) for one in value]
    return value


def read(asked):
    """Rows, types and snapshots of a table; `where` as PyIceberg writes it."""
    if "file" in asked:
        table = StaticTable.from_metadata(asked["file"], asked["catalog"])
    else:
        table = catalog_of(asked).load_table(asked["path"])
    scan = table.scan(row_filter=asked["where"]) if "where" in asked else table.scan()
    rows = scan.to_arrow()
    return {
        "rows": plainly(rows.to_pylist()),
        "types": {field.name: str(field.field_type) for field in table.schema().fields},
        "planned": len(list(scan.plan_files())),
        "spec": [f"{f.name}: {f.transform}" for f in table.spec().fields],
        "partitions": plainly(table.inspect.partitions().to_pylist()) if "partitions" in asked else [],
        "files": [task.file.file_path for task in table.scan().plan_files()],
        "properties": table.properties,
        "snapshots": [
            {
                "id": str(snapshot.snapshot_id),
                "summary": dict(snapshot.summary.additional_properties, operation=snapshot.summary.operation.value),
            }
            for snapshot in table.snapshots()
        ],
    }


for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = globals()[asked["do"]](asked) or {}
    except Exception:
        answer = {"failed": traceback.format_exc()}
    print(json.dumps(answer), flush=True)
