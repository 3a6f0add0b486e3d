import { join, relative } from 'node:path'
import { BatonError } from '../base/error.ts'
import { readTrusted, trustFile, trustKey, writeTrusted } from '../config/trust.ts'
import type { Surroundings } from '../config/locate.ts'

/**
 * Protects names that already have a meaning: a pack of the workspace with the name of one of the user's, and an agent
 * next to a prompt file with the name of a built-in one, are refused until they are trusted. Plain data.
 */
export interface NameGuard {
  readonly workspace: string
  /** The file that lists what is trusted. */
  readonly trustFile: string
}

export function nameGuard(workspace: string, around: Pick<Surroundings, 'env' | 'home'>): NameGuard {
  return { workspace, trustFile: trustFile(around) }
}

/** A name that means two places. Absolute. */
export interface HiddenName {
  readonly name: string
  /** The file or pack folder of the workspace that would take precedence. */
  readonly path: string
  readonly kind: 'file' | 'folder'
  /** What it shadows. */
  readonly other: string
}

/** Its key in `baton trust` and its list. */
export function nameKey(name: string): string {
  return `the name ${name}`
}

/**
 * Refuses a place that shadows a name until the user has trusted it. Its content may change after that, like everything
 * else in the workspace, for which the user is responsible.
 * @throws BatonError UNTRUSTED naming both places
 */
export function refuseHidden(hidden: HiddenName, guard: NameGuard): void {
  const passed = known.get(guard) ?? new Set<string>()
  known.set(guard, passed)
  const place = `${hidden.name}\n${hidden.path}`
  if (passed.has(place)) return
  const trusted = readTrusted(guard.trustFile).get(trustKey(hidden.path, guard.workspace))
  if (trusted?.keys.includes(nameKey(hidden.name)) !== true) throw refused(hidden, guard)
  passed.add(place)
}

/** Looked up once for each run: scripts name packs often. */
const known = new WeakMap<NameGuard, Set<string>>()

export function trustName({ name, path }: Pick<HiddenName, 'name' | 'path'>, guard: NameGuard): void {
  const store = guard.trustFile
  const entry = { hash: '', keys: [nameKey(name)], since: new Date().toISOString() }
  writeTrusted(store, new Map([...readTrusted(store), [trustKey(path, guard.workspace), entry]]))
}

function refused({ name, path, kind, other }: HiddenName, { workspace }: NameGuard): BatonError {
  const message = `"${name}" is ambiguous: ${path} shadows ${other}, and is not trusted`
  const own =
    kind === 'file'
      ? `rename it, remove it, or name it by its path, ./${path.endsWith('.md') ? relative(workspace, path) : name}`
      : 'rename or remove it'
  return new BatonError('UNTRUSTED', message, {
    place: { file: path },
    hint: `If you want it, look at it and run baton trust ${path}; otherwise ${own}.`,
  })
}

/** Whether a folder of packs belongs to the workspace. */
export function isFolderRoot(root: string, { workspace }: NameGuard): boolean {
  return [join('.baton', 'packs'), join('.aipack', 'pack', 'custom')].some((path) => root === join(workspace, path))
}
