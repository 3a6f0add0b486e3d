#!/usr/bin/env node
import { writeSync } from 'node:fs'
import { version } from './version.ts'

const args = process.argv.slice(2)
const isVersion = args.length === 1 && (args[0] === '--version' || args[0] === '-V')
if (!isVersion || !tellVersion()) {
  const { main } = await import('./process.ts')
  process.exitCode = await main(isVersion ? ['--version'] : args)
}

/** False when it cannot be written just so: the command tells why, or waits. */
function tellVersion(): boolean {
  try {
    writeSync(1, `${version}\n`)
    return true
  } catch {
    return false
  }
}
