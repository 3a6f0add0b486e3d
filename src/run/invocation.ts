import { isObject, type JsonObject } from '../base/json.ts'

/** How a run was started: with its sources all that is needed to start it again. Plain JSON, because it is recorded. */
export interface Invocation {
  /** As it was named; of a run of `-p` text the name it has in messages. */
  readonly file: string
  /** Absolute. */
  readonly cwd: string
  readonly inputs: readonly string[]
  readonly onFiles: readonly string[]
  readonly overrides: readonly string[]
  readonly vars: readonly string[]
  readonly patienceMs: number
  readonly dry?: 'req' | 'res'
  readonly model?: string
  readonly text?: string
  readonly outputSchema?: string
  /** Variables of the environment that decide what is run. */
  readonly env: Readonly<Record<string, string>>
}

/** Variables of the environment that config is made from; all others are those of the process that goes on. */
const deciding = ['BATON_MODEL', 'BATON_GATEWAY_URL']

type Environment = Readonly<Record<string, string | undefined>>

export function decidingVariables(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(deciding.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** The environment of now, with what decided how the run began. */
export function environmentOf({ env: then }: Invocation, now: Environment): Environment {
  return { ...now, ...Object.fromEntries(deciding.map((name) => [name, then[name]])) }
}

/** The facts of a `run.start` record; undefined for a run of a version that did not record them. */
export function invocationOf(facts: unknown): Invocation | undefined {
  if (!isObject(facts) || !isObject(facts['invocation'])) return undefined
  return facts['invocation'] as unknown as Invocation
}

/** With settings that win over those it was started with. */
export function withOverrides(invocation: Invocation, overrides: readonly string[]): Invocation {
  return { ...invocation, overrides: [...invocation.overrides, ...overrides] }
}

export function factsOf(invocation: Invocation): JsonObject {
  return { invocation: invocation as unknown as JsonObject }
}
