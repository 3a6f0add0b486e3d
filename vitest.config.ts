import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Unit tests share a process (spec/style.md 5.2): no module may keep state. Tests that spawn the command are isolated.
export default defineConfig({
  test: {
    // one more than there are cores: many tests wait for processes, servers and limits of time
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/content/**'],
          pool: 'threads',
          isolate: false,
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', 'test/content/**/*.test.ts'],
          pool: 'threads',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
