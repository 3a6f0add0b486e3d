import { isAbsolute, relative, resolve } from 'node:path'
import { isInside } from '../../base/files.ts'

/** A part of a patch that did not find its place: the part as it was written, and why. */
export interface HunkFailure {
  readonly body: string
  readonly cause: string
}

/** One change that an answer asks for. Paths are as they were written, relative to a base folder. */
export type Directive = ContentDirective | TransferDirective | DeleteDirective | FailDirective

/** Changes whose result is a text. `content` of a patch holds its hunks, that of SearchReplace its blocks (6.4). */
export interface ContentDirective {
  readonly kind: 'New' | 'Patch' | 'Append' | 'SearchReplace'
  readonly filePath: string
  readonly content: string
}

export interface TransferDirective {
  readonly kind: 'Copy' | 'Rename'
  readonly fromPath: string
  readonly filePath: string
}

export interface DeleteDirective {
  readonly kind: 'Delete'
  readonly filePath: string
}

/** What was asked for in a way that cannot be carried out; it is reported like a change that failed. */
export interface FailDirective {
  readonly kind: 'Fail'
  readonly filePath: string
  readonly reason: string
  readonly hunks: readonly HunkFailure[]
}

/** `unknown` stands for the path of a change that names none. */
export function failDirective(reason: string, filePath = 'unknown', hunks: readonly HunkFailure[] = []): FailDirective {
  return { kind: 'Fail', filePath, reason, hunks }
}

/** The directives with absolute paths below the base folder (absolute) made relative to it; others stay as written. */
export function relativeTo(baseDir: string, directives: readonly Directive[]): readonly Directive[] {
  const named = (path: string): string =>
    isAbsolute(path) && isInside(baseDir, resolve(path)) ? relative(baseDir, path) || '.' : path
  return directives.map((directive) => {
    const filePath = named(directive.filePath)
    return 'fromPath' in directive
      ? { ...directive, filePath, fromPath: named(directive.fromPath) }
      : { ...directive, filePath }
  })
}
