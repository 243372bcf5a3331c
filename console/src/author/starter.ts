/** A small document with one of everything that most need. */
export const STARTER = `version: 1
name: orders
pipeline:
  source:
    type: csv
    config: { path: orders.csv }
  transforms:
    - type: cast
      config: { fields: { order_id: int, amount: float } }
  quality:
    record:
      - { type: compare, field: amount, op: gte, value: 0, on_failure: quarantine }
  dlq:
    sink: { type: jsonl, config: { path: bad-orders.jsonl } }
  sink:
    type: jsonl
    config: { path: out/orders.jsonl }
`;
