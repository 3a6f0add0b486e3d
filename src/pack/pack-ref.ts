import { join } from 'node:path'
import { entryPlace } from '../base/archive.ts'
import { BatonError } from '../base/error.ts'
import { isSourceFolder } from '../base/reads.ts'

/** A reference to a pack or to something in it: `ns@name[$base|$workspace][/sub/path]`. */
export interface PackRef {
  /** Omitted in `@name`, which means the only pack of that name. */
  readonly namespace?: string
  readonly name: string
  /** The pack's own folder, or the support folder: for all workspaces (`$base`) or in this one. */
  readonly scope: 'pack' | 'base' | 'workspace'
  /** Never empty, and without `..`. */
  readonly subPath?: string
}

/** Also required of folder names, so that the pack can be named. */
export const identifier = /^[A-Za-z_][A-Za-z0-9_-]*$/
const pathReference = /^[A-Za-z_][A-Za-z0-9_-]*@[A-Za-z_][A-Za-z0-9_-]*(?:[$/]|$)/

/**
 * Parses a pack reference.
 * @throws BatonError AGENT_NOT_FOUND for text that is not a reference
 */
export function parsePackRef(text: string): PackRef {
  const slash = text.indexOf('/')
  const head = slash === -1 ? text : text.slice(0, slash)
  const [namespace = '', rest, ...more] = head.split('@')
  if (rest === undefined) throw invalid(text, 'it has no @')
  if (more.length > 0) throw invalid(text, 'it has more than one @')

  const [name = '', scope, ...scopes] = rest.split('$')
  if (namespace !== '' && !identifier.test(namespace)) throw invalid(text, `"${namespace}" is not a namespace`)
  if (!identifier.test(name)) throw invalid(text, `"${name}" is not the name of a pack`)
  if (scope !== undefined && (scopes.length > 0 || (scope !== 'base' && scope !== 'workspace'))) {
    throw invalid(text, 'only $base and $workspace may follow the name')
  }
  return {
    ...(namespace === '' ? {} : { namespace }),
    name,
    scope: scope ?? 'pack',
    ...readSubPath(text, slash === -1 ? '' : text.slice(slash + 1)),
  }
}

function readSubPath(text: string, subPath: string): { readonly subPath?: string } {
  if (subPath.includes('$')) throw invalid(text, 'a $ may only follow the name')
  if (subPath.split('/').includes('..')) throw invalid(text, 'its path may not contain ..')
  return subPath === '' ? {} : { subPath }
}

function invalid(text: string, reason: string): BatonError {
  return new BatonError('AGENT_NOT_FOUND', `"${text}" is not a pack reference: ${reason}`, {
    hint: 'Write namespace@name or namespace@name/path; a file that has an @ in its name is written ./like@this.',
  })
}

/** The reference as people write it. */
export function packRefText({ namespace = '', name, scope, subPath }: PackRef): string {
  return `${namespace}@${name}${scope === 'pack' ? '' : `$${scope}`}${subPath === undefined ? '' : `/${subPath}`}`
}

/**
 * True if a file path refers to a pack: it starts with `namespace@name`, followed by a slash, `$` or nothing. Unlike in
 * AIPack, `logo@2x.png` and `docs/a@b` are files; a file named like a pack is written `./ns@name`.
 */
export function isPackPath(path: string): boolean {
  return pathReference.test(path)
}

/** True if an agent name may refer to a pack: it has an `@` before its first slash. A bare `@name` counts. */
export function mayBePackName(name: string): boolean {
  return /^[^./\\~][^/\\]*@|^@/.test(name)
}

export interface PackName {
  readonly namespace: string
  readonly name: string
}

/** The pack of the agents that ship with Baton. Other packs of this name are ignored. */
export const core: PackName = { namespace: 'baton', name: 'core' }

export function isCore({ namespace, name }: PackName): boolean {
  return namespace === core.namespace && name === core.name
}

/**
 * Folders of packs with the name of Baton's own pack. They are ignored, so that a repository cannot replace the agents
 * that ship with Baton.
 */
export function unusedCores(packRoots: readonly string[]): readonly string[] {
  return packRoots.map((root) => join(root, core.namespace, core.name)).filter((dir) => isSourceFolder(dir, undefined))
}

export function unusedCoreText(dir: string): string {
  return `${dir} is not used: baton@core is the pack of the agents that ship with Baton`
}

/**
 * Refuses reserved names: Baton's own namespace, in any case, because it marks packs by Baton's authors, and names that
 * are not valid folder names on some systems.
 * @throws BatonError USAGE
 */
export function refuseReserved(pack: PackName): void {
  const reason = whyReserved(pack)
  if (reason === undefined) return
  throw new BatonError('USAGE', `a pack cannot be called ${pack.namespace}@${pack.name}: ${reason}`, {
    hint: 'Choose another namespace and name under [pack] in its pack.toml.',
  })
}

function whyReserved({ namespace, name }: PackName): string | undefined {
  if (namespace.toLowerCase() === core.namespace) return `the packs of ${core.namespace} ship with Baton`
  const place = entryPlace(`${namespace}/${name}`)
  return place.kind === 'refused' ? `it ${place.problem}` : undefined
}
