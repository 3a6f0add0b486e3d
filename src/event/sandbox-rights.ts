import { coversHost } from '../base/host-entry.ts'

/** What programs that a model chooses may touch. From the strictest to the loosest. */
const sandboxModes = ['read-only', 'workspace-write', 'danger-full-access'] as const

export type SandboxMode = (typeof sandboxModes)[number]

/** Plain data: it travels with the scope of a run. */
export interface SandboxRights {
  readonly mode: SandboxMode
  /** Hosts that may be spoken to: `host`, `*.host`, `host:port`. */
  readonly network: readonly string[]
  /** Commands of authors are boxed as well: of scripts, and those of `[iterate]`. */
  readonly scripts: boolean
  /** Of all programs of a command together, in MiB. */
  readonly memory_mb: number
  /** Of a command at the same time. */
  readonly processes: number
  /** The largest file that is written, in MiB. */
  readonly file_mb: number
  /** What fits into the private /tmp, in MiB. */
  readonly tmp_mb: number
}

/** What holds where nobody says anything. */
export const strictestSandbox: SandboxRights = {
  mode: 'read-only',
  network: [],
  scripts: false,
  memory_mb: 4096,
  processes: 512,
  file_mb: 2048,
  tmp_mb: 1024,
}

/** The rights that both allow; what is left out of `limits` stays as it is. */
export function narrowSandbox(before: SandboxRights, limits: Partial<SandboxRights>): SandboxRights {
  const { mode = before.mode, network, scripts = false } = limits
  const smaller = (key: 'memory_mb' | 'processes' | 'file_mb' | 'tmp_mb'): number =>
    Math.min(before[key], limits[key] ?? before[key])
  return {
    mode: sandboxModes[Math.min(sandboxModes.indexOf(before.mode), sandboxModes.indexOf(mode))] ?? 'read-only',
    network: network === undefined ? before.network : bothAllow(before.network, network),
    scripts: before.scripts || scripts,
    memory_mb: smaller('memory_mb'),
    processes: smaller('processes'),
    file_mb: smaller('file_mb'),
    tmp_mb: smaller('tmp_mb'),
  }
}

/** Of two lists of hosts what both allow: of each pair the entry that the other one covers. */
function bothAllow(some: readonly string[], others: readonly string[]): readonly string[] {
  const kept = [
    ...some.filter((host) => others.some((other) => coversHost(other, host))),
    ...others.filter((host) => some.some((other) => coversHost(other, host))),
  ]
  return [...new Set(kept)]
}
