import { useState } from 'preact/hooks';
import type { LocalOutputListAnswer, RunGetAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { Empty, Loading, Time } from '../parts/small.tsx';
import { T } from '../texts.ts';

type Output = LocalOutputListAnswer['outputs'][number];
const MOST = 2000;

/** Files that the run wrote on the machine of the server. */
export function Outputs({ run }: { readonly run: RunGetAnswer }) {
  const { data, error, reload } = useAsked(
    async (client, signal) =>
      answerOf(
        await client.routes.GET('/v1/local-outputs', {
          params: { query: { limit: MOST, include_expired: 'true' } },
          signal,
        }),
      ),
    { about: [run.run_id] },
  );
  if (data === undefined)
    return error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />;
  const outputs = data.outputs.filter(({ run_id: id }) => id === run.run_id);
  if (outputs.length === 0)
    return <Empty title={T.run.outputs.empty}>{T.run.outputs.emptyHint}</Empty>;
  return <OutputTable outputs={outputs} canPreview={data.preview_enabled} />;
}

interface OutputTableProps {
  readonly outputs: readonly Output[];
  readonly canPreview: boolean;
}

export function OutputTable({ outputs, canPreview }: OutputTableProps) {
  const [shown, setShown] = useState<Output>();
  const { outputs: words } = T.run;
  return (
    <>
      {canPreview ? null : <p class="muted">{words.previewOff}</p>}
      <div class="scrolls">
        <table>
          <thead>
            <tr>
              <th scope="col">{words.path}</th>
              <th scope="col">{words.row}</th>
              <th scope="col">{words.state}</th>
              <th scope="col">{words.expires}</th>
              <th scope="col">
                <span class="hidden">{words.preview}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {outputs.map((output) => (
              <tr key={output.id}>
                <td>
                  <code>{output.path}</code>
                </td>
                <td>{output.row}</td>
                <td>{output.state}</td>
                <td>
                  {output.expires_at === null ? words.forever : <Time at={output.expires_at} />}
                </td>
                <td>
                  {canPreview && (output.state === 'present' || output.state === 'replaced') ? (
                    <button type="button" onClick={() => setShown(output)}>
                      {words.preview}
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown === undefined ? null : <Preview output={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

const ROWS = '100';

function Preview({ output, onClose }: { readonly output: Output; readonly onClose: () => void }) {
  const { data, error } = useAsked(
    async (client, signal) =>
      answerOf(
        await client.routes.GET('/v1/local-outputs/{id}/preview', {
          params: { path: { id: output.id }, query: { row_count_to_load: ROWS } },
          signal,
        }),
      ),
    { about: [output.id] },
  );
  return (
    <Dialog title={T.run.outputs.previewTitle(output.path)} isWide onClose={onClose}>
      {error === undefined ? null : <Failure error={error} />}
      {data === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          <p class="muted">{T.run.outputs.rows(data.row_count, !data.truncated)}</p>
          <Records columns={data.columns} records={data.rows} />
        </>
      )}
    </Dialog>
  );
}

interface RecordsProps {
  readonly columns: readonly string[];
  readonly records: readonly unknown[];
}

export function Records({ columns, records }: RecordsProps) {
  if (columns.length === 0)
    return <pre>{records.map((record) => JSON.stringify(record)).join('\n')}</pre>;
  return (
    // It scrolls, and whoever has no mouse scrolls what has the focus.
    <div class="scrolls records" tabIndex={0} role="region" aria-label={T.run.outputs.preview}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record, index) => (
            <tr key={index}>
              {columns.map((column) => (
                <td key={column}>{cellOf((record as Record<string, unknown>)[column])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellOf(value: unknown) {
  if (value === null || value === undefined) return <span class="muted">–</span>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
