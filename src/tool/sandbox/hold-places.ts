import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { entryStatus } from '../../base/entries.ts'
import { BatonError, hasSystemCode, messageOf } from '../../base/error.ts'
import { holderEntry, releasePlaceholder } from '../../base/placeholder.ts'

export interface Placeholders {
  /** Paths to bind read-only in the sandbox. Absolute. */
  readonly held: readonly string[]
  readonly release: () => void
}

/**
 * Creates placeholders at paths that do not exist, so that the sandbox can mount them read-only: a path that does not
 * exist cannot be protected. If the folder is not writable, nothing can be created there anyway.
 */
export function holdPlaces(paths: readonly string[]): Placeholders {
  const used: string[] = []
  const held: string[] = []
  const release = (): void => {
    for (const path of used.splice(0)) releaseFolder(path)
  }
  try {
    for (const path of paths) {
      retainFolder(path)
      used.push(path)
      makeHeld(path)
      if (entryStatus(path) !== undefined) held.push(path)
    }
    return { held, release }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * If something else has been created there in the meantime, that is protected as well. Another process that holds the
 * place may release it at any time.
 */
function makeHeld(path: string): void {
  try {
    mkdirSync(join(path, holderEntry(process.pid)), { recursive: true })
  } catch (error) {
    if (hasSystemCode(error, 'EACCES', 'EROFS', 'ENOTDIR', 'EEXIST', 'EPERM')) return
    throw new BatonError('SANDBOX', `${path} cannot be protected from programs: ${messageOf(error)}`, { cause: error })
  }
}

/*
 * Folders that exist only while commands run. The last user of a folder removes it. If this process is killed, a shell
 * removes it: the shell gets the path of each folder in advance and outlives this process.
 */

/**
 * Removes only Baton's own entry, and then the folder if it is empty. First waits, at most five seconds, until the
 * sandboxes that may still write there have ended.
 */
const script = `trap '' INT TERM HUP
entry=$1; shift
boxes= tries=0
while IFS= read -r told; do case $told in /*) set -- "$@" "$told";; *) boxes="$boxes $told";; esac; done
for box in $boxes; do
  while kill -0 "$box" && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
done
for folder; do rmdir -- "$folder/$entry" || rm -f -- "$folder/$entry"; rmdir -- "$folder"; done`

const users = new Map<string, number>()
let janitor: ChildProcess | undefined

/** Adds a user of a folder (absolute), which need not exist yet. */
export function retainFolder(folder: string): void {
  users.set(folder, (users.get(folder) ?? 0) + 1)
  if (users.get(folder) !== 1 || folder.includes('\n')) return
  janitor ??= startJanitor()
  janitor.stdin?.write(`${folder}\n`)
}

/** The first process of a sandbox: it has to end before folders in use are removed. */
export function holdUntilEnd(pid: number): void {
  janitor?.stdin?.write(`${pid}\n`)
}

/** Removes a user of a folder. */
export function releaseFolder(folder: string): void {
  const left = (users.get(folder) ?? 1) - 1
  if (left > 0) {
    users.set(folder, left)
    return
  }
  users.delete(folder)
  releasePlaceholder(folder, process.pid)
  if (users.size > 0) return
  // killed, so that its script does not reach the removal: the next user may already exist by then
  janitor?.kill('SIGKILL')
  janitor = undefined
}

function startJanitor(): ChildProcess {
  const args = ['-c', script, 'baton-janitor', holderEntry(process.pid)]
  const child = spawn('/bin/sh', args, { detached: true, cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
  child.on('error', () => {})
  // stdin is missing if this process has run out of descriptors
  child.stdin?.on('error', () => {})
  child.unref()
  if (child.stdin instanceof Socket) child.stdin.unref()
  return child
}
