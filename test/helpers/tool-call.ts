import type { JsonObject } from '../../src/base/json.ts'
import type { ToolResult } from '../../src/event/agent.ts'
import { below, type RunServices } from '../../src/event/context.ts'
import { allRights, type ToolRule } from '../../src/event/permission.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import type { ToolName } from '../../src/tool/toolbox/names.ts'
import { createOutputs } from '../../src/tool/toolbox/outputs.ts'
import { createSeenLog, type SeenLog } from '../../src/tool/toolbox/seen-log.ts'
import { openTools } from '../../src/tool/toolbox/tools.ts'
import { type TestContext, testContext } from './context.ts'

/** The tools of one conversation in a workspace, under the rules that hold when nobody says otherwise. */
export interface ToolHost {
  readonly call: (name: ToolName, input: JsonObject | string) => Promise<ToolResult>
  readonly seen: SeenLog
  readonly context: TestContext
}

export function toolHost(
  workspace: string,
  {
    rules = [],
    services = {},
  }: { readonly rules?: readonly ToolRule[]; readonly services?: Partial<RunServices> } = {},
): ToolHost {
  const rights = { ...allRights, rules: [[...toolRules(), ...rules]] }
  const permissionOf: RunServices['permissionOf'] = (given) => createPermission(given, { workspace })
  const permission = permissionOf(rights)
  const plain = testContext({ workspace, scope: { rights } })
  const effects = plain.services.effects.under(permission)
  const context = { ...plain, services: { ...plain.services, permission, permissionOf, effects, ...services } }
  const box = { baseDir: workspace, seen: createSeenLog(), outputs: createOutputs() }
  let calls = 0
  return {
    context,
    seen: box.seen,
    async call(name, input) {
      const [tool] = await openTools([name], box)
      const at = below(context, { kind: 'tool', index: calls++, name })
      const text = typeof input === 'string' ? input : JSON.stringify(input)
      return (await tool?.run(text, at)) ?? { text: `no tool ${name}`, isError: true }
    },
  }
}
