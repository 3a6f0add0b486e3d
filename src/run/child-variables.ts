import { BatonError } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { fillVariables, type ValueProblem } from '../config/input-values.ts'
import type { CallerVariables, PromptAgent } from '../event/agent.ts'
import type { PromptTarget } from './prompt-target.ts'

/**
 * The values of the `[input]` variables of a prompt file that is run as an agent: from the table a script calls it with,
 * from the entry of `sub_agents`, or from the file that it answers for (DESIGN 4). Undefined for a file without `[input]`.
 * @throws BatonError CONFIG_INVALID naming the agent for a name that is no variable, a wrong value, a missing variable
 */
export function childVariables(
  { spec: { variables } }: Pick<PromptTarget, 'spec'>,
  { values, others }: CallerVariables,
  agent: Pick<PromptAgent, 'name'>,
): JsonObject | undefined {
  if (variables === undefined) return undefined
  const filled = fillVariables(variables, values)
  const problem = filled.problems.find(({ kind }) => kind !== 'unknown' || others === 'refused')
  if (problem !== undefined) throw refused(problem, agent)
  return filled.values
}

/** No place is given: whoever called it knows where that is written. */
function refused(problem: ValueProblem, { name: agent }: Pick<PromptAgent, 'name'>): BatonError {
  switch (problem.kind) {
    case 'unknown': {
      const message = `"${agent}" has no input variable "${problem.name}"`
      return new BatonError('CONFIG_INVALID', message, { hint: problem.hint })
    }
    case 'wrong': {
      const message = `the input variable "${problem.name}" of "${agent}" must be ${problem.expected}`
      return new BatonError('CONFIG_INVALID', message, { hint: `See [input.${problem.name}] in its front matter.` })
    }
    case 'missing': {
      const { name, description } = problem.variable
      const what = description === undefined ? '' : `: ${description}`
      const hint = `Give it by name: { name = ${JSON.stringify(agent)}, ${name} = … }, or as input = { ${name} = … } of aip.agent.run.`
      return new BatonError('CONFIG_INVALID', `"${agent}" is not given its input variable "${name}"${what}`, { hint })
    }
  }
}
