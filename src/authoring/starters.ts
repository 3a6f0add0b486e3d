import { closeSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { shellWord } from '../base/command.ts'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { displayPath, readSourceFile } from '../base/files.ts'
import { refuseEscapingLink } from '../base/link-escape.ts'
import { nearest } from '../base/suggest.ts'
import { type PackName, type PackRef, parsePackRef, refuseReserved } from '../pack/pack-ref.ts'

/** What `baton new` creates, and the next steps for the user. */
export interface Starter {
  readonly files: readonly NewFile[]
  readonly next: readonly NextStep[]
}

export type NextStep =
  | { readonly kind: 'command'; readonly command: string; readonly note?: string }
  | { readonly kind: 'text'; readonly text: string }

/** Absolute folders. */
interface StarterPlaces {
  readonly cwd: string
  readonly workspace: string
  /** `starters/` of the package: the files that are copied, with `{{name}}` as placeholders. */
  readonly starters: string
}

/**
 * The text of a new `baton.toml`. A line commented out as `# key = value` or `# [table]` is a valid setting without the
 * mark: the value is the default, or an example if there is none.
 */
export function configText({ starters }: Pick<StarterPlaces, 'starters'>): string {
  return fill(join(starters, 'baton.toml'), {})
}

/**
 * A prompt file at `name`, relative to `cwd`, with the extension `.md`. Its comments explain the keys, and it runs
 * unchanged.
 * @param copied the text of a ready-made prompt file, to be used instead
 * @throws BatonError USAGE for an invalid file name
 */
export function promptStarter(name: string, copied: string | undefined, places: StarterPlaces): Starter {
  checkFileName(name, 'prompt')
  const { cwd, workspace, starters } = places
  const path = resolve(cwd, name.endsWith('.md') ? name : `${name}.md`)
  const file = shellWord(displayPath(cwd, path))
  const own = JSON.stringify(displayPath(workspace, path)).slice(1, -1)
  const text = copied ?? fill(join(starters, 'prompt.md'), { file: own })
  // ready-made prompt files may need a model; those that do not mention offline::extractive
  const isOffline = copied === undefined || copied.includes('offline::extractive')
  return {
    files: [{ path, text }],
    next: [
      command(`baton check ${file}`),
      ...(isOffline ? [command(`baton ${file} -m offline::extractive`, 'quotes from your files, without a key')] : []),
      command(`baton ${file}`, 'with a key or a local server'),
    ],
  }
}

/**
 * An agent at the path `name`, relative to `cwd`; a name without a folder goes into `agents/` of the workspace. It is
 * an .aip file, or plain Lua if the name ends in .lua, and runs without a model.
 * @throws BatonError USAGE for an invalid file name
 */
export function agentStarter(name: string, { cwd, workspace, starters }: StarterPlaces): Starter {
  checkFileName(name, 'agent')
  const named = /\.(?:aip|lua)$/.test(name) ? name : `${name}.aip`
  const path = /[/\\]/.test(named) ? resolve(cwd, named) : join(workspace, 'agents', named)
  const file = shellWord(displayPath(cwd, path))
  const entry = JSON.stringify(displayPath(workspace, path))
  return {
    files: [{ path, text: fill(join(starters, named.endsWith('.lua') ? 'agent.lua' : 'agent.aip'), {}) }],
    next: [
      command(`baton check ${file}`),
      command(`baton ${file} -i "some text"`, 'by itself'),
      { kind: 'text', text: `in the front matter of a prompt file: sub_agents = [${entry}]` },
    ],
  }
}

const packFiles = ['pack.toml', 'main.aip', 'check.aip', 'lua/words.lua', 'example.md', 'README.md'] as const

/** `folder` is where it is created; it must not exist. */
interface PackStarter extends Starter {
  readonly folder: string
}

/**
 * The pack `namespace@name` in `.baton/packs` of the workspace: two agents that share a Lua module, and a prompt file
 * that demonstrates them. It runs without a model.
 * @throws BatonError USAGE for an invalid pack name
 */
export function packStarter(text: string, { cwd, workspace, starters }: StarterPlaces): PackStarter {
  const { namespace, name } = readPackName(text)
  const folder = join(workspace, '.baton', 'packs', namespace, name)
  const values = { namespace, name, folder: displayPath(workspace, folder) }
  const identity = `${namespace}@${name}`
  const example = shellWord(displayPath(cwd, join(folder, 'example.md')))
  return {
    folder,
    files: packFiles.map((path) => ({ path: join(folder, path), text: fill(join(starters, 'pack', path), values) })),
    next: [
      command(`baton check ${identity} ${identity}/check ${example}`),
      command(`baton ${identity} -i "some text"`, 'only its main.aip'),
      command(`baton ${example} -m offline::extractive`, 'both agents, without a key'),
    ],
  }
}

function fill(file: string, values: { readonly [name: string]: string }): string {
  return readSourceFile(file).replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole)
}

