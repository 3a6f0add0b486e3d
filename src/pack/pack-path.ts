import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { findPack, listPacks, type PackPlaces } from './find-pack.ts'
import { packRefText, type PackRef } from './pack-ref.ts'

/** Folders that hold what packs keep. Absolute. */
export interface SupportPlaces extends PackPlaces {
  readonly workspace: string
  /** `~/.aipack-base`. */
  readonly aipackBase: string
}

/**
 * The folder a reference starts from, without its sub-path (spec/aipack.md 3.5): the pack's own, which must exist, or
 * its support folder, which need not.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS
 */
export function packFolder(ref: PackRef, places: SupportPlaces): string {
  if (ref.scope === 'pack' || ref.namespace === undefined) {
    const pack = findPack(ref, places)
    if (pack === undefined) throw noPack(ref, places)
    if (ref.scope === 'pack') return pack.dir
    return supportFolder(pack, ref.scope, places)
  }
  return supportFolder({ namespace: ref.namespace, name: ref.name }, ref.scope, places)
}

/** Where a pack keeps files of its own, for all workspaces (`base`) or for this one. Nothing is made. */
export function supportFolder(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  scope: 'base' | 'workspace',
  { workspace, aipackBase }: Omit<SupportPlaces, keyof PackPlaces>,
): string {
  const top = scope === 'base' ? aipackBase : join(workspace, '.aipack')
  return join(top, 'support', 'pack', namespace, name)
}

/** The error for a pack that is nowhere. Its first words are those AIPack users know (spec/pro-coder.md P12). */
export function noPack(ref: PackRef, places: PackPlaces): BatonError {
  const wanted = packRefText({ ...ref, scope: 'pack' }).replace(/\/.*/, '')
  const similar = nearest(
    wanted,
    listPacks(places).map(({ identity }) => identity),
  )
  const looked = `Looked for it in ${places.packRoots.join(', ')}.`
  return new BatonError('AGENT_NOT_FOUND', `No aipack matches for ${packRefText(ref)}`, {
    hint: similar === undefined ? looked : `Did you mean "${similar}"? ${looked}`,
  })
}
