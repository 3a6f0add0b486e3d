import { isBatonError } from '../base/error.ts'
import { issuesOf } from '../config/issue.ts'
import { harmless } from '../render/harmless.ts'
import { noteTrusted, trustable, type TrustPlaces } from './commands/trust.ts'
import { ask, type MayAsk } from './confirm.ts'
import type { CommandIo } from './io.ts'

/**
 * Asks whether the files that a run was refused for are to be trusted as they are now (DESIGN 3 "Trust"). True: they
 * are, and the run may be tried again. Files that `baton trust` would refuse are not asked about.
 */
export async function askForTrust(
  error: unknown,
  { flags, places }: { readonly flags: MayAsk; readonly places: TrustPlaces },
  io: CommandIo,
): Promise<boolean> {
  const refused = issuesOf(error).filter(({ code }) => code === 'UNTRUSTED')
  const files = [...new Set(refused.flatMap(({ place }) => place?.file ?? []))]
  if (files.length === 0) return false
  const trusted = await trustable(files, places).catch((problem: unknown) => {
    if (isBatonError(problem)) return undefined
    throw problem
  })
  if (trusted === undefined) return false
  const named = [...trusted.values()].map(({ keys }, index) => `${files[index]} (${keys.join(', ')})`)
  if ((await ask(`trust ${harmless(named.join(' and '))} as now`, flags, io)) !== true) return false
  noteTrusted(trusted, places)
  return true
}
