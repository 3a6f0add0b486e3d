import { readdirSync, readFileSync } from 'node:fs'
import { namesIn } from '../../src/base/entries.ts'

/** The processes that a server has started for runs and conversations, by their ids. */
export function workersOf(server: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === server && commandOf(pid).includes('__worker'))
}

/** Whether a process runs: one that has ended and waits for its parent does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const hasEnded = ['Z', 'X'].includes(fieldsOf(pid)[0] ?? '')
  // its first thread may end before the others
  return !hasEnded || namesIn(`/proc/${pid}/task`).length > 1
}

function parentOf(pid: number): number | undefined {
  return isAlive(pid) ? Number(fieldsOf(pid)[1]) : undefined
}

function fieldsOf(pid: number): readonly string[] {
  return read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
    .filter(Boolean)
}

function commandOf(pid: number): readonly string[] {
  return read(`/proc/${pid}/cmdline`).split('\0')
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
