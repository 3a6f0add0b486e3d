import type { Check, Status } from '../../doctor/check.ts'
import { examine } from '../../doctor/examine.ts'
import { packageRoot } from '../../package-root.ts'
import { harmless } from '../../render/harmless.ts'
import { createPaint, type Paint } from '../../render/style.ts'
import { version } from '../../version.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

/** `baton doctor`: one line for each part, with what to do; exit code 1 when one is broken (DESIGN 13). */
export async function doctorCommand(flags: GlobalFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const checks = await examine({
    cwd,
    env,
    home: io.home,
    overrides: flags.config,
    signal: io.signal,
    root: packageRoot(),
    version,
    node: { version: process.versions.node, platform: process.platform, arch: process.arch },
    terminal: { out: io.outIsTerminal, err: io.errIsTerminal, columns: io.columns() },
  })
  const shown = flags.level === 'quiet' ? checks.filter(({ status }) => status === 'fail') : checks
  if (flags.json) {
    for (const { name, status, message, hint } of shown) {
      io.out(`${JSON.stringify({ check: name, status, message, ...(hint === undefined ? {} : { hint }) })}\n`)
    }
  } else {
    const paint = createPaint({ env, isTerminal: io.outIsTerminal })
    io.out(shown.map((check) => describe(check, paint)).join(''))
    if (flags.level !== 'quiet') io.out(`\n${summary(checks)}\n`)
  }
  return checks.some(({ status }) => status === 'fail') ? 1 : 0
}

const colors = { ok: 'green', note: 'dim', warn: 'yellow', fail: 'red' } as const satisfies Record<Status, string>

function describe({ name, status, message, hint }: Check, paint: Paint): string {
  const line = `${paint(colors[status], status.padEnd(4))}  ${name.padEnd(9)}  ${harmless(message)}\n`
  return hint === undefined ? line : `${line}${' '.repeat(17)}${paint('cyan', 'hint')}: ${hint}\n`
}

function summary(checks: readonly Check[]): string {
  const broken = checks.filter(({ status }) => status === 'fail').length
  const warnings = checks.filter(({ status }) => status === 'warn').length
  if (broken === 0 && warnings === 0) return 'nothing is missing'
  const counts = [
    ...(broken === 0 ? [] : [`${broken} broken`]),
    ...(warnings === 0 ? [] : [warnings === 1 ? '1 warning' : `${warnings} warnings`]),
  ]
  return counts.join(', ')
}
