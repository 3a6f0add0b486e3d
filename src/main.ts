#!/usr/bin/env node
import { writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { buildId } from './build-id.ts'
import { createChunkLoader } from './chunk-loader.ts'
import { version } from './version.ts'

/** The built command loads its other files with this: the build puts it in place of `import` (scripts/commonjs.mjs). */
export const loadChunk = createChunkLoader({
  env: process.env,
  home: homedir(),
  entry: fileURLToPath(import.meta.url),
  build: buildId,
})

// nothing is left to do: what Node would still free piece by piece, and optimise in threads, goes with the process
process.once('beforeExit', () => process.exit())

/** Resolves once the command is done and the exit code is set. */
export const ended = run(process.argv.slice(2))

/** Runs the command with these arguments, in this process. */
export async function run(args: readonly string[]): Promise<void> {
  const isVersion = args.length === 1 && (args[0] === '--version' || args[0] === '-V')
  if (isVersion && writeVersion()) return
  // Nothing keeps a process alive that waits for what never comes: it has not succeeded. Node's own code for that.
  process.exitCode = 13
  const { main } = await import('./process.ts')
  process.exitCode = await main(isVersion ? ['--version'] : args)
}

/** False when it cannot be written right away: the command then waits, or reports why. */
function writeVersion(): boolean {
  try {
    writeSync(1, `${version}\n`)
    return true
  } catch {
    return false
  }
}
