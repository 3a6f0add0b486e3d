import { readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { BatonError, type ErrorDetails, isBatonError, type SourcePlace } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import type { ReadLog } from '../base/reads.ts'
import { nearest } from '../base/suggest.ts'
import { findPack, type Pack, type PackPlaces } from './find-pack.ts'
import { mayBePackName, packRefText, parsePackRef, type PackRef } from './pack-ref.ts'
import { noPack } from './pack-path.ts'

/** The pack an agent was named through. */
interface AgentPack extends Pack {
  /** The reference with its namespace, `namespace@name/sub`. */
  readonly ref: string
  readonly subPath?: string
}

interface ReadFile {
  /** As it was asked for. */
  readonly name: string
  /** Absolute path. */
  readonly file: string
  readonly text: string
  readonly builtIn: boolean
  /** Only when it was named by a pack reference. */
  readonly pack?: AgentPack
}

/** A script agent that was found and read. */
export interface ScriptFile extends ReadFile {
  readonly kind: 'aip' | 'lua'
}

/** A prompt file that was found and read, to be run as an agent. */
export interface PromptFile extends ReadFile {
  readonly kind: 'prompt'
}

/** An agent file that was found and read. */
export type AgentFile = ScriptFile | PromptFile

export interface ResolveOptions extends PackPlaces {
  /** Folder that relative names start from. */
  readonly baseDir: string
  /** Folder of the agents that come with the product. */
  readonly builtInDir: string
  /** Where the name is written, for the error. */
  readonly place?: SourcePlace
  /** Told of the file, and of those that would come before it if they were there. */
  readonly reads?: ReadLog | undefined
}

/**
 * Finds an agent by name and reads it (spec/aipack.md 3.1, vectors 9 to 12, with `.lua` beside `.aip`).
 * `x.aip`, `x.lua` and `x.md` (a prompt file) name that file; `x/` means `x/main.aip`; other names try `x.aip`, `x.lua`,
 * `x/main.aip`; a script's name without a folder that is not found there is looked up among the built-in agents.
 * `namespace@pack` is the `main.aip` of that pack, `namespace@pack/x` is `x` in its folder.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS, FILE_UNREADABLE
 */
export function resolveAgent(name: string, options: ResolveOptions): AgentFile {
  try {
    const found = locateNoted(name, options)
    if (found === undefined) throw notFound(name, options)
    return read(name, found, options.reads)
  } catch (error) {
    throw placed(error, options)
  }
}

/**
 * The same where only a script can stand.
 * @throws BatonError also USAGE for a prompt file
 */
export function resolveScript(name: string, options: ResolveOptions): ScriptFile {
  const agent = resolveAgent(name, options)
  if (agent.kind !== 'prompt') return agent
  throw placed(new BatonError('USAGE', `"${name}" is a prompt file`, { hint: 'Name an .aip or .lua agent.' }), options)
}

/** The same, or undefined when nothing has this name: for words that may also name something else. */
export function findAgent(name: string, options: ResolveOptions): AgentFile | undefined {
  try {
    const found = locate(name, options)
    return found === undefined ? undefined : read(name, found)
  } catch (error) {
    throw placed(error, options)
  }
}

/** Also when nothing is found: what is made later may be what was meant. */
function locateNoted(name: string, options: ResolveOptions): Found | undefined {
  const { reads } = options
  if (reads === undefined) return locate(name, options)
  let found: Found | undefined
  try {
    return (found = locate(name, options))
  } finally {
    const paths = possibleFiles(name, options)
    const at = paths.findIndex((path) => path === found?.file)
    for (const path of at === -1 ? paths : paths.slice(0, at)) reads.file(path)
    if (found?.pack !== undefined) reads.file(join(found.pack.dir, 'pack.toml'))
  }
}

/** Every file a name may mean, but for built-in agents, best first. */
function possibleFiles(name: string, { packRoots, baseDir }: ResolveOptions): readonly string[] {
  const local = candidates(name, baseDir).flat()
  const [, namespace, pack, path] = /^([^@/]+)@([^$/]+)(?:\/(.+))?$/.exec(name) ?? []
  if (namespace === undefined || pack === undefined) return local
  const dirs = packRoots.map((root) => join(root, namespace, pack))
  return [...dirs.flatMap((dir) => (path === undefined ? mains(dir) : candidates(path, dir).flat())), ...local]
}

interface Found {
  readonly file: string
  readonly builtIn: boolean
  readonly pack?: AgentPack
}

function locate(name: string, options: ResolveOptions): Found | undefined {
  if (mayBePackName(name)) return locateByReference(name, options)
  const local = pick(name, candidates(name, options.baseDir))
  if (local !== undefined) return { file: local, builtIn: false }
  const isLocal = /[/\\]|\.md$/.test(name)
  const file = isLocal ? undefined : pick(name, candidates(name, options.builtInDir))
  return file === undefined ? undefined : { file, builtIn: true }
}

/** A name with an @ is a pack; when there is no such pack it may still be a file that has an @ in its name. */
function locateByReference(name: string, options: ResolveOptions): Found {
  try {
    return locateInPack(name, options)
  } catch (error) {
    const file = pick(name, candidates(name, options.baseDir))
    if (file !== undefined) return { file, builtIn: false }
    throw error
  }
}

function locateInPack(name: string, options: ResolveOptions): Found {
  const ref = parsePackRef(name)
  if (ref.scope !== 'pack') throw noAgents(name)
  const pack = findPack(ref, options)
  if (pack === undefined) throw noPack(ref, options)

  const { subPath } = ref
  const file = pick(name, subPath === undefined ? [mains(pack.dir)] : candidates(subPath, pack.dir))
  if (file === undefined) throw nothingInPack(ref, pack)
  const full: PackRef = { ...ref, namespace: pack.namespace }
  return {
    file,
    builtIn: pack.dir === options.builtInDir,
    pack: { ...pack, ref: packRefText(full), ...(subPath === undefined ? {} : { subPath }) },
  }
}

/** Files a name may mean, best first; those of one group must not exist at once. */
type Candidates = readonly (readonly string[])[]

function candidates(name: string, baseDir: string): Candidates {
  const path = isAbsolute(name) ? name : resolve(baseDir, name)
  if (/\.(?:aip|lua|md)$/.test(name)) return [[path]]
  if (name.endsWith('/')) return [mains(path)]
  return [[`${path}.aip`, `${path}.lua`], mains(path)]
}

function mains(folder: string): readonly string[] {
  return [join(folder, 'main.aip'), join(folder, 'main.lua')]
}

function pick(name: string, groups: Candidates): string | undefined {
  const found = groups.map((files) => files.filter(isFile)).find(({ length }) => length > 0) ?? []
  if (found.length < 2) return found[0]
  throw new BatonError('AGENT_AMBIGUOUS', `agent "${name}" is ambiguous: both ${found.join(' and ')} exist`, {
    hint: 'Write the name with its ending.',
  })
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function read(name: string, { file, builtIn, pack }: Found, reads?: ReadLog): AgentFile {
  const kind = kindOf(file)
  const note = kind === 'prompt' ? reads?.prompt : reads?.file
  // one that cannot be read is watched as well; those that come with the product do not change
  if (!builtIn) note?.(file)
  const text = readSourceFile(file)
  if (!builtIn) note?.(file, text)
  return {
    kind,
    name,
    file,
    text,
    builtIn,
    ...(pack === undefined ? {} : { pack }),
  }
}

function kindOf(file: string): AgentFile['kind'] {
  if (file.endsWith('.md')) return 'prompt'
  return file.endsWith('.lua') ? 'lua' : 'aip'
}

function placed(error: unknown, { place }: ResolveOptions): unknown {
  if (!isBatonError(error) || error.place !== undefined || place === undefined) return error
  const { code, message, hint, cause } = error
  const details: ErrorDetails = { place, cause, ...(hint === undefined ? {} : { hint }) }
  return new BatonError(code, message, details)
}

function noAgents(name: string): BatonError {
  return new BatonError('AGENT_NOT_FOUND', `"${name}" names a support folder, which holds no agents`, {
    hint: 'Leave out $base or $workspace.',
  })
}

/** Begins as ours do and says what AIPack users know (spec/pro-coder.md P09). */
function notFound(name: string, options: ResolveOptions): BatonError {
  const names = builtInAgents(options.builtInDir)
  const similar = nearest(name, names)
  const looked = lookedFor(candidates(name, options.baseDir))
  const hint =
    similar === undefined ? `${looked} Built-in agents: ${names.join(', ')}.` : `Did you mean "${similar}"? ${looked}`
  return new BatonError('AGENT_NOT_FOUND', `there is no agent "${name}". No agent found for local path: '${name}'`, {
    hint,
  })
}

function nothingInPack(ref: PackRef, { dir }: Pack): BatonError {
  const tried = ref.subPath === undefined ? [mains(dir)] : candidates(ref.subPath, dir)
  return new BatonError('AGENT_NOT_FOUND', `there is no agent "${packRefText(ref)}": the pack has no such file`, {
    hint: lookedFor(tried),
  })
}

function lookedFor(groups: Candidates): string {
  return `Looked for ${groups
    .flat()
    .map((path) => path.replace(homedir(), '~'))
    .join(', ')}.`
}

/** Names of the agents that come with the product, in order. */
function builtInAgents(builtInDir: string): readonly string[] {
  return readdirSync(builtInDir)
    .filter((file) => /\.(?:aip|lua)$/.test(file))
    .map((file) => file.replace(/\.[^.]+$/, ''))
    .toSorted()
}
