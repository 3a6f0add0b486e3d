import { resolve } from 'node:path'
import { messageOf } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { listFiles } from '../base/glob.ts'
import { sha256 } from '../base/hash.ts'
import { defined, type JsonObject } from '../base/json.ts'
import type { ReadList, ReadLog } from '../base/reads.ts'
import type { EffectKind } from '../event/effects.ts'
import type { EffectHook } from '../journal/effects.ts'
import { hashPrompt } from '../prompt/document.ts'
import { adopt, isBlank, type Listing, type WatchedFile, type WatchedList, type WatchPlan } from '../watch/plan.ts'
import { blankMs, type FilePart, isFolder, type Prints } from '../watch/prints.ts'

/** Logs what one run reads, and what it changes itself. */
export interface SourceLog extends ReadLog {
  /** Tracks file changes of effects. Paths in requests are relative to the workspace. */
  readonly hook: (workspace: string) => EffectHook
  /** Adds a file that is written for the run, but not by one of its effects. */
  readonly changed: (path: string) => void
  /** The files that the run itself changed or wrote. Absolute. */
  readonly ownFiles: () => readonly string[]
  /** From now on only what decides what is run counts: the files and lists that the run works on do not. */
  readonly ignoreData: () => void
  /** Number of files read so far; undefined while something is in progress that may change files without naming them. */
  readonly count: () => number | undefined
  /**
   * What to compare from now on: each file as the run first read it, or in its current state if an effect of the run
   * changed it. `keep`: also watch what the previous run read, because this one may have ended earlier.
   */
  readonly plan: (options: { readonly keep: boolean }) => WatchPlan
}

export interface SourceLogOptions {
  readonly prints: Prints
  /** What the previous run read. */
  readonly before?: WatchPlan | undefined
  /** Blocks for some milliseconds: files are read synchronously. */
  readonly pause?: (ms: number) => void
}

/** One for each watched run. */
export function createSourceLog({ prints, before, pause = block }: SourceLogOptions): SourceLog {
  const files = new Map<string, WatchedFile & { readonly part: FilePart }>()
  /** Files whose text was passed in, so that the content the run read is certain. */
  const certain = new Set<string>()
  /** Prompt files, links resolved, because lists may find them by a different name. */
  const prompts = new Set<string>()
  const lists = new Map<string, WatchedList>()
  /** The files among them that the run only works on. */
  const data = new Set<string>()
  let ignoresData = false
  const own = createOwnChanges({
    look: () => lookNow(everything()),
    promptPrint: (path) => (files.get(path)?.part === 'prompt' ? prints(path, 'prompt') : undefined),
  })

  function note(path: string, part: FilePart, text: string | undefined): void {
    if (certain.has(path) || (text === undefined && files.has(path))) return
    const look = (): string | null => prints(path, part)
    const print = text === undefined ? look() : text === '' ? '' : part === 'whole' ? sha256(text) : hashPrompt(text)
    if (text !== undefined) certain.add(path)
    files.set(path, { print, look, part })
  }

  function noteData(path: string, text?: string): void {
    if (prompts.has(path) || (files.has(path) && !data.has(path))) return
    data.add(path)
    note(path, 'whole', text)
  }

  /** What the run has read so far, or what counts of it. */
  function counting(): WatchPlan {
    if (!ignoresData) return { files, lists }
    return { files: new Map([...files].filter(([path]) => !data.has(path))), lists: new Map() }
  }

  /** Files that had content before this run, and neither have some now nor got it in the time that saving may take. */
  const givenUp = new Set<string>()

  /** Editors empty or replace a file to save it: what lacks its content for a moment was not meant to be read. */
  function waitUntilSaved(asked: ReadonlyMap<string, WatchedFile>): void {
    const lacking = (): readonly string[] =>
      [...asked]
        .filter(([path, { print, look }]) => !isBlank(print) && !givenUp.has(path) && isBlank(look()) && !own.has(path))
        .map(([path]) => path)
    for (let waited = 0; waited < blankMs; waited += pauseMs) {
      if (lacking().length === 0) return
      pause(pauseMs)
    }
    for (const [path, { look }] of before?.files ?? []) if (isBlank(look())) givenUp.add(path)
  }

  function watchedNow(path: string): WatchedFile {
    const look = (): string | null => prints(path, 'whole')
    return { print: look(), look }
  }

  function everything(): WatchPlan {
    return {
      files: new Map([...(before?.files ?? []), ...files]),
      lists: new Map([...(before?.lists ?? []), ...lists]),
    }
  }

  function lookNow(plan: WatchPlan): ReadonlyMap<string, string | null> {
    const known = [...plan.files].map(([path, { look }]) => [path, look()] as const)
    const listed = [...plan.lists.values()].flatMap(({ look }) => look().files)
    return new Map([...listed.map((path) => [path, 'listed'] as const), ...known])
  }

  return {
    file(path, text) {
      data.delete(path)
      note(path, 'whole', text)
    },
    prompt(path, text) {
      data.delete(path)
      prompts.add(realPath(path))
      note(path, 'prompt', text)
    },
    list(list) {
      const { reads, found, globs, baseDir } = list
      const name = JSON.stringify([reads, list.skipFolders ?? null, baseDir, ...globs])
      const isNames = reads === 'names'
      if (!lists.has(name))
        lists.set(name, { found, look: () => listNow(list), ...(isNames ? {} : { watched: watchedNow }) })
      if (!isNames) for (const path of found) noteData(path)
    },
    data: noteData,
    ready(path) {
      const known = before?.files ?? new Map<string, WatchedFile>()
      const file = path === undefined ? undefined : known.get(path)
      waitUntilSaved(path === undefined ? known : new Map(file && [[path, file]]))
    },
    hook: own.hook,
    changed: own.add,
    ownFiles: own.paths,
    ignoreData: () => void (ignoresData = true),
    count: () => (own.isBusy() ? undefined : files.size),
    plan({ keep }) {
      const now = counting()
      const kept = ignoresData ? new Map<string, WatchedList>() : before?.lists
      const both = {
        files: new Map([...(before?.files ?? []), ...now.files]),
        lists: new Map([...(kept ?? []), ...now.lists]),
      }
      return adopt(keep ? both : now, own.has)
    },
  }
}

