import { basename } from 'node:path'
import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { defined } from '../base/json.ts'
import type { Environment } from '../config/locate.ts'
import type { Bus, Listener } from '../event/bus.ts'
import { refuseForeign } from '../journal/own-run.ts'
import { damageText } from '../journal/damage.ts'
import { indexRun, type RunIndex } from '../journal/run-index.ts'
import { createMask, type SecretMask, secretNames } from '../journal/secrets.ts'
import { withdrawEpoch } from '../journal/segment.ts'
import { openSigningKey } from '../journal/signing.ts'
import { openFileRecords, type RecordSource } from '../journal/source.ts'
import { openRun } from '../journal/store.ts'
import {
  askAgain,
  readChoice,
  recordChoices,
  refuseTelling,
  refuseUncertain,
  findUnfinishedEffects,
} from '../journal/uncertain.ts'
import { undoneRun } from '../journal/run-state.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { KnownEnd } from '../journal/record.ts'
import type { Repeated } from '../journal/resumed-effects.ts'
import { createPathTokens } from '../journal/portable.ts'
import { undoneBy } from '../journal/undo-mark.ts'
import { environmentOf, type Invocation, invocationOf, recordSources, withOverrides } from '../run/record.ts'
import type { Settings } from '../config/settings.ts'
import { recordedTools } from '../run/recorded-tools.ts'
import {
  type ChangedSource,
  changedSources,
  reopenChanged,
  lastSource,
  type StoredSources,
  storedSources,
} from '../run/sources.ts'
import { createStoredSources } from '../run/stored-sources.ts'
import { presentText, settleChange } from '../tool/change-state.ts'
import { conduct, type OpenedRun, type RunPlan, type RunReport, type Surroundings } from './conduct.ts'
import { strategies } from '../strategies/strategies.ts'
import { endGroup } from '../base/process-group.ts'
import { processOwners } from '../journal/owner.ts'
import type { LeftoverProcess } from '../journal/process-list.ts'

export interface ResumeOptions extends Surroundings {
  /** The folder of the run; see `findRun`. */
  readonly folder: string
  /** A boundary to repeat. */
  readonly from?: string
  /** Continues even if HEAD is not where the iteration of `from` began. */
  readonly force?: boolean
  /** Runs the current files, and repeats what that affects. */
  readonly usesCurrent?: boolean
  /** `EPOCH.N=redo|done|fail|tell` each. */
  readonly uncertain?: readonly string[]
  /** Nobody watches, as far as the run itself does not say: models are told about calls of tools whose outcome is unknown. */
  readonly isUnattended?: boolean
  /** Continues even if records are damaged. */
  readonly repair?: boolean
  /**
   * The workspace was moved: what was recorded as `from` is now `to`. The record goes on as if it were still there, so
   * that it means the same as before. Absolute, links resolved.
   */
  readonly moved?: { readonly from: string; readonly to: string }
  /** `-c key=value`: settings from now on, which later resumes keep. */
  readonly overrides?: readonly string[]
}

/**
 * Resumes an interrupted or failed run: runs the same program from the start, with recorded results as the answers. See
 * `conduct` for `listener`.
 * @throws BatonError USAGE, JOURNAL_FAILED, UNCERTAIN if the run cannot be resumed: nothing was done then
 */
