import { readdirSync, readFileSync } from 'node:fs'

/** The processes that a server has started for runs and conversations, by their ids. */
export function workersOf(server: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === server && commandOf(pid).includes('__worker'))
}

/** Whether it exists, and has not ended. */
export function isAlive(pid: number): boolean {
  const state = fieldsOf(pid)[0]
  return state !== undefined && state !== 'Z'
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
