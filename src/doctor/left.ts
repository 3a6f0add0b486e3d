import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lostWorktrees } from '../base/git-worktree.ts'
import { leftTemporaryFolders } from '../base/temporary-folder.ts'
import type { Settings } from '../config/settings.ts'
import { isRunId, runIds } from '../journal/find-run.ts'
import { glance } from '../journal/glance.ts'
import { runsFolder } from '../journal/run-id.ts'
import { hasEnded, worktreesFolder } from '../journal/worktrees.ts'
import { type Check, note, type Patient } from './check.ts'

/** Work trees and temporary folders that runs left behind which were killed, and how to remove them. */
export async function checkLeft(
  { env, home }: Patient,
  { settings, workspace }: { readonly settings: Settings; readonly workspace: string },
): Promise<readonly Check[]> {
  const runs = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const [ended, waiting]: [string[], string[]] = [[], []]
  for (const id of runIds(runs)) {
    const folder = join(runs, id)
    if (!existsSync(worktreesFolder(folder)) || (await glance(folder))?.isRunning === true) continue
    const list = (await hasEnded(folder)) ? ended : waiting
    list.push(id)
  }
  const lost = lostWorktrees(workspace).filter((top) => isOfRun(top))
  const temporary = leftTemporaryFolders()
  return [
    ...ended.map((id) =>
      note(
        'left',
        `the work tree of ${id}, which has ended, is still there`,
        `The next run, or baton runs rm ${id}, removes it.`,
      ),
    ),
    ...waiting.map((id) =>
      note(
        'left',
        `${id} was interrupted and keeps its work tree`,
        `baton resume ${id} continues it; baton runs rm ${id} removes it with its work tree.`,
      ),
    ),
    ...(lost.length === 0
      ? []
      : [note('left', `git knows work trees of runs that are gone: ${lost.join(', ')}`, 'Run git worktree prune.')]),
    ...(temporary.length === 0
      ? []
      : [
          note(
            'left',
            `processes that were killed left temporary folders: ${temporary.join(', ')}`,
            'The next process that needs such a folder removes them; nothing else uses them.',
          ),
        ]),
  ]
}

/** Whether a work tree is one of a run, wherever runs are recorded now. */
function isOfRun(top: string): boolean {
  const folder = dirname(top)
  return basename(folder) === 'worktrees' && isRunId(basename(dirname(folder)))
}
