import { BatonError } from '../../base/error.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import type { OutputSchema } from '../../load/output-schema.ts'

/**
 * Refuses an ensemble that conflicts with other settings of the file.
 * @throws BatonError CONFIG_INVALID at its key
 */
export async function checkEnsembleFits(spec: RunSpec, output: OutputSchema | undefined): Promise<void> {
  const { ensemble, write_mode: writes } = spec.settings
  if (ensemble === undefined) return
  const { aggregate, isolation, check, aggregator } = ensemble
  if (aggregate === 'vote' && output === undefined) {
    throw new BatonError('CONFIG_INVALID', 'aggregate = "vote" needs [output]: only structured values can be counted', {
      place: await placeInPrompt(spec, ['ensemble', 'aggregate'], 'value'),
      hint: 'Describe the answer in [output] schema, or remove aggregate.',
    })
  }
  if (isolation === 'worktree' && aggregator !== undefined) {
    throw new BatonError('CONFIG_INVALID', 'an aggregator and isolation = "worktree" cannot be combined', {
      place: await placeInPrompt(spec, ['ensemble', 'aggregator'], 'value'),
      hint: 'Remove the aggregator: the work of one member is taken unchanged, and a model, a vote or check chooses which.',
    })
  }
  if (isolation === 'worktree' && writes === false) {
    throw new BatonError(
      'CONFIG_INVALID',
      'isolation = "worktree" of [ensemble] needs write_mode: without it, members only read',
      {
        place: await placeInPrompt(spec, ['ensemble', 'isolation'], 'value'),
        hint: 'Add write_mode = true, or remove isolation.',
      },
    )
  }
  if (isolation !== 'worktree' && aggregate === 'first' && writes !== false) {
    const key = check === undefined ? 'aggregate' : 'check'
    throw new BatonError('CONFIG_INVALID', 'write_mode has no effect if the answer of one member is taken unchanged', {
      place: await placeInPrompt(spec, ['ensemble', key], 'value'),
      hint: 'Members only read. Remove write_mode, add isolation = "worktree", or let a synthesis or an aggregator make the changes.',
    })
  }
}