export async function resumeRun(options: ResumeOptions, listener: Listener): Promise<RunReport> {
  const { folder, env, home } = options
  const key = openSigningKey({ env, home })
  await refuseForeign(folder, key, 'resumed')
  // which values are secret is known only after config is loaded; until then every variable is treated as one
  let mask: SecretMask = createMask(env, { names: Object.keys(env) })
  const lateMask = movedMask(
    strictMask(
      { mask: (text) => mask.mask(text), hide: (text) => mask.hide(text), unmask: (text) => mask.unmask(text) },
      env,
    ),
    options.moved,
  )
  const journal = await openRun({ folder, now: () => new Date(), mask: lateMask, key })
  const source = openFileRecords(folder, { mask: lateMask, before: journal.epoch, key })
  let isRefused = true
  try {
    const { plan, ...past } = await planResume(source, options, journal.findKept)
    return await conduct(
      {
        ...plan,
        async open(target, parts): Promise<OpenedRun> {
          mask = parts.mask
          isRefused = false
          if (plan.overrides !== undefined) journal.note({ k: 'run.resume', overrides: plan.overrides })
          recordSources(journal, target, plan.sources)
          if (past.ended !== undefined) parts.bus.send([], { type: 'warning', message: past.ended })
          warnOfDamage(past.index, parts.bus)
          warnOfUnknownOutcomes(past.choices, parts.bus)
          warnOfChanges(past.stored, parts.bus, plan.invocation.cwd)
          recordChoices(past.choices, journal, past.index)
          if (past.choices.length > 0) await journal.flush()
          const redone = past.choices.flatMap(({ choice, ...effect }) => (choice === 'redo' ? [effect] : []))
          return { journal, folder, past: { ...past, redone } }
        },
      },
      { ...options, env: environmentOf(plan.invocation, env) },
      listener,
    )
  } finally {
    source.close()
    // a failed close has already ended the run
    await journal.close().catch(() => undefined)
    // a refused resume leaves the run unchanged
    if (isRefused) withdrawEpoch(folder, journal.epoch)
  }
}

async function planResume(source: RecordSource, options: ResumeOptions, contentOf: RunJournal['findKept']) {
  const { usesCurrent = false, repair = false } = options
  const from = options.from === undefined ? undefined : iterationPlace(options.from)
  const index = await indexRun(source, {
    keeps: usesCurrent ? 'everything' : 'unfinished',
    ...(repair && { repair: 'redo' as const }),
    ...defined({ from }),
  })
  const ended = leftProcessesText(await endLeftProcesses(index))
  try {
    return { ...(await planWith(index, options, contentOf)), ended }
  } catch (error) {
    // the user needs to know this even if the run cannot be resumed
    if (ended === undefined || !isBatonError(error)) throw error
    throw rewordError(error, { message: `${error.message}\n${ended}` })
  }
}

async function planWith(index: RunIndex, options: ResumeOptions, contentOf: RunJournal['findKept']) {
  const { source } = index
  const { folder, usesCurrent = false, overrides = [], uncertain = [], force = false } = options
  const from = options.from === undefined ? undefined : iterationPlace(options.from)
  const { id, begunAt, invocation, workspace } = startOf(index, folder)
  refuseUndone(folder)
  askAgain(index)
  const more = await moreIterations(index, overrides)
  const isUnattended = unattendedSetting([...invocation.overrides, ...overrides]) ?? options.isUnattended ?? false
  const choices = chosen(index, workspace, { given: uncertain, contentOf, isUnattended })
  if (from !== undefined) {
    assertBoundary(index, from)
    for (const { checkRepeated } of force ? [] : strategies) {
      await checkRepeated?.(from, index, { workspace, env: options.env, signal: options.signal })
    }
    index.tree.reopen(from)
  }
  const stored = usesCurrent ? undefined : storedSources(index.records('source'), (field) => source.value(field))
  if (stored === undefined) reopenChanged(index)
  else refuseChangedSecrets(stored)
  const sources = createStoredSources({ stored })
  const plan: Omit<RunPlan, 'open'> = {
    id,
    begunAt,
    invocation,
    sources,
    isRecordedTool: recordedTools(index),
    isResumed: true,
    ...(overrides.length > 0 && { overrides: [...overrides, ...more] }),
  }
  return { plan, index, choices, usesCurrent, stored }
}

