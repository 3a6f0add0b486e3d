import { BatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'

/** The aliases that always exist. */
export const roles = ['normal', 'high', 'fast'] as const
export type Role = (typeof roles)[number]
export type RoleModels = Readonly<Record<Role, string>>

/** The built-in model names: agents/models.toml. */
export interface ModelTable {
  /** Aliases of models; those in the user's config take precedence. */
  readonly aliases: { readonly [alias: string]: string }
  /** The models of `normal`, `high` and `fast` by provider. `normal` is its default model. */
  readonly providers: { readonly [provider: string]: RoleModels }
}

/**
 * Reads the table. Call it only when a model is chosen: runs that call no model never need it.
 * @throws BatonError FILE_UNREADABLE or CONFIG_INVALID if the installed file is damaged
 */
export async function loadModelTable(file: string): Promise<ModelTable> {
  const text = readSourceFile(file)
  const source = { file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' } as const
  const { data } = await parseToml(source)
  const aliases = texts(data['aliases'], file)
  const providers = Object.entries(table(data['providers'], file)).map(([provider, models]) => {
    return [provider, roleModels(texts(models, file), file)] as const
  })
  return { aliases, providers: Object.fromEntries(providers) }
}

function roleModels({ normal, high, fast }: Readonly<Record<string, string>>, file: string): RoleModels {
  if (normal === undefined || high === undefined || fast === undefined) throw damaged(file)
  return { normal, high, fast }
}

function texts(value: Json | undefined, file: string): Readonly<Record<string, string>> {
  const entries = Object.entries(table(value, file)).map(([key, text]) => {
    if (typeof text !== 'string') throw damaged(file)
    return [key, text] as const
  })
  return Object.fromEntries(entries)
}

function table(value: Json | undefined, file: string): JsonObject {
  if (!isJsonObject(value)) throw damaged(file)
  return value
}

function damaged(file: string): BatonError {
  return new BatonError('CONFIG_INVALID', `${file} is not a valid model table`, {
    place: { file },
    hint: 'Reinstall Baton, or undo the change; define your own names in model_aliases of your config file.',
  })
}
