import { parseDuration } from '../base/duration.ts'
import { BatonError } from '../base/error.ts'
import { defined, isObject, type JsonObject } from '../base/json.ts'
import { nearest } from '../base/suggest.ts'
import type { Prompt } from '../event/prompt.ts'
import { variableFlags } from '../config/input-variables.ts'
import type { Operation } from '../run/converse.ts'
import type { StartOptions } from '../runner.ts'
import type { ResumeOptions as ResumeParts } from '../wiring/resume.ts'
import { type AnswerOptions, type Approve, type ApproveOptions, approverOf, type RejectOptions } from './approvals.ts'
import { type AnswerServer, personOf } from './server-questions.ts'
import type { WatchMessage } from '../watch/session.ts'

/** Where a run works. Defaults: those of the process. */
export interface PlaceOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly home?: string
}

export interface SharedOptions extends PlaceOptions {
  /** Aborting it stops the run, like `abort()`. */
  readonly signal?: AbortSignal
  /** Limits of `[budget]`: `{ usd: 0.5, tokens: 100_000, calls: 20 }`. */
  readonly budget?: Readonly<Record<string, string | number>>
  /** How long the run may take, for example `30m`. */
  readonly timeout?: string
  /**
   * Answers approval questions. Default: tool calls are refused, and the model gets that as their result; questions of
   * an earlier process stay pending.
   */
  readonly approve?: Approve
  /** Answers what MCP servers ask the user during a call. Default: declines. */
  readonly answer?: AnswerServer
  /** Settings as `-c` takes them, for example `temperature=0.2`; they take precedence over files. */
  readonly overrides?: readonly string[]
}

type OptionsLikeFlags = 'model' | 'inputs' | 'onFiles' | 'text' | 'stdin' | 'dry' | 'outputSchema' | 'patienceMs'

/** The options of a run, like the flags of `baton run`. */
export interface RunOptions extends SharedOptions, Pick<StartOptions, OptionsLikeFlags> {
  /** Values of the variables of `[input]`, by name. */
  readonly vars?: JsonObject
}

/** The options of a resumed run, like the flags of `baton resume`. */
export interface ResumeOptions
  extends SharedOptions, Pick<ResumeParts, 'from' | 'usesCurrent' | 'uncertain' | 'repair'> {}

/** The options of a run that is repeated whenever something it has read changes. */
export interface WatchOptions extends RunOptions {
  /** Called with messages between the runs. */
  readonly onMessage?: (message: WatchMessage) => void
}

interface Check {
  readonly fits: (value: unknown) => boolean
  /** Completes "must be …". */
  readonly expected: string
}

const text: Check = { fits: (value) => typeof value === 'string', expected: 'a string' }
const texts: Check = {
  fits: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  expected: 'a list of strings',
}
const numbers: Check = {
  fits: (value) => Array.isArray(value) && value.every((item) => Number.isInteger(item) && item > 0),
  expected: 'a list of numbers from 1',
}
const remarkList: Check = {
  fits: (value) =>
    Array.isArray(value) &&
    value.every((one) => isObject(one) && typeof one['text'] === 'string' && one['text'] !== ''),
  expected: 'a list of { hunk, text }',
}
const editList: Check = {
  fits: (value) => Array.isArray(value) && value.every((one) => isObject(one) && typeof one['text'] === 'string'),
  expected: 'a list of { hunk, text }',
}
const table: Check = { fits: (value) => isObject(value) && !Array.isArray(value), expected: 'an object' }
const flag: Check = { fits: (value) => typeof value === 'boolean', expected: 'true or false' }
const count: Check = { fits: (value) => typeof value === 'number' && value >= 0, expected: 'a number of at least 0' }

const shared: Checks<SharedOptions> = {
  cwd: text,
  env: table,
  home: text,
  signal: { fits: (value) => value instanceof AbortSignal, expected: 'an AbortSignal' },
  budget: {
    fits: (value) =>
      isObject(value) && Object.values(value).every((limit) => ['number', 'string'].includes(typeof limit)),
    expected: 'an object of limits, for example { usd: 0.5 }',
  },
  timeout: {
    fits: (value) => typeof value === 'string' && (parseDuration(value) ?? 0) > 0,
    expected: 'a duration above zero such as "30s" or "10m"',
  },
  approve: { fits: (value) => typeof value === 'function', expected: 'a function' },
  answer: { fits: (value) => typeof value === 'function', expected: 'a function' },
  overrides: texts,
}

/** Where recorded runs are. */
export interface RecordOptions extends PlaceOptions {
  /** Settings as `-c` takes them, if they define where runs are stored. */
  readonly overrides?: readonly string[]
}

const answering: Checks<AnswerOptions> = { cwd: text, env: table, home: text, call: text, overrides: texts }

type Checks<Options> = { readonly [Name in keyof Required<Options>]: Check }

const ofRuns: Checks<RunOptions> = {
  ...shared,
  model: text,
  inputs: { fits: Array.isArray, expected: 'a list' },
  onFiles: texts,
  text,
  stdin: text,
  dry: {
    fits: (value) => value === 'req' || value === 'res' || value === 'changes',
    expected: '"req", "res" or "changes"',
  },
  vars: { ...table, expected: 'an object of values by name' },
  outputSchema: {
    fits: (value) => text.fits(value) || table.fits(value),
    expected: 'a JSON Schema, or the name of a file with one',
  },
  patienceMs: count,
}

/** The fields of operations on a conversation, without `type`. */
const operationFields: { readonly [Type in Operation['type']]: Readonly<Record<string, Check>> } = {
  prompt: { text, mode: text, model: text, userId: text, visible: flag, state: table },
  interrupt: {},
  approve: { id: text },
  reject: { id: text, reason: text },
  shutdown: {},
}

