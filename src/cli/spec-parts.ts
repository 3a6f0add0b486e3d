import type { FlagSpecs } from './command.ts'

/*
 * Flags and words that several commands share.
 */

export const requestFlags = {
  prompt: { kind: 'text', short: 'p', describe: 'run this text as the prompt, without a file' },
  input: { kind: 'list', short: 'i', describe: 'input text; one task for each' },
  'on-files': { kind: 'list', short: 'f', describe: 'glob; one task for each matching file' },
  stdin: { kind: 'switch', describe: 'give standard input to the model as context; with -p, a pipe is always context' },
  var: { kind: 'list', describe: 'set a variable of [input]: name=value' },
  model: { kind: 'text', short: 'm', describe: 'model of the main agent' },
  mode: { kind: 'text', describe: 'execution mode: classic, code, or one from a plug-in' },
  sandbox: {
    kind: 'text',
    choices: ['read-only', 'workspace-write', 'danger-full-access'],
    describe: 'what programs that a model starts may access',
  },
  'output-schema': { kind: 'text', describe: 'require JSON that matches the JSON Schema in this file' },
  'max-cost': { kind: 'text', describe: 'stop before the run costs more than this many US dollars' },
  iter: { kind: 'text', describe: 'repeat the work: a number of iterations (5) or a duration (10m)' },
  until: { kind: 'text', describe: 'repeat the work until this command exits with 0, for example "npm test"' },
  collab: { kind: 'switch', describe: 'let the model start and lead a team of agents' },
} as const satisfies FlagSpecs

export const timeout = { kind: 'text', describe: 'stop the run if it takes longer than this, for example 30m' } as const
export const output = { kind: 'text', describe: 'write the result to this file if the run succeeds' } as const
export const noInput = { kind: 'switch', describe: 'never prompt' } as const
export const approvalFlags = {
  yes: { kind: 'switch', short: 'y', describe: 'approve everything without asking' },
  'on-ask': {
    kind: 'text',
    choices: ['deny', 'allow', 'suspend'],
    describe: 'what to do if an approval is needed and nobody can be asked (default: deny)',
  },
  'no-input': noInput,
} as const satisfies FlagSpecs

export const waitingWords = [
  { name: 'run', count: 'optional', describe: 'run id, or a prefix of it (default: the only waiting run)' },
  { name: 'call', count: 'optional', describe: 'number of the call (default: the only pending one)' },
] as const
export const answerFlags = {
  all: { kind: 'switch', describe: 'every pending call of the run' },
  'no-resume': { kind: 'switch', describe: 'only record the answer; baton resume continues the run' },
  ids: { kind: 'switch', hidden: true, describe: 'only print the numbers of the pending calls' },
  ...approvalFlags,
  'on-ask': { ...approvalFlags['on-ask'], describe: 'what to do about further approvals (default: suspend)' },
} as const satisfies FlagSpecs

export const target = {
  name: 'file',
  count: 'optional',
  describe: 'prompt file (.md), agent (.aip, .lua), ns@pack/agent, or - for standard input',
} as const