/** Warns about what `--repair` skipped, and what is repeated because of it. */
function warnOfDamage({ damages, redone }: RunIndex, bus: Bus): void {
  if (damages.length === 0) return
  const shown = [...damages.slice(0, 5).map(damageText), ...(damages.length > 5 ? [`${damages.length - 5} more`] : [])]
  const parts = redone.length === 0 ? 'what is missing from the record' : redone.join(', ')
  bus.send([], {
    type: 'warning',
    message: `the record of this run is damaged: ${shown.join('; ')}`,
    hint: `Repeated, and paid for again: ${parts}.`,
    urgent: true,
  })
}

/** A resumed run executes its original sources, whatever is on disk now. */
function warnOfChanges(stored: StoredSources | undefined, bus: Bus, cwd: string): void {
  const changes = stored === undefined ? [] : changedSources(stored)
  const paths = (which: ChangedSource['used']): readonly string[] =>
    changes.filter(({ used }) => used === which).map(({ path }) => displayPath(cwd, path))
  const [kept, loaded] = [paths('stored'), paths('loaded')]
  if (loaded.length > 0) {
    bus.send([], {
      type: 'warning',
      message: `a plug-in has changed since this run started, and its current version is used: ${loaded.join(', ')}`,
      hint: 'Its recorded results are kept. Restore the old version if the run should continue with that one.',
    })
  }
  if (kept.length === 0) return
  bus.send([], {
    type: 'warning',
    message: `changed since this run started, but used in the original version: ${kept.join(', ')}`,
    hint: 'Resume with --use-current to use the current version.',
  })
}

/**
 * Its finished steps would count as done although their changes are gone.
 * @throws BatonError USAGE
 */
export function refuseUndone(folder: string): void {
  const by = undoneBy(folder)
  if (by === undefined) return
  throw new BatonError(
    'USAGE',
    `the changes of run ${basename(folder)} were undone by ${by}, so it cannot be resumed`,
    {
      hint: `Restore its changes with baton undo ${by}, or run the file again.`,
    },
  )
}

function startOf(
  { records, source, damages }: RunIndex,
  folder: string,
): { readonly id: string; readonly begunAt: number; readonly invocation: Invocation; readonly workspace: string } {
  const start = records('run.start')[0]
  const facts = start && source.value(start.facts)
  const invocation = invocationOf(facts)
  if (start === undefined || invocation === undefined) {
    const undone = start && undoneRun(start)
    if (undone !== undefined) {
      throw new BatonError('USAGE', `the run in ${folder} is an undo of ${undone}, and an undo cannot be resumed`, {
        hint: `Finish it with baton undo ${undone}, or revert it with baton undo ${basename(folder)}.`,
      })
    }
    const why =
      damages.length > 0
        ? 'The record of its start is damaged'
        : 'It was interrupted before its first step, or is from an older version'
    const message = `the run in ${folder} cannot be resumed: its record does not say how it was started`
    throw new BatonError('USAGE', message, { hint: `${why}. Run the file again.` })
  }
  const later = records('run.resume').flatMap(({ overrides }) => source.value(overrides) as readonly string[])
  return {
    id: start.run,
    begunAt: start.t,
    invocation: withOverrides(invocation, later),
    workspace: (facts as { readonly workspace: string }).workspace,
  }
}

/** What is known of effects with no recorded end: from the disk, or from the user's decision. */
type Choice = Repeated & { readonly choice: KnownEnd }

interface Choosing {
  /** Values of `--uncertain`. */
  readonly given: readonly string[]
  readonly contentOf: RunJournal['findKept']
  readonly isUnattended: boolean
}

