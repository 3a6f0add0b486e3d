import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { BaseSequencer, ForksPoolWorker, type PoolRunnerInitializer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

// Started before others of their project, so that none of them runs alone at the end. Without a cache of durations, as in CI, nothing else is known.
const longest = [
  'test/serve/http/acting.test.ts',
  'test/serve/http/conversations.test.ts',
  'test/slow/docs.test.ts',
  'test/slow/page.test.ts',
  'test/slow/reworded.test.ts',
  'test/run/reuse.test.ts',
  'test/slow/iterate-git.test.ts',
  'test/slow/script-ways-out.test.ts',
  'test/slow/iterate-kills.test.ts',
  'test/slow/iterate-tasks.test.ts',
  'test/slow/record-faults.test.ts',
  'test/e2e/watch.test.ts',
  'test/e2e/chat.test.ts',
  'test/slow/golden-runs.test.ts',
  'test/attack/scripts-limits.test.ts',
  'test/mcp/stdio.test.ts',
  'test/e2e/command-agents.test.ts',
  'test/slow/iterate-hooks.test.ts',
  'test/pack/install.test.ts',
  'test/agent/command/ask.test.ts',
  'test/serve/mcp.test.ts',
  'test/journal/faults.test.ts',
  'test/slow/iterate-again.test.ts',
  'test/slow/time-limits.test.ts',
  'test/slow/tree-kills.test.ts',
  'test/slow/recipes.test.ts',
  'test/slow/undo-git.test.ts',
  'test/strategies/ensemble/run.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}

/** End-to-end tests first, and of each project the longest: a worker is stopped where a file of the other project follows. */
function rankOf({ moduleId, project }: TestSpecification): number {
  const place = longest.findIndex((path) => moduleId.endsWith(`/${path}`))
  const rank = place === -1 ? longest.length : place
  return project.name === 'e2e' ? rank : rank + longest.length + 1
}

/** A worker that holds more memory is replaced. */
const mostMemory = 350 * 2 ** 20

/**
 * A process that runs tests until it has grown: each start of a program copies the tables of all memory of the process
 * that starts it, which takes ten times as long with half a gigabyte. Where memory is not known, it stays.
 */
class SmallWorker extends ForksPoolWorker {
  override readonly name = 'small'

  canReuse(): boolean {
    const { pid } = this['_fork'] as ChildProcess
    const file = `/proc/${pid}/statm`
    return !existsSync(file) || Number(readFileSync(file, 'utf8').split(' ')[1]) * 4096 < mostMemory
  }
}

const small: PoolRunnerInitializer = { name: 'small', createPoolWorker: (options) => new SmallWorker(options) }

/** How long a test waits for a state, on a machine that is busy with something else. */
const waiting = { poll: { timeout: 30_000 } }

// Test files share the processes they run in: no module may keep state. Not threads: starting a program takes longer the larger
// the process is that starts it, and the tests start thousands.
export default defineConfig({
  test: {
    // two more than there are cores: many tests wait for processes, servers and time limits
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // what TypeScript becomes is kept in node_modules, and is the same for both projects
    experimental: { fsModuleCache: true },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/slow/**', 'test/content/**', 'test/attack/**'],
          pool: small,
          globalSetup: ['test/helpers/clean-temp.ts'],
          isolate: false,
          testTimeout: 60_000,
          expect: waiting,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e', 'slow', 'content', 'attack'].map((folder) => `test/${folder}/**/*.test.ts`),
          pool: small,
          isolate: false,
          globalSetup: ['test/helpers/clean-temp.ts'],
          testTimeout: 60_000,
          expect: waiting,
          hookTimeout: 120_000,
          setupFiles: ['test/helpers/warm-setup.ts'],
        },
      },
    ],
  },
})
