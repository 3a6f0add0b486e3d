import { realPath } from '../base/files.ts'
import { listFiles } from '../base/glob.ts'
import type { ReadList, ReadLog } from '../base/reads.ts'
import { sha256 } from '../base/hash.ts'
import { messageOf } from '../base/error.ts'
import type { Effects } from '../event/effects.ts'
import { hashPrompt } from '../prompt/document.ts'
import { asNow, type Listing, type WatchedFile, type WatchedList, type WatchPlan, without } from '../watch/plan.ts'
import type { FilePart, Prints } from '../watch/prints.ts'
import { createOwnChanges } from './own-changes.ts'

/** Keeps what one run reads, and what it changes itself. */
export interface SourceLog extends ReadLog {
  /** The same effects, with what they change in files noted. Paths in requests are relative to the workspace. */
  readonly around: (effects: Effects, workspace: string) => Effects
  /** Notes a file that is written for the run, but not by one of its effects. */
  readonly changed: (path: string) => void
  /** The files that the run has changed or written itself. Absolute. */
  readonly ownFiles: () => readonly string[]
  /**
   * What is to be compared from now on: each file as the run read it first, or as it is now when an effect of the run has
   * changed it. `keep`: what the run before had read stays watched, because this one may not have come so far.
   */
  readonly plan: (options: { readonly keep: boolean }) => WatchPlan
}

export interface SourceLogOptions {
  readonly prints: Prints
  /** What the run before has read, as it is now. */
  readonly before?: WatchPlan | undefined
}

/** One for each run that is watched (DESIGN 13 "Watch"). */
export function createSourceLog({ prints, before }: SourceLogOptions): SourceLog {
  const files = new Map<string, WatchedFile & { readonly part: FilePart }>()
  /** Files whose text the run has had, so that it is known what it read. */
  const certain = new Set<string>()
  /** Prompt files, links resolved: lists may find them by another name. */
  const prompts = new Set<string>()
  const lists = new Map<string, WatchedList>()
  const namesOnly = new Set<string>()
  const own = createOwnChanges({
    look: () => lookNow(everything()),
    promptPrint: (path) => (files.get(path)?.part === 'prompt' ? prints(path, 'prompt') : undefined),
  })

  function note(path: string, part: FilePart, text: string | undefined): void {
    if (certain.has(path) || (text === undefined && files.has(path))) return
    const look = (): string | null => prints(path, part)
    const print = text === undefined ? look() : part === 'whole' ? sha256(text) : hashPrompt(text)
    if (text !== undefined) certain.add(path)
    files.set(path, { print, look, part })
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

  /** The plan, with what the run itself has changed as it is now. */
  function owned(plan: WatchPlan): WatchPlan {
    const now = asNow(plan)
    const made: string[] = []
    const lists = [...plan.lists].map(([name, list]): [string, WatchedList] => {
      const { found } = now.lists.get(name) ?? list
      const added = without(found, list.found).filter(own.has)
      const removed = new Set(without(list.found, found).filter(own.has))
      if (!namesOnly.has(name)) made.push(...added)
      return [name, { ...list, found: [...list.found.filter((path) => !removed.has(path)), ...added] }]
    })
    const files = [...plan.files].map(([path, file]): [string, WatchedFile] => {
      const present = now.files.get(path) ?? file
      return [path, present.print !== file.print && own.has(path) ? present : file]
    })
    const adopted = without(made, [...plan.files.keys()]).map((path): [string, WatchedFile] => {
      const look = (): string | null => prints(path, 'whole')
      return [path, { print: look(), look }]
    })
    return { files: new Map([...files, ...adopted]), lists: new Map(lists) }
  }

  return {
    file: (path, text) => note(path, 'whole', text),
    prompt(path, text) {
      prompts.add(realPath(path))
      note(path, 'prompt', text)
    },
    list(list) {
      const { reads, found, globs, baseDir } = list
      const name = JSON.stringify([reads, baseDir, ...globs])
      if (!lists.has(name)) lists.set(name, { found, look: () => listNow(list) })
      if (reads === 'names') namesOnly.add(name)
      else for (const path of found) if (!prompts.has(path)) note(path, 'whole', undefined)
    },
    around: own.around,
    changed: own.add,
    ownFiles: own.paths,
    plan: ({ keep }) => owned(keep ? everything() : { files, lists }),
  }
}

/** Names that cannot be listed any more are found nowhere; the next run says why. */
function listNow({ globs, baseDir, root }: ReadList): Listing {
  const folders: string[] = []
  try {
    const found = listFiles(globs, { baseDir, root, onFolder: (folder) => folders.push(folder) })
    return { files: found.map(({ absolute }) => absolute), folders }
  } catch (error) {
    return { files: [`${baseDir}: ${messageOf(error)}`], folders: [baseDir, ...folders] }
  }
}
