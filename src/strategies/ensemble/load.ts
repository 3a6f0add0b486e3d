import { BatonError, rewordError } from '../../base/error.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'
import type { OutputSchema } from '../../load/output-schema.ts'
import { checkModelNames, fatalProblem } from '../../agent/check-models.ts'
import type { ChosenModel } from '../../agent/parts.ts'
import type { DataPath } from '../../base/data-text.ts'
import type { ModelSurroundings } from '../../load/strategy.ts'

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

/**
 * Checks the models of the members of an ensemble, and that of its synthesis. A member whose key is missing counts as
 * one without an answer, as long as there are enough others.
 * @throws BatonError for an unknown model, and for missing keys if too few members are left
 */
export async function modelsOfEnsemble({
  settings,
  placeOf,
  givesTools,
  chooseModel,
}: ModelSurroundings): Promise<readonly ChosenModel[]> {
  if (settings.ensemble === undefined) return []
  const { members, quorum, model: own } = settings.ensemble
  const usesTools = await givesTools(settings)
  const models: ChosenModel[] = []
  async function look(model: string, path: DataPath): Promise<BatonError | undefined> {
    const checked = await checkModelNames({ ...settings, model, usesTools }, { chooseModel })
    models.push(...checked.usable)
    const problem = fatalProblem(checked)
    return problem && rewordError(problem.error, { from: await placeOf(path, 'value') })
  }

  const withoutKey: BatonError[] = []
  for (const { index, model, agent, line } of members) {
    if (model === undefined || agent !== undefined || line !== undefined) continue
    const problem = await look(model, ['ensemble', 'agents', index, 'model'])
    if (problem !== undefined && problem.code !== 'KEY_MISSING') throw problem
    if (problem !== undefined) withoutKey.push(problem)
  }
  const [first] = withoutKey
  if (first !== undefined && members.length - withoutKey.length < quorum) throw first
  const problem = own === undefined ? undefined : await look(own, ['ensemble', 'model'])
  if (problem !== undefined) throw problem
  return models
}