/** @throws BatonError USAGE, UNCERTAIN */
function chosen(index: RunIndex, workspace: string, { given, contentOf, isUnattended }: Choosing): readonly Choice[] {
  const { found, uncertain } = findUnfinishedEffects(index, {
    stateOf: (change, added) => settleChange(change, workspace, added),
    presentText: (change) => presentText(change, workspace),
    contentOf,
  })
  const known = uncertain.map(({ id }) => id)
  const choices = given
    .map((text) => readChoice(text, known))
    .flatMap(({ id, choice }): readonly Choice[] => {
      const one = uncertain.find((effect) => effect.id === id)
      if (one !== undefined) {
        refuseTelling(one, choice)
        return [{ id, place: one.place, kind: one.kind, choice }]
      }
      const before = index.records('choice').findLast(({ of }) => of.join('.') === id)
      // the same was already decided
      if (before?.choice === choice) return []
      const ids = known.join(', ')
      const why = before === undefined ? 'this run has no such effect' : `it was already decided: ${before.choice}`
      throw new BatonError('USAGE', `--uncertain ${id}: ${why}`, {
        hint: ids === '' ? 'Omit --uncertain.' : `These need a choice: ${ids}.`,
      })
    })
  const open = uncertain.filter(({ id }) => !choices.some((choice) => choice.id === id))
  const told = isUnattended ? open.filter(({ isTool }) => isTool === true) : []
  refuseUncertain(open.filter((one) => !told.includes(one)))
  return [...found, ...choices, ...told.map(({ id, place, kind }) => ({ id, place, kind, choice: 'tell' }) as const)]
}

/**
 * What follows from further iterations: those that are done no longer count for a stall, and a replay needs to know what
 * held for them.
 * @throws BatonError USAGE if the run has no iterations, or all that are allowed are done
 */
async function moreIterations(
  { tree, records, source }: RunIndex,
  overrides: readonly string[],
): Promise<readonly string[]> {
  const asked = overrides.filter((text) => /^iterate\.(?:condition|until)=/.test(text))
  if (asked.length === 0) return []
  let done = 0
  while (tree.find(`iteration/${done}`)?.done !== undefined) done += 1
  if (tree.find('iteration/0') === undefined) {
    throw new BatonError('USAGE', 'this run has no iterations, so that --iter and --until have nothing to allow', {
      hint: 'Run the file again with them.',
    })
  }
  const count = asked
    .map((text) => /^iterate\.condition="(\d+)"$/.exec(text)?.[1])
    .findLast((text) => text !== undefined)
  if (count !== undefined && Number(count) <= done) {
    const are = done === 1 ? 'one iteration is' : `${done} iterations are`
    throw new BatonError('USAGE', `${are} done, so that --iter ${count} allows none: it is the number in all`, {
      hint: `Name a higher one, for example --iter ${done + 3}.`,
    })
  }
  const last = records('source').findLast(({ name }) => name === lastSource)
  const settings = last === undefined ? undefined : (source.value(last.value) as unknown as Settings)
  const { formerIterations } = await import('../strategies/iterate/records.ts')
  return done === 0 ? [] : [`iterate.before=${formerIterations(done, settings?.iterate)}`]
}

/** What the settings of the run itself say about whether somebody watches. */
function unattendedSetting(overrides: readonly string[]): boolean | undefined {
  const said = overrides.flatMap((text) => /^\s*run\.unattended\s*=\s*(true|false)\s*$/.exec(text)?.[1] ?? [])
  return said.length === 0 ? undefined : said.at(-1) === 'true'
}

/** Names the calls that models are told about. */
function warnOfUnknownOutcomes(choices: readonly Choice[], bus: Bus): void {
  const told = choices.filter(({ choice }) => choice === 'tell')
  if (told.length === 0) return
  const calls = told.length === 1 ? 'a call' : `${told.length} calls`
  bus.send([], {
    type: 'warning',
    message: `the outcome of ${calls} is unknown, and the model is told so: ${told.map(({ place }) => place).join(', ')}`,
  })
}

function assertBoundary({ tree }: RunIndex, from: string): void {
  if (tree.find(from)?.begin !== undefined) return
  const places: string[] = []
  tree.visit((node, place) => {
    if (node.begin !== undefined) places.push(place)
    return node.done === undefined ? undefined : 'skip'
  })
  const shown = [...places.slice(0, 12), ...(places.length > 12 ? ['…'] : [])].join(', ')
  throw new BatonError('USAGE', `--from ${from}: this run has no such part`, {
    hint: shown === '' ? 'No part of it was started.' : `Parts are: ${shown}. See baton runs show.`,
  })
}

