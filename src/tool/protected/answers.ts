import { lstatSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { compileGlobs } from '../../base/glob.ts'
import type { ChangeAction, Files, Judge } from '../changes/space.ts'
import { allowText } from './places.ts'
import { isHarmlessWhenNew, runsByItself } from './programs.ts'
import { isPromptText, mayBePrompt } from './prompt-file.ts'

/** What is known of an answer when its changes are judged. */
export interface Judging {
  readonly workspace: string
  /** Globs from the workspace that the user has opened. */
  readonly allow: readonly string[]
  /** Whether the model was shown the file (absolute), or the run has made it. */
  readonly isKnown: (path: string) => boolean
}

/**
 * Judges the changes of an answer in their order, beyond what their paths say: none may make or change a prompt file, or
 * a file that other programs run by themselves and that the model was not shown.
 */
export function createJudge({ workspace, allow, isKnown }: Judging): Judge {
  const root = realPath(workspace)
  const opened = compileGlobs(allow)
  /** Files as the changes so far have placed them: only the disk can list what it has itself. */
  const placed = new Set<string>()

  function problemOf(path: string, text: () => string | undefined, files: Files): string | undefined {
    const real = realPath(path)
    const steps = isInside(root, real) ? relative(root, real).split(sep) : []
    if (steps.length === 0 || opened.matches(steps.join('/'))) return undefined
    const shown = displayPath(root, real)
    const isThere = files.kindAt(path) !== undefined
    if (runsByItself(steps) && !(isThere ? isKnown(path) : isHarmlessWhenNew(shown, text()))) {
      const why = isThere ? 'and the model was not shown what it holds' : 'so a model does not make it'
      return `${shown} is protected: other programs run it by themselves, ${why}. ${allowText(shown)}`
    }
    if (mayBePrompt(real) && isPromptText(text() ?? '')) {
      return `${shown} would be a prompt file, which decides what is run. ${allowText(shown)}`
    }
    return undefined
  }

  /** The files that an action places, by what they hold. */
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
      const problem = problemOf(path, text, files)
      if (problem !== undefined) return problem
    }
    for (const path of targets.keys()) placed.add(path)
    return undefined
  }
}

function textOf(path: string, files: Files): string | undefined {
  try {
    return files.textAt(path)
  } catch {
    return undefined
  }
}

function filesOnDisk(path: string): readonly string[] {
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return []
  return status.isDirectory() ? readdirSync(path).flatMap((name) => filesOnDisk(join(path, name))) : [path]
}
