import { readFileSync, statSync } from 'node:fs'
import { join, normalize, resolve } from 'node:path'
import { isFolder, namesIn } from '../base/entries.ts'
import { BatonError } from '../base/error.ts'
import { compileGlobs } from '../base/glob.ts'
import { sha256 } from '../base/hash.ts'

/*
 * Finds the files that settings name: programs, scripts and their arguments. What is found decides whether trust is
 * still valid, so when in doubt a word counts as a name.
 */

/** By absolute path, the SHA-256 of the content. */
export type NamedFiles = Readonly<Record<string, string>>

/** Words that may name files, and the folders (absolute) in which these names start. */
export interface Names {
  readonly words: readonly string[]
  readonly folders: readonly string[]
}

/** Larger files are not scripts. */
const maxFileBytes = 64 * 1024 * 1024
/** `cd a && cd b && ./c`. */
const deepestFolders = 3
const mostFolders = 400

/**
 * The files that words name, with the hashes of their content. A name starts in one of `folders`, or in a folder that
 * another word names, such as the `cwd` of a server or that of `cd`.
 * @throws BatonError USAGE if the words name too many folders
 */
export function filesNamed(words: readonly string[], folders: readonly string[]): NamedFiles {
  const starts = startsOf(words, folders)
  const paths = new Set(words.flatMap((word) => pathsOf(word, starts)))
  const found = [...paths].map((path) => [path, fileHash(path)] as const)
  return Object.fromEntries(found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

function startsOf(words: readonly string[], folders: readonly string[]): readonly string[] {
  const relativeWords = words.filter(
    (word) => !word.startsWith('/') || folders.some((one) => word.startsWith(`${one}/`)),
  )
  const all = new Set(folders)
  let last: readonly string[] = folders
  for (let depth = 0; depth < deepestFolders && last.length > 0; depth += 1) {
    last = [...new Set(relativeWords.flatMap((word) => pathsOf(word, last)))].filter(
      (path) => !all.has(path) && isFolder(path),
    )
    for (const path of last) all.add(path)
    if (all.size > mostFolders) {
      throw new BatonError('USAGE', `its values name more than ${mostFolders} folders, which is too much to check`, {
        hint: 'Shorten the commands, or name one script that contains them.',
      })
    }
  }
  return [...all]
}

function pathsOf(word: string, folders: readonly string[]): readonly string[] {
  // also for an absolute path, which starts nowhere
  if (folders.length === 0) return word.startsWith('/') ? [resolve(word)] : []
  return folders.flatMap((folder) => [resolve(folder, word), ...globbed(word, folder)])
}

/** What a word with wildcards matches. */
function globbed(word: string, folder: string): readonly string[] {
  if (!/[*?[{]/.test(word)) return []
  return alternatives(word).flatMap((one) => {
    const steps = normalize(one)
      .split('/')
      .filter((step) => step !== '')
    return steps.reduce<readonly string[]>(
      (found, step) => found.flatMap((path) => entriesLike(step, path)),
      [one.startsWith('/') ? '/' : folder],
    )
  })
}

const mostAlternatives = 64

function alternatives(word: string): readonly string[] {
  let found: readonly string[] = [word]
  for (;;) {
    const next = found.flatMap((one) => {
      const [whole, inner = ''] = /\{([^{}]*,[^{}]*)\}/.exec(one) ?? []
      return whole === undefined ? [one] : inner.split(',').map((part) => one.replace(whole, () => part))
    })
    if (next.length === found.length || next.length > mostAlternatives) return next
    found = next
  }
}

function entriesLike(step: string, folder: string): readonly string[] {
  if (!/[*?[]/.test(step)) return [join(folder, step)]
  return isFolder(folder)
    ? namesIn(folder)
        .filter((name) => matches(step, name))
        .map((name) => join(folder, name))
    : []
}

function matches(step: string, name: string): boolean {
  try {
    return compileGlobs([step]).matches(name)
  } catch {
    return false
  }
}

/** Undefined for something that is not a file or cannot be read. */
function fileHash(path: string): string | undefined {
  try {
    const status = statSync(path)
    return status.isFile() && status.size <= maxFileBytes ? sha256(readFileSync(path)) : undefined
  } catch {
    return undefined
  }
}

/** Quoted commands in commands: `sh -c "sh -c './x'"`. */
const deepestQuotes = 4

/** The words of texts that may name files, as a shell would read them and as they are written. */
export function wordsIn(texts: readonly string[], depth = 0): readonly string[] {
  const words = texts.flatMap((text) => {
    const quoted = shellWords(text)
    const nested =
      depth < deepestQuotes
        ? wordsIn(
            quoted.filter((word) => word !== text && /[\s'"\\]/.test(word)),
            depth + 1,
          )
        : []
    // after a variable or a substitution, which may be the folder itself
    const behind = [...text.matchAll(/\$(?:\{[^}]*\}|\([^)]*\)|\w+)\/([^\s"';&|<>()]+)/g)].map(([, rest = '']) => rest)
    const pieces = [text, ...quoted].flatMap((one) => one.split(/[\s"'=:;,|&<>()`]+/))
    return [
      text,
      ...quoted,
      ...nested,
      ...behind,
      ...pieces,
      ...pieces.map((one) => one.replace(/^[-@$]+\w?|[}\])]+$/g, '')),
    ]
  })
  return [...new Set(words)].filter((word) => word !== '' && mayBeName(word))
}

/** Not a key, for example: each name is looked for in each folder. */
function mayBeName(word: string): boolean {
  return word.length <= 1000 && !word.includes('\0') && (word.length <= 30 || /[/\s]|\.\w{1,5}$|[*?]/.test(word))
}

const shellWord = /(?:\\[^]|'[^']*'|"(?:\\[^]|[^"\\])*"|[^\s;&|<>()'"\\])+/g

function shellWords(text: string): readonly string[] {
  return [...text.matchAll(shellWord)].map(([word]) =>
    word.replaceAll(
      /\\([^])|'([^']*)'|"((?:\\[^]|[^"\\])*)"/g,
      (_, escaped?: string, single?: string, double?: string) => {
        return escaped ?? single ?? (double ?? '').replaceAll(/\\([^])/g, '$1')
      },
    ),
  )
}
