import { basename } from 'node:path'
import { readRegularFile } from '../base/regular-file.ts'

/** Scripts that npm, pnpm and yarn run when a package, or the folder itself, is installed. */
export const installScripts: ReadonlySet<string> = new Set([
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
  'dependencies',
  'pnpm:devPreinstall',
  'prepack',
  'postpack',
  'prepublishOnly',
])

/** Names of files in lower case, and when a package manager or build tool runs what is in them. */
const runFiles: readonly (readonly [RegExp, string])[] = [
  [/^setup\.(?:py|cfg)$/, 'the package is built or installed'],
  [/^pyproject\.toml$/, 'the package is built or installed, by the build backend and hooks that it names'],
  [/^(?:hatch_build|conftest|sitecustomize)\.py$/, 'Python or its tools are started here'],
  [/^build\.rs$/, 'cargo builds the package'],
  [/^(?:gemfile|.*\.gemspec)$/, 'bundler or gem reads it'],
  [/^(?:.*\.podspec|podfile|package\.swift)$/, 'its package manager reads it'],
  [/^(?:build|settings)\.gradle(?:\.kts)?$/, 'gradle is started'],
  [/^(?:mix\.exs|rebar\.config(?:\.script)?|build\.sbt|binding\.gyp|setup\.hs)$/, 'the package is built or installed'],
]

/**
 * What a change, as a unified diff, makes package managers run by themselves, for the user to judge: each install script
 * that a manifest gains or that changes, with its text, and files that are run as a whole. `path`: absolute; the present
 * file is read, because a diff need not show the key of a changed value.
 */
export function runsAfterChange(path: string, diff: string): readonly string[] {
  const name = basename(path).toLowerCase()
  if (name === 'package.json') return scriptsGained(sidesOf(path, diff), (script) => installScripts.has(script))
  if (name === 'composer.json')
    return scriptsGained(sidesOf(path, diff), (script) => /^(?:pre|post)-[a-z-]+$/.test(script))
  const [, when] = runFiles.find(([pattern]) => pattern.test(name)) ?? []
  return when === undefined ? [] : [`${basename(path)} is run when ${when}`]
}

interface Sides {
  readonly before: string
  readonly after: string
}

function scriptsGained({ before, after }: Sides, isInstall: (script: string) => boolean): readonly string[] {
  const known = new Set(membersIn(before, isInstall))
  return membersIn(after, isInstall).filter((member) => !known.has(member))
}

/** The whole text before and after a change; what the diff shows of it, if the file is another one by now. */
function sidesOf(path: string, diff: string): Sides {
  const lines = diff.split('\n').filter((line) => !/^(?:---|\+\+\+) /.test(line))
  const side = (mark: string): string =>
    lines.flatMap((line) => (line.startsWith(mark) || line.startsWith(' ') ? [line.slice(1)] : [])).join('\n')
  const before = presentText(path)
  const after = before === undefined ? undefined : patched(before, lines)
  return before === undefined || after === undefined ? { before: side('-'), after: side('+') } : { before, after }
}

function presentText(path: string): string | undefined {
  try {
    return readRegularFile(path).toString('utf8')
  } catch {
    return undefined
  }
}

/** Undefined if the hunks do not fit exactly. */
function patched(text: string, diffLines: readonly string[]): string | undefined {
  const present = text.split(/\r?\n/)
  const result: string[] = []
  let at = 0
  for (const line of diffLines) {
    const [, first, count] = /^@@ -(\d+)(?:,(\d+))? \+/.exec(line) ?? []
    if (first !== undefined) {
      // a hunk without old lines stands behind the line that it names
      const start = Number(first) - (count === '0' ? 0 : 1)
      result.push(...present.slice(at, start))
      at = start
      continue
    }
    const shown = line.slice(1).replace(/\r$/, '')
    if (line.startsWith('+')) result.push(shown)
    if (!line.startsWith(' ') && !line.startsWith('-')) continue
    if (present[at] !== shown) return undefined
    if (line.startsWith(' ')) result.push(shown)
    at += 1
  }
  return [...result, ...present.slice(at)].join('\n')
}

/** Members of objects that are install scripts. */
function membersIn(text: string, isInstall: (script: string) => boolean): readonly string[] {
  const members = text.matchAll(/("(?:[^"\\\n]|\\.)*")\s*:\s*("(?:[^"\\\n]|\\.)*"|\[[^\]]*\])/g)
  return [...members].flatMap(([, key = '', value = '']) => {
    const script = plain(key)
    return isInstall(script) ? [`${script}: ${plain(value)}`] : []
  })
}

/** The text of a JSON string; other JSON as it is written. */
function plain(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : JSON.stringify(value)
  } catch {
    return json
  }
}
