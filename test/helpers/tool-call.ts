import type { JsonObject } from '../../src/base/json.ts'
import type { ToolResult } from '../../src/event/agent.ts'
import { below, type RunScope, type RunServices } from '../../src/event/context.ts'
import { allRights, type LimitedPack, type ToolRule } from '../../src/event/permission.ts'
import { type SandboxMode, strictestSandbox } from '../../src/event/sandbox-rights.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import type { Toolbox } from '../../src/tool/toolbox/kind.ts'
import type { ToolName } from '../../src/tool/toolbox/rows.ts'
import type { SeenLog } from '../../src/tool/toolbox/seen-log.ts'
import { createToolbox, openTools, type ToolboxOptions } from '../../src/tool/toolbox/toolbox.ts'
import { type TestContext, testContext } from './context.ts'

/** The tools of one conversation in a workspace, under the default rules. */
export interface ToolHost {
  readonly call: (name: ToolName, input: JsonObject | string) => Promise<ToolResult>
  readonly box: Toolbox
  readonly seen: SeenLog
  readonly context: TestContext
}

interface ToolHostOptions extends Partial<ToolboxOptions> {
  readonly rules?: readonly ToolRule[]
  /** The packs whose capabilities apply. */
  readonly packs?: readonly LimitedPack[]
  /** The sandbox for commands; default: the strictest. */
  readonly sandbox?: SandboxMode
  readonly scope?: Partial<RunScope>
  readonly services?: Partial<RunServices>
  /** The context of a process that was created elsewhere. */
  readonly process?: TestContext
}

export function toolHost(
  workspace: string,
  {
    rules = [],
    packs = [],
    sandbox,
    scope = {},
    services = {},
    process = testContext({ workspace }),
    ...options
  }: ToolHostOptions = {},
): ToolHost {
  const rights = {
    ...allRights,
    packs,
    rules: [[...toolRules(), ...rules]],
    ...(sandbox && { sandbox: { ...strictestSandbox, mode: sandbox } }),
  }
  const permissionOf: RunServices['permissionOf'] = (given) => createPermission(given, { workspace })
  const permission = permissionOf(rights)
  const effects = process.services.effects.under(permission)
  const context = {
    ...process,
    scope: { ...process.scope, rights, ...scope },
    services: { ...process.services, permission, permissionOf, effects, ...services },
  }
  const box = createToolbox({ baseDir: workspace, ...options })
  const opened = new Map<ToolName, ReturnType<typeof openTools>>()
  let calls = 0
  return {
    context,
    box,
    seen: box.seen,
    async call(name, input) {
      const opening = opened.get(name) ?? openTools([name], box)
      opened.set(name, opening)
      const [tool] = await opening
      const at = below(context, { kind: 'tool', index: calls++, name })
      const text = typeof input === 'string' ? input : JSON.stringify(input)
      return (await tool?.run(text, at)) ?? { text: `no tool ${name}`, isError: true }
    },
  }
}
