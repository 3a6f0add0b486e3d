import type { Check, Status } from '../../doctor/check.ts'
import { examine } from '../../doctor/examine.ts'
import { packageRoot } from '../../package-root.ts'
import { harmless } from '../../base/terminal-text.ts'
import { countOf } from '../../render/format.ts'
import type { Paint } from '../../render/style.ts'
import { version } from '../../version.ts'
import type { Flags } from '../command-specs.ts'
import { type CommandIo, openWorkplace } from '../io.ts'

/** `baton doctor`: one line for each part, with a hint if it needs fixing. Exit code 1 if a part is broken. */
export async function doctorCommand(flags: Flags<'doctor'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, print, paint } = openWorkplace(flags, io)
  const checks = await examine({
    cwd,
    env,
    home,
    overrides: flags.config,
    signal: io.signal,
    root: packageRoot(),
    version,
    node: { version: process.versions.node, platform: process.platform, arch: process.arch },
    terminal: { out: io.outIsTerminal, err: io.errIsTerminal, columns: io.columns() },
  })
  for (const check of checks) {
    const { name, status, message, hint } = check
    if (flags.level === 'quiet' && status !== 'fail') continue
    print({ check: name, status, message, hint }, () => describe(check, paint))
  }
  if (!flags.json && flags.level !== 'quiet') io.out(`\n${summary(checks)}\n`)
  return checks.some(({ status }) => status === 'fail') ? 1 : 0
}

const colors = { ok: 'green', note: 'dim', warn: 'yellow', fail: 'red' } as const satisfies Record<Status, string>

function describe({ name, status, message, hint }: Check, paint: Paint): string {
  const line = `${paint(colors[status], status.padEnd(4))}  ${name.padEnd(9)}  ${harmless(message)}\n`
  return hint === undefined ? line : `${line}${' '.repeat(17)}${paint('cyan', 'hint')}: ${harmless(hint)}\n`
}

function summary(checks: readonly Check[]): string {
  const counted = (wanted: Status): number => checks.filter(({ status }) => status === wanted).length
  const [broken, warnings] = [counted('fail'), counted('warn')]
  const counts = [broken > 0 && `${broken} broken`, warnings > 0 && countOf(warnings, 'warning')]
  return counts.filter(Boolean).join(', ') || 'no problems found'
}
