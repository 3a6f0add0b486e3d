import { isAbsolute, relative, resolve } from 'node:path'
import { isInside } from '../../base/files.ts'

/** A part of a patch that did not find its place: the part as it was written, and why. */
export interface HunkFailure {
  readonly body: string
  readonly cause: string
}

/** One change that an answer asks for. Paths are as they were written, relative to a base folder. */
export type Directive = ContentDirective | ReplaceDirective | TransferDirective | DeleteDirective | FailDirective

/** Changes whose result is a text. AppendLines begins on a line of its own, Append goes on where the file ends. `content` of a patch holds its hunks, that of SearchReplace its blocks (6.4). */
export interface ContentDirective {
  readonly kind: 'New' | 'Patch' | 'Append' | 'AppendLines' | 'SearchReplace'
  readonly filePath: string
  readonly content: string
}

/** Puts one text in place of another one, wherever in a file it stands; answers have no form for it. */
export interface ReplaceDirective {
  readonly kind: 'Replace'
  readonly filePath: string
  /** What is searched; empty: the file is made. */
  readonly search: string
  readonly content: string
  /** It may stand in several places. */
  readonly all: boolean
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

/**
 * What is wrong with a change as it is written. `malformed`: a tag, an attribute or an end is wrong or missing. `mixed`:
 * the marks of one form stand within a change of another. `fenced`: changes stand in a code fence beside other text, so
 * that nobody can say whether they are meant or shown. `lookalike`: an edit in no form that is known, or without its
 * file. `repeated`: a file that has a patch already. `limit`: more than is read.
 */
export type Fault = 'malformed' | 'mixed' | 'fenced' | 'lookalike' | 'repeated' | 'limit'

/** What was asked for in a way that cannot be carried out; it is reported like a change that failed. */
export interface FailDirective {
  readonly kind: 'Fail'
  readonly fault: Fault
  readonly filePath: string
  readonly reason: string
  readonly hunks: readonly HunkFailure[]
}

interface FailOptions {
  /** Left out where the change names no file. */
  readonly filePath?: string | undefined
  readonly hunks?: readonly HunkFailure[]
}

/** Stands for what cannot be carried out; `reason` says to a model, too, what is wrong and what to write instead. */
export function failDirective(fault: Fault, reason: string, options: FailOptions = {}): FailDirective {
  const { filePath = 'unknown', hunks = [] } = options
  return { kind: 'Fail', fault, filePath, reason, hunks }
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
