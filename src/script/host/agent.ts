import { type HostCall, keyedTable, list, Options } from './call.ts'
import { type AgentCallArguments, type HostModule, pure, waiting } from './module.ts'

const optionKeys = ['model', 'model_aliases', 'input_concurrency', 'temperature', 'top_p', 'allow_run_on_task_fail']

/** `aip.agent`: `run` runs another agent, whose name is resolved from the caller's folder, and waits for it. */
export const agentModule: HostModule = {
  name: 'aip.agent',
  functions: {
    /**
     * `aip.agent.run(name, {input?, inputs?, options?, agent_base_dir?}?) → {outputs?, after_all?, redo_requested}`
     * Runs another agent and waits for it. Its name is resolved from the folder of the calling agent, or from
     * `agent_base_dir`. `input` is placed before `inputs`, which must be a list; options are merged over the agent's
     * own. Outputs that are null become nil holes. It is an error if the agent is not found or fails, or if an option
     * has the wrong type; the message of a failure starts with the line that failed: `fail.aip:4: boom`.
     */
    run: waiting(
      async (call) => {
        const name = call.text(0, 'the agent')
        return call.section.runAgent(name, agentArguments(call), call.at)
      },
      { tables: 'data' },
    ),
    /**
     * `aip.agent.extract_options(value) → table?` A new table with `model`, `model_aliases`, `input_concurrency`,
     * `temperature`, `top_p` and `allow_run_on_task_fail`, as far as they are set. nil for anything but a table.
     */
    extract_options: pure(({ args: [value] }) => {
      const table = keyedTable(value)
      if (table === undefined) return undefined
      return Object.fromEntries(optionKeys.filter((key) => table[key] !== undefined).map((key) => [key, table[key]]))
    }),
  },
}

function agentArguments(call: HostCall): AgentCallArguments {
  const given = call.options(1)
  const base = given.path('agent_base_dir')
  const input = given.table['input']
  const inputs = [...(input === undefined ? [] : [input]), ...list(given.get('inputs') ?? [], call.name, 'inputs')]
  return {
    inputs: inputs.length === 0 ? null : inputs,
    options: new Options(given.get('options'), `${call.name} options`).table,
    baseDir: base === undefined ? undefined : call.resolve(base),
  }
}
