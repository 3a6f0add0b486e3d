import type { JsonObject } from '../base/json.ts'
import { displayPath } from '../base/files.ts'
import { commandOptions } from '../agent/command/options.ts'
import type { CommandAgent } from '../event/agent.ts'
import type { RunScope } from '../event/context.ts'
import { type Ask, type Drift, isOpen, openAsk } from './ask.ts'
import type { AgentPlan } from './plan.ts'

export interface CommandCall {
  readonly agent: CommandAgent
  /** Null is "no inputs given". */
  readonly inputs: readonly unknown[] | null
  /** The options of its caller. */
  readonly given: JsonObject
  readonly drift: Drift
}

/**
 * A planned command line: one request for each input, with unknown input, output and cost.
 * @throws BatonError CONFIG_INVALID for invalid options
 */
export function planCommand(
  { agent, inputs, given, drift }: CommandCall,
  { scope }: { readonly scope: Pick<RunScope, 'folders'> },
): AgentPlan {
  const { name, file, line } = agent
  const count = inputs === null || inputs.length === 0 ? 1 : inputs.length
  const { model = line.model } = commandOptions(agent, given)
  const program = line.preset ?? name
  const unknown = { at_least: 0, as_written: 0, at_most: null }
  const ask: Ask = {
    model: model === undefined ? program : `${program}::${model}`,
    model_kind: 'known',
    requests: { at_least: count, as_written: count, at_most: null },
    input_tokens: unknown,
    output_tokens: unknown,
    usd: null,
    output_assumed: false,
  }
  return {
    kind: 'command',
    name,
    file: displayPath(scope.folders.workspace, file),
    source: 'file',
    command: line.command,
    sections: [],
    options: model === undefined ? {} : { model },
    inputs: count,
    tools: [],
    asks: [isOpen(drift) ? openAsk(ask) : ask],
    runs_agents: [],
    decides: [],
  }
}
