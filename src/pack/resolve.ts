import { readdirSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { homeFolder } from '../base/home.ts'
import { BatonError, isBatonError, rewordError, type SourcePlace } from '../base/error.ts'
import { refuseEscape } from '../base/link-escape.ts'
import { isSourceEntry, type ReadLog, readSource } from '../base/reads.ts'
import { nearestOf } from '../base/suggest.ts'
import { type DefinedCommandLine, isDefinitionName } from '../settings/agents.ts'
import type { DefinedText } from '../config/agent-definitions.ts'
import type { Definitions } from '../config/collect-definitions.ts'
import { findPack, noPack, type Pack, type PackPlaces } from './find-pack.ts'
import { packOfFile } from './granted.ts'
import { refuseHidden } from './name-guard.ts'
import { manifestName } from './pack-manifest.ts'
import { isCore, mayBePackName, type PackRef, packRefText, parsePackRef } from './pack-ref.ts'

interface AgentPack extends Pack {
  /** The reference with its namespace, `namespace@name/sub`. */
  readonly ref: string
  readonly subPath?: string
}

/** `reads` also records the file, and those that would take precedence over it if they existed. */
export interface ResolveOptions extends PackPlaces {
  /** Folder that relative names start from. */
  readonly baseDir: string
  /** Folder of the agents that ship with Baton. */
  readonly builtInDir: string
  readonly place?: SourcePlace
  /** Named agents; omitted: none. */
  readonly definitions?: Definitions
}

interface FoundFile {
  /** Absolute path. */
  readonly file: string
  readonly builtIn: boolean
  /** Only if it was named by a pack reference. */
  readonly pack?: AgentPack
}

interface ReadFile extends FoundFile {
  readonly name: string
  readonly text: string
}

export interface ScriptFile extends ReadFile {
  readonly kind: 'aip' | 'lua'
}

/** A prompt file that was found and read, to be run as an agent. */
export interface PromptFile extends ReadFile {
  readonly kind: 'prompt'
  /** Default: the text of the file. */
  readonly defined?: DefinedText
}

export type AgentFile = ScriptFile | PromptFile

/** A command line that is defined as an agent. */
export interface CommandFile extends ReadFile {
  readonly kind: 'command'
  readonly line: DefinedCommandLine
  readonly defined?: DefinedText
}

export type NamedFile = AgentFile | CommandFile

/**
 * Finds an agent by name and reads it (docs/aipack.md "Resolution", with `.lua` in addition to `.aip`). `x.aip`,
 * `x.lua` and `x.md` (a prompt file) name that file; `x/` means `x/main.aip`; other names try `x.aip`, `x.lua`,
 * `x/main.aip`; a script's name without a folder that is not found there is looked up among the built-in agents.
 * `namespace@pack` is the `main.aip` of that pack, `namespace@pack/x` is `x` in its folder.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS, FILE_UNREADABLE
 */
export function resolveAgent(name: string, options: ResolveOptions & { readonly definitions: Definitions }): NamedFile
export function resolveAgent(name: string, options: ResolveOptions): AgentFile
export function resolveAgent(name: string, options: ResolveOptions): NamedFile {
  return atPlace(options, () => {
    const defined = findDefined(name, options)
    if (defined !== undefined) return defined
    const found = locateNoted(name, options)
    if (found === undefined) throw notFound(name, options)
    refuseLink(found, options)
    return read(name, found, options.reads)
  })
}

/** A prompt file is sent to a model verbatim, so the workspace must not name files outside of it by a link. */
function refuseLink({ file, pack }: FoundFile, { guard, reads }: ResolveOptions): void {
  if (guard === undefined || !file.endsWith('.md')) return
  const { workspace } = guard
  refuseEscape(file, { within: pack?.dir ?? workspace, cwd: workspace, reads })
}

/** The same, or undefined if nothing has this name: for words that may also name something else. */
export function findAgent(name: string, options: ResolveOptions): AgentFile | undefined {
  return atPlace(options, () => {
    const found = locateAgent(name, options)
    return found === undefined ? undefined : read(name, found, options.reads)
  })
}

/**
 * An agent with a definition. If a file next to the prompt file has the same name and the definition belongs to the
 * user or to Baton, the untrusted file is refused like one that shadows a built-in agent, and a trusted one is used. If
 * the definition comes from the same folder, the name is ambiguous.
 * @throws BatonError the error in the definition, UNTRUSTED, AGENT_AMBIGUOUS
 */
function findDefined(name: string, options: ResolveOptions): NamedFile | undefined {
  const { definitions, baseDir, reads, guard } = options
  const problem = definitions?.broken.get(name)
  if (problem !== undefined) throw problem
  const definition = definitions?.byName.get(name)
  if (definition === undefined) return undefined
  const { agent, from, origin } = definition
  const local = from === 'pack' ? undefined : pick(name, candidates(name, baseDir), {})
  if (local !== undefined) {
    if (from === 'built-in' || from === 'user') {
      if (guard !== undefined) refuseHidden({ name, path: local, kind: 'file', other: `the agent of ${origin}` }, guard)
      return undefined
    }
    throw new BatonError(
      'AGENT_AMBIGUOUS',
      `agent "${name}" is ambiguous: ${origin} defines it, but ${local} exists as well`,
      {
        hint: `Rename one of them, or write the file with its extension.`,
      },
    )
  }
  if (agent.kind === 'prompt' && agent.defined === undefined) {
    const text = readSource(agent.file, reads, { part: 'prompt' })
    return { kind: 'prompt', name, file: agent.file, text, builtIn: false }
  }
  for (const source of agent.defined?.sources ?? []) {
    if (source.form === 'prompt' && source.at.length === 0) readSource(source.file, reads, { part: 'prompt' })
  }
  return { ...agent, builtIn: false }
}

function atPlace<T>({ place }: ResolveOptions, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isBatonError(error) && error.place === undefined && place !== undefined
      ? rewordError(error, { place })
      : error
  }
}

