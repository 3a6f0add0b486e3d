import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import { withoutQueries } from '../config/origins.ts'
import type { RunJournal } from '../journal/journal.ts'
import { recordedError } from '../journal/recorded-error.ts'
import { type Ending, exitCodeFor } from './ending.ts'
import { lastSource, sourceRecord } from './source-records.ts'
import type { SourceRecorder } from './stored-sources.ts'
import type { Target } from './target.ts'

/** Hash of what a target is: for a prompt file of the part above the transcript. */
export function hashOf(target: Target): string {
  return target.kind === 'prompt' ? target.spec.document.hash : sha256(target.agent.text)
}

/** Begins the journal of a run, and stores what it executes. */
export function recordStart(
  journal: RunJournal,
  target: Target,
  run: { readonly id: string; readonly version: string; readonly facts: JsonObject; readonly sources: SourceRecorder },
): void {
  const file = target.kind === 'prompt' ? target.spec.file : target.agent.file
  const pins = Object.fromEntries(target.agents.map(({ name, text }) => [name, sha256(text)]))
  journal.note({
    k: 'run.start',
    run: run.id,
    file,
    hash: hashOf(target),
    version: run.version,
    facts: { ...run.facts, workspace: target.workspace },
    pins,
  })
  recordSources(journal, target, run.sources)
}

/**
 * Stores everything the target was made of, so that a later resume uses the same (DESIGN 11 "Sources"), and the merged
 * config behind it. For each process that runs or goes on with a run, once its target is loaded.
 */
export function recordSources(journal: Pick<RunJournal, 'note'>, target: Target, sources: SourceRecorder): void {
  const { start, later } = sources.begin(journal)
  const names = new Map(target.agents.map(({ name, file }) => [file, name]))
  if (target.kind === 'prompt') names.set(target.spec.file, 'prompt')
  if (target.kind === 'prompt' && target.spec.source === 'text') {
    const { text } = target.spec.document
    journal.note({ k: 'source', name: 'prompt', path: '', hash: hashOf(target), value: text })
  }
  for (const source of start) journal.note(sourceRecord(source, names.get(source.path)))
  journal.note({ k: 'source', name: lastSource, path: '', hash: '', value: recordedSettings(target) })
  for (const source of later) journal.note(sourceRecord(source))
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
export function recordEnd(journal: RunJournal, ending: Ending, facts?: JsonObject): void {
  if (journal.failure.aborted) return
  const error = ending.error === undefined ? {} : { error: recordedError(ending.error) }
  journal.note({ k: 'run.end', exit: exitCodeFor(ending), stop: ending.stopReason, facts, ...error })
}
