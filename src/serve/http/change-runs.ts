import { basename, resolve } from 'node:path'
import type { z } from 'zod'
import { entryPath } from '../../base/files.ts'
import { exitCodes, isBatonError } from '../../base/error.ts'
import { defined, type Json, type JsonObject } from '../../base/json.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { approvalsIn } from '../../history/pending.ts'
import { readRunState } from '../../journal/run-state.ts'
import { openSigningKey } from '../../journal/signing.ts'
import { readDiff } from '../../event/hunks.ts'
import { partDecision } from '../../event/review.ts'
import { type ApprovalAnswer, answerCalls } from '../../library/approvals.ts'
import { formFields, readField } from '../../mcp/form.ts'
import { undoRun } from '../../undo/run.ts'
import type { Verdict } from '../../wiring/decide.ts'
import { maskFor } from '../../wiring/run-context.ts'
import type { ActiveRuns } from './active-runs.ts'
import { readRun, whyNotResumed } from './read-runs.ts'
import { Refusal } from '../refusal.ts'
import type { PendingApproval } from '../workers/messages.ts'
import { requestWords } from '../request-words.ts'
import { variableProblems } from './run-form.ts'
import type { answerBody, startBody } from './schemas.ts'
import { folderOf, type ServedWorkspace } from './served-workspace.ts'

/** Actions on runs. A returned id is that of the run that was started, resumed, stopped or recorded. */
export interface RunActions {
  readonly start: (asked: z.output<typeof startBody>) => Promise<string>
  /** `uncertain`: as `--uncertain` of `baton resume`. */
  readonly resume: (id: string, uncertain: readonly string[]) => Promise<string>
  readonly cancel: (id: string) => string
  /** Undoes the changes to `paths`, or all if empty. Returns the id of the run that records the undo. */
  readonly undo: (id: string, paths: readonly string[]) => Promise<string>
  /** Answers a question of a server of a run in this server. @throws Refusal 400 that names the fields that are wrong */
  readonly answerServer: (id: string, question: string, answer: z.output<typeof answerBody>) => void
  /** Answers a call of a run in this server, or in the journal of a waiting run, which it does not resume. */
  readonly decide: (id: string, call: string, verdict: Verdict) => Promise<Awaited<ReturnType<typeof approvalsIn>>>
}