/** Also records a failed lookup: a file that is created later may be the one that was meant. */
function locateNoted(name: string, options: ResolveOptions): FoundFile | undefined {
  const { reads } = options
  if (reads === undefined) return locateAgent(name, options)
  let found: FoundFile | undefined
  try {
    return (found = locateAgent(name, options))
  } finally {
    const paths = possibleAgentFiles(name, options)
    const at = paths.findIndex((path) => path === found?.file)
    for (const path of at === -1 ? paths : paths.slice(0, at)) reads.file(path)
    if (found?.pack !== undefined) reads.file(join(found.pack.dir, manifestName))
  }
}

function read(name: string, found: FoundFile, reads: ReadLog | undefined): AgentFile {
  const { file, builtIn } = found
  const kind = file.endsWith('.md') ? 'prompt' : file.endsWith('.lua') ? 'lua' : 'aip'
  // agents that ship with Baton do not change
  const text = readSource(file, reads, { part: kind === 'prompt' ? 'prompt' : 'whole', watched: !builtIn })
  return { kind, name, text, ...found }
}

/** @throws BatonError AGENT_NOT_FOUND for a pack reference that names nothing, AGENT_AMBIGUOUS, UNTRUSTED */
function locateAgent(name: string, options: ResolveOptions): FoundFile | undefined {
  if (mayBePackName(name)) return locateByReference(name, options)
  const local = pick(name, candidates(name, options.baseDir), options)
  const isLocal = /[/\\]|\.md$/.test(name)
  // if a local file is found, this only decides whether that is refused: not a source of the run
  const reads = local === undefined ? options.reads : undefined
  const file = isLocal ? undefined : pick(name, candidates(name, options.builtInDir), { reads })
  if (local === undefined) return file === undefined ? undefined : { file, builtIn: true }
  if (file !== undefined) refuseInPlaceOf(file, name, local, options)
  return { file: local, builtIn: false }
}

/**
 * A name without a folder and extension means a built-in agent first. The names that a pack uses for its own agents are
 * exempt: they were checked when the pack was found.
 */
function refuseInPlaceOf(other: string, name: string, path: string, { guard, packRoots }: ResolveOptions): void {
  if (guard === undefined || other === path || /\.(?:aip|lua)$/.test(name)) return
  if (packOfFile(path, packRoots) === undefined) refuseHidden({ name, path, kind: 'file', other }, guard)
}

/** A name with an @ is a pack; if there is no such pack, it may still be a file with an @ in its name. */
function locateByReference(name: string, options: ResolveOptions): FoundFile {
  try {
    return locateInPack(name, options)
  } catch (error) {
    const file = pick(name, candidates(name, options.baseDir), options)
    if (file !== undefined) return { file, builtIn: false }
    throw error
  }
}

function locateInPack(name: string, options: ResolveOptions): FoundFile {
  const ref = parsePackRef(name)
  if (ref.scope !== 'pack') {
    const message = `"${name}" names a support folder, which contains no agents`
    throw new BatonError('AGENT_NOT_FOUND', message, { hint: 'Omit $base or $workspace.' })
  }
  const pack = findPack(ref, options)
  if (pack === undefined) throw noPack(ref, { ...options, reads: undefined })
  const { subPath } = ref
  const groups =
    subPath === undefined ? [mains(pack.dir)] : [...candidates(subPath, pack.dir), definedIn(pack.dir, subPath)]
  const file = pick(name, groups, options)
  if (file === undefined) {
    const message = `there is no agent "${packRefText(ref)}": the pack has no such file`
    throw new BatonError('AGENT_NOT_FOUND', message, { hint: triedText(groups) })
  }
  const full: PackRef = { ...ref, namespace: pack.namespace }
  return {
    file,
    builtIn: pack.dir === options.builtInDir,
    pack: { ...pack, ref: packRefText(full), ...(subPath === undefined ? {} : { subPath }) },
  }
}