const pauseMs = 20

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Folders that can no longer be listed count as empty; the next run reports why. */
function listNow({ globs, baseDir, root, skipFolders }: ReadList): Listing {
  const folders: string[] = []
  try {
    const found = listFiles(globs, {
      baseDir,
      root,
      onFolder: (folder) => folders.push(folder),
      ...defined({ skipFolders }),
    })
    return { files: found.map(({ absolute }) => absolute), folders }
  } catch (error) {
    return { files: [`${baseDir}: ${messageOf(error)}`], folders: [baseDir, ...folders] }
  }
}

interface OwnChangesOptions {
  readonly look: () => ReadonlyMap<string, string | null>
  /** The current print of the relevant part of a prompt file; undefined for other files. */
  readonly promptPrint: (path: string) => string | null | undefined
}

/** Effects that may change files without naming them. */
const changing: ReadonlySet<EffectKind> = new Set(['command', 'tool', 'mcp', 'git', 'agent'])

/**
 * Tracks what a run changes itself, so that these changes do not trigger another run: files named by a file effect, and
 * files that differ between start and end of a command, tool or agent. A prompt file counts only if the part above its
 * `====` line changes, so writing answers below it does not hide an edit of the user.
 */
function createOwnChanges({ look, promptPrint }: OwnChangesOptions) {
  const paths = new Set<string>()
  const folders = new Set<string>()
  const rewritten = new Set<string>()
  let underWay = 0

  function add(path: string): void {
    paths.add(path)
    paths.add(realPath(path))
  }

  function noteFile<T>(request: JsonObject, workspace: string, act: () => T): T {
    for (const named of namedBy(request)) rewritten.add(resolve(workspace, named))
    const before = changedBy(request).map((named) => {
      const path = resolve(workspace, named)
      return { path, print: promptPrint(path), isFolder: isFolder(path) }
    })
    try {
      return act()
    } finally {
      for (const { path, print, isFolder: wasFolder } of before) {
        if (print === undefined || print !== promptPrint(path)) add(path)
        if (request['op'] !== 'mkdir' && (wasFolder || isFolder(path))) folders.add(path)
      }
    }
  }

  async function noteAll<T>(act: () => Promise<T>): Promise<T> {
    const before = look()
    underWay += 1
    try {
      return await act()
    } finally {
      underWay -= 1
      const after = look()
      for (const path of new Set([...before.keys(), ...after.keys()])) {
        if ((before.get(path) ?? null) !== (after.get(path) ?? null)) add(path)
      }
    }
  }

  return {
    /** Whether an effect of the run has changed, created or removed the file. */
    has: (path: string): boolean =>
      paths.has(path) ||
      (paths.size > 0 && paths.has(realPath(path))) ||
      [...folders].some((one) => isInside(one, path)),
    add,
    /** A command, tool or agent is running. */
    isBusy: () => underWay > 0,
    /** All these files, and those that file effects rewrote with the same content. Absolute. */
    paths: () => [...new Set([...paths, ...rewritten])],
    hook: (workspace: string): EffectHook => ({
      change: (record, act) => noteFile(record, workspace, act),
      effect: (kind, act) => (changing.has(kind) ? noteAll(act) : act()),
    }),
  }
}

/** The paths that a file effect changes, if any. The hash before an append is not recorded. */
function changedBy(request: JsonObject): readonly string[] {
  const { op, before, after } = request
  return op !== 'append' && before === after ? [] : namedBy(request)
}

function namedBy({ op, path, from }: JsonObject): readonly string[] {
  return [path, op === 'move' ? from : undefined].filter((name) => typeof name === 'string')
}
