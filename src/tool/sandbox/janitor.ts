import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { holdingEntry, releasePlace } from '../../base/held-place.ts'

/*
 * Folders that are there only while commands run. The last one who uses a folder removes it; where this process is killed,
 * a shell does, which is told of each folder beforehand and outlives it.
 */

/**
 * Only what is ours goes away, and then the folder, if it is empty; not before the boxes have ended that still may write there,
 * which takes a moment, and at most five seconds.
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

/** One more user of a folder (absolute), which need not be there yet. */
export function useFolder(folder: string): void {
  users.set(folder, (users.get(folder) ?? 0) + 1)
  if (users.get(folder) !== 1 || folder.includes('\n')) return
  janitor ??= startJanitor()
  janitor.stdin?.write(`${folder}\n`)
}

/** A process that has to end before folders in use are removed: the first one of a box. */
export function outlive(pid: number): void {
  janitor?.stdin?.write(`${pid}\n`)
}

/** One user less. */
export function leaveFolder(folder: string): void {
  const left = (users.get(folder) ?? 1) - 1
  if (left > 0) {
    users.set(folder, left)
    return
  }
  users.delete(folder)
  releasePlace(folder, process.pid)
  if (users.size > 0) return
  // it must not come to its end: the next user may be there by then
  janitor?.kill('SIGKILL')
  janitor = undefined
}

function startJanitor(): ChildProcess {
  const args = ['-c', script, 'baton-janitor', holdingEntry(process.pid)]
  const child = spawn('/bin/sh', args, { detached: true, cwd: '/', env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
  child.on('error', () => {})
  // there is none where this process has no descriptors left
  child.stdin?.on('error', () => {})
  child.unref()
  if (child.stdin instanceof Socket) child.stdin.unref()
  return child
}
