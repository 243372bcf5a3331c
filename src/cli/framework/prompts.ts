/** Questions to whoever sits at the terminal. */
import { AppError } from '../../lib/errors.ts';

export interface Choice<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

/** Whoever cancels a question ends the command: `cancelled` is thrown. */
export interface Prompts {
  confirm(question: string, preset: boolean): Promise<boolean>;
  text(question: string, options: TextQuestion): Promise<string>;
  select<T extends string>(question: string, choices: readonly Choice<T>[], preset?: T): Promise<T>;
}

export interface TextQuestion {
  /** Taken when nothing is typed. */
  readonly preset?: string;
  /** Shown in an empty field. */
  readonly example?: string;
  /** What is wrong with an answer; it is asked again. */
  readonly check?: (answer: string) => string | undefined;
}

export function cancelled(): AppError {
  return new AppError('cancelled', 'cancelled: nothing was changed');
}
