import { BatonError } from '../base/error.ts'
import type { RunEvent } from '../event/event.ts'
import type { Ending } from './ending.ts'

/** Tracks the file changes that a run and its agents left out. */
export interface LeftOut {
  /** To be called with every event of the run; replaced rounds do not count. */
  readonly add: (event: RunEvent) => void
  /** Turns an ending without an error into one with an error if something was left out. */
  readonly judge: (ending: Ending) => Ending
}

export function createLeftOut(): LeftOut {
  let found: { readonly agent: string; readonly paths: readonly string[] }[] = []

  return {
    add(event) {
      // a later iteration supersedes what an earlier one left out
      if (event.type === 'iteration.started') {
        const around = event.agent.replace(/\/?iteration\/\d+$/, '')
        found = found.filter(({ agent }) => !isWithin(agent, around))
      }
      if (event.type === 'redo') found = found.filter(({ agent }) => !isWithin(agent, event.agent))
      if (event.type === 'changes.left_out') found.push({ agent: event.agent, paths: event.paths })
    },
    judge(ending) {
      const paths = found.flatMap((one) => one.paths)
      if (paths.length === 0 || (ending.stopReason !== 'done' && ending.stopReason !== 'skipped')) return ending
      const { tasks, outputs } = ending
      return { stopReason: 'error', tasks, outputs, error: leftOutError(paths), isFinal: true }
    },
  }
}

function isWithin(place: string, around: string): boolean {
  return around === '' || place === around || place.startsWith(`${around}/`)
}

function leftOutError(paths: readonly string[]): BatonError {
  const what = paths.length === 1 ? 'a file change was left out' : `${paths.length} file changes were left out`
  const hint = 'With partial = true the others are applied. Set partial_is_success = true in [changes] to exit with 0.'
  return new BatonError('CHANGES_FAILED', `${what}: ${namesOf(paths)}`, { hint })
}

function namesOf(paths: readonly string[], most = 3): string {
  const names = [...new Set(paths)]
  const rest = names.length - most
  return rest > 0 ? `${names.slice(0, most).join(', ')} and ${rest} more` : names.join(', ')
}
