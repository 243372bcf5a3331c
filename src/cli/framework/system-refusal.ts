import { AppError } from '../../lib/errors.ts';
import { fileFault, isFileFault } from '../../lib/files/file-fault.ts';

/**
 * A file or folder that the system refuses to a command is no defect of the program, wherever the
 * command met it. Anything else passes unchanged.
 */
export function systemRefusal(error: unknown): unknown {
  if (error instanceof AppError || !isFileFault(error)) return error;
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  const { says, hint } = fileFault(error);
  const message = path === undefined ? `a file cannot be used: ${says}` : `${path}: ${says}`;
  return new AppError('file_unusable', message, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}
