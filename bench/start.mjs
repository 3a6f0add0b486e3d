import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runBare } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const agent = `# Output

\`\`\`lua
return "ready"
\`\`\`
`

/**
 * What the command needs to do almost nothing, against a node process that does nothing: CPU time, without the caller's
 * environment, in which a certificate bundle alone can double the reference. The warm-up round fills the cache of
 * compiled code, a separate one for each command, because a cache shared with other commands is only completed later.
 */
export async function start({ command, folder, small }) {
  writeFileSync(join(folder, 'ready.aip'), agent)
  const time = (args, expected) => async () => {
    const { cpu, stdout } = await runBare(args, { folder, env: { BATON_HOME: join(folder, args[1]) } })
    if (!stdout.includes(expected)) throw new Error(`node ${args.join(' ')} printed ${JSON.stringify(stdout)}`)
    return cpu
  }
  let homes = 0
  const { node, version, help, script, first } = await interleave(
    {
      node: time(['-e', '0'], ''),
      version: time([command, '--version'], '.'),
      help: time([command, '--help'], 'baton'),
      script: time([command, 'run', 'ready.aip'], 'ready'),
      first: async () => {
        homes += 1
        const env = { BATON_HOME: join(folder, `home-${homes}`) }
        return (await runBare([command, 'run', 'ready.aip'], { folder, env })).cpu
      },
    },
    small ? 1 : 31,
  )
  const of = 'node -e 0'
  return [
    figure('baton --version', { of, ratios: quotients(version, node), aim: { atMost: 1.15 } }),
    figure('baton --help', { of, ratios: quotients(help, node) }),
    figure('baton run, script-only .aip', { of, ratios: quotients(script, node), aim: { atMost: 4 } }),
    figure('the same in a fresh home', { of, ratios: quotients(first, node), aim: { atMost: 7 } }),
  ]
}
