import { dirname, join } from 'node:path'
import { isFile } from '../base/entries.ts'
import { isBatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import {
  type AgentPath,
  agentName,
  agentPaths,
  placeInAgents,
  unparsedName,
  userAgentsFolder,
  workspaceAgentsFolders,
} from '../config/agent-files.ts'
import { commandKeys, isCommand, startingKeys } from '../config/agent-tables.ts'
import { isBuiltInName } from '../config/builtin-names.ts'
import { readConfigFiles } from '../config/config-files.ts'
import { parseAgentFile } from '../config/foreign-agent.ts'
import { findWorkspace } from '../config/locate.ts'
import { startedWords } from '../config/started-words.ts'
import { wordsIn } from '../config/named-files.ts'
import type { TrustedFile } from '../config/trust.ts'
import { nameKey } from '../pack/name-guard.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { packageRoot } from '../package-root.ts'
import type { Surroundings } from './io.ts'

/** What trusting a file or pack would allow. */
export interface Subject {
  /** What counts for trust; empty for a place that may define a name, whatever its content is. */
  readonly content: string
  /** What needs trust: keys, variables, a name. */
  readonly keys: readonly string[]
  /** Each with its full value. */
  readonly values: readonly string[]
  /** What the values name. */
  readonly names: NonNullable<TrustedFile['names']>
}

/** The name by which the file defines an agent of the workspace; undefined if it defines none. */
export function definedName(document: PromptDocument, path: string, around: Surroundings): string | undefined {
  const at = placeInAgents(path, workspaceAgentsFolders(findWorkspace(around)))
  return at && agentName(document, at)
}

/** Adds what a named agent needs trust for: its name, and the programs it starts, because a model may run it. */
export async function withDefinition(
  subject: Subject,
  { name, path, data }: { readonly name: string; readonly path: string; readonly data: JsonObject },
  around: Surroundings,
): Promise<Subject> {
  const hidden = nameSubject({ path, name, other: await otherOfName(name, around) })
  const starting: readonly string[] = isCommand(data) ? commandKeys : startingKeys
  const program = Object.entries(data).filter(([key]) => starting.includes(key))
  const { content, keys, values, names } = subject
  return {
    content,
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
  const file = await otherFile(name, around)
  if (file !== undefined) return file
  const { layers, userFile } = await readConfigFiles(around)
  const isUsers = layers.some(({ origin, values: { agents = null } }) => {
    return origin.kind === 'user' && isJsonObject(agents) && Object.hasOwn(agents, name)
  })
  if (isUsers) return userFile
  return isBuiltInName(name) ? `the built-in agent ${name}` : undefined
}

/** Names of agents in `[agents]` that files of the user or of Baton also define. */
export async function hiddenFiles({ agents = null }: JsonObject, around: Surroundings): Promise<readonly string[]> {
  if (!isJsonObject(agents)) return []
  const names: string[] = []
  for (const name of Object.keys(agents)) {
    if ((await otherFile(name, around)) !== undefined) names.push(name)
  }
  return names
}

async function otherFile(name: string, around: Surroundings): Promise<string | undefined> {
  for (const at of agentPaths(userAgentsFolder(around))) {
    if ((await nameOf(at)) === name) return at.path
  }
  const files = ['aip', 'lua'].map((ending) => join(packageRoot(), 'agents', `${name}.${ending}`))
  return files.find((file) => isFile(file))
}

async function nameOf(at: AgentPath): Promise<string | undefined> {
  let text = ''
  try {
    text = readSourceFile(at.path)
    return agentName(await parseAgentFile(at.path, text), at)
  } catch (error) {
    if (!isBatonError(error)) throw error
    return unparsedName(text, at)
  }
}

/** The strings of a setting that may name files; of the command line of `gate`, only the words that may be executed. */
export function leadingTexts(key: string, value: Json): readonly string[] {
  return key === 'gate' && typeof value === 'string' ? startedWords(value) : textsIn({ [key]: value })
}

/** The texts of a value. Of variables and headers, which may hold keys, only the words that look like files. */
export function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const texts = textsIn(inner as Json)
    return key === 'env' || key === 'headers' ? texts.flatMap(fileWords) : texts
  })
}

function fileWords(text: string): readonly string[] {
  return text
    .split(/[\s"'=:;,]+/)
    .filter((word) => /^(?:\.{1,2}|~|\$\w+|\$\{\w+\})?\/|^[\w@-]{1,24}\.[a-z]{1,4}$/i.test(word))
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
  if (other === undefined) return { content: '', keys: [], values: [], names: noNames }
  return {
    content: '',
    keys: [nameKey(name)],
    values: [`${nameKey(name)} means ${path}, which shadows ${other}`],
    names: noNames,
  }
}
