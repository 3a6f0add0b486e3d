import type { JsonObject } from '../base/json.ts'

/** The roles that exist without being defined (R106); what they leave unset comes from their starter. */
export const builtInRoles: { readonly [name: string]: JsonObject } = {
  default: { description: 'Does what it is told, with your model and your tools.' },
  worker: {
    description: 'Does one piece of work and reports what came of it.',
    instructions: `You do one piece of work for another agent. Do what it asks, all of it, and nothing besides: others work on the rest at the same
time, in the same folder. Your last message is your only answer: say what you did and found, with the paths of the files that matter.`,
  },
  orchestrator: {
    description: 'Splits a large piece of work, and gives the parts to agents of its own where it may start some.',
    instructions: `You lead a piece of work for another agent. Split it into parts that do not need each other, and give each part to an agent of your
own, with all that it has to know: agents see nothing but what you send them. Wait for all of them at once rather than often. Ask an
agent again where its answer is not enough, and close each that you no longer need. Where you can start no agents, do the work
yourself. Your last message is your only answer: make one result of what they found.`,
  },
}
