import { BatonError, messageOf } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import { below, emit, type RunContext } from '../../event/context.ts'
import { part } from '../../event/place.ts'
import { bringBack, type BroughtBack } from './bring-back.ts'
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
      const result = await commitNow(signal).catch((error: unknown) => {
        signal.throwIfAborted()
        return { kind: 'refused', files: [], reason: messageOf(error) } as const
      })
      if (result.kind !== 'refused') return result
      // it may be the best state, which is restored in the end
      const tree = await repository()
        .then((git) => git.snapshot(signal))
        .catch(() => undefined)
      return { ...result, ...defined({ tree }) }
    })

    async function commitNow(signal: AbortSignal): Promise<CommitResult> {
      const git = await repository()
      return git.commit({ run: scope.runId, key, headBefore, excluded, isStaged, messageFor }, signal)
    }
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
          return { changed_files: files, ...defined({ state: result.tree }) }
      }
    },

    async restore({ iteration, score }, records, context) {
      headBefore = records.at(-1)?.commit_id
      if (iteration === records.at(-1)?.iteration) return undefined
      const best = iteration < 0 ? startTree : records.find((one) => one.iteration === iteration)?.state
      const now = records.at(-1)?.state
      if (best === undefined || now === undefined) return notRestored({ iteration, score }, undefined, context)
      if (best === now) return undefined
      const ended = Date.parse(records.at(-1)?.timestamp ?? '')
      const { files, problem } = await bringBack({ best, now, excluded, ended }, repository, context)
      if (problem !== undefined) return notRestored({ iteration, score }, problem, context)
      if (files.length === 0) return undefined
      const run = context.scope.runId
      const key = keyOf('best')
      const message = (all: readonly string[]): string => bestMessage({ run, key, iteration, score }, all)
      const result = commits ? await commit(key, message, context) : undefined
      const id = result?.kind === 'committed' ? result.id : undefined
      emit(context, { type: 'iterate.restored', iteration, score, changed_files: files, ...defined({ commit_id: id }) })
      if (result?.kind !== 'refused') return undefined
      const hint = 'The files are those of the best iteration nevertheless.'
      emit(context, { type: 'warning', message: `the best state was not committed: ${result.reason}`, hint })
      return undefined
    },
  }
}

/** Without a problem of files: git has no state of them. */
function notRestored(
  { iteration, score }: { readonly iteration: number; readonly score: number },
  problem: BroughtBack['problem'],
  { scope }: RunContext,
): BatonError {
  const which = iteration < 0 ? 'from before the first iteration' : `of iteration ${iteration}`
  const why = problem?.why ?? 'git has no state of them'
  const message = `the files ${which}, which have the best score, ${score}, were not restored: ${why}`
  const hint =
    problem === undefined
      ? `See what the iterations changed with baton runs show ${scope.runId} --diff.`
      : `Fix that and run baton resume ${scope.runId}, or restore them yourself: ${problem.command}`
  return new BatonError('CHANGES_FAILED', message, { hint })
}
