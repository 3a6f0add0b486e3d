import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, type BatonResult, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const script = {
  'engine.aip': `# Data

\`\`\`lua
return { child = aip.agent.run("child.lua", { inputs = { input } }), size = #aip.file.load("engine.aip").content }
\`\`\`

# Output

\`\`\`lua
print(_VERSION, data.size > 100, data.child.outputs[1])
\`\`\`
`,
  'child.lua': 'return input .. " of the child"',
}

/** What begins with `--` are options of Node. */
async function run(...args: readonly string[]): Promise<Pick<BatonResult, 'code' | 'stdout' | 'stderr'>> {
  const node = args.filter((arg) => arg.startsWith('--'))
  const own = args.filter((arg) => !arg.startsWith('--')).flatMap((setting) => ['-c', setting])
  const [cwd, line] = [tempTree(script), ['engine.aip', '-i', 'text', ...own]]
  if (node.length === 0) return baton(line, { cwd })
  const home = tempTree()
  const env = { PATH: process.env['PATH'], HOME: home, BATON_HOME: join(home, 'baton'), NO_COLOR: '1' }
  const command = join(root, 'dist/bin/baton.js')
  const { stdout, stderr, status } = spawnSync(process.execPath, [...node, command, ...line], {
    cwd,
    env,
    encoding: 'utf8',
  })
  return { code: status, stdout, stderr }
}

describe('the engine of scripts', () => {
  it.each([
    [[], 'Lua 5.4'],
    [['lua.isolated=true'], 'Lua 5.4'],
    [['lua.engine=fengari'], 'Lua 5.3'],
    [['lua.engine=fengari', 'lua.isolated=true'], 'Lua 5.3'],
    [['--jitless'], 'Lua 5.3'],
    [['--jitless', 'lua.isolated=true'], 'Lua 5.3'],
  ])('runs an agent that runs an agent with %j on %s', async (args, version) => {
    expect(await run(...args)).toMatchObject({ stdout: `${version}\ntrue\ntext of the child\n`, code: 0 })
  })

  it.each([
    [['lua.engine=fengari', 'lua.memory_mb=64'], 1],
    [['lua.engine=fengari'], 0],
    [['lua.memory_mb=64'], 0],
  ] as const)(
    'with %j, says %i times that a configured memory limit is applied approximately',
    async (settings, times) => {
      const { stderr, code } = await run(...settings)
      expect(code).toBe(0)
      expect(stderr.match(/^warning lua\.memory_mb = 64 is only approximate/gm) ?? []).toHaveLength(times)
    },
  )
})
