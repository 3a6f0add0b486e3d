import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isUtf8 } from 'node:buffer'
import { pathHere } from '../tool/worktree/tree-paths.ts'
import { BatonError, hasSystemCode, isBatonError, messageOf, rewordError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { readRegularFile } from '../base/regular-file.ts'
import { type ListedFile, listSteps } from '../base/glob.ts'
import { finishInTurns, finishSteps, type Steps } from '../base/concurrency.ts'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import { type Approver, type ContextWith, emit, type RunStore } from '../event/context.ts'
import { item, part, type Place } from '../event/place.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import type { ContextResource } from '../mcp/context-resources.ts'
import type { FileContext } from '../tool/workspace-files.ts'
import { readableFiles } from '../tool/guard.ts'
import { pathsNamedBy } from '../base/named-paths.ts'
import { keyGlobsIn, namedProblems } from '../load/named-files.ts'
import type { LoadedFile } from './messages.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { type Layer, originText } from '../config/layers.ts'
import { shellWord } from '../base/command.ts'
import type { Permission } from '../event/permission.ts'
import { permitWhileWorking } from '../tool/permit.ts'
import { closingRule, type DecidingRule, ruleText } from '../tool/tool-rules.ts'

/** A file matched by a glob: path relative to base_dir, size in bytes. A type, because interfaces are not `Json`. */
export type FileRef = { readonly path: string; readonly size: number }

/** The files that the globs of a request match; `loadFiles` reads their contents. */
export interface FileSet {
  readonly knowledge: readonly FileRef[]
  readonly structure: readonly string[]
  readonly context: readonly FileRef[]
  /** Undefined if there are no working globs. */
  readonly groups: readonly (readonly FileRef[])[] | undefined
  /** Resources of MCP servers, with their contents; default: none. */
  readonly resources?: readonly ContextResource[]
}

/** What listing and reading the files of a request takes of a run. */
type FilesContext = FileContext & { readonly services: RunStore & Approver }

/**
 * Lists the files of a request; the content of the prompt file itself is never part of it. Each kind is one observation,
 * so a resumed run sees the same list. A path that is no file is a warning, or an error if nothing in its list matches, or
 * if it was given on the command line.
 * @throws BatonError OUTSIDE_WORKSPACE if a glob or a link leads out of the workspace, FILE_UNREADABLE for a path that is
 * no file, and a pipe, socket or device among the working files
 */
export async function listFileSet(
  { globs, base_dir: baseDir }: Settings,
  { context, spec }: { readonly context: FilesContext; readonly spec: Pick<RunSpec, 'file' | 'layers'> },
): Promise<FileSet> {
  const { scope, services } = context
  const ownFile = pathHere(scope.folders, realPath(spec.file))
  const isGiven = spec.layers.above.some(({ values }) => values['working_globs'] !== undefined)
  /** Of the working globs, which are listed one by one. */
  const missing: BatonError[] = []
  const list: ListKind = async (kind, patterns, index) => {
    if (patterns.length === 0) return []
    const at = [...scope.at, part('files'), item(kind), ...(index === undefined ? [] : [item(index)])]
    return services.effects.observeAsync(at, { name: 'file.list', args: [...patterns] }, async (allow) => {
      const listed = await listNoted(kind, patterns, { baseDir, context, isGiven, missing })
      const listing = { key: `${kind}_globs`, globs: patterns, baseDir, spec, context, at }
      const open = kind === 'structure' ? listed : await openFiles(listed, listing)
      // what a person has agreed to is not refused again by the same rule
      const isHeld = kind === 'structure' || scope.rights.packs.length > 0
      return (isHeld ? readableFiles(open, { context, allow }) : open)
        .filter(({ path }) => kind === 'structure' || join(baseDir, path) !== ownFile)
        .flatMap(({ path }) => {
          // undefined: it was removed since it was listed
          const status = statSync(join(baseDir, path), { throwIfNoEntry: false })
          return status === undefined ? [] : [{ path, size: status.size }]
        })
    })
  }
  const files = {
    knowledge: await list('knowledge', globs.knowledge),
    structure: (await list('structure', globs.structure)).map(({ path }) => path),
    context: await list('context', globs.context),
    groups: globs.working.length === 0 ? undefined : await workingGroups(globs.working, list),
  }
  const [first] = missing
  if (first !== undefined && (isGiven || files.groups?.length === 0)) throw first
  for (const { message, hint } of missing)
    emit(context, { type: 'warning', message: `working_globs: ${message}`, ...defined({ hint }) })
  return files
}

type FileKind = 'knowledge' | 'structure' | 'context' | 'working'

type ListKind = (kind: FileKind, patterns: readonly string[], index?: number) => Promise<readonly FileRef[]>

async function listNoted(
  kind: FileKind,
  globs: readonly string[],
  { baseDir, context, isGiven, missing }: Noting,
): Promise<readonly ListedFile[]> {
  const { scope, services } = context
  const root = scope.folders.workspace
  let files: readonly ListedFile[]
  try {
    services.reads?.ready?.()
    files = await finishInTurns(listSteps(globs, { baseDir, root }), services.signal)
    const found = files.map(({ absolute }) => absolute)
    for (const problem of namedProblems(globs, { baseDir, found, isGiven: isGiven && kind === 'working' })) {
      const { kind: why, message, hint } = problem
      const unreadable = new BatonError('FILE_UNREADABLE', message, { hint })
      // a task cannot run without its working files
      if (why === 'odd' ? kind === 'working' : kind !== 'working' && files.length === 0) throw unreadable
      if (why === 'odd') emit(context, { type: 'warning', message: `left out of the prompt: ${message}` })
      else if (kind === 'working') missing.push(isGiven ? unreadable : keyed(kind, unreadable))
      else emit(context, { type: 'warning', message: `${kind}_globs: ${message}`, hint })
    }
  } catch (error) {
    if (!(error instanceof BatonError)) throw error
    throw keyed(kind, error)
  }
  const found = files.map(({ absolute }) => absolute)
  services.reads?.list({ globs, baseDir, root, found, reads: kind === 'structure' ? 'names' : 'content' })
  return files
}

interface Noting {
  readonly baseDir: string
  readonly context: FilesContext
  readonly isGiven: boolean
  readonly missing: BatonError[]
}

/** For `placeGlobErrors`: the error with the front matter key of the globs. */
function keyed(kind: FileKind, { code, message, hint }: BatonError): BatonError {
  return new BatonError(code, message, { cause: { globKey: `${kind}_globs` }, ...defined({ hint }) })
}

/** Lists files; places the error of a glob that leaves the workspace at its key. */
export async function placeGlobErrors<T>(
  { placeOf }: Pick<PromptTarget, 'placeOf'>,
  list: () => Promise<T>,
): Promise<T> {
  try {
    return await list()
  } catch (error) {
    if (!isBatonError(error) || !isObject(error.cause) || !('globKey' in error.cause)) throw error
    throw rewordError(error, { place: await placeOf([String(error.cause['globKey'])]) })
  }
}

/** The files as `post` agents see them. */
export function fileInputs({ context, knowledge, groups = [] }: FileSet): JsonObject {
  return {
    coder_context_file_refs: context,
    coder_knowledge_file_refs: knowledge,
    coder_working_file_refs: groups.flat(),
  }
}

/** A glob yields one group per file; a list of globs yields one group with all its files. */
async function workingGroups(
  entries: readonly (string | readonly string[])[],
  list: ListKind,
): Promise<readonly (readonly FileRef[])[]> {
  const groups: (readonly FileRef[])[] = []
  for (const [index, entry] of entries.entries()) {
    const files = await list('working', typeof entry === 'string' ? [entry] : entry, index)
    if (typeof entry === 'string') groups.push(...files.map((file) => [file]))
    else if (files.length > 0) groups.push(files)
  }
  return groups
}

/**
 * Reads files as text, each as one observation. Files that are not UTF-8 text, or were removed since they were listed,
 * are omitted with a warning.
 */
export function loadFiles(paths: readonly string[], settings: Settings, context: FilesContext): readonly LoadedFile[] {
  return finishSteps(loadSteps(paths, { settings, context }))
}

/** Options of reading: the folder of the paths, and how much may still be read. */
export interface Loading {
  readonly settings: Settings
  readonly context: FilesContext
  /** Stops the reading of files that grew since they were listed, before memory runs out. */
  readonly allowance?: Allowance
}

/** The size limit of the files of one request. */
export interface Allowance {
  /** @throws BatonError LIMIT */
  readonly take: (path: string, bytes: number) => void
}

export function allowanceOf({ max_files_size_kb: limit }: Settings): Allowance {
  let left = limit * 1000
  return {
    take(path, bytes) {
      left -= bytes
      if (left >= 0) return
      throw new BatonError('LIMIT', `the files of this request have grown beyond max_files_size_kb = ${limit}`, {
        hint: `Reading stopped at ${path}. Narrow the globs or raise the limit.`,
      })
    },
  }
}

/** `loadFiles` in steps, one for each file. */
export function* loadSteps(paths: readonly string[], loading: Loading): Steps<readonly LoadedFile[]> {
  const loaded: LoadedFile[] = []
  yield* readSteps(paths, loading, (file) => void loaded.push(file))
  return loaded
}

/** The same, but passes each file to `take` instead of keeping it. */
export function* readSteps(
  paths: readonly string[],
  { settings: { base_dir: baseDir }, context, allowance }: Loading,
  take: (file: LoadedFile) => void,
): Steps<void> {
  const left: { [reason: string]: string[] } = {}
  for (const path of paths) {
    yield
    const file = resolve(baseDir, path)
    const shown = displayPath(context.scope.folders.workspace, file)
    const at = [...context.scope.at, part('read'), item(path)]
    const read = context.services.effects.observe(at, { name: 'file.read', args: [shown], reads: shown }, () =>
      readText(file, context),
    )
    if (typeof read === 'string') {
      allowance?.take(path, Buffer.byteLength(read))
      context.services.reads?.data?.(file, read)
      take({ path, content: read })
    } else (left[read.missing] ??= []).push(path)
  }
  for (const [reason, files] of Object.entries(left)) {
    emit(context, { type: 'warning', message: `left out of the prompt, ${reason}: ${files.join(', ')}` })
  }
}

/** Why there is no text. Plain JSON, because it is recorded. */
type Missing = { readonly missing: 'not text' | 'gone' }

function readText(asked: string, { services: { planned, reads } }: { readonly services: RunStore }): string | Missing {
  const entry = planned?.at(asked) ?? { kind: 'disk', path: asked }
  if (entry.kind !== 'disk') return entry.kind === 'file' ? entry.text : { missing: 'gone' }
  const file = entry.path
  reads?.ready?.(file)
  try {
    // not resolved again: the listing has checked the target, and a link may have changed since
    const bytes = readRegularFile(file)
    return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : { missing: 'not text' }
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return { missing: 'gone' }
    throw new BatonError('FILE_FAILED', `${file} cannot be read: ${messageOf(error)}`, {
      hint: 'Check its permissions, or exclude it with a glob that starts with "!".',
      cause: error,
    })
  }
}

/**
 * Refuses a request whose files are larger than `max_files_size_kb` before anything is read or paid for.
 * @throws BatonError LIMIT
 */
export function checkSize(refs: readonly FileRef[], { max_files_size_kb: limit }: Settings): void {
  const total = refs.reduce((sum, { size }) => sum + size, 0)
  if (total <= limit * 1000) return
  const largest = refs.toSorted((left, right) => right.size - left.size).slice(0, 3)
  const named = largest.map(({ path, size }) => `${path} (${Math.ceil(size / 1000)} kB)`)
  const message = `the files of this request have ${Math.ceil(total / 1000)} kB, more than max_files_size_kb = ${limit}`
  throw new BatonError('LIMIT', message, {
    hint: `Narrow the globs or raise the limit. Largest: ${named.join(', ')}.`,
  })
}

/** Who lists files, and for which key of the request. */
interface Listing {
  /** As in the file: `context_globs`. */
  readonly key: string
  readonly globs: readonly string[]
  readonly baseDir: string
  readonly spec: Pick<RunSpec, 'file' | 'layers'>
  readonly context: FilesContext
  /** For questions. */
  readonly at: Place
}

interface Closed {
  readonly file: ListedFile
  /** Absolute, links resolved. */
  readonly real: string
  readonly rule: DecidingRule
}

/** Most files that a warning names. */
const mostNamed = 5

/**
 * The files of a listing whose content may be sent to a model. Those that hold keys, and those that a rule for `read`
 * denies or asks about, are left out if a wildcard found them, with one line that says so. One that an untrusted file
 * names exactly is asked about; what the user names, or a trusted file, is only subject to rules of the user.
 * @throws BatonError UNTRUSTED for a named file that is denied, NEEDS_INPUT, WAITING_FOR_APPROVAL
 */
async function openFiles(files: readonly ListedFile[], listing: Listing): Promise<readonly ListedFile[]> {
  const { context, key } = listing
  const { workspace } = context.scope.folders
  const closed = closedAmong(files, context)
  if (closed.length === 0) return files
  const named = listing.globs.map((glob) => ({ glob, ...pathsNamedBy(glob, listing.baseDir) }))
  const left = new Set<ListedFile>()
  for (const one of closed) {
    const source = sourceOf(one.file, named, listing)
    if (source === undefined || !(await isOpened(one, source, listing))) left.add(one.file)
  }
  if (left.size > 0) {
    const names = [...left].map(({ absolute }) => displayPath(workspace, absolute))
    const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
    emit(context, {
      type: 'warning',
      message: `${key}: left out of the prompt, because they hold keys or may not be read: ${names.slice(0, mostNamed).join(', ')}${more}`,
      hint: 'To include one, name it exactly, or allow it in your own config.toml, below [permission.read].',
    })
  }
  return files.filter((file) => !left.has(file))
}

function closedAmong(
  files: readonly ListedFile[],
  { scope }: ContextWith<'folders' | 'rights', unknown>,
): readonly Closed[] {
  const folders = new Map<string, string>()
  return files.flatMap((file) => {
    const folder = dirname(file.absolute)
    const parent = folders.get(folder) ?? realPath(folder)
    folders.set(folder, parent)
    const real = realPath(join(parent, basename(file.absolute)))
    const rule = closingRule(scope.rights.rules, real, { workspace: scope.folders.workspace, keys: true })
    return rule === undefined ? [] : [{ file, real, rule }]
  })
}

type Source =
  | { readonly by: 'user' }
  | { readonly by: 'trusted' }
  /**
   * A prompt or config file that is not trusted, or that names a place of keys only by another name: whoever trusts a
   * file was shown the places of keys that it names.
   */
  | { readonly by: 'file'; readonly file: string; readonly isTrusted: boolean; readonly isKeyGlob: boolean }

interface NamedGlob extends ReturnType<typeof pathsNamedBy> {
  readonly glob: string
}

/** Who has named a file; undefined: a wildcard has found it, or a script that has computed a path. */
function sourceOf(
  { absolute }: ListedFile,
  named: readonly NamedGlob[],
  { key, context, spec: { layers } }: Listing,
): Source | undefined {
  const { workspace } = context.scope.folders
  const isOf = (glob: string, { values }: Pick<Layer, 'values'>): boolean =>
    [key, `${key}_pre`, `${key}_post`].some((one) => contains(values[one], glob))
  // `-f NAME` is the file of that name in any folder
  const isUsers = named.some(
    ({ glob, exact, anywhere }) =>
      (exact.includes(absolute) || anywhere.some((path) => absolute.endsWith(`/${path}`))) &&
      layers.above.some((layer) => isOf(glob, layer)),
  )
  if (isUsers) return { by: 'user' }
  const naming = named.filter(({ exact }) => exact.includes(absolute)).map(({ glob }) => glob)
  const writers = [layers.own, ...layers.below].filter((layer) => naming.some((glob) => isOf(glob, layer)))
  if (writers.length === 0) return undefined
  const isKeyGlob = ({ values, origin }: Layer): boolean =>
    origin.kind === 'user' ||
    keyGlobsIn(values, workspace).some(([, globs]) => naming.some((glob) => globs.includes(glob)))
  const [asked] = writers.filter((layer) => layer.isTrusted !== true || !isKeyGlob(layer))
  if (asked === undefined) return { by: 'trusted' }
  const { origin, isTrusted = false } = asked
  return { by: 'file', file: originText(origin), isTrusted, isKeyGlob: isKeyGlob(asked) }
}

function contains(value: Json | undefined, glob: string): boolean {
  return Array.isArray(value) ? value.some((one) => contains(one, glob)) : value === glob
}

/** @throws BatonError UNTRUSTED, NEEDS_INPUT, WAITING_FOR_APPROVAL */
async function isOpened({ file, real, rule }: Closed, source: Source, listing: Listing): Promise<boolean> {
  const { context, key, at } = listing
  const { workspace } = context.scope.folders
  const shown = displayPath(workspace, file.absolute)
  const isDefault = rule.isKeyPlace === true
  if (!isDefault && rule.effect === 'deny') {
    throw new BatonError(
      'UNTRUSTED',
      `${shown}, which ${key} names, may not be read: ${ruleText(rule)} (${rule.origin})`,
      {
        hint: 'Remove it there, or change the rule.',
      },
    )
  }
  if (source.by === 'user' || (source.by === 'trusted' && isDefault)) return true
  const why = isDefault ? `${shown} holds keys` : `${shown} needs approval: ${ruleText(rule)} (${rule.origin})`
  if (context.services.isPlan === true) {
    emit(context, { type: 'warning', message: `${key}: ${why}, so a run asks before it is sent` })
    return false
  }
  const asking: Permission = { check: () => ({ kind: 'ask' }) }
  const effects = context.services.effects.under(asking)
  const action = { kind: 'read', path: real, named: file.absolute, shown } as const
  try {
    await permitWhileWorking(context, { effects, at: [...at, item(file.path)], action })
    return true
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'NEEDS_INPUT') throw error
    const naming =
      source.by === 'trusted'
        ? `${key} names it`
        : source.isTrusted
          ? `${source.file} names it in ${key}`
          : `${source.file}, which names it in ${key}, is not trusted`
    const trusting =
      source.by === 'file' && isDefault && !source.isTrusted && source.isKeyGlob
        ? `trust what it names with baton trust ${shellWord(source.file)}, `
        : ''
    throw rewordError(error, {
      message: `${why}, and ${naming}: nobody can be asked`,
      hint: `Remove it there, ${trusting}or allow it in your own config.toml: [permission.read] ${JSON.stringify(shown)} = "allow".`,
    })
  }
}

/** Hashes of files as shown to a model, by absolute path. */
export function shownFile({ path, content }: LoadedFile, { base_dir: baseDir }: Settings): readonly [string, string] {
  return [join(baseDir, path), sha256(content)]
}
