import { BatonError } from '../../base/error.ts'
import { isJsonObject } from '../../base/json.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'

/**
 * Checks the work tree settings of a prompt file.
 * @throws BatonError CONFIG_INVALID for a gate without a work tree, and for commits of iterations in one
 */
export async function checkIsolation(spec: RunSpec): Promise<void> {
  const { isolation, gate } = spec.settings
  if (gate !== undefined && isolation !== 'worktree') {
    throw new BatonError('CONFIG_INVALID', '"gate" needs isolation = "worktree"', {
      place: await placeInPrompt(spec, ['gate'], 'key'),
      hint: 'Add isolation = "worktree", or remove gate.',
    })
  }
  const written = spec.frontMatter['iterate']
  if (isolation === 'worktree' && isJsonObject(written) && written['commits'] === true) {
    throw new BatonError('CONFIG_INVALID', '"iterate.commits" and isolation = "worktree" cannot be combined', {
      place: await placeInPrompt(spec, ['iterate', 'commits'], 'key'),
      hint: 'Remove commits and commit the changes after the run, or remove isolation.',
    })
  }
}
