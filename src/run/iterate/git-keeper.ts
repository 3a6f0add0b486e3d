import { messageOf } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import { below, emit, type RunContext } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { bringBack } from './bring-back.ts'
import type { Keeper } from './keeper.ts'
import { bestMessage, commitMessage } from './message.ts'
import type { CommitResult, Repository } from './repository.ts'

interface GitParts {
  readonly repository: () => Promise<Repository>
  readonly commits: boolean
  /** The place of the iterated prompt in the run, which may have several. Empty for the file that is run. */
  readonly within: string
}

/** The keeper in a repository; docs/design/iterate.md describes what is committed. */
export function createGitKeeper({ repository, commits, within }: GitParts): Keeper {
  /** Paths that were changed before the first iteration, which are never committed. */
  let excluded: readonly string[] = []
  let isStaged = false
  let startTree: string | undefined
  /** The tree of the previous iteration. */
  let lastTree: string | undefined
  /** HEAD at the start of the iteration, which cannot be one of its commits. */
  let headBefore: string | undefined
  const keyOf = (iteration: number | 'best'): string => (within === '' ? `${iteration}` : `${iteration} of ${within}`)

  function commit(
    key: string,
    messageFor: (files: readonly string[]) => string,
    context: RunContext,
  ): Promise<CommitResult> {
    const { scope, services } = below(context, part('commit'))
    const effect = {
      kind: 'git',
      request: { command: 'commit', iteration: key },
      action: { kind: 'command', program: 'git', caller: 'iterate' },
      // it recognizes its own commit, so none is created twice
      repeat: 'safe',
    } as const
    return services.effects.perform<CommitResult>(scope.at, effect, async (stop) => {
      const signal = AbortSignal.any([stop, services.signal])
      try {
        return await (
          await repository()
        ).commit({ run: scope.runId, key, headBefore, excluded, isStaged, messageFor }, signal)
      } catch (error) {
        signal.throwIfAborted()
        return { kind: 'refused', files: [], reason: messageOf(error) }
      }
    })
  }

  return {
    commits,

    async start({ scope, services }) {
      const { signal, effects } = services
      const begun = await effects.observeAsync(scope.at, { name: 'iterate.start', args: [] }, async () => {
        const git = await repository()
        const tree = commits ? await git.headTree(signal) : undefined
        return { commits, ...(await git.start(signal)), tree: tree ?? (await git.snapshot(signal)) }
      })
      ;({ isStaged, tree: startTree } = begun)
      if (commits) excluded = begun.dirty
      lastTree = startTree
      return { ...defined({ head: begun.head }), state: begun.tree }
    },

    async begin(records, at) {
      lastTree = records.findLast(({ state }) => state !== undefined)?.state ?? startTree
      const { scope, services } = below(at, part('before'))
      const { signal, effects } = services
      const head = await effects.observeAsync(scope.at, { name: 'iterate.head', args: [] }, async () =>
        commits ? ((await (await repository()).head(signal)) ?? null) : null,
      )
      headBefore = head ?? undefined
    },

    async changed(known, at) {
      const { scope, services } = below(at, part('changes'))
      const { signal, effects } = services
      const before = lastTree
      const found = await effects.observeAsync(scope.at, { name: 'iterate.changes', args: [] }, async () => {
        const git = await repository()
        if (commits) return { files: await git.changed({ excluded, known }, signal) }
        const tree = await git.snapshot(signal)
        return { files: before === undefined ? [] : await git.difference(before, tree, excluded, signal), tree }
      })
      if (found.tree !== undefined) lastTree = found.tree
      return found.files
    },

    async keep({ iteration, changed_files: files, subject }, at) {
      if (!commits) return { changed_files: files, ...defined({ state: lastTree }) }
      const run = at.scope.runId
      const key = keyOf(iteration)
      const message = (all: readonly string[]): string => commitMessage({ run, key, iteration, files: all, subject })
      const result = await commit(key, message, at)
      switch (result.kind) {
        case 'none':
          // files that were changed before the first iteration are not part of states
          return { changed_files: files, ...defined({ state: files.length === 0 ? lastTree : undefined }) }
        case 'committed':
          lastTree = result.tree
          return { changed_files: result.files, commit_id: result.id, state: result.tree }
        case 'refused':
          emit(at, {
            type: 'warning',
            message: `iteration ${iteration} was not committed: ${result.reason}`,
            hint: 'Its changes stay in the work tree and are part of the next commit.',
          })
          return { changed_files: files }
      }
    },

    async restore({ iteration, score }, records, context) {
      headBefore = records.at(-1)?.commit_id
      const best = iteration < 0 ? startTree : records.find((one) => one.iteration === iteration)?.state
      const now = records.at(-1)?.state
      if (best === undefined || now === undefined || best === now) return
      const files = await bringBack({ best, now, excluded }, repository, context)
      if (files.length === 0) return
      const run = context.scope.runId
      const key = keyOf('best')
      const message = (all: readonly string[]): string => bestMessage({ run, key, iteration, score }, all)
      const result = commits ? await commit(key, message, context) : undefined
      const id = result?.kind === 'committed' ? result.id : undefined
      emit(context, { type: 'iterate.restored', iteration, score, changed_files: files, ...defined({ commit_id: id }) })
      if (result?.kind !== 'refused') return
      const hint = 'The files are those of the best iteration nevertheless.'
      emit(context, { type: 'warning', message: `the best state was not committed: ${result.reason}`, hint })
    },
  }
}
