import type { Steps } from '../../base/concurrency.ts'
import type { AgentPack } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import type { Place } from '../../event/place.ts'
import type { LuaChunk, LuaValue, TableReading } from '../engine.ts'
import type { LoadedModules, ModuleReader } from '../module-reader.ts'
import type { Computing } from './worker-call.ts'
import { type ActCall, type HostCall, isLarge } from './call.ts'

/** Which part of an agent a section is; `chunk` is a whole `.lua` file. Data, Output and chunks run once per task. */
export type SectionStage = 'before_all' | 'data' | 'output' | 'after_all' | 'chunk'

/** The section that is calling: the context for resolving paths, labels and child agents. */
export interface Section {
  readonly context: RunContext
  readonly stage: SectionStage
  /** Absolute path of the agent file. */
  readonly agentFile: string
  /** The agent's name as its caller gave it. */
  readonly agentName: string
  /** The pack through which the agent was named. */
  readonly pack?: AgentPack
  /** Runs another agent and returns `{ outputs, after_all, redo_requested }`; provided by agent/. */
  readonly runAgent: (name: string, call: AgentCallArguments, at: Place) => Promise<LuaValue>
  /** Finds what `require` names; shared by the sections of a run. */
  readonly findModule: ModuleReader
  /** The Lua modules this section has loaded; set by the code that runs it. */
  readonly loaded?: LoadedModules
  /** The limits for the computing of its host functions; set by the code that runs it. */
  readonly computing?: Computing
}

export interface AgentCallArguments {
  readonly inputs: readonly LuaValue[] | null
  readonly options: { readonly [key: string]: LuaValue }
  readonly baseDir: string | undefined
}

type Values = readonly LuaValue[]

/**
 * One function of an `aip.*` module. Its declared effect decides how resume treats it: `pure` returns the same result
 * for the same arguments; `observe` reads something from outside, is recorded, and is replayed by its number; `act`
 * changes something and calls `context.services.effects` itself, at the place of the call.
 */
export type ModuleFunction =
  | {
      readonly effect: 'pure'
      readonly tables?: TableReading
      /**
       * Whether it may take a long time for these arguments: then it runs in a worker thread, where it can be stopped
       * and has access to nothing else.
       */
      readonly isSlow?: IsSlow
      /** Waits only for code that is loaded on first use. */
      readonly call: (call: HostCall) => Values | Promise<Values>
    }
  | {
      readonly effect: 'observe'
      readonly tables?: TableReading
      /** Its first argument names the one file that it reads. */
      readonly readsFile?: true
      readonly call: (call: HostCall) => Values
    }
  /** For work that may take a long time, such as listing many folders: the script waits, and can be stopped. */
  | { readonly effect: 'observe'; readonly tables?: TableReading; readonly steps: (call: HostCall) => Steps<Values> }
  | {
      readonly effect: 'act'
      readonly tables?: TableReading
      /** It waits for something external, such as a command; that time does not count toward the script's limit. */
      readonly waits?: 'outside'
      readonly call: (call: ActCall) => Values | Promise<Values>
    }

/** An `aip.<name>` module: functions in TypeScript, plus a part in Lua where values must be shared by reference. */
export interface HostModule {
  readonly name: string
  readonly functions: { readonly [name: string]: ModuleFunction }
  /** Runs in the globals once the functions are in place. */
  readonly lua?: LuaChunk
}

/** The result of a function that returns no value or several. */
class Several {
  readonly values: Values

  constructor(values: Values) {
    this.values = values
  }
}

export function several(...values: Values): Several {
  return new Several(values)
}

type Result = LuaValue | Several

interface Reading {
  readonly tables?: TableReading
}

/** A promise waits for code that is loaded on first use. */
type IsSlow = (args: Values) => boolean | Promise<boolean>

/**
 * A `pure` function that may take a long time for some input: by default if it is large, otherwise as `isSlow` decides.
 */
export function slow(
  work: (call: HostCall) => Result | Promise<Result>,
  { isSlow = isLarge, ...reading }: Reading & { readonly isSlow?: IsSlow } = {},
): ModuleFunction {
  return { ...reading, effect: 'pure', isSlow, call: (call) => allValues(work(call)) }
}

export function pure(work: (call: HostCall) => Result | Promise<Result>, reading: Reading = {}): ModuleFunction {
  return { ...reading, effect: 'pure', call: (call) => allValues(work(call)) }
}

export function observing(work: (call: HostCall) => Result): ModuleFunction {
  return { effect: 'observe', call: (call) => values(work(call)) }
}

/** A function that observes the file its first argument names. */
export function readingFile(work: (call: HostCall) => Result): ModuleFunction {
  return { effect: 'observe', readsFile: true, call: (call) => values(work(call)) }
}

/** A function that observes in steps, because it may take a long time. */
export function listing(work: (call: HostCall) => Steps<LuaValue>): ModuleFunction {
  return {
    effect: 'observe',
    *steps(call) {
      return [yield* work(call)]
    },
  }
}

type Acting = (call: ActCall) => Result | Promise<Result>

export function acting(work: Acting, reading: Reading = {}): ModuleFunction {
  return { ...reading, effect: 'act', call: (call) => allValues(work(call)) }
}

/** A function that acts by waiting for something external: a command, a server, another agent. */
export function waiting(work: Acting, reading: Reading = {}): ModuleFunction {
  return { ...reading, effect: 'act', waits: 'outside', call: (call) => allValues(work(call)) }
}

function allValues(result: Result | Promise<Result>): Values | Promise<Values> {
  return result instanceof Promise ? result.then(values) : values(result)
}

function values(result: Result): Values {
  return result instanceof Several ? result.values : [result]
}
