import { dirname, join, resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { isBatonError } from '../base/error.ts'
import { isFile, namesIn } from '../base/entries.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { defined, isJsonObject, type JsonObject } from '../base/json.ts'
import { refuseLeadingOut } from '../base/leaving.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type AgentDefinition, type DefinitionPart, joinParts } from './agent-definitions.ts'
import { isCommand, isDefinitionName, misplacedKeys, startingKeys } from './agent-tables.ts'
import { isBuiltInName } from './builtin-names.ts'
import { builtInDefinitions, presetDefinitions } from './builtin-definitions.ts'
import type { Layer } from './layers.ts'
import { type Surroundings, userConfigFile } from './locate.ts'

/** The named agents. */
export interface Definitions {
  readonly byName: ReadonlyMap<string, AgentDefinition>
  /** Why a defined name cannot be used. */
  readonly broken: ReadonlyMap<string, Error>
}

export interface DefinitionPlaces extends Surroundings {
  readonly workspace: string
  /** The layers that may have a table `[agents]`, weakest first. */
  readonly layers: readonly Layer[]
  /** Absolute path of the prompt file that is run, if any. */
  readonly promptFile?: string
  /** Folder of the agents that ship with Baton. */
  readonly builtInDir: string
  readonly packs: readonly { readonly identity: string; readonly dir: string }[]
  /** Called for an untrusted definition of the workspace that shadows one of the user or of Baton; throws. */
  readonly refuseHidden: (hidden: { readonly name: string; readonly path: string; readonly other: string }) => void
  /** Stored texts are used. */
  readonly reads?: ReadLog | undefined
  /**
   * A model may start any of them, so all reads are recorded; otherwise most are unused, and a read is recorded on use.
   */
  readonly areOffered: boolean
}

/**
 * All definitions: those of Baton, then the user's `agents/*.md` and `[agents]`, then the workspace's, then those of
 * the prompt file and of `-c`, merged by name; plus those of packs, whose names are separate.
 */
export async function collectDefinitions(places: DefinitionPlaces): Promise<Definitions> {
  const found = new Map<string, DefinitionPart[]>()
  const broken = new Map<string, Error>()
  const add = (name: string, part: DefinitionPart): void => {
    const parts = found.get(name) ?? []
    found.set(name, parts)
    parts.push(part)
  }
  for (const [name, values] of Object.entries(builtInDefinitions)) {
    add(name, { from: 'built-in', isTrusted: true, values })
  }
  const files = definitionFiles(places)
  const addFiles = async (from: DefinitionFile['from']): Promise<void> => {
    for (const file of files.filter((each) => each.from === from)) {
      await tried(file.name, broken, async () =>
        add(file.name, await readOwnPart(file, found.get(file.name) ?? [], places)),
      )
    }
  }
  const addTables = (kinds: readonly Layer['origin']['kind'][]): void => {
    for (const layer of places.layers.filter(({ origin }) => kinds.includes(origin.kind))) {
      for (const [name, part] of tableParts(layer, places)) add(name, part)
    }
  }
  await addFiles('user')
  addTables(['user'])
  await addFiles('workspace')
  addTables(['workspace'])
  addTables(['front matter'])
  addTables(['environment', 'flag'])
  await addFiles('pack')
  for (const [name, values] of Object.entries(presetDefinitions)) {
    const parts = found.get(name) ?? []
    if (parts.every(isForCommand)) found.set(name, [{ from: 'built-in', isTrusted: true, values }, ...parts])
  }

  const byName = new Map<string, AgentDefinition>()
  for (const [name, [first, ...others]] of found) {
    if (first === undefined || broken.has(name)) continue
    const file = join(places.builtInDir, `${name}.md`)
    const parts = [first, ...others] as const
    await tried(name, broken, () => {
      refuseHiding(name, parts, places)
      byName.set(name, {
        ...joinParts(name, parts, file),
        ...defined({ heldBack: startingKey(parts, places.workspace) }),
      })
    })
  }
  return { byName, broken }
}

/**
 * The key with which an untrusted definition of the workspace starts more than its model. A user who names the agent
 * has approved that; a model that finds it in a list has not.
 */
function startingKey(parts: readonly DefinitionPart[], workspace: string): string | undefined {
  const theirs = parts.filter(
    ({ from, isTrusted, source }) =>
      !isTrusted && (from === 'workspace' || (from === 'pack' && isInside(workspace, source?.file ?? ''))),
  )
  return startingKeys.find((key) => theirs.some(({ values }) => values[key] !== undefined))
}

/** Whether a part only sets keys that the known program of that name accepts. */
function isForCommand({ values }: DefinitionPart): boolean {
  return !isCommand(values) && misplacedKeys(values).length === 0
}

/** Errors in a definition are reported where it is used. */
async function tried(name: string, broken: Map<string, Error>, work: () => void | Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isBatonError(error)) throw error
    broken.set(name, error)
  }
}

function refuseHiding(
  name: string,
  parts: readonly DefinitionPart[],
  { refuseHidden, builtInDir }: Pick<DefinitionPlaces, 'refuseHidden' | 'builtInDir'>,
): void {
  const theirs = parts.filter(({ from, isTrusted }) => from === 'workspace' && !isTrusted)
  if (theirs.length === 0) return
  const own = ownPlace(name, parts, builtInDir)
  if (own === undefined) return
  for (const { source } of theirs) {
    if (source !== undefined) refuseHidden({ name, path: source.file, other: own })
  }
}

