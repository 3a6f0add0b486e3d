import { BatonError } from '../../base/error.ts'
import { askedOf, runSpec } from './run.ts'
import { type CommandSpec, type FlagSpec, globalFlags } from './spec.ts'

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
    const asked = askedOf(words, flags)
    if (asked.file === '' && asked.prompt === undefined) {
      throw new BatonError('USAGE', 'name a file to plan', { hint: 'See baton plan --help.' })
    }
    const { planCommand } = await import('../commands/plan.ts')
    return planCommand({ ...globalFlags(flags), ...asked }, io)
  },
}
