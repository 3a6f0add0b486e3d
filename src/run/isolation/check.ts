import { BatonError } from '../../base/error.ts'
import { isJsonObject } from '../../base/json.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'

/**
 * Checks what a prompt file says about its work tree.
 * @throws BatonError CONFIG_INVALID for a gate without one, and for iterations that are committed in it
 */
export async function checkIsolation(spec: RunSpec): Promise<void> {
  const { isolation, gate } = spec.settings
  if (gate !== undefined && isolation !== 'worktree') {
    throw new BatonError('CONFIG_INVALID', '"gate" needs isolation = "worktree"', {
      place: await placeInPrompt(spec, ['gate'], 'key'),
      hint: 'Add isolation = "worktree", or leave out gate.',
    })
  }
  const written = spec.frontMatter['iterate']
  if (isolation === 'worktree' && isJsonObject(written) && written['commits'] === true) {
    throw new BatonError('CONFIG_INVALID', '"iterate.commits" and isolation = "worktree" do not go together', {
      place: await placeInPrompt(spec, ['iterate', 'commits'], 'key'),
      hint: 'Leave out commits, and commit what the run has changed when it is done; or leave out isolation.',
    })
  }
}
