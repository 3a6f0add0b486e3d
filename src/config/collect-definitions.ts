import { join, resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { isBatonError } from '../base/error.ts'
import { isFile } from '../base/entries.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { defined, isJsonObject, type JsonObject } from '../base/json.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { type ReadLog, readSource } from '../base/reads.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { type AgentDefinition, type DefinitionPart, joinParts } from './agent-definitions.ts'
import {
  agentName,
  type AgentPath,
  agentPaths,
  unparsedName,
  userAgentsFolder,
  workspaceAgentsFolders,
  writtenName,
} from './agent-files.ts'
import { isCommand, isDefinitionName, misplacedKeys, nameHint } from '../settings/agents.ts'
import { startingKeys } from '../settings/keys.ts'
import { type BuiltInName, isBuiltInName, presetNames } from './builtin-names.ts'
import type { Issue } from '../settings/issue.ts'
import type { Layer } from './layers.ts'
import type { Surroundings } from './locate.ts'
import { modelText } from '../base/model-text.ts'

/** The named agents. */
export interface Definitions {
  readonly byName: ReadonlyMap<string, AgentDefinition>
  /** Why a defined name cannot be used. */
  readonly broken: ReadonlyMap<string, Error>
  /** Files of agents that are known by another name than they say, or by none. */
  readonly notes: readonly Issue[]
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
  const notes: Issue[] = []
  const addFiles = async (from: DefinitionFile['from']): Promise<void> => {
    for (const folder of definitionFolders(places).filter((each) => each.from === from)) {
      const taken = new Map<string, DefinitionFile>()
      for (const path of agentPaths(folder.path, folder.within)) {
        const file = await readFile(path, folder, places)
        if (file === undefined) continue
        notes.push(...notesOf(file, taken.get(file.name)))
        if (taken.has(file.name)) continue
        taken.set(file.name, file)
        await tried(file.name, broken, async () =>
          add(file.name, await readOwnPart(file, found.get(file.name) ?? [], places)),
        )
      }
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
  return { byName, broken, notes }
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

interface DefinitionFolder {
  /** Absolute. */
  readonly path: string
  readonly from: 'user' | 'workspace' | 'pack'
  /** Absolute: links must not lead out of it. Omitted for the user's own files. */
  readonly within?: string
  /** The pack, whose agents are named after it. */
  readonly identity?: string
}

/** A file of agents with its effective name. */
interface DefinitionFile extends Pick<DefinitionFolder, 'path' | 'from'> {
  readonly name: string
  /** The name of the file in errors. */
  readonly shown: string
  readonly text: string
  /** What the file contains, or why it cannot be used. */
  readonly content: PromptDocument | Error
}

function definitionFolders(places: DefinitionPlaces): readonly DefinitionFolder[] {
  const { workspace, builtInDir, packs } = places
  const own = workspaceAgentsFolders(workspace).filter((folder) => folder !== builtInDir)
  return [
    { path: userAgentsFolder(places), from: 'user' },
    ...own.map((path) => ({ path, from: 'workspace', within: workspace }) as const),
    ...packs.map(({ identity, dir }) => ({ path: join(dir, 'agents'), from: 'pack', within: dir, identity }) as const),
  ]
}

/** Undefined for a file that is no agent. */
async function readFile(
  at: AgentPath,
  { from, within, identity }: DefinitionFolder,
  places: DefinitionPlaces,
): Promise<DefinitionFile | undefined> {
  const { path } = at
  const shown = displayPath(realPath(places.cwd), path)
  const named = (name: string | undefined, text: string, content: DefinitionFile['content']) =>
    name === undefined
      ? undefined
      : { name: identity === undefined ? name : `${identity}/${name}`, path, from, shown, text, content }
  let text = ''
  try {
    if (within !== undefined) refuseEscape(path, { within, ...places })
  } catch (error) {
    if (!isBatonError(error)) throw error
    return named(unparsedName(text, at), text, error)
  }
  let file: DefinitionFile | undefined
  try {
    text = readSource(path, quiet(places.reads), { part: 'prompt' })
    const document = await (await import('./foreign-agent.ts')).parseAgentFile(shown, text)
    file = named(agentName(document, at), text, document)
  } catch (error) {
    if (!isBatonError(error)) throw error
    file = named(unparsedName(text, at), text, error)
  }
  // other Markdown files below the folder do not decide anything
  if (file !== undefined && places.areOffered) noteRead(path, places.reads)
  return file
}

/** Records the read of a file, which may have failed already. */
function noteRead(path: string, reads: ReadLog | undefined): void {
  try {
    readSource(path, reads, { part: 'prompt' })
  } catch (error) {
    if (!isBatonError(error)) throw error
  }
}

function notesOf({ name, shown, content }: DefinitionFile, other: DefinitionFile | undefined): readonly Issue[] {
  if (content instanceof Error) return []
  const written = writtenName(content.meta)
  const place = { file: shown }
  const notes: Issue[] = []
  if (written !== undefined && !isDefinitionName(written)) {
    const message = `${shown} is known as "${name}": its name ${JSON.stringify(written)} cannot be the name of an agent`
    notes.push({ code: 'CONFIG_INVALID', message, hint: nameHint, place })
  }
  if (other !== undefined) {
    const message = `${shown} is not used: ${other.shown} has the same name, "${name}"`
    notes.push({ code: 'CONFIG_INVALID', message, hint: 'Give one of them a different name.', place })
  }
  return notes
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

async function readPart(
  { path, from, shown, text, content: document }: DefinitionFile,
  places: DefinitionPlaces,
): Promise<DefinitionPart> {
  if (document instanceof Error) throw document
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
  const { promptTrustText, trustState } = await import('./trust.ts')
  return trustState({ path, content: promptTrustText(document) }, places) === 'trusted'
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

const planMode = ['enter_plan', 'exit_plan'] as const
const writers = ['edit', 'write'] as const

/**
 * The definitions that ship with Baton: agents to which a model may delegate work in every project. Tools that a
 * definition names are offered if they exist and the caller may use them.
 */
export const builtInDefinitions: { readonly [name in BuiltInName]: JsonObject } = {
  Bash: {
    description: modelText`Runs command lines and reports the results: builds, tests, git.`,
    tools: ['bash'],
    instructions: modelText`You run command lines for another agent. Run what the task asks for and nothing else. Say which commands you ran, whether
they succeeded, and which part of their output matters for the task: quote errors word for word, and omit the rest.`,
  },
  'general-purpose': {
    description: modelText`Researches questions and does work in several steps, with all tools of its caller.`,
    tools: ['*'],
    disallowed_tools: ['task'],
    fork_context: true,
    instructions: modelText`You work on one task for another agent. Do everything it asks, and nothing else. Search widely if you do not know where
something is, and read what you found before you rely on it. Your last message is your only answer: say what you did and
found, with the paths of the files that matter.`,
  },
  Explore: {
    description: modelText`Finds files, code and answers in the project without changing anything. Say in the prompt how thorough it should be: quick, medium or very thorough.`,
    tools: ['*'],
    disallowed_tools: ['task', ...planMode, ...writers],
    write_mode: false,
    reminder: modelText`You only look: change no file, and run no command that changes anything.`,
    instructions: modelText`You explore a project for another agent. Find files by glob, their content by grep, and read what seems to matter. Make
independent calls at the same time.

The task may say how thorough to be: quick is one look at the likeliest places; medium (the default) follows what that leads to;
very thorough also looks for other names, other places and other spellings.

Answer the question, with the path and line of each thing you name. Say what you did not find, and where you looked.`,
  },
  Plan: {
    description: modelText`Designs a change: the steps, the files that matter, what could go wrong. Changes nothing.`,
    tools: ['glob', 'grep', 'read', 'bash'],
    disallowed_tools: ['task', ...planMode, ...writers],
    write_mode: false,
    reminder: modelText`You only plan: change no file, and run no command that changes anything.`,
    instructions: modelText`You plan a change to a project for another agent. Look at the code that it touches, and at how the project does similar
things elsewhere. Then write the steps in the order in which they should be done: each with its files, what changes in them, and how
to verify it. Name what could go wrong, and what you could not find out. End with the files that matter most, one per line.`,
  },
}

/**
 * Command lines whose flags and output are known: unless something else has its name, each is an agent of that name.
 * They are not offered to models.
 */
const presetDefinitions: { readonly [name: string]: JsonObject } = Object.fromEntries(
  presetNames.map((preset) => [preset, { preset }]),
)
