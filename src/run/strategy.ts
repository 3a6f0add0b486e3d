import type { BatonError } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { PromptInput } from '../event/agent.ts'
import type { RunContext } from '../event/context.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { Spent } from '../event/meter.ts'
import type { Place, Segment } from '../event/place.ts'
import type { RunIndex } from '../journal/run-index.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { StrategyLoader } from '../load/strategy.ts'
import type { AgentTarget } from '../load/target.ts'
import type { ChainServices } from '../stage/chain.ts'
import type { ChainState } from '../stage/state.ts'
import type { FailedAnswer, TaskAnswer } from './answer.ts'
import type { Delivery, WorkDone } from './tasks.ts'
import type { Ending } from './ending.ts'
import type { FileSet } from './files.ts'
import type { TaskPlan } from './plan.ts'
import type { ResourcesOf } from './resources.ts'

/**
 * How a prompt is worked on, other than by one call of a model for each task: one row of `src/strategies/`. It answers
 * tasks, or repeats them.
 */
export interface Strategy extends StrategyLoader {
  /** Its parts are inputs only of themselves: a task with other parts is the same task. */
  readonly hasParts?: true
  /** Answers one task. @throws BatonError if there is no answer */
  readonly answer?: (call: TaskCall, context: RunContext) => Promise<TaskAnswer>
  /** The answers that it gets for a task, as they are known before a run. Omitted: the file is asked once. */
  readonly outline?: (task: OutlinedTask) => Promise<readonly OutlinedAnswer[]>
  /** Is called once for a run of a file, and its result once for each round of the run, to work on all its tasks. */
  readonly repeat?: (run: PromptRun) => Promise<(around: RunContext) => Promise<TasksRunner>>
  /** How it repeats tasks, as it is known before a run. */
  readonly outlineRepeated?: () => Promise<RepetitionOutlines>
  /**
   * Whether the files are such that a resumed run can repeat the place `from`.
   * @throws BatonError USAGE if they are not
   */
  readonly checkRepeated?: (from: string, index: RunIndex, around: RepeatAround) => Promise<void>
  /** Runs an agent file as often as its settings say. */
  readonly repeatAgent?: (target: AgentTarget, runOnce: RunAgentOnce, context: RunContext) => Promise<Ending>
}

export interface RepeatAround {
  /** An absolute path. */
  readonly workspace: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal | undefined
}

/** The strategy that answers tasks with these settings, which agents of a chain may have changed. */
export function answeringStrategy<Row extends Strategy>(
  strategies: readonly Row[],
  settings: Settings,
): Row | undefined {
  return strategies.find(({ key, answer }) => answer !== undefined && settings[key] !== undefined)
}

export type OutlinedTask = Pick<TaskCall, 'settings' | 'state' | 'files'> & Pick<Round, 'target'>

/**
 * One answer of one agent or model, as it is known before a run. An outline lists each after those that it may be given.
 * A plan calls `asks` with ports that look and do nothing: they take what is asked, and ask nobody.
 */
export interface OutlinedAnswer {
  readonly name: string
  /** The file, as if it had nothing else to answer. */
  readonly target: PromptTarget
  readonly state: ChainState
  /** Its place below that of the task; omitted: that of a member. */
  readonly at?: Segment
  /** The names of the answers that it may be given; omitted: all before it. */
  readonly needs?: readonly string[]
  /** How often it is asked for; omitted: once. */
  readonly times?: Times
  /** How those that it needs have to end for it to be asked for; omitted: with success. */
  readonly when?: 'success' | 'failure' | 'always' | 'decided'
  /** It is asked for each item of a list that is known only then. */
  readonly isForEach?: boolean
  /** What it is asked may contain the answers that it is given any number of times. */
  readonly repeatsAnswers?: boolean
  /** How a run asks for it, then how it asks instead if that fails; omitted: as for a task of the file. */
  readonly asks?: readonly OutlinedAsk[]
}

/** Asks an agent or model by the code of a run. */
export interface OutlinedAsk {
  readonly ask: (context: RunContext) => Promise<unknown>
  /** What the answer of an agent decides, if it is not a prompt file. */
  readonly decides: readonly string[]
  /** The values for variables of a prompt file are known only then. */
  readonly hasOpenVariables?: boolean
  /** The answer is used as it is: it is not corrected, and there are no tools. */
  readonly isBare?: boolean
}

/** How many times something is done. */
export interface Times {
  /** Whatever scripts decide. */
  readonly at_least: number
  /** If no script changes anything, and nothing fails. */
  readonly as_written: number
  readonly at_most: number
}

/** How the tasks and agents of a file are repeated, as it is known before a run. */
export interface RepetitionOutlines {
  /** Undefined: once. */
  readonly timesOf: (settings: Settings) => Times | undefined
  /** Of a file that has this strategy. */
  readonly ofPrompt: (target: PromptTarget) => RepetitionOutline
}