/** The definition of the user or of Baton with that name, if any. */
function ownPlace(name: string, parts: readonly DefinitionPart[], builtInDir: string): string | undefined {
  const other = parts.findLast(({ from }) => from === 'built-in' || from === 'user')
  if (other !== undefined) return other.source?.file ?? `the built-in agent ${name}`
  if (isBuiltInName(name)) return `the built-in agent ${name}`
  return ['aip', 'lua'].map((ending) => join(builtInDir, `${name}.${ending}`)).find((path) => isFile(path))
}

interface DefinitionFile {
  readonly name: string
  /** Absolute. */
  readonly path: string
  readonly from: 'user' | 'workspace' | 'pack'
  /** Absolute: links must not lead out of it. Omitted for the user's own files. */
  readonly within?: string
}

/** The folder of the user's definitions, next to the config file. */
export function userAgentsFolder(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(dirname(userConfigFile(around)), 'agents')
}

/** The folders of the definitions of a workspace, weakest first. */
export function workspaceAgentsFolders(workspace: string): readonly string[] {
  return [join(workspace, 'agents'), join(workspace, '.baton', 'agents')]
}

function definitionFiles(places: DefinitionPlaces): readonly DefinitionFile[] {
  const { workspace, builtInDir, packs } = places
  const own = workspaceAgentsFolders(workspace).filter((folder) => folder !== builtInDir)
  return [
    ...filesIn(userAgentsFolder(places), 'user'),
    ...own.flatMap((folder) => filesIn(folder, 'workspace').map((file) => ({ ...file, within: workspace }))),
    ...packs.flatMap(({ identity, dir }) =>
      filesIn(join(dir, 'agents'), 'pack').map((file) => ({ ...file, name: `${identity}/${file.name}`, within: dir })),
    ),
  ]
}

function filesIn(folder: string, from: DefinitionFile['from']): readonly DefinitionFile[] {
  return namesIn(folder)
    .filter((file) => file.endsWith('.md') && isDefinitionName(file.slice(0, -3)))
    .toSorted()
    .map((file) => ({ name: file.slice(0, -3), path: join(folder, file), from }))
}

/** The definition in a file. A file of the workspace that cannot be read must not shadow an existing name either. */
async function readOwnPart(
  file: DefinitionFile,
  below: readonly DefinitionPart[],
  places: DefinitionPlaces,
): Promise<DefinitionPart> {
  try {
    return await readPart(file, places)
  } catch (error) {
    const { name, path, from } = file
    const other = from === 'workspace' ? ownPlace(name, below, places.builtInDir) : undefined
    if (other !== undefined) places.refuseHidden({ name, path, other })
    throw error
  }
}

async function readPart({ path, from, within }: DefinitionFile, places: DefinitionPlaces): Promise<DefinitionPart> {
  if (within !== undefined) refuseLeadingOut(path, { within, ...places })
  const { parseAgentFile } = await import('./foreign-agent.ts')
  const text = readSource(path, places.areOffered ? places.reads : quiet(places.reads), { part: 'prompt' })
  const shown = displayPath(realPath(places.cwd), path)
  const document = await parseAgentFile(shown, text)
  const isTrusted = from === 'user' || (await isTrustedFile(path, document, places))
  const { readDefinitionFile } = await import('./definition-file.ts')
  return {
    from,
    isTrusted,
    source: { file: path, shown, text, form: 'prompt', at: [] },
    ...(await readDefinitionFile({ document, path, from, isTrusted })),
  }
}

async function isTrustedFile(path: string, document: PromptDocument, places: DefinitionPlaces): Promise<boolean> {
  const { promptTrustHash, trustState } = await import('./trust.ts')
  return trustState({ path, hash: promptTrustHash(document) }, places) === 'trusted'
}

/** Stored text is used, and no read is recorded. */
function quiet(reads: ReadLog | undefined): ReadLog | undefined {
  const stored = reads?.sources?.stored
  if (stored === undefined) return undefined
  const nothing = (): void => {}
  return { file: nothing, prompt: nothing, list: nothing, sources: { stored, found: nothing } }
}

const origins = {
  user: 'user',
  workspace: 'workspace',
  'front matter': 'prompt',
  environment: 'flag',
  flag: 'flag',
  default: 'built-in',
} as const

function tableParts(layer: Layer, places: DefinitionPlaces): readonly (readonly [string, DefinitionPart])[] {
  const { agents } = layer.values
  if (!isJsonObject(agents)) return []
  return Object.entries(agents).flatMap(([name, values]) =>
    isJsonObject(values) ? [[name, partOfTable(values, { layer, at: ['agents', name] }, places)] as const] : [],
  )
}

/** The definition in a table of a layer, with its place. */
export function partOfTable(
  values: JsonObject,
  { layer, at }: { readonly layer: Layer; readonly at: DataPath },
  { cwd, promptFile }: Pick<DefinitionPlaces, 'cwd' | 'promptFile'>,
): DefinitionPart {
  const { origin, text, isTrusted = false } = layer
  const from = origins[origin.kind]
  const part = { from, isTrusted: isTrusted || from === 'flag', values }
  if (text === undefined || !('file' in origin)) return part
  const isPrompt = origin.kind === 'front matter'
  const file = isPrompt ? (promptFile ?? origin.file) : resolve(realPath(cwd), origin.file)
  return { ...part, source: { file, shown: origin.file, text, form: isPrompt ? 'prompt' : 'config', at } }
}