function command(text: string, note?: string): NextStep {
  return { kind: 'command', command: text, ...(note === undefined ? {} : { note }) }
}

function checkFileName(name: string, kind: 'prompt' | 'agent'): void {
  const isFolder = /(?:^|[/\\])\.{0,2}$/.test(name)
  const hasControls = /\p{Cc}/u.test(name)
  if (name.trim() !== '' && !isFolder && !hasControls) return
  const reason =
    name.trim() === '' ? 'it is empty' : hasControls ? 'it contains a control character' : 'it names a folder'
  throw new BatonError('USAGE', `a new ${kind} cannot be called ${JSON.stringify(name)}: ${reason}`, {
    hint: `Write a name or a path, for example baton new ${kind} ${kind === 'prompt' ? 'review' : 'lint'}.`,
  })
}

/**
 * Parses `namespace@name`.
 * @throws BatonError USAGE
 */
export function readPackName(text: string): PackName {
  const [, namespace, name] = /^([\w-]+)[/:.]([\w-]+)$/.exec(text) ?? []
  const hint =
    namespace === undefined || name === undefined
      ? 'Write baton new pack namespace@name, for example baton new pack demo@notes.'
      : `Did you mean ${namespace}@${name}?`
  const invalid = (cause?: unknown): BatonError =>
    new BatonError('USAGE', `${JSON.stringify(text)} is not the name of a pack`, { hint, cause })
  let ref: PackRef
  try {
    ref = parsePackRef(text)
  } catch (cause) {
    throw invalid(cause)
  }
  if (ref.namespace === undefined || ref.subPath !== undefined || ref.scope !== 'pack') throw invalid()
  const pack = { namespace: ref.namespace, name: ref.name }
  refuseReserved(pack)
  return pack
}

/** Names of the ready-made prompt files that ship with Baton, in order; `folder` is `pipelines/` of the package. */
export function pipelineNames(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    .toSorted()
}

/**
 * The text of one of them, without its tests: their cassettes are not copied, and match no other prompt.
 * @throws BatonError USAGE, with all names, if there is no such pipeline
 */
export function readPipeline(name: string, folder: string): string {
  const names = pipelineNames(folder)
  if (names.includes(name)) {
    // tests are the last part of the front matter
    return readSourceFile(join(folder, `${name}.md`)).replace(/\n+\[\[test\]\]\n[^]*?(?=\n\+\+\+\n)/, '')
  }
  const similar = nearest(name, names)
  const known = `Pipelines: ${names.join(', ')}.`
  throw new BatonError('USAGE', `unknown pipeline ${JSON.stringify(name)}`, {
    hint: similar === undefined ? known : `Did you mean ${similar}? ${known}`,
  })
}

/** A file to be created. `path` is absolute. */
interface NewFile {
  readonly path: string
  readonly text: string
}

/**
 * Writes new files, and the folders they need; no link may lead out of the folder `within`. If one of the files exists,
 * none is written; if a write fails, those already written are removed.
 * @throws BatonError USAGE naming the file that exists, FILE_FAILED for a file that cannot be written
 */
export function createFiles(files: readonly NewFile[], { within }: { readonly within: string }): void {
  for (const { path } of files) refuseEscapingLink(path, { within })
  for (const { path } of files) if (exists(path)) throw alreadyThere(path)
  const made: string[] = []
  for (const file of files) {
    try {
      mkdirSync(dirname(file.path), { recursive: true })
      const descriptor = openSync(file.path, 'wx')
      made.push(file.path)
      try {
        writeFileSync(descriptor, file.text)
      } finally {
        closeSync(descriptor)
      }
    } catch (error) {
      for (const path of made) rmSync(path, { force: true })
      throw failure(file.path, error)
    }
  }
}

/** Also true for a broken link: writing through it would create a file elsewhere. */
function exists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    return !hasSystemCode(error, 'ENOENT', 'ENOTDIR')
  }
}

function failure(path: string, error: unknown): BatonError {
  if (hasSystemCode(error, 'EEXIST') && exists(path)) return alreadyThere(path)
  return new BatonError('FILE_FAILED', `${path} cannot be written: ${messageOf(error)}`, {
    hint: hasSystemCode(error, 'ENOSPC', 'EDQUOT')
      ? 'Free some space there.'
      : 'Check that the folder exists and that you may write to it.',
    cause: error,
  })
}

/** The error for a file that `baton new` or `baton init` would have to overwrite. */
export function alreadyThere(path: string): BatonError {
  return new BatonError('USAGE', `${path} already exists`, {
    hint: 'Nothing is ever overwritten: choose another name, or remove it first.',
  })
}
