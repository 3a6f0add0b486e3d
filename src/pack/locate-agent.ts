import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { BatonError, type SourcePlace } from '../base/error.ts'
import { isSourceFile } from '../base/source-reader.ts'
import { findPack, type Pack, type PackPlaces } from './find-pack.ts'
import { noPack } from './pack-path.ts'
import { mayBePackName, packRefText, parsePackRef, type PackRef } from './pack-ref.ts'
import { isCore } from './reserved.ts'

/** The pack an agent was named through. */
export interface AgentPack extends Pack {
  /** The reference with its namespace, `namespace@name/sub`. */
  readonly ref: string
  readonly subPath?: string
}

/** `reads` is told of the file, too, and of those that would come before it if they were there. */
export interface ResolveOptions extends PackPlaces {
  /** Folder that relative names start from. */
  readonly baseDir: string
  /** Folder of the agents that come with the product. */
  readonly builtInDir: string
  /** Where the name is written, for the error. */
  readonly place?: SourcePlace
}

export interface FoundAgentFile {
  /** Absolute path. */
  readonly file: string
  readonly builtIn: boolean
  readonly pack?: AgentPack
}

/**
 * Where the file of an agent is; undefined when nothing has this name.
 * @throws BatonError AGENT_NOT_FOUND for what only a pack can be and is none, AGENT_AMBIGUOUS
 */
export function locateAgent(name: string, options: ResolveOptions): FoundAgentFile | undefined {
  if (mayBePackName(name)) return locateByReference(name, options)
  const local = pick(name, candidates(name, options.baseDir), options)
  if (local !== undefined) return { file: local, builtIn: false }
  const isLocal = /[/\\]|\.md$/.test(name)
  const file = isLocal ? undefined : pick(name, candidates(name, options.builtInDir), options)
  return file === undefined ? undefined : { file, builtIn: true }
}

/** A name with an @ is a pack; when there is no such pack it may still be a file that has an @ in its name. */
function locateByReference(name: string, options: ResolveOptions): FoundAgentFile {
  try {
    return locateInPack(name, options)
  } catch (error) {
    const file = pick(name, candidates(name, options.baseDir), options)
    if (file !== undefined) return { file, builtIn: false }
    throw error
  }
}

function locateInPack(name: string, options: ResolveOptions): FoundAgentFile {
  const ref = parsePackRef(name)
  if (ref.scope !== 'pack') throw noAgents(name)
  const pack = findPack(ref, options)
  if (pack === undefined) throw noPack(ref, { ...options, reads: undefined })

  const { subPath } = ref
  const file = pick(name, subPath === undefined ? [mains(pack.dir)] : candidates(subPath, pack.dir), options)
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

function pick(name: string, groups: Candidates, { reads }: Pick<ResolveOptions, 'reads'>): string | undefined {
  const found =
    groups.map((files) => files.filter((path) => isSourceFile(path, reads))).find(({ length }) => length > 0) ?? []
  if (found.length < 2) return found[0]
  throw new BatonError('AGENT_AMBIGUOUS', `agent "${name}" is ambiguous: both ${found.join(' and ')} exist`, {
    hint: 'Write the name with its ending.',
  })
}

/** Every file a name may mean, but for built-in agents, best first. */
export function possibleFiles(name: string, { packRoots, baseDir }: ResolveOptions): readonly string[] {
  const local = candidates(name, baseDir).flat()
  const [, namespace, pack, path] = /^([^@/]+)@([^$/]+)(?:\/(.+))?$/.exec(name) ?? []
  if (namespace === undefined || pack === undefined || isCore({ namespace, name: pack })) return local
  const dirs = packRoots.map((root) => join(root, namespace, pack))
  return [...dirs.flatMap((dir) => (path === undefined ? mains(dir) : candidates(path, dir).flat())), ...local]
}

function noAgents(name: string): BatonError {
  return new BatonError('AGENT_NOT_FOUND', `"${name}" names a support folder, which holds no agents`, {
    hint: 'Leave out $base or $workspace.',
  })
}

function nothingInPack(ref: PackRef, { dir }: Pack): BatonError {
  const tried = ref.subPath === undefined ? [mains(dir)] : candidates(ref.subPath, dir)
  return new BatonError('AGENT_NOT_FOUND', `there is no agent "${packRefText(ref)}": the pack has no such file`, {
    hint: lookedFor(tried),
  })
}

/** Where an agent that is not in a pack was looked for, for people. */
export function lookedForLocally(name: string, { baseDir }: Pick<ResolveOptions, 'baseDir'>): string {
  return lookedFor(candidates(name, baseDir))
}

function lookedFor(groups: Candidates): string {
  return `Looked for ${groups
    .flat()
    .map((path) => path.replace(homedir(), '~'))
    .join(', ')}.`
}
