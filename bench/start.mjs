import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const agent = `# Output

\`\`\`lua
return "ready"
\`\`\`
`

/** How long the command takes to be done with nearly nothing, against a node process that does nothing (DESIGN 15). */
export async function start({ command, folder, small }) {
  writeFileSync(join(folder, 'ready.aip'), agent)
  const time = (args, expected) => async () => {
    const { ms, stdout } = await runNode(args, { folder })
    if (!stdout.includes(expected)) throw new Error(`node ${args.join(' ')} printed ${JSON.stringify(stdout)}`)
    return ms
  }
  const { node, version, help, script } = await interleave(
    {
      node: time(['-e', '0'], ''),
      version: time([command, '--version'], '.'),
      help: time([command, '--help'], 'baton'),
      script: time([command, 'run', 'ready.aip'], 'ready'),
    },
    small ? 1 : 21,
  )
  const of = 'node -e 0'
  return [
    figure('baton --version', { of, ratios: quotients(version, node), aim: { atMost: 1.5 } }),
    figure('baton --help', { of, ratios: quotients(help, node) }),
    figure('baton run, script-only .aip', { of, ratios: quotients(script, node), aim: { atMost: 4 } }),
  ]
}
