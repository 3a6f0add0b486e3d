import type { Command } from './boxed.ts'
import type { BoxPlan } from './bwrap.ts'

/** What a box on macOS is made of. */
export interface SeatbeltPlan extends Pick<
  BoxPlan,
  'workspace' | 'canWrite' | 'kept' | 'hiddenFiles' | 'hiddenFolders'
> {
  /** For files of its own; absolute, links resolved. */
  readonly temporary: string
  /** The only port that is reached, on this machine; left out: none. */
  readonly proxyPort?: number
}

/** The arguments of `sandbox-exec` for a command. */
export function seatbeltArguments(
  { command, args }: Pick<Command, 'command' | 'args'>,
  plan: SeatbeltPlan,
): readonly string[] {
  return ['-p', seatbeltProfile(plan), command, ...args]
}

/**
 * The profile of `sandbox-exec`: what is not allowed is denied, and of several rules about a thing the last one counts. What
 * is not there yet is held as well, because rules are about paths.
 */
export function seatbeltProfile({ workspace, canWrite, temporary, proxyPort, ...plan }: SeatbeltPlan): string {
  const { kept, hiddenFiles, hiddenFolders } = plan
  const hidden = [...hiddenFiles.map((path) => literal(path)), ...hiddenFolders.map((path) => subpath(path))]
  const writable = [temporary, ...(canWrite ? [workspace] : [])]
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork sysctl-read file-read*)',
    '(allow signal (target same-sandbox))',
    '(allow ipc-posix-sem ipc-posix-shm* pseudo-tty)',
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty") (literal "/dev/ptmx"))',
    `(allow file-write* ${writable.map(subpath).join(' ')})`,
    // hard links and new names of what is kept are writes, too
    ...kept.map((path) => `(deny file-write* ${subpath(path)})`),
    ...hidden.map((path) => `(deny file-read* file-write* ${path})`),
    ...(proxyPort === undefined ? [] : [`(allow network-outbound (remote ip "localhost:${proxyPort}"))`]),
  ].join('\n')
}

function subpath(path: string): string {
  return `(subpath ${quoted(path)})`
}

function literal(path: string): string {
  return `(literal ${quoted(path)})`
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