export function createRunActions(served: ServedWorkspace, held: ActiveRuns): RunActions {
  const { cwd, home, env, shared } = served
  const place = { cwd, home, env }

  return {
    async start({ file = '-p', text, files: onFiles, max_cost: cost, on_ask: onAsk = 'wait', ...rest }) {
      const { inputs, vars, model, mode, iter, until, dry } = rest
      const asked = defined({ mode, until, iter: iter === undefined ? undefined : String(iter) })
      const overrides = overridesOf({
        config: shared.overrides,
        maxCost: cost === undefined ? undefined : amount(cost),
        ...asked,
      })
      const options = { ...defined({ ...shared, text, inputs, onFiles, vars, dry, ...defined({ model }) }), overrides }
      const asking = onAsk === 'wait' ? {} : { onAsk }
      try {
        return (await held.begin({ kind: 'start', file, options, ...asking })).id
      } catch (error) {
        const isUsage = isBatonError(error) && exitCodes[error.code] === exitCodes.USAGE
        const fields = isUsage && text === undefined ? await variableProblems(served, file, vars ?? {}) : []
        if (fields.length === 0 || !isBatonError(error)) throw error
        const { code, message, hint } = error
        throw new Refusal(400, requestWords(message), {
          code,
          fields,
          ...(hint === undefined ? {} : { hint: requestWords(hint) }),
        })
      }
    },
    async resume(id, uncertain) {
      const folder = folderOf(served, id)
      if (held.isQueued(id)) throw new Refusal(409, `run ${id} waits for its turn`)
      const why = held.isHeld(id) ? `run ${id} is running` : whyNotResumed(await readRun(folder), folder)
      if (why !== undefined) throw new Refusal(409, why)
      return (await held.begin({ kind: 'resume', id, overrides: shared.overrides, uncertain })).id
    },
    cancel(id) {
      const folder = folderOf(served, id)
      if (held.cancel(id)) return id
      throw new Refusal(409, `run ${basename(folder)} is not running in this server`, {
        hint: 'Stop a run that was started in a terminal there, with Ctrl-C.',
      })
    },
    async undo(id, paths) {
      const folder = folderOf(served, id)
      if (held.isHeld(id) || (await readRunState(folder))?.isRunning === true)
        throw new Refusal(409, `run ${id} is running`)
      const { workspace, settings } = served
      const { by } = await undoRun({
        folder,
        workspace,
        env,
        home,
        mask: await maskFor({ settings }, env),
        key: openSigningKey({ env, home }),
        signal: new AbortController().signal,
        files: paths.map((path) => entryPath(resolve(workspace, path))),
        merges: false,
        dry: false,
      })
      if (by !== undefined) return by
      throw new Refusal(409, `run ${id} has no changes that can be undone`, {
        hint: `The files were already restored, or have changed since: baton undo ${id} --dry shows which.`,
      })
    },
    answerServer(id, question, { action, content = {} }) {
      const folder = folderOf(served, id)
      const asked = held.questions(id).find((one) => one.id === question)
      if (asked === undefined)
        throw new Refusal(409, `run ${basename(folder)} is not waiting for an answer to question ${question}`)
      const accepted = asked.kind === 'form' ? formContent(asked.schema, content) : {}
      held.answerServer(id, question, action === 'accept' ? { accept: accepted } : action)
    },
    async decide(id, call, verdict) {
      const folder = folderOf(served, id)
      if (held.isHeld(id)) {
        const answer = (): boolean => held.answer(id, call, (request) => answerOf(verdict, request))
        const isOpen = async (): Promise<boolean> => (await approvalsIn(folder)).some((one) => one.id === call)
        if (!answer() && !((await isOpen()) && (await held.untilAsked(id, call)) && answer()))
          throw new Refusal(409, `run ${id} is not waiting for approval of call ${call}`)
        return (await approvalsIn(folder)).filter((one) => one.id !== call)
      }
      if ((await readRunState(folder))?.isRunning === true) {
        throw new Refusal(409, `run ${id} belongs to another process`, {
          hint: 'Answer it in the terminal or program that started it.',
        })
      }
      const { open } = await answerCalls(id, verdict, { ...place, overrides: shared.overrides, call })
      return open
    },
  }
}

/** The format of `--max-cost`. */
function amount(usd: number): string {
  return usd.toFixed(12).replace(/\.?0+$/, '')
}

/** The values for a form; texts are read as at the terminal. @throws Refusal 400 */
function formContent(schema: JsonObject, given: Readonly<Record<string, Json>>): JsonObject {
  const read = formFields(schema).map((field) => ({ field, input: readField(field, typedText(given[field.name])) }))
  const wrong = read.flatMap(({ field: { name, title }, input }) =>
    input.kind === 'wrong' ? [{ field: `content.${name}`, message: input.problem, title }] : [],
  )
  const [first] = wrong
  if (first !== undefined) {
    const fields = wrong.map(({ field, message }) => ({ field, message }))
    throw new Refusal(400, `${first.title} ${first.message}`, { fields })
  }
  return Object.fromEntries(
    read.flatMap(({ field, input }) => (input.kind === 'value' ? [[field.name, input.value]] : [])),
  )
}

function typedText(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(typedText).join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** @throws BatonError USAGE for hunks that the change does not have */
function answerOf(verdict: Verdict, { tool, diff = '', hunks: count = 0 }: PendingApproval): ApprovalAnswer {
  const { hunks } = verdict
  if (hunks !== undefined) {
    const isEdited = verdict.kind === 'approve' && (verdict.edits ?? []).length > 0
    // the only hunk of a change can be edited, too
    const length = isEdited && tool !== 'delete' ? readDiff(diff).hunks.length : count
    const all = Array.from({ length }, (_, index) => index + 1)
    const decision = partDecision({ ...verdict, hunks }, all)
    if (typeof decision === 'string' || 'hunks' in decision) return decision
  }
  if (verdict.kind === 'approve') return verdict.always === true ? 'always' : 'allow'
  const reason = verdict.reason?.trim() ?? ''
  return reason === '' ? 'deny' : { deny: reason }
}