const neededFields: { readonly [Type in Operation['type']]?: string } = { prompt: 'text', approve: 'id', reject: 'id' }

/** @throws BatonError USAGE for one that does not exist, lacks a field, or has one that does not exist or is of a wrong type */
export function checkOperation(operation: Operation): void {
  const { type, ...fields } = operation
  if (!Object.hasOwn(operationFields, type)) {
    throw wrong('submit', `there is no operation "${type}"`, `They are: ${Object.keys(operationFields).join(', ')}.`)
  }
  const checks = operationFields[type]
  const needed = neededFields[type]
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  if (needed !== undefined && !given.some(([name]) => name === needed))
    throw wrong('submit', `the operation "${type}" needs "${needed}"`)
  for (const [name, value] of given) {
    if (type === 'prompt' && name === 'resumePrompt') {
      const hint =
        'Submit approve or reject to the conversation that asks, or open another one with its prompts as history.'
      throw wrong('submit', 'a prompt that waits is not sent again: it goes on when its question is answered', hint)
    }
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) {
      const known = `Its fields: ${['type', ...Object.keys(checks)].join(', ')}.`
      throw wrong('submit', `the operation "${type}" has no field "${name}"`, known)
    }
    if (!check.fits(value)) throw wrong('submit', `"${name}" of the operation "${type}" must be ${check.expected}`)
  }
}

export interface ConversationOptions extends SharedOptions {
  readonly model?: string
  /** The system prompt. It may have front matter like a prompt file: `tools`, `mode`, and so on. */
  readonly instructions?: string
  /** Prompts of an earlier conversation that this one continues, oldest first. */
  readonly history?: readonly Prompt[]
  /** Values for the modes of plug-ins that execute its prompts; those of a prompt are laid over them. */
  readonly state?: JsonObject
  /** The user in events; default: `local`. */
  readonly userId?: string
  /** False: nothing is recorded. */
  readonly record?: boolean
}

/** The options of each function, with checks of their values. */
export const optionChecks = {
  run: ofRuns,
  resume: { ...shared, from: text, usesCurrent: flag, uncertain: texts, repair: flag } satisfies Checks<ResumeOptions>,
  open: {
    ...shared,
    model: text,
    instructions: text,
    history: { fits: Array.isArray, expected: 'a list of prompts' },
    state: table,
    userId: text,
    record: flag,
  } satisfies Checks<ConversationOptions>,
  conversationPrompts: { cwd: text, env: table, home: text, overrides: texts } satisfies Checks<RecordOptions>,
  watch: {
    ...ofRuns,
    onMessage: { fits: (value) => typeof value === 'function', expected: 'a function' },
  } satisfies Checks<WatchOptions>,
  approve: {
    ...answering,
    always: flag,
    hunks: numbers,
    remarks: remarkList,
    edits: editList,
    reason: text,
  } satisfies Checks<ApproveOptions>,
  reject: { ...answering, reason: text, hunks: numbers } satisfies Checks<RejectOptions>,
} as const

/**
 * Returns the options without undefined ones.
 * @throws BatonError USAGE for an option that does not exist, or whose value is of a wrong type
 */
export function checkedOptions<Options extends object>(
  caller: keyof typeof optionChecks,
  what: { readonly [name: string]: unknown },
  options: Options,
): Options {
  const [[name, value] = ['', '']] = Object.entries(what)
  if (typeof value !== 'string' || value === '') throw wrong(caller, `${name} must be a non-empty string`)
  if (!table.fits(options)) throw wrong(caller, 'the options must be an object')
  const checks: Readonly<Record<string, Check>> = optionChecks[caller]
  const given = Object.entries(options).filter(([, one]) => one !== undefined)
  for (const [option, one] of given) {
    const check = Object.hasOwn(checks, option) ? checks[option] : undefined
    if (check === undefined) {
      const meant = nearest(option, Object.keys(checks))
      const known = `Its options: ${Object.keys(checks).join(', ')}.`
      throw wrong(caller, `there is no option "${option}"`, meant === undefined ? known : `Did you mean "${meant}"?`)
    }
    if (!check.fits(one)) throw wrong(caller, `the option "${option}" must be ${check.expected}`)
  }
  return Object.fromEntries(given) as Options
}

function wrong(caller: string, problem: string, hint = 'docs/library.md describes the options.'): BatonError {
  return new BatonError('USAGE', `${caller}(): ${problem}`, { hint })
}

/** Converts the options of a program to those of a run. */
export function startOptions(
  { vars = {}, budget, timeout, overrides, approve, answer, ...options }: RunOptions,
  place: Required<PlaceOptions>,
): StartOptions {
  return {
    ...place,
    ...options,
    ...answersOf({ approve, answer }),
    vars: variableFlags(vars),
    overrides: overridesFor({ budget, timeout, overrides }),
  }
}

/** A program that answers instead of the user. */
export function answersOf({
  approve,
  answer,
}: {
  readonly [Name in 'approve' | 'answer']: SharedOptions[Name] | undefined
}): Pick<StartOptions, 'approver' | 'askPerson'> {
  return defined({ approver: approve && approverOf(approve), askPerson: answer && personOf(answer) })
}

/** `budget`, `timeout` and `overrides` as `-c` takes them. */
export function overridesFor({
  budget = {},
  timeout,
  overrides = [],
}: {
  readonly [Name in 'budget' | 'timeout' | 'overrides']: SharedOptions[Name] | undefined
}): readonly string[] {
  const limits = Object.entries(budget).map(([limit, value]) => `budget.${limit}=${JSON.stringify(value)}`)
  return [...overrides, ...limits, ...(timeout === undefined ? [] : [`timeout=${timeout}`])]
}
