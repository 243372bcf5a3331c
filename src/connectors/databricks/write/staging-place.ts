/** Where objects for COPY INTO are: a volume of the workspace, or a store that it may read. */
import { stageFault, stageFolder } from '../../_objects/load-place.ts';

export interface StagingPlace {
  readonly location: string;
  readonly storage_options: Readonly<Record<string, string>>;
}

const VOLUME = /^\/Volumes(?:\/[^/\s]+){3,}\/?$/;
const STORE = /^(?:s3|gs|abfss):\/\//;

export function isVolume({ location }: Pick<StagingPlace, 'location'>): boolean {
  return VOLUME.test(location);
}

interface Fault {
  readonly path: string[];
  readonly message: string;
  readonly hint: string;
}

/** What of the settings cannot work. */
export function stagingFault(place: StagingPlace): Fault | undefined {
  const { location, storage_options: options } = place;
  if (isVolume(place)) {
    const [name] = Object.keys(options);
    if (name === undefined) return undefined;
    return {
      path: ['storage_options', name],
      message: 'a volume is written with the login of the workspace',
      hint: 'remove `storage_options`',
    };
  }
  const fault = STORE.test(location)
    ? stageFault({ url: location, storage_options: options })
    : { path: ['url'], message: 'the warehouse loads from no such place', hint: '' };
  if (fault === undefined) return undefined;
  if (fault.path[0] !== 'url') return { ...fault, path: [...fault.path] };
  return {
    path: ['location'],
    message: fault.message,
    hint: 'write `/Volumes/catalog/schema/volume/folder`, `s3://bucket/folder`, `gs://bucket/folder`, or `abfss://container@account.dfs.core.windows.net/folder`',
  };
}

/** The folder as it is, with one slash behind it. */
export function folderOf(place: StagingPlace): string {
  const folder = isVolume(place)
    ? place.location
    : stageFolder({ url: place.location, storage_options: place.storage_options });
  return folder === '' ? '' : `${folder.replace(/\/+$/, '')}/`;
}
