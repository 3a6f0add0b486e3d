import { BatonError } from '../base/error.ts'
import { isJsonObject } from '../base/json.ts'
import { placeInPrompt, type RunSpec } from '../config/run-spec.ts'

/** A gate without a work tree, and commits of iterations in one. */
export async function isolationProblems(spec: RunSpec): Promise<readonly BatonError[]> {
  const { isolation, gate } = spec.settings
  const problems: BatonError[] = []
  if (gate !== undefined && isolation !== 'worktree') {
    problems.push(
      new BatonError('CONFIG_INVALID', '"gate" needs isolation = "worktree"', {
        place: await placeInPrompt(spec, ['gate'], 'key'),
        hint: 'Add isolation = "worktree", or remove gate.',
      }),
    )
  }
  const written = spec.frontMatter['iterate']
  if (isolation === 'worktree' && isJsonObject(written) && written['commits'] === true) {
    problems.push(
      new BatonError('CONFIG_INVALID', '"iterate.commits" and isolation = "worktree" cannot be combined', {
        place: await placeInPrompt(spec, ['iterate', 'commits'], 'key'),
        hint: 'Remove commits and commit the changes after the run, or remove isolation.',
      }),
    )
  }
  return problems
}
