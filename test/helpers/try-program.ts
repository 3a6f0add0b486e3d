import type { Json } from '../../src/base/json.ts'
import type { JavaScriptBox } from '../../src/script/javascript/box.ts'
import {
  type BoxCall,
  type BoxFunction,
  type Program,
  type ProgramEnd,
  type ProgramHost,
  type ProgramLimits,
  defaultLimits,
} from '../../src/script/javascript/program.ts'

type Answering = (...args: readonly Json[]) => Json | Promise<Json>

/** The options of a test program. */
export interface Trial extends Omit<Program, 'code'> {
  /** Functions that answer; an error that they throw is passed to the program. */
  readonly tools?: { readonly [name: string]: Answering }
  /** Functions that the program does not wait for. */
  readonly told?: { readonly [name: string]: Answering }
  readonly limits?: Partial<ProgramLimits>
  readonly seed?: number
  readonly now?: number
  readonly signal?: AbortSignal
}

/** Runs a program as hosts do. */
export async function tryProgram(box: JavaScriptBox, code: string, trial: Trial = {}): Promise<ProgramEnd> {
  const { tools, told, limits, seed = 1, now = 0, signal = new AbortController().signal, ...program } = trial
  const host = hostOf({ ...(tools === undefined ? {} : { tools }), ...(told === undefined ? {} : { told }) })
  return box.run({ ...program, code }, host, { limits: { ...defaultLimits, ...limits }, seed, now, signal })
}

function hostOf({ tools = {}, told = {} }: Pick<Trial, 'tools' | 'told'>): ProgramHost {
  const listed = (functions: object, waits: boolean): readonly BoxFunction[] =>
    Object.keys(functions).map((name) => ({ name, waits }))
  return {
    functions: [...listed(tools, true), ...listed(told, false)],
    async call({ name, args }: BoxCall) {
      const work = tools[name] ?? told[name]
      try {
        return { value: (await work?.(...args)) ?? null }
      } catch (error) {
        return { error: (error as Error).message }
      }
    },
  }
}
