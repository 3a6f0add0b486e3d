import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { jsonLines, snapshot } from '../baton.ts'
import type { Played } from './play.ts'
import type { World } from './scenario.ts'

/** The compared fields of a run's last event. */
interface LastEvent {
  readonly type: string
  readonly stop_reason: string
  readonly exit_code: number
  readonly outputs: readonly unknown[]
  readonly usage: { readonly calls: number; readonly input: number; readonly output: number }
  readonly cost_usd: number | null
  readonly repeated: readonly { readonly id: string; readonly kind: string; readonly place: string }[]
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string }
}

/** What a run leaves behind that a user can see. */
export interface Finished {
  readonly code: number | null
  readonly stderr: string
  /** Undefined when the process was killed. */
  readonly last: LastEvent | undefined
  /** Texts of `answer` events, in order. */
  readonly answers: readonly string[]
  /** What scripts printed and pinned, and the labels they set, sorted because tasks run concurrently. */
  readonly shown: readonly string[]
  readonly files: Readonly<Record<string, string>>
  /** How often the command ran. */
  readonly commandRuns: number
}

/** The result of a run in its world. */
export function finishedIn(
  world: World,
  { code, stdout, stderr }: Pick<Played, 'code' | 'stdout' | 'stderr'>,
): Finished {
  const events = jsonLines(wholeLines(stdout))
  const last = events.findLast(({ type }) => type === 'run.completed' || type === 'run.failed')
  const textsOf = (wanted: string, field: string): readonly string[] =>
    events.flatMap((event) => (event['type'] === wanted ? [String(event[field])] : []))
  return {
    code,
    stderr,
    last: last as LastEvent | undefined,
    answers: textsOf('answer', 'text'),
    shown: [...textsOf('print', 'text'), ...textsOf('pin', 'content'), ...textsOf('label', 'label')].toSorted(),
    files: filesOf(world),
    commandRuns: linesIn(join(world.outside, 'commands.txt')),
  }
}

/** A process may have been killed while writing a line. */
function wholeLines(stdout: string): string {
  return stdout.slice(0, stdout.lastIndexOf('\n') + 1)
}

/** The log order of concurrent tasks is not deterministic. */
function filesOf({ workspace }: World): Readonly<Record<string, string>> {
  const files = snapshot(workspace)
  const log = files['out/log.txt']
  return log === undefined ? files : { ...files, 'out/log.txt': log.split('\n').toSorted().join('\n') }
}

function linesIn(file: string): number {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
}
