import { readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, isAbsolute, join, resolve } from 'node:path'
import { BatonError, type SourcePlace } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { nearest } from '../base/suggest.ts'

/** An agent file that was found and read. */
export interface AgentFile {
  readonly kind: 'aip' | 'lua'
  readonly name: string
  /** Absolute path. */
  readonly file: string
  readonly text: string
  readonly builtIn: boolean
}

export interface ResolveOptions {
  /** Folder that relative names start from. */
  readonly baseDir: string
  /** Folder of the agents that come with the product. */
  readonly builtInDir: string
  /** Where the name is written, for the error. */
  readonly place?: SourcePlace
}

/**
 * Finds an agent by name and reads it (spec/aipack.md 3.1, with `.lua` beside `.aip`).
 * `x.aip` and `x.lua` name that file; `x/` means `x/main.aip`; other names try `x.aip`, `x.lua`, `x/main.aip`; a name
 * without a folder that is not found there is looked up among the built-in agents.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS, NOT_AVAILABLE (pack references), FILE_UNREADABLE
 */
export function resolveAgent(name: string, options: ResolveOptions): AgentFile {
  refuseWhatComesLater(name, options)
  const local = pick(name, candidates(name, options.baseDir), options)
  if (local !== undefined) return read(name, local, { builtIn: false })

  const builtIn = /[/\\]/.test(name) ? undefined : pick(name, candidates(name, options.builtInDir), options)
  if (builtIn !== undefined) return read(name, builtIn, { builtIn: true })
  throw notFound(name, options)
}

function refuseWhatComesLater(name: string, { place }: ResolveOptions): void {
  const details = place === undefined ? {} : { place }
  if (/^[^./\\][^/\\]*@/.test(name)) {
    throw new BatonError('NOT_AVAILABLE', `pack references such as "${name}" are not available in this version`, {
      ...details,
      hint: 'Name the agent file by its path; a path that holds an @ is written ./like@this.aip.',
    })
  }
  if (name.endsWith('.md')) {
    throw new BatonError('NOT_AVAILABLE', `prompt files as agents ("${name}") are not available in this version`, {
      ...details,
      hint: 'Use an .aip or .lua agent.',
    })
  }
}

function candidates(name: string, baseDir: string): readonly string[] {
  const path = isAbsolute(name) ? name : resolve(baseDir, name)
  if (/\.(?:aip|lua)$/.test(name)) return [path]
  if (name.endsWith('/')) return [join(path, 'main.aip')]
  return [`${path}.aip`, `${path}.lua`, join(path, 'main.aip')]
}

function pick(name: string, paths: readonly string[], { place }: ResolveOptions): string | undefined {
  const found = paths.filter(isFile)
  const clash = found.filter((path) => basename(path) !== 'main.aip')
  if (clash.length > 1) {
    throw new BatonError('AGENT_AMBIGUOUS', `agent "${name}" is ambiguous: both ${clash.join(' and ')} exist`, {
      ...(place === undefined ? {} : { place }),
      hint: 'Write the name with its ending.',
    })
  }
  return found[0]
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function read(name: string, file: string, { builtIn }: { readonly builtIn: boolean }): AgentFile {
  return { kind: file.endsWith('.lua') ? 'lua' : 'aip', name, file, text: readSourceFile(file), builtIn }
}

function notFound(name: string, options: ResolveOptions): BatonError {
  const names = builtInAgents(options.builtInDir)
  const similar = nearest(name, names)
  const tried = candidates(name, options.baseDir).map((path) => path.replace(homedir(), '~'))
  const hint =
    similar === undefined
      ? `Looked for ${tried.join(', ')}. Built-in agents: ${names.join(', ')}.`
      : `Did you mean "${similar}"? Looked for ${tried.join(', ')}.`
  return new BatonError('AGENT_NOT_FOUND', `there is no agent "${name}"`, {
    hint,
    ...(options.place === undefined ? {} : { place: options.place }),
  })
}

/** Names of the agents that come with the product, in order. */
function builtInAgents(builtInDir: string): readonly string[] {
  return readdirSync(builtInDir)
    .filter((file) => /\.(?:aip|lua)$/.test(file))
    .map((file) => file.replace(/\.[^.]+$/, ''))
    .toSorted()
}
