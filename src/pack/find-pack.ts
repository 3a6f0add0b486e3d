import { join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError } from '../base/error.ts'
import { isSourceFolder, type ReadLog, sourceFolders } from '../base/reads.ts'
import { suggestionHint } from '../settings/issue.ts'
import { aipackBaseFolder, type Surroundings, userDataFolder } from '../config/locate.ts'
import { isFolderRoot, type NameGuard, refuseHidden } from './name-guard.ts'
import { core, isCore, type PackName, type PackRef, packRefText } from './pack-ref.ts'

/** Where packs are searched. */
export interface PackPlaces {
  /** Folders that contain packs as `<namespace>/<name>`, highest precedence first. They need not exist. */
  readonly packRoots: readonly string[]
  /** Folder of the agents that ship with Baton: the pack `baton@core`, which cannot be replaced. */
  readonly builtInDir?: string
  readonly reads?: ReadLog | undefined
  /** Omitted: names are only looked up, and nothing of them is run. */
  readonly guard?: NameGuard | undefined
}

export interface Pack extends PackName {
  /** `namespace@name`. */
  readonly identity: string
  /** Absolute; links are followed but not resolved. */
  readonly dir: string
}

/**
 * The folder of a reference: the first hit in the order of the roots. Undefined if there is none.
 * @throws BatonError AGENT_AMBIGUOUS if a bare `@name` matches packs of several namespaces; UNTRUSTED for a pack of the
 * workspace that shadows one of the user's
 */
export function findPack(ref: PackRef, places: PackPlaces): Pack | undefined {
  const pack = locatePack(ref, places)
  const { guard, packRoots, reads } = places
  const root = guard === undefined || pack === undefined ? undefined : rootOf(pack, packRoots)
  if (guard === undefined || pack === undefined || root === undefined || !isFolderRoot(root, guard)) return pack
  const others = packRoots
    .filter((each) => !isFolderRoot(each, guard))
    .map((each) => join(each, pack.namespace, pack.name))
  const other = others.find((dir) => isSourceFolder(dir, reads))
  if (other !== undefined) refuseHidden({ name: pack.identity, path: pack.dir, kind: 'folder', other }, guard)
  return pack
}

function rootOf({ dir, namespace, name }: Pack, packRoots: readonly string[]): string | undefined {
  return packRoots.find((root) => join(root, namespace, name) === dir)
}

function locatePack({ namespace, name }: PackRef, places: PackPlaces): Pack | undefined {
  const { packRoots, builtInDir, reads } = places
  if (namespace !== undefined) {
    const dir = isOwn(namespace)
      ? isCore({ namespace, name })
        ? builtInDir
        : undefined
      : packRoots.map((root) => join(root, namespace, name)).find((path) => isSourceFolder(path, reads))
    return dir === undefined ? undefined : packOf(namespace, name, dir)
  }
  const fitting = listPacks(places).filter((pack) => pack.name === name)
  if (fitting.length < 2) return fitting[0]
  const names = fitting.map(({ identity }) => identity)
  throw new BatonError('AGENT_AMBIGUOUS', `"@${name}" is ambiguous: it may be ${names.join(' or ')}`, {
    hint: `Write ${names[0]}.`,
  })
}

/** Every pack available by name, sorted by identity; shadowed ones are omitted. */
export function listPacks({ packRoots, builtInDir, reads }: PackPlaces): readonly Pack[] {
  const found = new Map<string, Pack>()
  for (const root of packRoots) {
    for (const namespace of sourceFolders(root, reads)) {
      for (const name of sourceFolders(join(root, namespace), reads)) {
        const pack = packOf(namespace, name, join(root, namespace, name))
        if (!isOwn(namespace) && !found.has(pack.identity)) found.set(pack.identity, pack)
      }
    }
  }
  if (builtInDir !== undefined) {
    const own = packOf(core.namespace, core.name, builtInDir)
    found.set(own.identity, own)
  }
  return [...found.values()].toSorted((left, right) => compareBytes(left.identity, right.identity))
}

/** The packs of this namespace ship with Baton: a folder of that name is none, however it is spelled. */
function isOwn(namespace: string): boolean {
  return namespace.toLowerCase() === core.namespace
}

function packOf(namespace: string, name: string, dir: string): Pack {
  return { namespace, name, identity: `${namespace}@${name}`, dir }
}

/** Where packs keep their own files. Absolute. */
export interface SupportPlaces extends PackPlaces {
  readonly workspace: string
  /** `~/.aipack-base`. */
  readonly aipackBase: string
}

/**
 * The folder that a reference starts from, without its sub-path: the pack's own folder, which must exist, or its
 * support folder, which need not.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS
 */
export function packFolder(ref: PackRef, places: SupportPlaces): string {
  const { namespace, name, scope } = ref
  if (scope !== 'pack' && namespace !== undefined) return supportFolder({ namespace, name }, scope, places)
  const pack = findPack(ref, places)
  if (pack === undefined) throw noPack(ref, places)
  return scope === 'pack' ? pack.dir : supportFolder(pack, scope, places)
}

/** Where a pack keeps its own files, for all workspaces (`base`) or for this one. Creates nothing. */
export function supportFolder(
  { namespace, name }: PackName,
  scope: 'base' | 'workspace',
  { workspace, aipackBase }: Omit<SupportPlaces, keyof PackPlaces>,
): string {
  const top = scope === 'base' ? aipackBase : join(workspace, '.aipack')
  return join(top, 'support', 'pack', namespace, name)
}

/** The error for a pack that was not found. Its first words are those of AIPack. */
export function noPack(ref: PackRef, places: PackPlaces): BatonError {
  const wanted = packRefText({ ...ref, scope: 'pack' }).replace(/\/.*/, '')
  const known = listPacks(places).map(({ identity }) => identity)
  const searched = `Searched in ${places.packRoots.join(', ')}.`
  return new BatonError('AGENT_NOT_FOUND', `No aipack matches for ${packRefText(ref)}`, {
    hint: [suggestionHint(wanted, known, ''), searched].join(' ').trim(),
  })
}

/**
 * The folders that are searched for packs, highest precedence first: ours in the workspace, AIPack's in the workspace,
 * the user's, then those of `~/.aipack-base`.
 */
export function packRoots(workspace: string, around: Pick<Surroundings, 'env' | 'home'>): readonly string[] {
  const base = aipackBaseFolder(around)
  return [
    workspacePacks(workspace),
    join(workspace, '.aipack', 'pack', 'custom'),
    userPacks(around),
    join(base, 'pack', 'custom'),
    join(base, 'pack', 'installed'),
  ]
}

/** Where packs of a workspace are installed. */
export function workspacePacks(workspace: string): string {
  return join(workspace, '.baton', 'packs')
}

/** Where packs are installed for all workspaces. */
export function userPacks(around: Pick<Surroundings, 'env' | 'home'>): string {
  return join(userDataFolder(around), 'packs')
}
