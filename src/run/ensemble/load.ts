import { BatonError } from '../../base/error.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import type { OutputSchema } from '../output-schema.ts'

/**
 * Refuses an ensemble that does not fit what else holds for the file.
 * @throws BatonError CONFIG_INVALID at its key
 */
export async function checkEnsembleFits(spec: RunSpec, output: OutputSchema | undefined): Promise<void> {
  const { ensemble, write_mode: writes } = spec.settings
  if (ensemble === undefined) return
  const { aggregate, isolation, check, aggregator } = ensemble
  if (aggregate === 'vote' && output === undefined) {
    throw new BatonError(
      'CONFIG_INVALID',
      'aggregate = "vote" needs [output]: only values of one form can be counted',
      {
        place: await placeInPrompt(spec, ['ensemble', 'aggregate'], 'value'),
        hint: 'Describe the answer in [output] schema, or leave aggregate out.',
      },
    )
  }
  if (isolation === 'worktree' && aggregator !== undefined) {
    throw new BatonError('CONFIG_INVALID', 'an aggregator and isolation = "worktree" do not go together', {
      place: await placeInPrompt(spec, ['ensemble', 'aggregator'], 'value'),
      hint: 'Remove it: the work of one member is taken as it is, and a model, a vote or check chooses which.',
    })
  }
  if (isolation === 'worktree' && writes === false) {
    throw new BatonError('CONFIG_INVALID', 'isolation = "worktree" of [ensemble] needs write_mode: members only read', {
      place: await placeInPrompt(spec, ['ensemble', 'isolation'], 'value'),
      hint: 'Add write_mode = true, or leave out isolation.',
    })
  }
  if (isolation !== 'worktree' && aggregate === 'first' && writes !== false) {
    const key = check === undefined ? 'aggregate' : 'check'
    throw new BatonError('CONFIG_INVALID', 'write_mode does nothing where the answer of one member is taken as it is', {
      place: await placeInPrompt(spec, ['ensemble', key], 'value'),
      hint: 'Members only read. Remove write_mode, add isolation = "worktree", or let a synthesis or an aggregator make the changes.',
    })
  }
}
