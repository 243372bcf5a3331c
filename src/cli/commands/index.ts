import type { Command } from '../command.ts';
import { completionsCommand } from './completions.ts';
import { fmtCommand } from './fmt.ts';
import { initCommand } from './init.ts';
import { listCommand } from './list.ts';

/** Every command, in the order in which help lists them. */
export const COMMANDS: readonly Command[] = [initCommand, fmtCommand, listCommand, completionsCommand];
