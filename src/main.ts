#!/usr/bin/env node
import { writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { buildId } from './build-id.ts'
import { createChunkLoader } from './chunk-loader.ts'
import { version } from './version.ts'

/** Loads the other files of the built command: the build replaces `import` with it (scripts/commonjs.mjs). */
export const loadChunk = createChunkLoader({
  env: process.env,
  home: homedir(),
  entry: fileURLToPath(import.meta.url),
  build: buildId,
})

// nothing is left to do: exiting now skips freeing memory piece by piece and optimizing in threads
process.once('beforeExit', () => process.exit())

/** Resolves once the command is done and the exit code is set. */
export const ended = run(process.argv.slice(2))

/** Runs the command with these arguments, in this process. */
export async function run(args: readonly string[]): Promise<void> {
  const isVersion = args.length === 1 && (args[0] === '--version' || args[0] === '-V')
  if (isVersion && writeVersion()) return
  // A process that only waits for something that never arrives is not kept alive, and has failed. The code is the one Node uses for that.
  process.exitCode = 13
  const { main } = await import('./process.ts')
  process.exitCode = await main(isVersion ? ['--version'] : args)
}

/** False if it cannot be written immediately: the command then waits, or reports why. */
function writeVersion(): boolean {
  try {
    writeSync(1, `${version}\n`)
    return true
  } catch {
    return false
  }
}
