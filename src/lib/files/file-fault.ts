/** What the system says of a file that cannot be used, in plain words. */
import { messageOf } from '../errors.ts';

export interface FileFault {
  /** Whether the file is not there; refused otherwise. */
  readonly kind: 'missing' | 'refused';
  readonly says: string;
  readonly hint?: string;
}

const BY_CODE: Readonly<Record<string, FileFault>> = {
  ENOENT: {
    kind: 'missing',
    says: 'it does not exist',
    hint: 'check the path; relative paths start at the working folder of the process',
  },
  EACCES: {
    kind: 'refused',
    says: 'permission denied',
    hint: 'give the user that runs Headgate the right to it, or use another place',
  },
  EPERM: {
    kind: 'refused',
    says: 'the operation is not permitted',
    hint: 'give the user that runs Headgate the right to it, or use another place',
  },
  EEXIST: {
    kind: 'refused',
    says: 'something of that name is there already',
    hint: 'use another name, or move away what is there',
  },
  EISDIR: { kind: 'refused', says: 'it is a folder', hint: 'name a file' },
  ENOTDIR: {
    kind: 'refused',
    says: 'a part of the path is a file, not a folder',
    hint: 'check the path; all but its last part are folders',
  },
  EROFS: {
    kind: 'refused',
    says: 'the file system is read-only',
    hint: 'write to another place, or have it mounted writable',
  },
  ELOOP: {
    kind: 'refused',
    says: 'its symbolic links lead in a circle',
    hint: 'name the file itself, or mend the links',
  },
  ENAMETOOLONG: { kind: 'refused', says: 'the name is too long', hint: 'use a shorter name' },
  EIO: {
    kind: 'refused',
    says: 'the device fails (EIO)',
    hint: 'name a regular file, and check the disk',
  },
  ENOSPC: {
    kind: 'refused',
    says: 'no space is left on the device',
    hint: 'make room there, or write to another place',
  },
  EDQUOT: { kind: 'refused', says: 'the disk quota is used up' },
  EMFILE: {
    kind: 'refused',
    says: 'too many files are open',
    hint: 'lower the concurrency or raise the limit of open files',
  },
};

/** The words of the system stand only where there are none of ours. */
export function fileFault(error: unknown): FileFault {
  const code = codeOf(error);
  const known = code === undefined ? undefined : BY_CODE[code];
  return known ?? { kind: 'refused', says: messageOf(error) };
}

/** Whether the system refused a file or a folder for a reason that there are plain words for. */
export function isFileFault(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && Object.hasOwn(BY_CODE, code);
}

/** The system's code of an error (`ENOENT`), or of a compression library (`Z_DATA_ERROR`). */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
