import { entryStatus, namesIn } from '../../base/entries.ts'
import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { compileGlobs } from '../../base/glob.ts'
import type { ChangeAction, Files, Judge } from '../changes/change-space.ts'
import { sameName } from './names.ts'
import { completedRepository } from './git-places.ts'
import { allowText, completedText } from './places.ts'
import { installScriptsIn, isHarmlessWhenNew, runsByItself } from './programs.ts'
import { isAgentPlace, isPromptText, mayBePrompt } from './prompt-file.ts'

/** What is known about an answer when its changes are judged. */
export interface Judging {
  readonly workspace: string
  /** Globs, relative to the workspace, that the user has allowed. */
  readonly allow: readonly string[]
  /** Whether the model was shown the file (absolute). */
  readonly isKnown: (path: string) => boolean
  /** Whether the run created the file (absolute, links resolved): nobody but a model has decided what is in it. */
  readonly isMade: (path: string) => boolean
}

/**
 * Judges the changes of an answer in order, in addition to the rules for their paths: no change may create or modify a
 * prompt file, a file that other programs run automatically and that the model was not shown, or a file whose name
 * equals that of another file on other systems.
 */
export function createJudge({ workspace, allow, isKnown, isMade }: Judging): Judge {
  const root = realPath(workspace)
  const opened = compileGlobs(allow)
  /** Files placed by the changes so far; the disk does not have them yet. */
  const placed = new Set<string>()
  /** The same, links resolved. */
  const realPlaced = new Set<string>()

  const twins = createTwins()

  function problemOf(path: string, text: () => string | undefined, { files, action }: Placing): string | undefined {
    const real = realPath(path)
    const steps = isInside(root, real) ? relative(root, real).split(sep) : []
    if (steps.length === 0 || opened.matches(steps.join('/'))) return undefined
    const shown = displayPath(root, real)
    const isThere = files.kindAt(path) !== undefined
    const isNew = entryStatus(real) === undefined || isMade(real)
    if (runsByItself(steps) && !(isNew ? isHarmlessWhenNew(shown, text()) : isKnown(path))) {
      const why = isNew ? whyNot(isThere, text()) : 'and the model was not shown its content'
      return `${shown} is protected: other programs run it automatically, ${why}. ${allowText(shown)}`
    }
    const completed = isThere ? undefined : completedRepository(real, { within: root, placed: realPlaced })
    if (completed !== undefined) return completedText(displayPath(root, completed))
    // a link gives a file another ending
    if ((mayBePrompt(real) || mayBePrompt(path)) && isPromptText(text() ?? '', isAgentPlace(steps))) {
      return `${shown} would be a prompt file, which decides what is run. ${allowText(shown)}`
    }
    const twin = twins.of(path, (one) => files.kindAt(one) !== undefined && !('from' in action && action.from === one))
    if (twin === undefined) return undefined
    return `${shown} is refused: on other systems it is the same as ${displayPath(root, twin)}. ${allowText(shown)}`
  }

  /** The files that an action places, with their content. */
  function targetsOf(action: ChangeAction, files: Files): ReadonlyMap<string, () => string | undefined> {
    if (action.op === 'delete') return new Map()
    if (!('from' in action)) return new Map([[action.path, () => action.content]])
    const { from, path } = action
    const below = [...filesOnDisk(from), ...[...placed].filter((file) => isInside(from, file))]
    return new Map(below.map((file) => [join(path, relative(from, file)), () => textOf(file, files)]))
  }

  return (action, files) => {
    const targets = targetsOf(action, files)
    for (const [path, text] of targets) {
      const problem = problemOf(path, text, { files, action })
      if (problem !== undefined) return problem
    }
    for (const path of targets.keys()) {
      placed.add(path)
      realPlaced.add(realPath(path))
      twins.place(path)
    }
    return undefined
  }
}

function whyNot(isThere: boolean, text: string | undefined): string {
  const scripts = installScriptsIn(text ?? '')
  const named = scripts.length === 0 ? '' : ` with ${scripts.map((name) => `"${name}"`).join(', ')}`
  return isThere
    ? `so a model that created it may not go on to write it${named}`
    : `so a model may not create it${named}`
}

interface Placing {
  readonly files: Files
  readonly action: ChangeAction
}

/** Names in folders, on disk and placed so far, grouped by the form in which other systems compare them. */
function createTwins() {
  const folders = new Map<string, Map<string, Set<string>>>()

  function namesAt(folder: string): Map<string, Set<string>> {
    const known = folders.get(folder)
    if (known !== undefined) return known
    const names = new Map<string, Set<string>>()
    folders.set(folder, names)
    // empty if the folder is about to be created, or is not readable
    for (const name of namesIn(folder)) add(names, name)
    return names
  }

  return {
    /** A different existing entry whose name equals, on other systems, that of the path or of a folder above it. */
    of(path: string, isThere: (path: string) => boolean): string | undefined {
      let made = path
      for (let step = path; !isThere(step) && dirname(step) !== step; step = dirname(step)) made = step
      if (isThere(made)) return undefined
      const folder = dirname(made)
      const same = [...(namesAt(folder).get(sameName(basename(made))) ?? [])].map((name) => join(folder, name))
      return same.find((one) => one !== made && isThere(one))
    },
    /** Registers a created path, with the folders above it. */
    place(path: string): void {
      for (let step = path; dirname(step) !== step; step = dirname(step)) {
        if (add(namesAt(dirname(step)), basename(step))) return
      }
    },
  }
}

/** True if it already existed. */
function add(names: Map<string, Set<string>>, name: string): boolean {
  const key = sameName(name)
  const same = names.get(key) ?? new Set()
  const isThere = same.has(name)
  names.set(key, same.add(name))
  return isThere
}

function textOf(path: string, files: Files): string | undefined {
  try {
    return files.textAt(path)
  } catch {
    return undefined
  }
}

function filesOnDisk(path: string): readonly string[] {
  const status = entryStatus(path)
  if (status === undefined) return []
  return status.isDirectory() ? readdirSync(path).flatMap((name) => filesOnDisk(join(path, name))) : [path]
}
