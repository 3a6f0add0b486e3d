import { systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { listFiles } from '../../base/glob.ts'
import type { Trigger } from '../../config/triggers.ts'
import type { Environment } from '../../journal/secrets.ts'
import { hashPrompt } from '../../prompt/document.ts'
import { findOwnChanges } from '../../tool/own-changes.ts'
import type { Listing, WatchedFile, WatchPlan } from '../../watch/plan.ts'
import { createPrints } from '../../watch/prints.ts'
import { watch, type WatchMessage } from '../../watch/session.ts'
import { openWatcher } from '../../watch/watcher.ts'
import type { TriggerEvent } from './memory.ts'
import type { Fired } from './starts.ts'

export interface FileChangesOptions {
  readonly trigger: Trigger
  readonly globs: readonly string[]
  /** Where the globs start. Absolute, links resolved. */
  readonly workspace: string
  readonly around: { readonly env: Environment; readonly home: string }
  readonly fire: (event: TriggerEvent) => Promise<Fired>
  /** Resolves when nothing that it has started is in progress. */
  readonly over: () => Promise<void>
  /** Called once the files are followed. */
  readonly onReady: () => void
  /** Called when some changes may go unnoticed. */
  readonly onProblem: (error: unknown) => void
  readonly signal: AbortSignal
}

/**
 * Fires a trigger when files that match its globs change, are created or removed, until the signal is aborted. What
 * runs of Baton have written does not count, and with `overlap = "skip"` nothing that changes while its run is in
 * progress. Never rejects.
 */
export async function followFiles(options: FileChangesOptions): Promise<void> {
  const { trigger, globs, workspace, around, fire, over, onReady, onProblem, signal } = options
  const prints = createPrints({ hashPrompt, now: () => Date.now() })
  let changed: readonly string[] = []
  let since = Date.now()

  function watchedNow(path: string): WatchedFile {
    const look = (): string | null => prints(path, 'whole')
    return { print: look(), look }
  }

  function look(): Listing {
    const folders: string[] = []
    try {
      const found = listFiles(globs, {
        baseDir: workspace,
        root: workspace,
        onFolder: (folder) => folders.push(folder),
      })
      return { files: found.map(({ absolute }) => absolute), folders }
    } catch (error) {
      onProblem(error)
      return { files: [], folders: [workspace, ...folders] }
    }
  }

  function planNow(): WatchPlan {
    since = Date.now()
    const { files } = look()
    return {
      files: new Map(files.map((path) => [path, watchedNow(path)])),
      lists: new Map([['files', { found: files, look, watched: watchedNow }]]),
    }
  }

  function say(message: WatchMessage): void {
    if (message.kind === 'changed') changed = message.paths
    else if (message.kind === 'waiting') onReady()
    else if (message.kind === 'blind') onProblem(message.error)
  }

  try {
    await watch(
      {
        async run(_before, _signal, cause) {
          // what changes from here on is not read by the run that starts now
          const plan = planNow()
          if (cause === 'first') return { kind: 'watch', plan }
          const about = changed.map((path) => displayPath(workspace, path)).join(', ')
          await fire({ cause: 'files', about })
          if (trigger.overlap !== 'skip') return { kind: 'watch', plan }
          await over()
          return { kind: 'watch', plan: planNow() }
        },
        open: openWatcher,
        ownAmong: (paths) => findOwnChanges(paths, since, around, { ofRuns: true }),
        say,
        clock: systemClock,
      },
      { start: () => undefined, signal },
    )
  } catch (error) {
    if (!signal.aborted) onProblem(new Error(messageOf(error)))
  }
}
