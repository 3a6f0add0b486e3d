import { describeOrigins } from '../../config/origins.ts'
import { loadRunSpec } from '../../config/run-spec.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { createPaint } from '../../render/style.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { ConfigFlags } from '../options.ts'

/** `baton config [FILE]`: every value in force, with `--origin` also where it comes from. */
export async function configCommand(flags: ConfigFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const options = { cwd, env, home: io.home, flags: { overrides: flags.config } }
  const source =
    flags.file === undefined ? await loadTargetConfig(options) : await loadRunSpec({ ...options, file: flags.file })
  const rows = await describeOrigins(source)
  if (flags.json) {
    for (const { key, value, origin } of rows)
      io.out(`${JSON.stringify(flags.origin ? { key, value, origin } : { key, value })}\n`)
    return 0
  }

  const paint = createPaint({ env, isTerminal: io.outIsTerminal })
  const texts = rows.map(({ key, value, origin }) => ({ text: `${key} = ${JSON.stringify(value)}`, origin }))
  const width = Math.min(60, Math.max(0, ...texts.map(({ text }) => text.length)))
  for (const { text, origin } of texts) {
    io.out(flags.origin ? `${text.padEnd(width)}  ${paint('dim', `# ${origin}`)}\n` : `${text}\n`)
  }
  return 0
}
