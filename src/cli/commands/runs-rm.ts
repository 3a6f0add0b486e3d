import { basename } from 'node:path'
import { foreignCheck } from '../../journal/own-run.ts'
import { removeRun } from '../../journal/prune.ts'
import { isActive } from '../../journal/summary.ts'
import type { Flags } from '../command-specs.ts'
import { jsonLine } from '../io.ts'
import type { RunsContext, RunToRemove } from './runs.ts'

/** Removes runs, but none that is running, and cancels what hosts still do for them. Returns how many were kept. */
export async function removeAll(
  runs: readonly RunToRemove[],
  flags: Flags<'runs'>,
  context: RunsContext,
): Promise<number> {
  const { io } = context
  let kept = 0
  for (const run of runs) {
    io.signal.throwIfAborted()
    if (await removeOne(run, flags, context)) continue
    kept += 1
    const id = basename(run.folder)
    if (flags.json) io.out(jsonLine({ id, removed: false, reason: 'running' }))
    else io.err(`${id} is running and was kept\n`)
  }
  return kept
}

/** Returns whether it is removed, or would be. */
async function removeOne(
  { folder, status }: RunToRemove,
  flags: Flags<'runs'>,
  context: RunsContext,
): Promise<boolean> {
  if (isActive(status)) return false
  const { io, env, home, settings, paint, print } = context
  const isShown = flags.level !== 'quiet'
  const id = basename(folder)
  const hasEnded = status === 'done' || status === 'skipped'
  const load = () => import('../../wiring/unfinished-batches.ts')
  const found = hasEnded ? [] : await (await load()).unfinishedBatches(folder, { now: Date.now() })
  // a record of somebody else could name any batch
  const left = found.length > 0 && (await foreignCheck({ env, home })(folder)) ? [] : found
  if (flags.dryRun) {
    const also = left.map((batch) => ` and cancel ${nameOf(batch)}`).join('')
    print({ id, removed: false }, () => (isShown ? `would remove ${id}${also}\n` : ''))
    return true
  }
  // before the record is gone, which is all that is known of them
  const ends = left.length === 0 ? [] : await (await load()).cancelBatches(left, { env, settings, signal: io.signal })
  for (const end of flags.json ? [] : ends) {
    if (end.state === 'unknown') {
      io.err(`${paint('yellow', 'warning')}: ${nameOf(end)} was not canceled: ${end.why}\n`)
      io.err('  The host may go on with it, and charge for it. Cancel it in the console of the host.\n')
    } else if (end.state === 'canceled' && isShown)
      io.out(`canceled ${nameOf(end)}; what was answered before is charged\n`)
  }
  if (!(await removeRun(folder))) return false
  const batches = ends.map(({ provider: model, ...end }) => ({ model, ...end }))
  print({ id, removed: true, ...(ends.length > 0 && { batches }) }, () => (isShown ? `removed ${id}\n` : ''))
  return true
}

function nameOf({
  id,
  provider,
  calls,
}: {
  readonly id: string | undefined
  readonly provider: string
  readonly calls: number
}): string {
  return `the batch ${id === undefined ? '' : `${id} `}to ${provider} with ${calls} ${calls === 1 ? 'call' : 'calls'}`
}
