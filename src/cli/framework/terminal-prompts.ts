/** Prompts of a real terminal, on stderr like everything else that is for people. */
import { confirm, isCancel, select, text } from '@clack/prompts';
import { cancelled, type Prompts } from './prompts.ts';

export function terminalPrompts(): Prompts {
  const streams = { input: process.stdin, output: process.stderr };
  return {
    confirm: async (message, initialValue) =>
      answered(await confirm({ message, initialValue, ...streams })),
    async text(message, { preset, example, check }) {
      const answer = await text({
        message,
        ...streams,
        ...(preset === undefined ? {} : { defaultValue: preset, placeholder: preset }),
        ...(preset === undefined && example !== undefined ? { placeholder: example } : {}),
        validate: (typed) => check?.(typed === undefined || typed === '' ? (preset ?? '') : typed),
      });
      return answered(answer);
    },
    async select(message, choices, preset) {
      const options = choices.map(({ value, label, hint }) => ({
        value: value as string,
        label,
        ...(hint === undefined ? {} : { hint }),
      }));
      const initial = preset === undefined ? {} : { initialValue: preset as string };
      const answer = answered(await select({ message, options, ...initial, ...streams }));
      const chosen = choices.find(({ value }) => value === answer);
      if (chosen === undefined) throw new Error('cannot happen: an answer that was not offered');
      return chosen.value;
    },
  };
}

function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw cancelled();
  return answer as Exclude<T, symbol>;
}
