import { basename, join } from 'node:path'
import { defined } from '../../base/json.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { hunkNames } from '../../event/review.ts'
import { approvalsIn, waitingRuns } from '../../history/pending.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { isActive, type RunStatus } from '../../journal/summary.ts'
import { approvalLines } from '../../render/approval.ts'
import { decide, type Decided, type Verdict } from '../../wiring/decide.ts'
import { type Flags, resumeDefaults } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace, type Workplace } from '../io.ts'
import { withPlace } from '../with-place.ts'
import { workspaceRuns } from '../runs-folder.ts'
import { resumeCommand } from './resume.ts'

type Answering = Omit<Flags<'approve'>, 'always' | 'hunks'>

/** `baton approve [RUN] [CALL]`: records the approval, then resumes the run. Returns the exit code of the run. */
export async function approveCommand({ always, hunks, ...flags }: Flags<'approve'>, io: CommandIo): Promise<number> {
  return answer({ kind: 'approve', always, hunks: hunkNumbers(hunks) }, flags, io)
}

/** `baton reject [RUN] [CALL]`: the same for a rejection. */
export async function rejectCommand({ reason, hunks, ...flags }: Flags<'reject'>, io: CommandIo): Promise<number> {
  return answer({ kind: 'reject', reason, hunks: hunkNumbers(hunks) }, flags, io)
}

/** `1,3`. @throws BatonError USAGE */
function hunkNumbers(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined
  const words = text.split(',').map((word) => word.trim())
  if (words.every((word) => /^[1-9]\d{0,5}$/.test(word))) return words.map(Number)
  throw usageError(`--hunks takes numbers, not "${text}"`, 'They count from 1, in the order of the diff: --hunks 1,3')
}

async function answer(verdict: Verdict, flags: Answering, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const { env, home } = workplace
  const { folder: runs } = await workspaceRuns(flags, workplace)
  const { run, call } = readWords(flags)
  if (flags.all && verdict.hunks !== undefined)
    throw usageError('--all and --hunks cannot be combined', 'Name one call.')
  if (call !== undefined && flags.all) throw usageError('--all and a call cannot be combined', 'Leave one of them out.')
  const folder = run === undefined ? await onlyWaitingRun(runs) : findAnyRun(runs, run)
  if (flags.ids) {
    for (const { id } of await approvalsIn(folder)) io.out(`${id}\n`)
    return 0
  }
  const decided = await decide({ folder, env, home, verdict, call: flags.all ? { kind: 'all' } : call })
  tell(decided, { verdict, flags, folder, workplace })
  if (flags.noResume) return 0
  // further calls wait as well, because the answer came without a user at the run
  const { onAsk = 'suspend', run: _, call: __, all: ___, noResume: ____, ids: _____, ...given } = flags
  return resumeCommand({ ...resumeDefaults, ...given, onAsk, run: basename(folder) }, io)
}

/** The first word is a call if it cannot be the start of a run id. */
function readWords({ run, call }: Pick<Answering, 'run' | 'call'>): Pick<Answering, 'run' | 'call'> {
  const isCall = run !== undefined && call === undefined && (/^\d{1,3}$/.test(run) || run.includes('/'))
  return isCall ? { run: undefined, call: run } : { run, call }
}

/** @throws BatonError USAGE if no run of the workspace waits, or several do */
async function onlyWaitingRun(runs: string): Promise<string> {
  const waiting: string[] = []
  const isStopped = ({ status }: { readonly status: RunStatus }): boolean => !isActive(status)
  for await (const { run } of waitingRuns(runs, { limit: 5, fits: isStopped })) waiting.push(run.id)
  const [id, ...others] = waiting
  if (id === undefined) throw usageError('no run of this workspace waits for approval', 'See baton runs.')
  if (others.length === 0) return join(runs, id)
  throw usageError(`several runs wait for approval: ${waiting.join(', ')}`, 'Name one. See baton runs --waiting.')
}

interface Telling {
  readonly verdict: Verdict
  readonly flags: Answering
  readonly folder: string
  readonly workplace: Workplace
}

function tell({ decided, open }: Decided, { verdict, flags, folder, workplace }: Telling): void {
  const { print, note, paint } = workplace
  const run = basename(folder)
  const word = verdict.kind === 'approve' ? 'approved' : 'rejected'
  const lines = decided.map(({ id, tool, place }) => {
    const what = `${id}  ${harmlessName(tool)}  ${paint('dim', harmlessName(place))}`
    const part = verdict.hunks === undefined ? '' : `  ${hunkNames(verdict.hunks)}`
    return `${paint(verdict.kind === 'approve' ? 'green' : 'yellow', word)} ${what}${part}\n`
  })
  // a program reads the events of the resumed run
  if (!flags.noResume) return note(lines.join(''))
  const { hunks } = verdict
  print({ run, decision: verdict.kind, ...defined({ hunks }), decided, open }, () =>
    flags.level === 'quiet' ? '' : lines.join(''),
  )
  const command = (words: string): string => `baton ${withPlace(words.replace('RUN', run), flags)}`
  if (open.length > 0) note(`still pending:\n${approvalLines(open, { paint, command }).join('\n')}\n`)
  note(`${paint('cyan', 'resume')}: ${command('resume RUN')}\n`)
}
