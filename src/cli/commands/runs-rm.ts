import { basename, join } from 'node:path'
import type { BatchEnd, LeftBatch } from '../../agent/left-batches.ts'
import { foreignCheck } from '../../journal/own-run.ts'
import { removeRun } from '../../journal/prune.ts'
import { isActive, type RunStatus } from '../../journal/summary.ts'
import { packageRoot } from '../../package-root.ts'
import type { Flags } from '../command-specs.ts'
import { jsonLine } from '../io.ts'
import type { RunsContext } from './runs.ts'

/** A run that may be removed. */
export interface Candidate {
  readonly folder: string
  readonly status: RunStatus
}

/** Removes runs, but none that is running, and cancels what hosts still do for them. Returns how many were kept. */
export async function removeAll(
  candidates: readonly Candidate[],
  flags: Flags<'runs'>,
  context: RunsContext,
): Promise<number> {
  const { io } = context
  let kept = 0
  for (const candidate of candidates) {
    io.signal.throwIfAborted()
    if (await removeOne(candidate, flags, context)) continue
    kept += 1
    const id = basename(candidate.folder)
    if (flags.json) io.out(jsonLine({ id, removed: false, reason: 'running' }))
    else io.err(`${id} is running and was kept\n`)
  }
  return kept
}

/** Returns whether it is removed, or would be. */
async function removeOne(candidate: Candidate, flags: Flags<'runs'>, context: RunsContext): Promise<boolean> {
  if (isActive(candidate.status)) return false
  const { print } = context
  const isQuiet = flags.level === 'quiet'
  const id = basename(candidate.folder)
  const left = await batchesOf(candidate, context)
  if (flags.dryRun) {
    const also = left.map((batch) => ` and cancel ${nameOf(batch)}`).join('')
    print({ id, removed: false }, () => (isQuiet ? '' : `would remove ${id}${also}\n`))
    return true
  }
  // before the record is gone, which is all that is known of them
  const batches = left.length === 0 ? [] : await cancelAll(left, flags, context)
  if (!(await removeRun(candidate.folder))) return false
  print({ id, removed: true, ...(batches.length > 0 && { batches }) }, () => (isQuiet ? '' : `removed ${id}\n`))
  return true
}

/** The batches that hosts may still work on; none of a record of somebody else, which could name any. */
async function batchesOf({ folder, status }: Candidate, { env, home }: RunsContext): Promise<readonly LeftBatch[]> {
  if (status === 'done' || status === 'skipped') return []
  const { leftBatches } = await import('../../agent/left-batches.ts')
  const left = await leftBatches(folder, { now: Date.now() })
  return left.length > 0 && (await foreignCheck({ env, home })(folder)) ? [] : left
}

/** Cancels batches as far as their hosts answer, and tells what became of them. */
async function cancelAll(
  left: readonly LeftBatch[],
  flags: Flags<'runs'>,
  { io, env, settings, paint }: RunsContext,
): Promise<readonly (BatchEnd & { readonly model: string; readonly calls: number })[]> {
  const { providers, gateway, model_aliases: aliases } = settings
  const [{ cancelBatch }, { createModelChooser }, { defaultTimeouts }] = await Promise.all([
    import('../../agent/left-batches.ts'),
    import('../../agent/models.ts'),
    import('../../model/call.ts'),
  ])
  const chooseModel = createModelChooser({
    sources: { env, providers, gateway, aliases },
    timeouts: defaultTimeouts,
    tableFile: join(packageRoot(), 'agents', 'models.toml'),
    signal: io.signal,
    isAttended: false,
    onNotice: () => undefined,
  })
  const ends = await Promise.all(left.map((batch) => cancelBatch(batch, { chooseModel, signal: io.signal })))
  return ends.map((end, index) => {
    const { provider, calls } = left[index] as LeftBatch
    const name = nameOf({ provider, calls, id: end.id })
    if (end.state === 'unknown' && !flags.json) {
      io.err(`${paint('yellow', 'warning')}: ${name} was not canceled: ${end.why}\n`)
      io.err('  The host may go on with it, and charge for it. Cancel it in the console of the host.\n')
    } else if (end.state === 'canceled' && !flags.json && flags.level !== 'quiet')
      io.out(`canceled ${name}; what was answered before is charged\n`)
    return { model: provider, calls, ...end }
  })
}

function nameOf({ id, provider, calls }: Pick<LeftBatch, 'id' | 'provider' | 'calls'>): string {
  return `the batch ${id === undefined ? '' : `${id} `}to ${provider} with ${calls} ${calls === 1 ? 'call' : 'calls'}`
}
