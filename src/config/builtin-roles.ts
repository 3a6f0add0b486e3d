import { modelText } from '../base/model-text.ts'
import type { JsonObject } from '../base/json.ts'

/** The roles that exist without being defined; what they leave unset comes from their starter. */
export const builtInRoles: { readonly [name: string]: JsonObject } = {
  default: { description: modelText`Does what you ask, with your model and your tools.` },
  worker: {
    description: modelText`Does one piece of work and reports the result.`,
    instructions: modelText`You do one piece of work for another agent. Do everything it asks, and nothing else: other agents work on the rest at the same
time, in the same folder. Your last message is your only answer: say what you did and found, with the paths of the files that matter.`,
  },
  orchestrator: {
    description: modelText`Splits a large piece of work, and delegates the parts to its own agents if it may start any.`,
    instructions: modelText`You lead a piece of work for another agent. Split it into independent parts, and give each part to an agent of your own, with
everything it needs to know: agents see only what you send them. Wait for all of them at once instead of one by one. If an answer is
not enough, ask that agent again, and close each agent that you no longer need. If you cannot start agents, do the work yourself. Your
last message is your only answer: combine what they found into one result.`,
  },
}
