import type { Tool } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace } from '../../event/place.ts'
import type { PluginTool } from '../../event/plugin-tool.ts'
import { passesFilters } from '../../tool/tool-filter.ts'
import { verdictOnAny } from '../../tool/tool-rules.ts'
import { bindTool } from '../../tool/toolbox/bind.ts'
import type { Toolbox, ToolKind } from '../../tool/toolbox/kind.ts'

/** The plug-in tools of a model: those that its agent names, within its rights (R28). */
export function pluginTools(
  { tools: named = [], disallowed_tools }: ToolFilter,
  box: Toolbox,
  { scope, services: { broughtTools: tools = [] } }: RunContext,
): readonly Tool[] {
  if (tools.length === 0) return []
  const { rights } = scope
  return tools
    .filter(({ name }) => passesFilters(name, [{ tools: named, disallowed_tools }, ...(rights.tools ?? [])]))
    .filter(({ name }) => verdictOnAny(name, scope).kind !== 'deny')
    .map((tool) => bindTool(kindOf(tool), box))
}

/** A call is one effect: what the plug-in does in it is not recorded separately. */
function kindOf(tool: PluginTool): ToolKind {
  const { name, description, parameters, readOnly = false } = tool
  return {
    name,
    description,
    parameters,
    async run(input, { at, context, permit }) {
      const { services, scope } = context
      const text = await services.effects.perform(
        callPlace(at, 0),
        {
          kind: 'tool',
          request: { tool: name, input },
          action: { kind: 'tool', tool: name, input },
          repeat: readOnly ? 'safe' : 'unsafe',
        },
        async (stop) => {
          const signal = AbortSignal.any([stop, services.signal])
          return String(await tool.run(input, { workspace: scope.folders.workspace, signal }))
        },
        permit,
      )
      return { text }
    },
  }
}
