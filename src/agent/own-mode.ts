import { isBatonError } from '../base/error.ts'
import type { Issue } from '../config/issue.ts'
import type { OwnOptions } from './own-options.ts'
import type { Plugins } from './plugins/plugin.ts'

/** What is wrong with the mode that a script agent names itself: nobody knows it. */
export async function ownModeIssues(
  { values: { mode }, placeOf }: OwnOptions,
  plugins: () => Promise<Plugins>,
): Promise<readonly Issue[]> {
  if (typeof mode !== 'string') return []
  const { knownModes, refuseUnknownMode } = await import('./modes/known.ts')
  try {
    refuseUnknownMode(mode, knownModes((await plugins()).modes))
    return []
  } catch (error) {
    if (!isBatonError(error)) throw error
    const { code, message, hint = '' } = error
    return [{ code, message, hint, place: await placeOf(['mode'], 'value') }]
  }
}
