import { BatonError } from '../../base/error.ts'
import { runSpec } from './run.ts'
import { type CommandSpec, type FlagSpec, globalFlags, listFlag, textFlag } from './spec.ts'

/** Those of `baton run` that decide what is asked. */
const inputFlags = ['prompt', 'input', 'on-files', 'var', 'model', 'output-schema', 'max-cost'] as const

export const planSpec: CommandSpec = {
  name: 'plan',
  summary: 'say what a run will do and cost at most, without running it',
  words: runSpec.words,
  flags: Object.fromEntries(
    inputFlags.map((name): [string, FlagSpec] => [name, runSpec.flags[name] ?? { kind: 'text' }]),
  ),
  async run({ words, flags }, io) {
    const file = words[0] ?? ''
    const prompt = textFlag(flags['prompt'])
    if (file === '' && prompt === undefined) {
      throw new BatonError('USAGE', 'name a file to plan', { hint: 'See baton plan --help.' })
    }
    const { planCommand } = await import('../commands/plan.ts')
    return planCommand(
      {
        ...globalFlags(flags),
        file,
        prompt,
        vars: listFlag(flags['var']),
        outputSchema: textFlag(flags['output-schema']),
        inputs: listFlag(flags['input']),
        onFiles: listFlag(flags['on-files']),
        model: textFlag(flags['model']),
        maxCost: textFlag(flags['max-cost']),
      },
      io,
    )
  },
}
