import { entriesIn, namesIn } from '../../base/entries.ts'
import { lstatSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, join } from 'node:path'
import { homeFolder } from '../../base/home.ts'
import { keysAnywhere, keysInHome } from '../protected/key-places.ts'
import { createPlaceMatcher } from '../protected/place-matcher.ts'

/** Names that tell of keys, at the top of a home folder. */
const telling =
  /^\.env|token|credential|secret|passw|_history$|\.(?:pem|key|p12|pfx|kdbx)$|id_(?:rsa|dsa|ecdsa|ed25519)/i
/** The same in folders where programs keep their settings: also of programs that nobody has listed. */
const tellingInside =
  /(?:^|[-_.])(?:auth|credentials?|secrets?|tokens?|passw\w*|oauth\w*|api[-_]?keys?|private[-_]?keys?|cookies?)(?:[-_.]|$)/i
const settingsFolders = ['.config', '.local/share', '.local/state']

/**
 * Places that hold keys in the user's home folders, whether they exist or not. Absolute. `given`: the value of `HOME`.
 */
export function keysAtHome(given: string | undefined): readonly string[] {
  const homes = new Set([homeFolder(given), homeFolder(), ofAccount()].filter((home) => home !== undefined))
  return [...homes].flatMap((home) => [
    ...[...keysInHome, ...keysAnywhere].flatMap(({ steps }) => pathsOf(steps, home)),
    ...namesIn(home)
      .filter((name) => telling.test(name))
      .map((name) => join(home, name)),
    ...settingsIn(home).flatMap((folder) =>
      namesIn(folder)
        .filter((name) => tellingInside.test(name))
        .map((name) => join(folder, name)),
    ),
  ])
}

/** The paths of a known place below a folder; with wildcards, those that exist. */
function pathsOf([step = '', ...rest]: readonly string[], folder: string): readonly string[] {
  if (step === '') return [folder]
  if (!step.includes('*')) return pathsOf(rest, join(folder, step))
  const isMatch = createPlaceMatcher([{ pattern: step, isHome: false, isFolder: false, steps: [step] }])
  return namesIn(folder)
    .filter((name) => isMatch.mayEndIn(name))
    .flatMap((name) => pathsOf(rest, join(folder, name)))
}

/** The folders in which programs keep their own settings. */
function settingsIn(home: string): readonly string[] {
  const inside = settingsFolders.flatMap((name) => foldersIn(join(home, name)))
  return [...inside, ...foldersIn(home).filter((folder) => basename(folder).startsWith('.'))]
}

function foldersIn(folder: string): readonly string[] {
  return entriesIn(folder).flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []))
}

/** The home folder according to the user database, whatever `HOME` says. */
function ofAccount(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    return undefined
  }
}

let ofSystem: readonly string[] | undefined

/**
 * What only root may read, if this process runs as root: other users could not read it anyway. Looked up once per
 * process.
 */
export function keysOfSystem(): readonly string[] {
  if (process.getuid?.() !== 0) return []
  ofSystem ??= [
    '/var/lib/docker',
    '/var/lib/containerd',
    '/var/lib/kubelet',
    '/var/lib/private',
    '/sys/kernel/debug',
    '/sys/kernel/tracing',
    '/sys/firmware',
    ...closedIn('/etc'),
    ...closedIn('/var/spool'),
    ...closedIn('/var/log'),
  ]
  return ofSystem
}

/** Deeper files are in folders that others may read as well. */
const deepest = 6

/** Files and folders below a folder that are not readable by others. */
function closedIn(folder: string, depth = 0): readonly string[] {
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isFile() && !entry.isDirectory()) return []
    const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0o777
    if ((mode & 0o004) === 0) return [path]
    return entry.isDirectory() && depth < deepest ? closedIn(path, depth + 1) : []
  })
}
