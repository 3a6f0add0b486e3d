import { readFileSync, statSync } from 'node:fs'

/**
 * Sockets that programs outside listen on, and sockets mounted into this container: a read-only file system does not
 * prevent connecting to them. Absolute.
 */
export function hostSockets(): readonly string[] {
  const listening = linesOf('/proc/net/unix').map((line) => /^\S+: (?:\S+ +){6}(\/.*)$/.exec(line)?.[1])
  const mounted = linesOf('/proc/self/mountinfo').map((line) => unescaped(line.split(' ')[4]))
  const paths = new Set([...listening, ...mounted].filter((path) => path !== undefined))
  return [...paths].filter(isSocket)
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** The kernel escapes spaces and backslashes in paths as octal. */
function unescaped(path: string | undefined): string | undefined {
  return path?.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 8)))
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket()
  } catch {
    return false
  }
}