/** Files that a name may refer to, highest precedence first; at most one of each group may exist. */
type Candidates = readonly (readonly string[])[]

function candidates(name: string, baseDir: string): Candidates {
  const path = isAbsolute(name) ? name : resolve(baseDir, name)
  if (/\.(?:aip|lua|md)$/.test(name)) return [[path]]
  if (name.endsWith('/')) return [mains(path)]
  return [[`${path}.aip`, `${path}.lua`], mains(path)]
}

/** Agents that a pack defines for models to start. */
function definedIn(folder: string, name: string): readonly string[] {
  return isDefinitionName(name) ? [join(folder, 'agents', `${name}.md`)] : []
}

function mains(folder: string): readonly string[] {
  return [join(folder, 'main.aip'), join(folder, 'main.lua')]
}

function pick(name: string, groups: Candidates, { reads }: Pick<ResolveOptions, 'reads'>): string | undefined {
  const found =
    groups.map((files) => files.filter((path) => isSourceEntry(path, reads))).find(({ length }) => length > 0) ?? []
  if (found.length < 2) return found[0]
  throw new BatonError('AGENT_AMBIGUOUS', `agent "${name}" is ambiguous: both ${found.join(' and ')} exist`, {
    hint: 'Write the name with its extension.',
  })
}

/** Every file that a name may refer to, except built-in agents, highest precedence first. */
export function possibleAgentFiles(
  name: string,
  { packRoots, baseDir }: Pick<ResolveOptions, 'packRoots' | 'baseDir'>,
): readonly string[] {
  const local = candidates(name, baseDir).flat()
  const [, namespace, pack, path] = /^([^@/]+)@([^$/]+)(?:\/(.+))?$/.exec(name) ?? []
  if (namespace === undefined || pack === undefined || isCore({ namespace, name: pack })) return local
  const dirs = packRoots.map((root) => join(root, namespace, pack))
  return [
    ...dirs.flatMap((dir) =>
      path === undefined ? mains(dir) : [...candidates(path, dir).flat(), ...definedIn(dir, path)],
    ),
    ...local,
  ]
}

/** Contains AIPack's message for it. */
function notFound(name: string, { baseDir, builtInDir, definitions }: ResolveOptions): BatonError {
  const { meant, others } = wordsOf(builtInDir, definitions)
  const found = candidates(name, baseDir)
  const isFolder = statSync(resolve(baseDir, name), { throwIfNoEntry: false })?.isDirectory() === true
  const tried = `${isFolder ? 'It is a folder without a main agent: name a file in it. ' : ''}${triedText(found)}`
  const similar = meant(name)
  const probable = inAgentsFolder(name, baseDir) ?? similar
  const hint = probable === undefined ? `${tried} ${others}` : `Did you mean "${probable}"? ${tried}`
  return new BatonError('AGENT_NOT_FOUND', `there is no agent "${name}". No agent found for local path: '${name}'`, {
    hint,
  })
}

/** Where `baton new agent` writes; names are relative to the workspace, so the folder is part of them. */
function inAgentsFolder(name: string, baseDir: string): string | undefined {
  if (!/^[\w.-]+$/.test(name)) return undefined
  const inFolder = `agents/${name}`
  const exists = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true
  return candidates(inFolder, baseDir).flat().some(exists) ? inFolder : undefined
}

/** What the error for a missing agent says of those that exist. */
interface KnownNames {
  readonly builtInDir: string
  readonly meant: (name: string) => string | undefined
  readonly others: string
}

/** A prompt file may name thousands that are missing. Agents that ship with Baton do not change. */
const knownNames = new WeakMap<Definitions, KnownNames>()
const none: Definitions = { byName: new Map(), broken: new Map(), notes: [] }

function wordsOf(builtInDir: string, definitions = none): KnownNames {
  const known = knownNames.get(definitions)
  if (known?.builtInDir === builtInDir) return known
  const builtIn = readdirSync(builtInDir)
    .filter((file) => /\.(?:aip|lua)$/.test(file))
    .map((file) => file.replace(/\.[^.]+$/, ''))
    .toSorted()
  const own = [...definitions.byName].filter(([, { from }]) => from !== 'built-in').map(([name]) => name)
  const named = own.length === 0 ? '' : ` Named agents: ${shownNames(own)}.`
  const made = {
    builtInDir,
    meant: nearestOf([...builtIn, ...definitions.byName.keys()]),
    others: `Built-in agents: ${builtIn.join(', ')}.${named}`,
  }
  knownNames.set(definitions, made)
  return made
}

function shownNames(names: readonly string[], most = 20): string {
  const rest = names.length - most
  return `${names.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more (baton list agents)` : ''}`
}

function triedText(groups: Candidates): string {
  const paths = groups.flat().map((path) => path.replace(homeFolder(), '~'))
  return `Looked for ${paths.join(', ')}.`
}
