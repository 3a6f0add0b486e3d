import { join } from 'node:path'
import { entryPlace } from '../base/archive-name.ts'
import { BatonError } from '../base/error.ts'
import { isSourceFolder } from '../base/source-reader.ts'

export interface PackName {
  readonly namespace: string
  readonly name: string
}

/** The pack of the agents that come with the product. No other pack of this name is ever used. */
export const core: PackName = { namespace: 'baton', name: 'core' }

export function isCore({ namespace, name }: PackName): boolean {
  return namespace === core.namespace && name === core.name
}

/**
 * Folders of packs that are called as the product's own and count for nothing: whoever puts one into a repository must
 * not be able to stand in for the agents that come with Baton.
 */
export function unusedCores(packRoots: readonly string[]): readonly string[] {
  return packRoots.map((root) => join(root, core.namespace, core.name)).filter((dir) => isSourceFolder(dir, undefined))
}

/** What people are told of one of these. */
export function unusedCoreText(dir: string): string {
  return `${dir} is not used: baton@core is the pack of the agents that come with Baton`
}

/**
 * Refuses names that no pack may have: those of the namespace of the product, in whatever case, because it says that
 * Baton's makers wrote it, and those that are no folder on some systems.
 * @throws BatonError USAGE
 */
export function refuseReserved(pack: PackName): void {
  const reason = whyReserved(pack)
  if (reason === undefined) return
  throw new BatonError('USAGE', `a pack cannot be called ${pack.namespace}@${pack.name}: ${reason}`, {
    hint: 'Under [pack] in its pack.toml, namespace and name have to be others.',
  })
}

function whyReserved({ namespace, name }: PackName): string | undefined {
  if (namespace.toLowerCase() === core.namespace) return `the packs of ${core.namespace} come with Baton`
  const place = entryPlace(`${namespace}/${name}`)
  return place.kind === 'refused' ? `it ${place.problem}` : undefined
}
