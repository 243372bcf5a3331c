/** Shows what each node of a graph does to the first records of its sources. */
import type { NodeTrace } from '../../engine/preview/trace-graph.ts';
import { count } from '../../lib/text/count.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { CliContext } from '../framework/context.ts';
import { printStage } from './plan-sample.ts';

export function printGraphSample({ terminal }: CliContext, traces: readonly NodeTrace[]): void {
  for (const [index, trace] of traces.entries()) {
    const { node, kind, connector, inputs, stages, output, error } = trace;
    const given = inputs.map(
      ({ from, label, records }) =>
        `${count(records.length, 'record')} of ${from}${label === undefined ? '' : ` as ${label}`}`,
    );
    const of = connector === undefined ? kind : `${kind} ${connector}`;
    terminal.print(
      `${index === 0 ? '' : '\n'}${terminal.ink('bold', node)}  ${[of, ...given].join(', ')}`,
    );
    for (const stage of stages) printStage(terminal, stage);
    if (error !== undefined) {
      terminal.print(`\n  ${terminal.ink('red', 'the run would end here:')} ${error}`);
      continue;
    }
    if (stages.length > 0) terminal.print('');
    terminal.print(
      `  ${kind === 'sink' ? 'would be given' : 'hands on'} ${count(output.length, 'record')}`,
    );
    // A tee changes nothing, and stages have shown what they make.
    if (kind !== 'tee' && stages.length === 0)
      for (const record of output) terminal.print(`    ${stringifyJson(record)}`);
  }
}
