import { type Dirent, lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { userInfo } from 'node:os'
import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { readRegularFile } from '../../base/regular-file.ts'
import type { ToolRule } from '../../event/permission.ts'
import { namesOf, unscannedFolders } from '../hard-links.ts'
import { keyPatternOf, keysAnywhere, keysInHome, mayHoldKeys } from '../protected/key-places.ts'
import { protectedNames } from '../protected/places.ts'
import { closesFiles, writtenReadRule } from '../tool-rules.ts'
import { entriesIn, namesIn } from '../../base/entries.ts'
import { homeFolder } from '../../base/home.ts'
import { createPlaceMatcher } from '../protected/place-matcher.ts'

/** What a sandbox hides and protects in a workspace. Absolute; links are not followed. */
export interface HiddenPlaces {
  /** Files that hold keys, and files that rules for `read` deny or ask about. */
  readonly hiddenFiles: readonly string[]
  /** Folders with such files, of which there are too many, and those that were not scanned. */
  readonly hiddenFolders: readonly string[]
  /** Paths that models never change because of their names, below the first level; of too many, folders with them. */
  readonly deciding: readonly string[]
  /** There are more of these folders than can be protected, so nothing may be written. */
  readonly isReadOnly: boolean
}

/** The cost of a hidden or read-only file grows with their number, unlike that of a hidden folder. */
const mostFiles = 300
const mostDeciding = 150
const mostHiddenFolders = 1_000
const mostFolders = 100_000

/** What was found earlier keeps its protection, even if a command has created many others since. */
const known = new Map<string, { readonly files: readonly string[]; readonly deciding: readonly string[] }>()

interface Scanned {
  readonly files: string[]
  readonly folders: string[]
  readonly deciding: string[]
}

/**
 * Scans a workspace, including what git ignores, for what the rules (`Rights.rules`) and the list of known places close.
 * @throws BatonError SANDBOX if there is more than can be hidden
 */
export async function findKeyFiles(workspace: string, rules: readonly (readonly ToolRule[])[]): Promise<HiddenPlaces> {
  const found: Scanned = { files: [], folders: [], deciding: [] }
  let seen = 0
  let level: readonly string[] = [workspace]
  while (level.length > 0 && seen < mostFolders) {
    const next: string[] = []
    for (let at = 0; at < level.length; at += atOnce) {
      const folders = level.slice(at, at + atOnce)
      seen += folders.length
      const listed = await Promise.all(folders.map(entriesOf))
      for (const [index, entries] of listed.entries()) {
        const folder = folders[index] ?? workspace
        for (const entry of entries) {
          const path = join(folder, entry.name)
          if (folder !== workspace && protectedNames.includes(entry.name)) found.deciding.push(path)
          else if (entry.isDirectory() && unscannedFolders.has(entry.name)) continue
          else if (isClosed(path, { workspace, rules })) (entry.isDirectory() ? found.folders : found.files).push(path)
          else if (entry.isDirectory()) next.push(path)
        }
      }
    }
    level = next
  }
  // what could not be scanned is hidden
  found.folders.push(...level)
  found.files.push(...found.files.flatMap((path) => namesOf(path, workspace).slice(1)))
  return limited(found, workspace)
}

const atOnce = 32

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    // not readable, or gone
    return []
  }
}

interface Closing {
  readonly workspace: string
  readonly rules: readonly (readonly ToolRule[])[]
}

/** Whether a path is closed: a rule for `read` comes before the list of known places. */
function isClosed(path: string, { workspace, rules }: Closing): boolean {
  const written = closesFiles(rules) ? writtenReadRule(rules, path, workspace) : undefined
  if (written !== undefined && written.effect !== 'allow') return true
  if (written !== undefined && written.tightens === undefined) return false
  return mayHoldKeys(basename(path)) && keyPatternOf(path, workspace) !== undefined && !isHarmless(path, workspace)
}

/** Files that may hold a private key, by their names. */
const keyMaterial = /\.(?:pem|key|p8|p12|pfx|pkcs12|jks|keystore)$|^id_/i
/** Keys in these folders are part of tests, which need them. */
const ofTests: ReadonlySet<string> = new Set(
  'test tests __tests__ spec specs fixtures __fixtures__ testdata test-data test_data'.split(' '),
)
const mostBytes = 1024 * 1024

