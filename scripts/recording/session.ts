/** The session that the README shows: a first file, a value that does not fit, and its cure. */

export const COLUMNS = 100;

export const DATA = { name: 'orders.csv', header: 'order_id,customer,amount,placed' };
const ORDERS = [
  '1001,Sanne de Vries,120.50,2026-01-03',
  '1002,Jonas Weber,75.00,2026-01-03',
  '1003,"Dupont, Marie",19.99,2026-01-04',
  '1004,Pieter Bakker,240.00,2026-01-04',
];

export interface Step {
  /** As somebody types it. */
  readonly command: string;
  /** Arguments of `headgate`; the other commands are done by `play` itself. */
  readonly args?: readonly string[];
  /** How long the reader is given after the last line. */
  readonly pauseMs: number;
}

const headgate = (line: string, pauseMs: number): Step => ({
  command: `headgate ${line}`,
  args: line.split(' '),
  pauseMs,
});

const LATE = '1005,Mia Koch,n/a,2026-01-05';

export const SESSION: readonly Step[] = [
  headgate('init --from orders.csv --to orders.db', 2200),
  headgate('validate headgate.yaml', 2200),
  { command: `echo '${LATE}' >> orders.csv`, pauseMs: 700 },
  headgate('run headgate.yaml --log-level error', 3000),
  headgate('fix headgate.yaml --apply', 4200),
  headgate('run headgate.yaml --log-level error --receipt run.html', 2600),
  headgate('verify headgate.yaml', 6000),
];

export interface Played {
  readonly step: Step;
  /** What the program wrote, on either stream, with its colours if it used them. */
  readonly output: string;
}

export interface Folder {
  write(name: string, text: string): void;
  /** Runs `headgate` in the folder. */
  headgate(args: readonly string[]): string | Promise<string>;
}

export async function play(folder: Folder): Promise<readonly Played[]> {
  const lines = [DATA.header, ...ORDERS];
  folder.write(DATA.name, `${lines.join('\n')}\n`);
  const played: Played[] = [];
  for (const step of SESSION) {
    if (step.args === undefined) folder.write(DATA.name, `${[...lines, LATE].join('\n')}\n`);
    const output = step.args === undefined ? '' : await folder.headgate(step.args);
    played.push({ step, output });
  }
  return played;
}
