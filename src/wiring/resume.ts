import { BatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { conduct, type OpenedRun, type RunPlan, type RunReport, type Surroundings } from './conduct.ts'
import type { Bus, Listener } from '../event/bus.ts'
import { openFileRecords } from '../journal/file-records.ts'
import type { RunJournal } from '../journal/journal.ts'
import { choose, type IndexOptions, indexRun, type RecordSource, type RunIndex } from '../journal/run-index.ts'
import { createMask, type SecretMask } from '../journal/secrets.ts'
import { spentBefore } from '../journal/spent-before.ts'
import { withdrawEpoch } from '../journal/segment.ts'
import { openRun } from '../journal/store.ts'
import { askAgain, readChoice, refuseUncertain, type Uncertain, uncertainEffects } from '../journal/uncertain.ts'
import { changedSources } from '../run/changed-sources.ts'
import { reopenChanged } from '../run/reopen-changed.ts'
import { type StoredSources, storedSources } from '../run/read-sources.ts'
import { recordSources } from '../run/record.ts'
import { createStoredSources } from '../run/stored-sources.ts'
import { environmentOf, type Invocation, invocationOf, withOverrides } from '../run/invocation.ts'
import { refuseChangedSecrets, strictMask } from './resume-secrets.ts'
import { settleChange } from '../tool/change-state.ts'

export interface ResumeOptions extends Surroundings {
  /** The folder of the run; see `findRun`. */
  readonly folder: string
  /** A boundary to do afresh. */
  readonly from?: string
  /** Runs what is on the disk now, and does again what it changes. */
  readonly usesCurrent?: boolean
  /** `EPOCH.N=redo|done|fail` each. */
  readonly uncertain?: readonly string[]
  /** Goes on where records are damaged. */
  readonly repair?: boolean
  /** `-c key=value`: settings from here on, which later resumes keep. */
  readonly overrides?: readonly string[]
}

/**
 * Goes on with a run that broke off or failed (DESIGN 11 "Resume"): the same program from the top, with what is recorded
 * as the answers. See `conduct` for `listener`.
 * @throws BatonError USAGE, JOURNAL_FAILED, UNCERTAIN when the run cannot go on: nothing was done then
 */
export async function resumeRun(options: ResumeOptions, listener: Listener): Promise<RunReport> {
  const { folder, env } = options
  // what config files know to be secret comes later; until then any variable may have been named one
  let mask: SecretMask = createMask(env, { names: Object.keys(env) })
  const lateMask = strictMask(
    { mask: (text) => mask.mask(text), hide: (text) => mask.hide(text), unmask: (text) => mask.unmask(text) },
    env,
  )
  const journal = await openRun({ folder, now: () => new Date(), mask: lateMask })
  const source = openFileRecords(folder, { mask: lateMask, before: journal.epoch })
  let isRefused = true
  try {
    const { plan, ...past } = await planResume(source, options)
    return await conduct(
      {
        ...plan,
        async open(target, parts): Promise<OpenedRun> {
          mask = parts.mask
          isRefused = false
          if (plan.overrides !== undefined) journal.note({ k: 'run.resume', overrides: plan.overrides })
          recordSources(journal, target, plan.sources)
          warnOfChanges(past.stored, parts.bus, plan.invocation.cwd)
          await recordChoices(past.choices, journal, past.index)
          const redone = past.choices.filter(({ choice }) => choice === 'redo').map(({ uncertain }) => uncertain)
          return { journal, folder, past: { ...past, redone, ...spentBefore(past.index) } }
        },
      },
      { ...options, env: environmentOf(plan.invocation, env) },
      listener,
    )
  } finally {
    source.close()
    // an error of closing has ended the run already
    await journal.close().catch(() => undefined)
    // a run that cannot go on stays as it was
    if (isRefused) withdrawEpoch(folder, journal.epoch)
  }
}

interface ResumePlan {
  readonly plan: Omit<RunPlan, 'open'>
  readonly index: RunIndex
  readonly choices: readonly Choice[]
  readonly usesCurrent: boolean
  readonly stored: StoredSources | undefined
}

async function planResume(source: RecordSource, options: ResumeOptions): Promise<ResumePlan> {
  const { folder, from, usesCurrent = false, overrides = [], repair = false, uncertain = [] } = options
  const use: IndexOptions['use'] = usesCurrent
    ? { kind: 'everything' }
    : { kind: 'resume', ...(from === undefined ? {} : { from }) }
  const index = await indexRun(source, { use, repair })
  const { id, invocation, workspace } = startOf(index, folder)
  askAgain(index)
  const choices = chosen(index, workspace, uncertain)
  if (from !== undefined) {
    assertBoundary(index, from)
    index.tree.reopen(from)
  }
  const stored = usesCurrent ? undefined : storedSources(index.records('source'), (field) => source.value(field))
  if (stored === undefined) reopenChanged(index)
  else refuseChangedSecrets(stored)
  const sources = createStoredSources({ stored })
  return {
    plan: { id, invocation, sources, isResumed: true, ...(overrides.length > 0 && { overrides }) },
    index,
    choices,
    usesCurrent,
    stored,
  }
}

/** A resumed run executes what it began with, whatever the disk holds now. */
function warnOfChanges(stored: StoredSources | undefined, bus: Bus, cwd: string): void {
  const changes = stored === undefined ? [] : changedSources(stored)
  const kept = changes.filter(({ used }) => used === 'stored')
  if (kept.length === 0) return
  bus.send([], {
    type: 'warning',
    message: `changed since this run began, and used as it was then: ${kept.map(({ path }) => displayPath(cwd, path)).join(', ')}`,
    hint: 'Resume with --use-current to use what is there now.',
  })
}

interface RunStart {
  readonly id: string
  readonly invocation: Invocation
  readonly workspace: string
}

function startOf({ records, source, damages }: RunIndex, folder: string): RunStart {
  const start = records('run.start')[0]
  const facts = start?.k === 'run.start' ? source.value(start.facts) : undefined
  const invocation = invocationOf(facts)
  if (start?.k !== 'run.start' || invocation === undefined) {
    const why =
      damages.length > 0 ? 'What said it is damaged' : 'It broke off before its first step, or is of an older version'
    throw new BatonError(
      'USAGE',
      `the run in ${folder} cannot be resumed: its record does not say how it was started`,
      { hint: `${why}. Run the file again.` },
    )
  }
  const later = records('run.resume').flatMap((record) =>
    record.k === 'run.resume' ? (source.value(record.overrides) as readonly string[]) : [],
  )
  return {
    id: start.run,
    invocation: withOverrides(invocation, later),
    workspace: (facts as { readonly workspace: string }).workspace,
  }
}

interface Choice {
  readonly uncertain: Uncertain
  readonly choice: ReturnType<typeof readChoice>['choice']
}

/** What was decided about effects whose end is not known. @throws BatonError USAGE, UNCERTAIN */
function chosen(index: RunIndex, workspace: string, given: readonly string[]): readonly Choice[] {
  const open = uncertainEffects(index, (change) => settleChange(change, workspace))
  const choices = given.map(readChoice).map(({ id, choice }) => {
    const uncertain = open.find((one) => one.id === id)
    if (uncertain !== undefined) return { uncertain, choice }
    throw new BatonError('USAGE', `--uncertain ${id}: this run has no such effect`, {
      hint:
        open.length === 0
          ? 'Leave --uncertain out.'
          : `Those that need a choice: ${open.map((one) => one.id).join(', ')}.`,
    })
  })
  refuseUncertain(open.filter(({ id }) => !choices.some(({ uncertain }) => uncertain.id === id)))
  return choices
}

async function recordChoices(choices: readonly Choice[], journal: RunJournal, { tree }: RunIndex): Promise<void> {
  for (const { uncertain, choice } of choices) {
    const [epoch, number] = uncertain.id.split('.').map(Number) as [number, number]
    await journal.append({ k: 'choice', p: uncertain.place, of: [epoch, number], choice })
    choose(tree.make(uncertain.place), choice)
  }
}

function assertBoundary({ tree }: RunIndex, from: string): void {
  if (tree.find(from)?.begin !== undefined) return
  const places: string[] = []
  tree.visit((node, place) => {
    if (node.begin !== undefined) places.push(place)
    return undefined
  })
  const shown = places.slice(0, 12).join(', ')
  throw new BatonError('USAGE', `--from ${from}: this run has no such part`, {
    hint:
      places.length === 0
        ? 'Nothing of it was begun.'
        : `Parts are: ${shown}${places.length > 12 ? ', …' : ''}. See baton runs show.`,
  })
}