interface RepetitionOutline {
  readonly times: Times
  /** The instruction of the first time. */
  readonly promptOf: Round['promptOf'] & {}
  /** Maximum number of tokens that the instruction of a later time may have in addition. */
  readonly laterTokens: (instruction: string) => number
  /** How each time is summarized for the next one; undefined: no model or agent is asked. */
  readonly summary: (call: SummaryCall) => OutlinedSummary | undefined
}

export interface SummaryCall {
  readonly settings: Settings
  readonly instruction: string
  /** Maximum length of the answers of one time, in tokens. */
  readonly answers: number
}

export interface OutlinedSummary extends OutlinedAsk {
  /** Below the place of the file. */
  readonly at: Place
  /** Maximum number of tokens that the request may have in addition. */
  readonly moreTokens: number
}

/** A task that a strategy answers. */
export interface TaskCall {
  readonly plan: TaskPlan
  /** After the `pre_task` chain, like the state. */
  readonly settings: Settings
  readonly state: ChainState
  readonly files: FileSet
  /** From the caller of a file that is run as an agent: a message before the instruction. */
  readonly inputText: string
  readonly round: Round
}

/** How a task ended. Plain JSON, because it is recorded as the task's boundary. */
export type TaskOutcome = {
  readonly index: number
  readonly label: string
  readonly agentResult: Json
  /** Of a task of an iteration: all its work, including that of its sub-agents. */
  readonly work?: WorkDone
} &
  /** `value`: the parsed answer of a file with `[output]`. */
  (
    | {
        readonly status: 'done'
        readonly content: string
        readonly value?: Json
        readonly spent: Spent
        /** What failed, if the answer was made from a part of what it should be made from. */
        readonly partial?: ErrorInfo
      }
    | { readonly status: 'skipped'; readonly reason: string }
    /** `answer`: the answer of the model, if something failed after it. */
    | { readonly status: 'failed'; readonly error: ErrorInfo; readonly answer?: FailedAnswer }
    | { readonly status: 'suspended'; readonly error: ErrorInfo }
  )

export interface PromptRun {
  readonly target: PromptTarget
  readonly strategies: readonly Strategy[]
  /** `-i` values. */
  readonly inputs: readonly Json[]
  readonly given?: PromptInput
  /** Receives the outcome of each task in input order, as soon as no later round can replace it. */
  readonly onOutcome: (outcome: TaskOutcome, count: number) => void
  readonly onFailure?: (outcome: TaskOutcome, count: number) => void
}

/** What the tasks of a round are created from. */
export interface RoundTasks {
  readonly run: PromptRun
  /** After the `pre` chain. */
  readonly state: ChainState
  readonly redoCount: number
  readonly services: ChainServices
  readonly settings: Settings
  readonly resourcesOf: ResourcesOf
}

/** What all tasks of a round share. */
export interface Round {
  readonly target: PromptTarget
  readonly strategies: readonly Strategy[]
  readonly state: ChainState
  readonly redoCount: number
  readonly services: ChainServices
  readonly given: PromptInput | undefined
  /** Lists the files of settings; equal settings are listed once. */
  readonly filesOf: (settings: Settings) => Promise<FileSet>
  /** The same for a different workspace, that of the context. */
  readonly filesIn: (settings: Settings, context: RunContext) => Promise<FileSet>
  /** How an iteration changes the instruction of a task; undefined: not at all. */
  readonly promptOf?: (instruction: string) => string
}

export interface RoundContext {
  readonly delivery: Delivery
  readonly context: RunContext
  readonly promptOf?: Round['promptOf']
  /** Whether a failure is an outcome and the other tasks continue. */
  readonly isIteration?: true
}

export interface TasksEnd {
  readonly outcomes: readonly TaskOutcome[]
  /** The suspension of the first task that waits. */
  readonly suspension: { readonly error: unknown } | undefined
}

/** The result of the tasks; `nothing`: there were none. */
export type RoundResult =
  | { readonly status: 'nothing' }
  | (TasksEnd & { readonly status: 'worked'; readonly files: FileSet; readonly repeated?: Repetition })

/** Works on all tasks of a round. */
export type TasksRunner = (
  tasks: RoundTasks,
  working: Pick<RoundContext, 'delivery' | 'context'>,
) => Promise<RoundResult>

/** What is known of tasks that were repeated. */
export interface Repetition {
  /** For the `post` agents. */
  readonly postInput: JsonObject
  /** Why it was given up: it kept failing. */
  readonly gaveUp?: BatonError
  /** What was to be reached was not; `reason` says so in half a sentence. */
  readonly unmet?: { readonly error: BatonError; readonly reason: string }
}

/** Runs an agent file once. @throws BatonError if the agent fails */
export type RunAgentOnce = (context: RunContext) => Promise<AgentOnce>

/** Plain JSON, because it is recorded. */
export type AgentOnce =
  | { readonly status: 'done'; readonly outputs: readonly Json[]; readonly failedInputs: number }
  | { readonly status: 'skipped'; readonly reason: string }
