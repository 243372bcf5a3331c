/** The registry of templates of a server, as commands use the one of a store. */
import type { HeadgateClient } from '../../client/index.ts';
import { HeadgateError } from '../../client/index.ts';
import type { Templates } from '../../features/templates/templates.ts';
import type { TemplateDetail, TemplateSummary } from '../../wire/templates.ts';

/** What commands do with a registry; the server says who the caller is. */
export type RegistryVerbs = Pick<
  Templates,
  | 'register'
  | 'list'
  | 'get'
  | 'delete'
  | 'launch'
  | 'rollBack'
  | 'tag'
  | 'deprecate'
  | 'deprecateVersion'
>;

export function remoteTemplates({ routes }: HeadgateClient): RegistryVerbs {
  return {
    register: async ({ id, config, config_format, launch, description, tags }) => {
      const body = {
        config,
        config_format,
        ...(id == null ? {} : { id }),
        ...(launch == null ? {} : { launch }),
        ...(description == null ? {} : { description }),
        ...(tags == null ? {} : { tags: [...tags] }),
      };
      return answered(await routes.POST('/v1/templates', { body })) as TemplateSummary;
    },
    list: async (kind) => {
      const { templates } = answered(await routes.GET('/v1/templates'));
      const all = templates as readonly TemplateSummary[];
      return kind === undefined ? all : all.filter((template) => template.kind === kind);
    },
    get: async (id, version) => {
      const query = version == null ? {} : { version: String(version) };
      const params = { path: { id }, query };
      return answered(await routes.GET('/v1/templates/{id}', { params })) as TemplateDetail;
    },
    delete: async (id, version) => {
      const query = version == null ? {} : { version: String(version) };
      await routes.DELETE('/v1/templates/{id}', { params: { path: { id }, query } });
    },
    launch: async (id, version) => {
      const body = version == null ? {} : { version };
      const params = { path: { id } };
      return answered(await routes.POST('/v1/templates/{id}/launch', { params, body }));
    },
    rollBack: async (id) =>
      answered(await routes.POST('/v1/templates/{id}/rollback', { params: { path: { id } } })),
    tag: async (id, { tag, version }) => {
      const body = version == null ? { tag } : { tag, version };
      const params = { path: { id } };
      return answered(await routes.POST('/v1/templates/{id}/tags', { params, body }));
    },
    deprecate: async (id, { reason, undo }) => {
      const body = { undo, ...(reason === undefined ? {} : { reason }) };
      const params = { path: { id } };
      return answered(await routes.POST('/v1/templates/{id}/deprecate', { params, body }));
    },
    deprecateVersion: async ({ id, version }, { reason, undo }) => {
      const body = { undo, ...(reason === undefined ? {} : { reason }) };
      const params = { path: { id, version } };
      const path = '/v1/templates/{id}/versions/{version}/deprecate';
      return answered(await routes.POST(path, { params, body }));
    },
  };
}

function answered<T>({ data }: { readonly data?: T }): T {
  if (data === undefined)
    throw new HeadgateError('the answer is not that of a Headgate server', { code: 'bad_answer' });
  return data;
}
