#!/usr/bin/env node
import { writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { buildId } from './build-id.ts'
import { useCodeCache } from './code-cache.ts'
import { version } from './version.ts'

const args = process.argv.slice(2)
const isVersion = args.length === 1 && (args[0] === '--version' || args[0] === '-V')

/** Resolves once the command is done and the exit code is set. */
export const ended = isVersion && writeVersion() ? Promise.resolve() : run(isVersion ? ['--version'] : args)

async function run(words: readonly string[]): Promise<void> {
  // Nothing keeps a process alive that waits for what never comes: it has not succeeded. Node's own code for that.
  process.exitCode = 13
  useCodeCache({ env: process.env, home: homedir(), entry: fileURLToPath(import.meta.url), build: buildId })
  const { main } = await import('./process.ts')
  process.exitCode = await main(words)
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
