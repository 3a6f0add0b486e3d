import { basename, dirname, join } from 'node:path'
import { isFile } from '../base/entries.ts'
import { realPath } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { commandKeys, isCommand, startingKeys } from '../config/agent-tables.ts'
import { isBuiltInName } from '../config/builtin-names.ts'
import { userAgentsFolder, workspaceAgentsFolders } from '../config/collect-definitions.ts'
import { readConfigFiles } from '../config/config-files.ts'
import { findWorkspace } from '../config/locate.ts'
import { startedWords } from '../config/started-words.ts'
import { wordsIn } from '../config/named-files.ts'
import type { TrustedFile } from '../config/trust.ts'
import { nameKey } from '../pack/name-guard.ts'
import { packageRoot } from '../package-root.ts'
import type { Surroundings } from './io.ts'

/** What trusting a file or pack would allow. */
export interface Subject {
  readonly hash: string
  /** What needs trust: keys, variables, a name. */
  readonly keys: readonly string[]
  /** Each with its full value. */
  readonly values: readonly string[]
  /** What the values name. */
  readonly names: NonNullable<TrustedFile['names']>
}

/** Whether the file defines an agent of the workspace. */
export function isDefinition(path: string, around: Surroundings): boolean {
  return workspaceAgentsFolders(findWorkspace(around)).some((folder) => realPath(folder) === realPath(dirname(path)))
}

/** Adds what a named agent needs trust for: its name, and the programs it starts, because a model may run it. */
export async function withDefinition(
  subject: Subject,
  { path, data }: { readonly path: string; readonly data: JsonObject },
  around: Surroundings,
): Promise<Subject> {
  const name = basename(path, '.md')
  const hidden = nameSubject({ path, name, other: await otherOfName(name, around) })
  const starting: readonly string[] = isCommand(data) ? commandKeys : startingKeys
  const program = Object.entries(data).filter(([key]) => starting.includes(key))
  const { hash, keys, values, names } = subject
  return {
    hash,
    keys: [...keys, ...program.map(([key]) => key), ...hidden.keys],
    values: [...values, ...program.map(([key, value]) => `${key} = ${JSON.stringify(value)}`), ...hidden.values],
    names: {
      words: [...names.words, ...wordsIn(program.flatMap(([key, value]) => leadingTexts(key, value)))],
      folders: [...new Set([...names.folders, findWorkspace(around), dirname(path)])],
    },
  }
}

/** The agent of the user or of Baton with this name; undefined if there is none. */
export async function otherOfName(name: string, around: Surroundings): Promise<string | undefined> {
  const file = otherFile(name, around)
  if (file !== undefined) return file
  const { layers, userFile } = await readConfigFiles(around)
  const isUsers = layers.some(({ origin, values: { agents = null } }) => {
    return origin.kind === 'user' && isJsonObject(agents) && Object.hasOwn(agents, name)
  })
  if (isUsers) return userFile
  return isBuiltInName(name) ? `the built-in agent ${name}` : undefined
}

/** Names of agents in `[agents]` that files of the user or of Baton also define. */
export function hiddenFiles({ agents = null }: JsonObject, around: Surroundings): readonly string[] {
  return isJsonObject(agents) ? Object.keys(agents).filter((each) => otherFile(each, around) !== undefined) : []
}

function otherFile(name: string, around: Surroundings): string | undefined {
  const files = ['aip', 'lua'].map((ending) => join(packageRoot(), 'agents', `${name}.${ending}`))
  return [join(userAgentsFolder(around), `${name}.md`), ...files].find((file) => isFile(file))
}

/** The strings of a setting that may name files; of the command line of `gate`, only the words that may be executed. */
export function leadingTexts(key: string, value: Json): readonly string[] {
  return key === 'gate' && typeof value === 'string' ? startedWords(value) : textsIn(value)
}

export function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((inner) => textsIn(inner as Json))
}

const noNames = { words: [], folders: [] }

export function nameSubject({
  name,
  path,
  other,
}: {
  readonly name: string
  readonly path: string
  readonly other: string | undefined
}): Subject {
  if (other === undefined) return { hash: '', keys: [], values: [], names: noNames }
  return {
    hash: '',
    keys: [nameKey(name)],
    values: [`${nameKey(name)} means ${path}, which shadows ${other}`],
    names: noNames,
  }
}
