import { modelText } from '../../../base/model-text.ts'
import type { Json, JsonObject } from '../../../base/json.ts'
import type { Tool } from '../../../event/agent.ts'
import { type RunContext, withScope } from '../../../event/context.ts'
import { openerOf, placeText } from '../../../event/place.ts'
import { bindTool } from '../../../tool/toolbox/bind.ts'
import { defineTool, type Toolbox } from '../../../tool/toolbox/kind.ts'
import { createProgramWork } from '../../program-work.ts'
import { interpreterText } from './instructions.ts'
import { interpreterName } from './names.ts'

const parameters: JsonObject = {
  type: 'object',
  properties: {
    code: { type: 'string', description: modelText`The program.` },
    input: { description: modelText`The value of the variable \`input\` in the program.` },
  },
  required: ['code'],
  additionalProperties: false,
}

/** The tool `interpreter_run` of a conversation: runs a program of the model, which may call its other tools. */
export function interpreterTool(tools: readonly Tool[], box: Toolbox, { scope, services }: RunContext): Tool {
  const { programFunctions: added = [] } = services
  const options = scope.modeOptions?.['code'] ?? {}
  const kind = defineTool<{ readonly code: string; readonly input?: Json }>({
    name: interpreterName,
    description: interpreterText(tools, added),
    parameters,
    callsOthers: true,
    async run({ code, input }, { context }) {
      const { at } = context.scope
      // events of a conversation are sent from where it was opened
      const opener = withScope(context, { at: openerOf(at) })
      const isApproved = options['auto_approve'] === true
      const work = createProgramWork({ context, opener, id: placeText(at), name: interpreterName, tools, isApproved })
      const { interpret } = await import('./interpret.ts')
      const program = { code, ...(input === undefined ? {} : { input }) }
      return interpret(program, { tools, added, options, work, signal: context.services.signal })
    },
  })
  return bindTool(kind, box)
}