/** Secrets that do not come from a variable have names that no variable can have. */
const variable = /^[A-Za-z_]\w*$/

/**
 * A mask that restores all secrets or fails: with a name instead of a value, a run would send, write and execute
 * something different, and repeat finished parts. Its `unmask` throws BatonError USAGE for a variable that is not set.
 */
function strictMask(mask: SecretMask, env: Environment): SecretMask {
  return {
    ...mask,
    unmask(text) {
      const missing = secretNames(text).filter((name) => variable.test(name) && (env[name] ?? '').trim() === '')
      const are = missing.length === 1 ? 'is' : 'are'
      if (missing.length > 0) throw refusal(`this run used ${namesText(missing)}, which ${are} not set now`)
      return mask.unmask(text)
    },
  }
}

/** Reads and writes records as if the workspace were where it was recorded. */
function movedMask(mask: SecretMask, moved: ResumeOptions['moved']): SecretMask {
  if (moved === undefined) return mask
  const [then, now] = [createPathTokens({ workspace: moved.from }), createPathTokens({ workspace: moved.to })]
  return {
    ...mask,
    mask: (text) => then.toPaths(now.toTokens(mask.mask(text))),
    unmask: (text) => now.toPaths(then.toTokens(mask.unmask(text))),
  }
}

/**
 * Refuses sources whose text cannot be restored because a secret in it has changed.
 * @throws BatonError USAGE
 */
function refuseChangedSecrets({ start, later }: StoredSources): void {
  for (const source of [...start.values(), ...later.values()]) {
    if ('changed' in source || source.isWhole) continue
    const names = source.secrets.filter((name) => variable.test(name))
    if (names.length > 0) {
      throw refusal(
        `${source.path} contained the value of ${namesText(names)} when this run started, and that value has changed since`,
      )
    }
  }
}

function refusal(message: string): BatonError {
  return new BatonError('USAGE', message, {
    hint: 'Set it to its former value, for example with --env, or run the file again.',
  })
}

function namesText(names: readonly string[]): string {
  return names.length === 1 ? `the secret ${names[0]}` : `the secrets ${names.join(', ')}`
}

/** A bare number means an iteration: `--from 2` is `--from iteration/2`. */
function iterationPlace(from: string): string {
  return /^\d+$/.test(from) ? `iteration/${from}` : from
}

/**
 * Terminates the process groups that a killed process of the run left running: those on this machine whose leader still
 * exists, identified by its pid and start time. Returns those that were terminated.
 */
async function endLeftProcesses({ processes }: Pick<RunIndex, 'processes'>): Promise<readonly LeftoverProcess[]> {
  const here = processes().filter(({ writer }) => processOwners.isVisible(writer))
  const ended = await Promise.all(here.map(async (left) => ((await endGroup(left)) ? [left] : [])))
  return ended.flat()
}

/** One line about the terminated processes; undefined: none. */
function leftProcessesText(ended: readonly LeftoverProcess[]): string | undefined {
  if (ended.length === 0) return undefined
  const shown = ended.map(({ pid, place }) => `process ${pid} of ${place}`)
  return `the killed run left ${whatRan(ended)} running, which ${ended.length === 1 ? 'was' : 'were'} terminated: ${shown.join(', ')}`
}

/** A server is recorded at its own place (src/wiring/servers.ts): no agent and no task is called `mcp`. */
function whatRan(ended: readonly LeftoverProcess[]): string {
  const isServer = ended.map(({ place }) => place.startsWith('mcp/'))
  const [one, many] = isServer.every(Boolean)
    ? ['an MCP server', 'MCP servers']
    : ['a command', isServer.some(Boolean) ? 'commands and MCP servers' : 'commands']
  return ended.length === 1 ? one : many
}
