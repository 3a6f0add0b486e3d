import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import { withoutQueries } from '../config/origins.ts'
import type { RunJournal } from '../journal/journal.ts'
import { type Ending, exitCodeFor } from './ending.ts'
import type { Target } from './target.ts'

/** Hash of what a target is: for a prompt file of the part above the transcript. */
export function hashOf(target: Target): string {
  return target.kind === 'prompt' ? target.spec.document.hash : sha256(target.agent.text)
}

/**
 * Begins the journal of a run and stores what the run executes, so that a later resume uses the same
 * (DESIGN 11 "Sources"): the prompt file as it was read, the agents, the merged config.
 */
export function recordStart(
  journal: RunJournal,
  target: Target,
  run: { readonly id: string; readonly version: string },
): void {
  const file = target.kind === 'prompt' ? target.spec.file : target.agent.file
  const agents = target.agents.map(({ name, file: path, text }) => ({ name, path, hash: sha256(text), value: text }))
  const pins = Object.fromEntries(agents.map(({ name, hash }) => [name, hash]))
  journal.note({ k: 'run.start', run: run.id, file, hash: hashOf(target), version: run.version, pins })
  if (target.kind === 'prompt') {
    const { meta, instruction } = target.spec.document
    journal.note({
      k: 'source',
      name: 'prompt',
      path: file,
      hash: hashOf(target),
      value: { meta: meta.data, instruction },
    })
  }
  for (const agent of agents) journal.note({ k: 'source', ...agent })
  journal.note({ k: 'source', name: 'config', path: '', hash: '', value: recordedSettings(target) })
}

/** Addresses may hold a key in their query, which belongs to the user's config and not to the run. */
function recordedSettings({ settings }: Target): Target['settings'] {
  const { providers, gateway } = settings
  return {
    ...settings,
    providers: withoutQueries(providers as unknown as JsonObject) as unknown as typeof providers,
    ...(gateway === undefined ? {} : { gateway: withoutQueries(gateway) as unknown as typeof gateway }),
  }
}

/** Ends the journal of a run, unless the journal itself is what failed. */
export function recordEnd(journal: RunJournal, ending: Ending): void {
  if (journal.failure.aborted) return
  journal.note({ k: 'run.end', exit: exitCodeFor(ending), stop: ending.stopReason })
}
