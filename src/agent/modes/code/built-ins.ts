import { modelText } from '../../../base/model-text.ts'
import { cutText } from '../../../base/cut-text.ts'
import { isJsonObject, type Json } from '../../../base/json.ts'
import type { Tool } from '../../../event/agent.ts'

/** The state that the programs of one prompt share. */
export interface ProgramState {
  /** Outlives a program, but not the prompt. */
  readonly store: ProgramStore
  /** `done()` was called: there will be no further program. */
  isDone: boolean
}

interface ProgramStore {
  /** Null for a key that was never stored. */
  readonly get: (key: string) => Json
  /** @throws Error if the total size exceeds the limit */
  readonly set: (key: string, value: Json) => void
}

export function createProgramState(): ProgramState {
  return { store: createStore(), isDone: false }
}

interface BuiltIn {
  readonly name: string
  /** For the model: signature and purpose. */
  readonly text: string
  /** False: the program does not wait for the result. */
  readonly waits: boolean
  /** Whether it has an effect, so that a resumed run calls it again. Calls that only read are not recorded. */
  readonly acts: boolean
  /** @throws Error with the message for the program */
  readonly call: (args: readonly Json[], host: BuiltInHost) => Json
}

export interface BuiltInHost {
  readonly state: ProgramState
  readonly tools: readonly Tool[]
  readonly onOutput: (text: string) => void
  readonly onLog: (text: string) => void
}

/** Limit in characters of everything that a prompt stores, as JSON. */
const mostStored = 10_000_000

const output: BuiltIn = {
  name: 'output',
  text: modelText`output(text: unknown): void // a part of your answer to the user; the parts, in order, are the answer`,
  waits: false,
  acts: true,
  call([value = null], { onOutput }) {
    onOutput(textOf(value))
    return null
  },
}

const done: BuiltIn = {
  name: 'done',
  text: modelText`done(): void // you are finished: this program is the last one, and still runs to its end`,
  waits: false,
  acts: true,
  call(_, { state }) {
    state.isDone = true
    return null
  },
}

const store: BuiltIn = {
  name: 'store',
  text: modelText`store(key: string, value: unknown): void // keeps a value, as JSON, for your next programs`,
  waits: true,
  acts: true,
  call([key = null, value = null], { state }) {
    state.store.set(textOf(key), value)
    return null
  },
}

const recall: BuiltIn = {
  name: 'recall',
  text: modelText`recall(key: string): any // the stored value, or null`,
  waits: true,
  acts: false,
  call: ([key = null], { state }) => state.store.get(textOf(key)),
}

const log: BuiltIn = {
  name: 'log',
  text: modelText`log(...values: unknown[]): void // shown only to you, when the program has ended`,
  waits: false,
  acts: true,
  call(values, { onLog }) {
    onLog(values.map(textOf).join(' '))
    return null
  },
}

const discoverTools: BuiltIn = {
  name: 'discoverTools',
  text: modelText`discoverTools(): Array<{ id: string; name: string; description: string }> // all tools`,
  waits: true,
  acts: false,
  call: (_, { tools }) => tools.map(({ name, description }) => ({ id: name, name, description })),
}

const toolSchema: BuiltIn = {
  name: 'toolSchema',
  text: modelText`toolSchema(id: string): any // the JSON Schema of the input of a tool`,
  waits: true,
  acts: false,
  call([id = null], { tools }) {
    const tool = tools.find(({ name }) => name === id)
    return tool?.parameters ?? { error: `Tool "${cutText(textOf(id), 100)}" not found` }
  },
}

const complete: BuiltIn = {
  name: 'complete',
  text: modelText`complete({ response, data? }: { response: unknown; data?: unknown }): void // output(response), store("_lastData", data), done()`,
  waits: true,
  acts: true,
  call([given = null], host) {
    const { response, data } = isJsonObject(given) ? given : { response: given, data: undefined }
    if (response !== undefined) output.call([response], host)
    if (data !== undefined) store.call(['_lastData', data], host)
    return done.call([], host)
  },
}

/** The functions of every program besides those for tools. The box itself adds `parallel`. */
export const builtIns: readonly BuiltIn[] = [output, done, store, recall, log, discoverTools, toolSchema, complete]

/** Function names that tools cannot get; `others`: those of plug-ins. */
export function reservedNames(others: readonly { readonly name: string }[]): readonly string[] {
  return [...builtIns, ...others].map(({ name }) => name)
}

/** Strings unchanged, other values as JSON. */
function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function createStore(): ProgramStore {
  const kept = new Map<string, { readonly value: Json; readonly size: number }>()
  let used = 0
  return {
    get: (key) => kept.get(key)?.value ?? null,
    set(key, value) {
      const size = key.length + JSON.stringify(value).length
      const after = used - (kept.get(key)?.size ?? 0) + size
      if (after > mostStored) throw new Error(`store() keeps at most ${mostStored} characters`)
      used = after
      kept.set(key, { value, size })
    },
  }
}
