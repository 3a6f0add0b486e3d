import type { Command } from './boxed.ts'
import type { BoxPlan } from './bwrap.ts'

/** What a sandbox on macOS is built from. */
export interface SeatbeltPlan extends Pick<
  BoxPlan,
  'workspace' | 'canWrite' | 'kept' | 'hiddenFiles' | 'hiddenFolders'
> {
  /** For temporary files; absolute, links resolved. */
  readonly temporary: string
  /** The only port that can be reached, on this machine; none if omitted. */
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
 * The profile of `sandbox-exec`: everything is denied unless allowed, and the last matching rule decides. Paths that do
 * not exist yet are protected as well, because rules match paths.
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
    // hard links to and renames of protected paths count as writes, too
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
