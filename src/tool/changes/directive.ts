import { isAbsolute, relative, resolve } from 'node:path'
import { isInside } from '../../base/files.ts'

/** A hunk that could not be placed: its text as written, and the reason. */
export interface HunkFailure {
  readonly body: string
  readonly cause: string
}

/** One change requested by an answer. Paths are as written, relative to a base folder. */
export type Directive = ContentDirective | ReplaceDirective | TransferDirective | DeleteDirective | FailDirective

/**
 * Changes that produce a text. AppendLines starts on a new line, Append directly at the end of the file. `content` of a
 * patch is its hunks, that of SearchReplace its blocks (6.4).
 */
export interface ContentDirective {
  readonly kind: 'New' | 'Patch' | 'Append' | 'AppendLines' | 'SearchReplace'
  readonly filePath: string
  readonly content: string
  /**
   * Set if `filePath` is a line of several words, which may also be prose: then, unless there is such a file, the change
   * is about the file `otherwise`, or about none (null).
   */
  readonly guess?: { readonly otherwise: string | null }
}

/** Replaces one text with another, wherever it occurs in a file; answers have no form for it. */
export interface ReplaceDirective {
  readonly kind: 'Replace'
  readonly filePath: string
  /** The text to search for; empty to create the file. */
  readonly search: string
  readonly content: string
  /** Whether it may occur several times. */
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
 * What is wrong with a change as written. `malformed`: a tag, an attribute or an end is invalid or missing. `mixed`: a
 * change contains marks of another form. `fenced`: changes in a code fence next to other text, so it is unclear whether
 * they are meant or only shown. `lookalike`: an edit in an unknown form, or without its file. `repeated`: a file that
 * already has a patch. `limit`: more than is read.
 */
export type Fault = 'malformed' | 'mixed' | 'fenced' | 'lookalike' | 'repeated' | 'limit'

/** A requested change that cannot be applied; it is reported like one that failed. */
export interface FailDirective {
  readonly kind: 'Fail'
  readonly fault: Fault
  readonly filePath: string
  readonly reason: string
  readonly hunks: readonly HunkFailure[]
}

interface FailOptions {
  /** Omitted if the change names no file. */
  readonly filePath?: string | undefined
  readonly hunks?: readonly HunkFailure[]
}

/**
 * Creates the fault for something that cannot be applied; `reason` also tells the model what is wrong and what to write
 * instead.
 */
export function failDirective(fault: Fault, reason: string, options: FailOptions = {}): FailDirective {
  const { filePath = 'unknown', hunks = [] } = options
  return { kind: 'Fail', fault, filePath, reason, hunks }
}

/** The reason of such a fault. */
export const namesNoFile =
  'a search and replace block names no file: write its path alone on the line above the block, in backticks if it is a new file with spaces in its name'

/** The fault for a block above which no line names a file. */
export function noFileNamed(): FailDirective {
  return failDirective('lookalike', namesNoFile)
}

/** The directives without guesses: `exists` tells whether there is a file of a name. */
export function withoutGuesses(
  directives: readonly Directive[],
  exists: (path: string) => boolean,
): readonly Directive[] {
  return directives.map((directive) => {
    if (!('guess' in directive) || directive.guess === undefined) return directive
    const { guess, ...named } = directive
    if (exists(named.filePath)) return named
    return guess.otherwise === null ? noFileNamed() : { ...named, filePath: guess.otherwise }
  })
}

/**
 * The directives, with absolute paths below the base folder (absolute) made relative to it; other paths stay as
 * written.
 */
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
