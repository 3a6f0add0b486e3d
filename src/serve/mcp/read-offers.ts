import { join, resolve } from 'node:path'
import { createPool } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { viewBelow } from '../../history/node-view.ts'
import { listRuns, readRunSummary } from '../../history/run-list.ts'
import { createRunTotals } from '../../history/run-totals.ts'
import { withView } from '../../history/run-view.ts'
import { runWithId } from '../../journal/find-run.ts'
import { runsFolder } from '../../journal/run-id.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { packageRoot } from '../../package-root.ts'
import { createCalls, type Serving } from './call.ts'
import { readOffer, refuseSameNames } from './offer.ts'
import type { Offered } from './protocol.ts'
import { strategies } from '../../strategies/strategies.ts'

/** Maximum number of concurrent runs; further calls wait. A run that waits for the user's answer does not count. */
const runsAtOnce = 8

/** Maximum number of listed runs (the newest), and of parts shown per run. */
const listed = { runs: 100, parts: 200 } as const

/**
 * Reads and checks files, and makes them callable.
 * @throws BatonError for every error that would prevent a run from starting; USAGE if two files have the same name
 */
export async function readOffers(files: readonly string[], serving: Serving): Promise<Offered> {
  const { cwd, env, home, shared } = serving
  const builtInDir = join(packageRoot(), 'agents')
  const overrides = shared.overrides ?? []
  const flags = { overrides, ...(shared.model === undefined ? {} : { model: shared.model }) }
  const offers = await Promise.all(
    files.map((file) => readOffer({ file, cwd, env, home, builtInDir, strategies, flags })),
  )
  refuseSameNames(offers)
  const { workspace, settings } = await loadTargetConfig({ cwd, env, home, flags: { overrides } })
  const folder = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const pool = createPool(runsAtOnce)
  const totals = createRunTotals()
  const calls = createCalls(serving)
  const paths = new Set(offers.map(({ path }) => realPath(path)))
  return {
    offers,
    start: (offer, input, calling) => pool.run(() => calls.start(offer, input, calling), calling.signal),
    answer: (offer, given, calling) => pool.run(() => calls.answer(offer, given, calling), calling.signal),
    close: () => calls.close(),
    async runs() {
      const found: { readonly id: string; readonly title: string }[] = []
      for await (const { id, file, status } of listRuns(folder, { limit: listed.runs, fits: isOffered, totals })) {
        found.push({ id, title: `${file}: ${status}` })
      }
      return found
    },
    async readRun(id) {
      // only whole ids: prefixes and `last` would reveal runs of other files
      const run = runWithId(folder, id)
      const summary = run === undefined ? undefined : await readRunSummary(run)
      if (run === undefined || summary === undefined || !isOffered(summary)) {
        throw new BatonError('USAGE', `this server has no run ${id}`)
      }
      const parts = await withView(run, { most: listed.parts }, (view) => viewBelow(view.root, view))
      return JSON.stringify({ ...summary, parts })
    },
  }

  /** Only runs of the offered files are visible to clients. */
  function isOffered({ file }: Pick<RunSummary, 'file'>): boolean {
    return paths.has(realPath(resolve(cwd, file)))
  }
}
