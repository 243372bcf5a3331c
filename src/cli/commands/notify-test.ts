import { notificationsBlock } from '../../blocks/notifications/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { EVENT_KINDS } from '../../kit/notification-event.ts';
import type { TriedRule } from '../../features/notifications/try-out.ts';
import { AppError } from '../../lib/errors.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { choiceOption, switchOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';

export const notifyTestCommand = defineCommand({
  name: 'notify test',
  summary: 'Send a made-up event through every notification rule.',
  description:
    'Sends one event through each rule of `notifications`, whatever the rule asks for and was sent before, and says whether it arrived. ' +
    'Its title ends with `(test)`. Nothing runs. A failure opens an incident where incidents are kept: resolve it there.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    event: choiceOption({
      value: 'KIND',
      choices: EVENT_KINDS,
      default: 'run_failure',
      description: 'Which kind of event.',
    }),
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate notify test orders.yaml', description: 'Does a failure reach everybody?' },
    {
      command: 'headgate notify test orders.yaml --event run_success',
      description: 'And a success?',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan } = await loadPlan(context, { config, completion: options });
    if (blockOf(plan, notificationsBlock) === undefined) {
      throw new AppError('no_notifications', 'the document has no `notifications`', {
        hint: 'see `headgate schema notifications`',
      });
    }
    const { tryRules } = await import('../../features/notifications/try-out.ts');
    const rules = await tryRules(plan, options.event, context.env);
    if (options.json) context.terminal.json({ pipeline: plan.name, event: options.event, rules });
    else tell(context, rules);
    return rules.some(({ outcome }) => outcome === 'failed') ? EXIT.failed : EXIT.ok;
  },
});

function tell({ terminal }: CliContext, rules: readonly TriedRule[]): void {
  for (const line of table(
    ['rule', 'channel', 'outcome'],
    rules.map((one) => [one.rule, one.channel, outcomeText(one)]),
  )) {
    terminal.print(line);
  }
  const unwanted = rules.filter(({ wanted, outcome }) => !wanted && outcome !== 'nothing_to_send');
  if (unwanted.length > 0) {
    const names = unwanted.map(({ rule }) => `\`${rule}\``).join(', ');
    terminal.print(
      `\n${count(unwanted.length, 'rule')} would not send such an event by itself: ${names}`,
    );
  }
}

function outcomeText({ outcome, reason }: TriedRule): string {
  if (outcome === 'nothing_to_send') return 'nothing to send: a success opens no incident';
  return reason === undefined ? 'sent' : `failed: ${reason}`;
}
