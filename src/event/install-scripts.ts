import { basename } from 'node:path'

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
 * that a manifest gains or that changes, with its text, and files that are run as a whole.
 */
export function runsAfterChange(path: string, diff: string): readonly string[] {
  const name = basename(path).toLowerCase()
  if (name === 'package.json') return scriptsGained(diff, (script) => installScripts.has(script))
  if (name === 'composer.json') return scriptsGained(diff, (script) => /^(?:pre|post)-[a-z-]+$/.test(script))
  const [, when] = runFiles.find(([pattern]) => pattern.test(name)) ?? []
  return when === undefined ? [] : [`${basename(path)} is run when ${when}`]
}

function scriptsGained(diff: string, isInstall: (script: string) => boolean): readonly string[] {
  const before = new Set(membersIn(diff, '-', isInstall))
  return membersIn(diff, '+', isInstall).filter((member) => !before.has(member))
}

/** Members of objects in the old (`-`) or new (`+`) text of a diff. */
function membersIn(diff: string, side: '-' | '+', isInstall: (script: string) => boolean): readonly string[] {
  const lines = diff.split('\n').filter((line) => !/^(?:---|\+\+\+) /.test(line))
  const text = lines
    .flatMap((line) => (line.startsWith(side) || line.startsWith(' ') ? [line.slice(1)] : []))
    .join('\n')
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
