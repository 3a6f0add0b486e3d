import { coversHost } from '../base/host-entry.ts'

/** What programs chosen by a model may access. From the strictest to the most permissive. */
const sandboxModes = ['read-only', 'workspace-write', 'danger-full-access'] as const

export type SandboxMode = (typeof sandboxModes)[number]

/** Plain data, because it is part of the scope of a run. */
export interface SandboxRights {
  readonly mode: SandboxMode
  /** Hosts that may be connected to: `host`, `*.host`, `host:port`. */
  readonly network: readonly string[]
  /** The sandbox also applies to commands of authors: those of scripts and of `[iterate]`. */
  readonly scripts: boolean
  /** Memory of all programs of a command together, in MiB. */
  readonly memory_mb: number
  /** Processes of a command at the same time. */
  readonly processes: number
  /** Maximum size of a written file, in MiB. */
  readonly file_mb: number
  /** Capacity of the private /tmp, in MiB. */
  readonly tmp_mb: number
}

/** The default. */
export const strictestSandbox: SandboxRights = {
  mode: 'read-only',
  network: [],
  scripts: false,
  memory_mb: 4096,
  processes: 512,
  file_mb: 2048,
  tmp_mb: 1024,
}

/** The rights that both allow; omitted fields of `limits` change nothing. */
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

/** The intersection of two host lists: of each pair, the entry that is covered by the other one. */
function bothAllow(some: readonly string[], others: readonly string[]): readonly string[] {
  const kept = [
    ...some.filter((host) => others.some((other) => coversHost(other, host))),
    ...others.filter((host) => some.some((other) => coversHost(other, host))),
  ]
  return [...new Set(kept)]
}
