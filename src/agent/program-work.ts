import type { JsonObject } from '../base/json.ts'
import type { Tool, ToolResult, ToolUse } from '../event/agent.ts'
import type { ContextWith, NarrowPorts, RunContext } from '../event/context.ts'
import { createRecordedCalls, type RecordedCalls } from '../script/javascript/recorded-calls.ts'
import type { Timeline } from './modes/timeline.ts'
import { callTool, type RunningCalls } from './tool-calls.ts'
import type { ToolRule } from '../event/permission.ts'

/**
 * What a program that calls tools works with. Everything is recorded below one call, so an interrupted program can be
 * run again from its beginning: its earlier calls are answered from the record.
 */
export interface ProgramWork extends Pick<RecordedCalls, 'seed' | 'begun' | 'observe'> {
  /**
   * Calls a tool. Calls are numbered in the order in which they are issued; a few run at the same time. Failures are
   * results.
   * @throws errors that end the run, once all other calls in progress have ended; BatonError DIVERGED if the record has
   * a different tool
   */
  readonly call: (name: string, input: JsonObject) => Promise<ProgramCall>
  /**
   * Does the work, or returns its recorded result. It ends, with or without an error, after all calls that it made have
   * ended.
   * @throws BatonError DIVERGED
   */
  readonly once: <T>(asked: JsonObject, work: () => Promise<T>) => Promise<T>
}

interface ProgramCall extends ToolResult {
  /** When the call ended, in milliseconds since 1970; the same when the program is run again. */
  readonly now: number
}

interface WorkOptions {
  /** At the place of the program. */
  readonly context: RunContext
  readonly opener: RunContext
  /** The id of the program in events. */
  readonly id: string
  /** The name of the tool that runs it, or of the mode's function. */
  readonly name: string
  readonly tools: readonly Tool[]
  readonly timeline?: Timeline
  readonly running?: RunningCalls
  /** Its calls need no approval if only Baton's own rules would ask. */
  readonly isApproved: boolean
  /** Called when a call is issued; the returned function is called when the call has ended. */
  readonly onCall?: () => (use: ToolUse) => void
}

export function createProgramWork(options: WorkOptions): ProgramWork {
  const { id, name: program, isApproved, onCall } = options
  const context = isApproved ? withoutDefaultApprovals(options.context) : options.context
  const { seed, begun, observe, call, ended } = createRecordedCalls(context, (what) => ({
    name: `code.${what}`,
    args: null,
  }))

  return {
    seed,
    begun,
    observe,
    async call(name, input) {
      const onEnd = onCall?.()
      return call(name, async ({ index, context: own }) => {
        const asked = { id: `${id}/${index}`, name, input: JSON.stringify(input) }
        const result = await callTool(asked, { ...options, context: own })
        const { text: output, isError } = result
        onEnd?.({ id: asked.id, name, input: asked.input, output, ...(isError === true ? { is_error: true } : {}) })
        return result
      })
    },
    async once(asked, work) {
      const { scope, services } = context
      return services.effects.call(scope.at, { name: program, args: asked }, async () => {
        try {
          return await work()
        } finally {
          await ended()
        }
      })
    },
  }
}

/** Cached, because the rules of a list are compiled only once. */
const lists = new WeakMap<readonly ToolRule[], readonly ToolRule[]>()

/**
 * The same context, but without the approvals that only Baton's built-in rules require. Rules that someone has
 * written still apply, and what is denied stays denied.
 */
function withoutDefaultApprovals<Context extends ContextWith<'rights', NarrowPorts>>(context: Context): Context {
  const { scope, services } = context
  const rights = { ...scope.rights, rules: scope.rights.rules.map(withoutQuestions) }
  const permission = services.permissionOf(rights)
  return {
    ...context,
    scope: { ...scope, rights },
    services: { ...services, permission, effects: services.effects.under(permission) },
  }
}

function withoutQuestions(rules: readonly ToolRule[]): readonly ToolRule[] {
  const known = lists.get(rules)
  if (known !== undefined) return known
  const made = rules.map((rule): ToolRule =>
    rule.origin === 'default' && rule.effect === 'ask' ? { ...rule, effect: 'allow' } : rule,
  )
  lists.set(rules, made)
  return made
}
