import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { hasProgram } from './find-program.ts';

/** Looks for the program, and starts nothing. */
export function probeProgram(
  name: string,
  executable: string,
  { env }: Pick<PartContext, 'env'>,
): ProbeFinding {
  return hasProgram(executable, env)
    ? { name, status: 'pass' }
    : {
        name,
        status: 'fail',
        reason: `there is no program \`${executable}\``,
        hint: 'install it, and see that its folder is on the PATH of this process, or give its path',
      };
}
