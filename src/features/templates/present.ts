/** Templates in the shapes of the API. */
import type { TemplateListing, TemplateState, TemplateVersion } from '../../history/templates.ts';
import {
  templateDetailSchema,
  templateSummarySchema,
  type TemplateDetail,
  type TemplateSummary,
} from '../../wire/templates.ts';
import { newestOf, previousOf, stableOf, statusOf } from './release.ts';

/** One version and the release state, which is there twice: flat, and as `state`. */
export function presentSummary(state: TemplateState, version: TemplateListing): TemplateSummary {
  const release = stateFields(state);
  return templateSummarySchema.parse({ ...listingFields(version), ...release, state: release });
}

export function presentDetail(state: TemplateState, version: TemplateVersion): TemplateDetail {
  const { body, format } = version;
  return templateDetailSchema.parse({
    ...listingFields(version),
    ...stateFields(state),
    body,
    format,
    is_stable: stableOf(state) === version.version,
    launches: state.launches,
  });
}

function listingFields({ name, description, created_by, ...version }: TemplateListing) {
  return {
    ...version,
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
    ...(created_by === null ? {} : { created_by }),
  };
}

function stateFields(state: TemplateState) {
  const { versions, tags, deprecation, deprecated_versions } = state;
  return {
    status: statusOf(state),
    versions,
    stable: stableOf(state),
    previous: previousOf(state),
    newest: newestOf(state),
    tags,
    ...(deprecation === undefined ? {} : { deprecation }),
    ...(deprecated_versions.length === 0 ? {} : { deprecated_versions }),
  };
}
