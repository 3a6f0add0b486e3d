import { BatonError } from '../../base/error.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import type { OutputSchema } from '../../load/output-schema.ts'

/** The settings of an ensemble that conflict with others of the file, each at its key. */
export async function ensembleProblems(
  spec: RunSpec,
  output: OutputSchema | undefined,
): Promise<readonly BatonError[]> {
  const { ensemble, write_mode: writes } = spec.settings
  if (ensemble === undefined) return []
  const { aggregate, isolation, check, aggregator } = ensemble
  const problems: BatonError[] = []
  async function refuse(key: string, message: string, hint: string): Promise<void> {
    const place = await placeInPrompt(spec, ['ensemble', key], 'value')
    problems.push(new BatonError('CONFIG_INVALID', message, { place, hint }))
  }
  if (aggregate === 'vote' && output === undefined) {
    await refuse(
      'aggregate',
      'aggregate = "vote" needs [output]: only structured values can be counted',
      'Describe the answer in [output] schema, or remove aggregate.',
    )
  }
  if (isolation === 'worktree' && aggregator !== undefined) {
    await refuse(
      'aggregator',
      'an aggregator and isolation = "worktree" cannot be combined',
      'Remove the aggregator: the work of one member is taken unchanged, and a model, a vote or check chooses which.',
    )
  }
  if (isolation === 'worktree' && writes === false) {
    await refuse(
      'isolation',
      'isolation = "worktree" of [ensemble] needs write_mode: without it, members only read',
      'Add write_mode = true, or remove isolation.',
    )
  }
  if (isolation !== 'worktree' && aggregate === 'first' && writes !== false) {
    await refuse(
      check === undefined ? 'aggregate' : 'check',
      'write_mode has no effect if the answer of one member is taken unchanged',
      'Members only read. Remove write_mode, add isolation = "worktree", or let a synthesis or an aggregator make the changes.',
    )
  }
  return problems
}