/** Programs need these, and they hold no key: certificates, settings of a package manager, keys of tests. */
function isHarmless(path: string, workspace: string): boolean {
  const name = basename(path)
  if (name === '.npmrc') return textOf(path).split('\n').every(isPlainSetting)
  if (!keyMaterial.test(name)) return false
  if (
    relative(workspace, dirname(path))
      .split(sep)
      .some((step) => ofTests.has(step))
  )
    return true
  const text = textOf(path)
  return /-----BEGIN [A-Z0-9 ]*(?:CERTIFICATE|PUBLIC KEY|CRL)/.test(text) && !text.includes('PRIVATE KEY')
}

function isPlainSetting(line: string): boolean {
  const [, name = '', value = ''] = /^\s*([^=;#\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? []
  if (name === '') return /^\s*(?:[;#].*)?$/.test(line)
  return !/auth|passw|token|secret|cert|key/i.test(name) || /^"?\$\{\w+\}"?$/.test(value)
}

/** A text that is not harmless if the file cannot be read. */
function textOf(path: string): string {
  try {
    return lstatSync(path).size > mostBytes ? 'PRIVATE KEY' : readRegularFile(path).toString('latin1')
  } catch {
    return 'PRIVATE KEY'
  }
}

/** @throws BatonError SANDBOX */
function limited({ files, folders, deciding }: Scanned, workspace: string): HiddenPlaces {
  const before = known.get(workspace) ?? { files: [], deciding: [] }
  const isTop = (path: string): boolean => dirname(path) === workspace
  // only these cannot be hidden with their folder
  const inOrder = unique([...present(before.files), ...files.filter(isTop), ...files])
  const hiddenFiles = inOrder.slice(0, mostFiles)
  const rest = inOrder.slice(mostFiles)
  const open = rest.find(isTop)
  if (open !== undefined) throw tooMany(open, workspace)
  const decidingInOrder = unique([...present(before.deciding), ...deciding])
  const protectedFirst = decidingInOrder.slice(0, mostDeciding)
  const withOthers = unique(decidingInOrder.slice(mostDeciding).map((path) => dirname(path)))
  known.set(workspace, { files: hiddenFiles, deciding: protectedFirst })
  return {
    hiddenFiles,
    hiddenFolders: fewFolders(unique([...folders, ...rest.map((path) => dirname(path))]), workspace),
    deciding: [...protectedFirst, ...withOthers.slice(0, mostDeciding)],
    isReadOnly: withOthers.length > mostDeciding,
  }
}

/** Folders above these if there are too many. @throws BatonError SANDBOX if those are too many as well */
function fewFolders(folders: readonly string[], workspace: string): readonly string[] {
  let few = folders
  for (let depth = deepest; few.length > mostHiddenFolders; depth -= 1) {
    if (depth === 0) throw tooMany(few[mostHiddenFolders] ?? workspace, workspace)
    few = unique(few.map((path) => join(workspace, ...relative(workspace, path).split(sep).slice(0, depth))))
  }
  return few
}

/** Levels below the workspace. */
const deepest = 16

function tooMany(path: string, workspace: string): BatonError {
  const shown = displayPath(workspace, path)
  return new BatonError('SANDBOX', `${shown} cannot be hidden in the sandbox: there are too many files with keys`, {
    hint: 'Remove files that hold no keys, or allow them in your own config.toml, below [permission.read].',
  })
}

function present(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined)
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)]
}

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
  const isMatch = createPlaceMatcher(() => [{ pattern: step, isHome: false, isFolder: false, steps: [step] }])
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
const deepestPlace = 6

/** Files and folders below a folder that are not readable by others. */
function closedIn(folder: string, depth = 0): readonly string[] {
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isFile() && !entry.isDirectory()) return []
    const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0o777
    if ((mode & 0o004) === 0) return [path]
    return entry.isDirectory() && depth < deepestPlace ? closedIn(path, depth + 1) : []
  })
}
