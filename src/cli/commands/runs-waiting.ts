import type { ListOptions } from '../../history/run-list.ts'
import { waitingRuns } from '../../history/pending.ts'
import { isActive } from '../../journal/summary.ts'
import { approvalLines } from '../../render/approval.ts'
import { runHeader } from '../../render/runs.ts'
import type { Flags } from '../command-specs.ts'
import { jsonLine } from '../io.ts'
import { withPlace } from '../with-place.ts'
import type { RunsContext } from './runs.ts'

/** `baton runs --waiting`: each run that waits for approval, with its pending calls; with `--json` one per line. */
export async function listWaiting(
  options: ListOptions,
  flags: Flags<'runs'>,
  { io, folder, paint, workspace, note }: RunsContext,
): Promise<number> {
  let count = 0
  for await (const { run, approvals } of waitingRuns(folder, options)) {
    if (flags.ids) io.out(`${run.id}\n`)
    else if (flags.json) io.out(jsonLine({ ...run, approvals }))
    else {
      const command = (words: string): string => `baton ${withPlace(words.replace('RUN', run.id), flags)}`
      // an active run is answered where it runs
      const options = { paint, command: isActive(run.status) ? undefined : command }
      const lines = [runHeader(run, { paint, workspace }), ...approvalLines(approvals, options)]
      io.out(`${count === 0 ? '' : '\n'}${lines.join('\n')}\n`)
    }
    count += 1
  }
  if (count === 0) note('no run of this workspace waits for approval\n')
  return 0
}
