import type { LuaValue } from '../engine.ts'
import { argumentError, isTable, type LuaTable, luaTypeName, optionsTable, pathText, text } from './arguments.ts'
import type { AgentCallArguments, HostModule } from './module.ts'
import { type PathContext, resolvePath } from './resolve-path.ts'

const optionKeys = ['model', 'model_aliases', 'input_concurrency', 'temperature', 'top_p', 'allow_run_on_task_fail']

/** `aip.agent` (spec/aipack.md 6.2): `run` waits for another agent, whose name counts from the caller's folder. */
export const agentModule: HostModule = {
  name: 'aip.agent',
  functions: {
    /**
     * `aip.agent.run(name, {input?, inputs?, options?, agent_base_dir?}?) → {outputs?, after_all?, redo_requested}`
     * Runs another agent and waits for it. Its name counts from the folder of the agent that calls, or from
     * `agent_base_dir`; `input` stands before `inputs`, which must be a list; options are merged over the agent's own.
     * Outputs that are null are nil holes. An agent that is not found or fails is an error, and so are options of a wrong
     * type; the text of a failure begins with the line that failed: `fail.aip:4: boom`.
     */
    run: {
      effect: 'act',
      tables: 'data',
      call: async ([agent, given], section, at) => {
        const name = text(agent, 'aip.agent.run', 'the agent')
        const call = callArguments(optionsTable(given, 'aip.agent.run'), section.context)
        return [await section.runAgent(name, call, at)]
      },
    },
    /**
     * `aip.agent.extract_options(value) → table?`
     * A new table with `model`, `model_aliases`, `input_concurrency`, `temperature`, `top_p` and
     * `allow_run_on_task_fail`, as far as the table has them. nil for anything but a table.
     */
    extract_options: { effect: 'pure', call: ([value]) => [extractOptions(value)] },
  },
}

function callArguments(given: LuaTable, context: PathContext): AgentCallArguments {
  const base = given['agent_base_dir']
  const inputs = [...(given['input'] === undefined ? [] : [given['input']]), ...inputList(given['inputs'])]
  return {
    inputs: inputs.length === 0 ? null : inputs,
    options: optionsTable(given['options'], 'aip.agent.run options'),
    baseDir: base === undefined || base === null ? undefined : resolvePath(pathText(base, 'aip.agent.run'), context),
  }
}

function inputList(inputs: LuaValue): readonly LuaValue[] {
  if (inputs === undefined || inputs === null) return []
  if (Array.isArray(inputs)) return inputs
  throw argumentError(
    'aip.agent.run',
    `inputs must be a list, but was ${isTable(inputs) ? 'a table with keys' : luaTypeName(inputs)}`,
  )
}

function extractOptions(value: LuaValue): LuaValue {
  if (!isTable(value)) return undefined
  const table = Array.isArray(value) ? {} : (value as LuaTable)
  return Object.fromEntries(optionKeys.filter((key) => table[key] !== undefined).map((key) => [key, table[key]]))
}
