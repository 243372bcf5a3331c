import type { RunGetAnswer } from '../../../src/client/index.ts';
import { Fact, Facts, Time, Value } from '../parts/small.tsx';
import { T } from '../texts.ts';

export function Details({ run }: { readonly run: RunGetAnswer }) {
  const { callback } = run;
  return (
    <section class="card">
      <Facts>
        <Fact name={T.run.runId}>
          <code>{run.run_id}</code>
        </Fact>
        <Fact name={T.run.submitted}>
          <Time at={run.submitted_at} />
        </Fact>
        <Fact name={T.run.started}>
          <Time at={run.started_at} />
        </Fact>
        <Fact name={T.run.finished}>
          <Time at={run.finished_at} />
        </Fact>
        <Fact name={T.run.attempt}>{run.attempt + 1}</Fact>
        <Fact name={T.run.idempotency}>
          <Value of={run.idempotency_key} />
        </Fact>
        <Fact name={T.run.labels}>
          {Object.keys(run.labels).length === 0
            ? T.common.none
            : Object.entries(run.labels).map(([name, value]) => (
                <span key={name} class="label">
                  {name}={value}
                </span>
              ))}
        </Fact>
      </Facts>
      <h2>{T.run.callback}</h2>
      {callback === undefined || callback === null ? (
        <p class="muted">{T.run.noCallback}</p>
      ) : (
        <>
          <Delivery of={run} />
          <pre>{JSON.stringify(callback, null, 2)}</pre>
        </>
      )}
      {run.doctor_report === null || run.doctor_report === undefined ? null : (
        <>
          <h2>{T.run.doctor}</h2>
          <pre>{JSON.stringify(run.doctor_report, null, 2)}</pre>
        </>
      )}
    </section>
  );
}

/** What became of it, as far as this server knows. */
function Delivery({ of: { callback_delivery: delivery } }: { readonly of: RunGetAnswer }) {
  const { deliveries } = T.run;
  return (
    <Facts>
      <Fact name={T.run.delivery}>
        {delivery === undefined ? deliveries.unknown : deliveries[delivery.state]}{' '}
        {delivery === undefined ? null : <Time at={delivery.at} />}
      </Fact>
      {delivery === undefined ? null : <Fact name={T.run.attempts}>{delivery.attempts}</Fact>}
      {delivery?.reason === undefined ? null : (
        <Fact name={T.run.lastFault}>{delivery.reason}</Fact>
      )}
    </Facts>
  );
}
