import type { Steps } from '../../base/concurrency.ts'
import type { AgentPack } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import type { Place } from '../../event/place.ts'
import type { LuaChunk, LuaValue, TableReading } from '../engine.ts'
import type { LoadedModules, ModuleReader } from '../module-reader.ts'
import type { Computing } from './apart.ts'
import type { ActCall, HostCall } from './call.ts'
import { isLarge } from './large.ts'

/** Which part of an agent a section is; `chunk` is a whole `.lua` file. Data, Output and chunks run once per task. */
export type SectionStage = 'before_all' | 'data' | 'output' | 'after_all' | 'chunk'

/** The section that is calling: what paths, labels and child agents are resolved with. */
export interface Section {
  readonly context: RunContext
  readonly stage: SectionStage
  /** Absolute path of the agent file. */
  readonly agentFile: string
  /** The agent as its caller named it. */
  readonly agentName: string
  /** The pack the agent was named through. */
  readonly pack?: AgentPack
  /** Runs another agent and gives `{ outputs, after_all, redo_requested }`; made by agent/. */
  readonly runAgent: (name: string, call: AgentCallArguments, at: Place) => Promise<LuaValue>
  /** Finds what `require` names; shared by the sections of a run. */
  readonly findModule: ModuleReader
  /** The Lua modules this section has loaded; set by whoever runs it. */
  readonly loaded?: LoadedModules
  /** What host functions may compute for it; set by whoever runs it. */
  readonly computing?: Computing
}

export interface AgentCallArguments {
  readonly inputs: readonly LuaValue[] | null
  readonly options: { readonly [key: string]: LuaValue }
  readonly baseDir: string | undefined
}

type Values = readonly LuaValue[]

/**
 * One function of an `aip.*` module. What it declares decides how resume treats it: `pure` gives the same result for the
 * same arguments; `observe` reads something from outside and is recorded and answered by its number; `act` changes
 * something and calls `context.services.effects` itself, at the place of the call.
 */
export type ModuleFunction =
  | {
      readonly effect: 'pure'
      readonly tables?: TableReading
      /**
       * Whether it may take long for such arguments: then it is called in a thread, where it can be stopped, and knows
       * nothing but them.
       */
      readonly isSlow?: IsSlow
      /** Waits only for code that is loaded at its first use. */
      readonly call: (call: HostCall) => Values | Promise<Values>
    }
  | {
      readonly effect: 'observe'
      readonly tables?: TableReading
      /** Its first argument names the one file that it reads. */
      readonly readsFile?: true
      readonly call: (call: HostCall) => Values
    }
  /** For what may take long, as a listing of many folders: the script waits, and can be stopped. */
  | { readonly effect: 'observe'; readonly tables?: TableReading; readonly steps: (call: HostCall) => Steps<Values> }
  | {
      readonly effect: 'act'
      readonly tables?: TableReading
      /** It waits for what takes its own time, such as a command: that is no time of the script. */
      readonly waits?: 'outside'
      readonly call: (call: ActCall) => Values | Promise<Values>
    }

/** An `aip.<name>` module: functions in TypeScript, and a part in Lua where values must be shared by reference. */
export interface HostModule {
  readonly name: string
  readonly functions: { readonly [name: string]: ModuleFunction }
  /** Runs in the globals once the functions are in place. */
  readonly lua?: LuaChunk
}

/** None or several values as the result of a function. */
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

/** A promise: it waits for code that is loaded at its first use. */
type IsSlow = (args: Values) => boolean | Promise<boolean>

/** A `pure` function that may take long for some texts, whoever has written them: when they are large, or as `isSlow` says. */
export function slow(
  work: (call: HostCall) => Result | Promise<Result>,
  { isSlow = isLarge, ...reading }: Reading & { readonly isSlow?: IsSlow } = {},
): ModuleFunction {
  return { ...reading, effect: 'pure', isSlow, call: (call) => allValues(work(call)) }
}

/** A `pure` function. */
export function pure(work: (call: HostCall) => Result | Promise<Result>, reading: Reading = {}): ModuleFunction {
  return { ...reading, effect: 'pure', call: (call) => allValues(work(call)) }
}

/** A function that observes something. */
export function observing(work: (call: HostCall) => Result): ModuleFunction {
  return { effect: 'observe', call: (call) => values(work(call)) }
}

/** A function that observes the file its first argument names. */
export function readingFile(work: (call: HostCall) => Result): ModuleFunction {
  return { effect: 'observe', readsFile: true, call: (call) => values(work(call)) }
}

/** A function that observes in steps, because it may take long. */
export function listing(work: (call: HostCall) => Steps<LuaValue>): ModuleFunction {
  return {
    effect: 'observe',
    *steps(call) {
      return [yield* work(call)]
    },
  }
}

type Acting = (call: ActCall) => Result | Promise<Result>

/** A function that acts. */
export function acting(work: Acting, reading: Reading = {}): ModuleFunction {
  return { ...reading, effect: 'act', call: (call) => allValues(work(call)) }
}

/** A function that acts by waiting for what takes its own time: a command, a server, another agent. */
export function waiting(work: Acting, reading: Reading = {}): ModuleFunction {
  return { ...reading, effect: 'act', waits: 'outside', call: (call) => allValues(work(call)) }
}

function allValues(result: Result | Promise<Result>): Values | Promise<Values> {
  return result instanceof Promise ? result.then(values) : values(result)
}

function values(result: Result): Values {
  return result instanceof Several ? result.values : [result]
}
